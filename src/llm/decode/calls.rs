//! Assembles the pieces of a tool call.
//!
//! The arguments become an object only if they were read exactly as the model sent them. Otherwise
//! they become a text that is not a JSON object, which no tool accepts: the call neither runs nor
//! requires approval, and the model gets an error that quotes the text.

use serde_json::{Value, json};

use super::{json, surrogates::Joiner};

#[derive(Debug, Default)]
pub(in crate::llm) struct CallDraft {
    /// The model's own id; may be empty.
    pub id: String,
    pub name: String,
    /// What a provider expects back with the call.
    pub signature: Option<String>,
    /// Whether the provider has marked the end of the call.
    pub is_closed: bool,
    /// Whether a piece contradicts an earlier one.
    pub is_contradictory: bool,
    text: String,
    joiner: Joiner,
    object: Option<Value>,
}

impl CallDraft {
    pub fn new(id: &str, name: &str) -> Self {
        Self { id: id.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// Adds a piece of the arguments: a part of their text, or all of them as an object.
    pub fn append(&mut self, piece: &Value) {
        match piece {
            Value::Null => {}
            Value::String(text) => {
                let text = self.joiner.push(text);
                self.text.push_str(&text);
            }
            Value::Object(_) => {
                self.is_contradictory |= self.object.as_ref().is_some_and(|object| object != piece);
                self.object = Some(piece.clone());
            }
            other => {
                self.is_contradictory = true;
                self.text.push_str(&other.to_string());
            }
        }
    }

    pub fn has_arguments(&self) -> bool {
        self.object.is_some() || !self.text.trim().is_empty()
    }

    /// The arguments so far, if they are complete.
    pub fn complete(&self) -> Option<Value> {
        self.object.clone().or_else(|| {
            let object = json::read(self.text.as_bytes()).filter(Value::is_object);
            object.filter(|_| !self.text.trim().is_empty())
        })
    }

    /// The arguments. If the answer was cut off, some arguments may be missing, so they are
    /// unreadable.
    pub fn arguments(mut self, is_cut: IsCut) -> Value {
        let rest = self.joiner.finish();
        self.text.push_str(&rest);
        let is_exact = !self.is_contradictory && !self.joiner.is_lossy;
        let text = self.text.as_str();
        let is_blank = text.trim().is_empty();
        match self.object {
            None if is_blank && is_cut == IsCut::Yes && !self.is_closed => {
                unreadable("(the answer was cut off before the arguments)")
            }
            None if is_exact => arguments(text),
            None => unreadable(text),
            Some(object) => {
                let agrees = is_blank || arguments(text) == object;
                if is_exact && agrees && json::is_exact(&object) {
                    object
                } else {
                    unreadable(&format!("{object}{text}"))
                }
            }
        }
    }
}

/// Whether an answer ended at a limit or a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) enum IsCut {
    Yes,
    No,
}

/// The arguments that a text contains: an object, or the same as a JSON string.
pub(in crate::llm) fn arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return json!({});
    }
    match json::read(text.as_bytes()) {
        Some(Value::Null) => json!({}),
        Some(object @ Value::Object(_)) if json::is_exact(&object) => object,
        Some(Value::String(inner)) if inner.trim().is_empty() => json!({}),
        Some(Value::String(inner)) => match json::read(inner.as_bytes()) {
            Some(object @ Value::Object(_)) if json::is_exact(&object) => object,
            _ => unreadable(text),
        },
        _ => unreadable(text),
    }
}

/// A text that quotes the arguments, and that cannot be parsed as an object.
pub(in crate::llm) fn unreadable(quoted: &str) -> Value {
    let quoted = json::without_marks(quoted);
    let is_json = serde_json::from_str::<Value>(&quoted)
        .is_ok_and(|value| matches!(value, Value::String(_) | Value::Object(_)));
    if is_json { json!(format!("(cannot be read exactly) {quoted}")) } else { json!(quoted) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::decode::json::MARK;

    fn call(pieces: &[Value]) -> CallDraft {
        let mut call = CallDraft::new("call_1", "a");
        for piece in pieces {
            call.append(piece);
        }
        call
    }

    fn read(pieces: &[Value]) -> Value {
        call(pieces).arguments(IsCut::No)
    }

    #[test]
    fn arguments_are_an_object_however_they_are_sent() {
        assert_eq!(read(&[]), json!({}));
        assert_eq!(read(&[json!(""), json!(null)]), json!({}));
        assert_eq!(read(&[json!("{\"a\""), json!(":1}")]), json!({ "a": 1 }));
        assert_eq!(read(&[json!({ "a": 1 })]), json!({ "a": 1 }));
        assert_eq!(read(&[json!({ "a": 1 }), json!("{\"a\":1}")]), json!({ "a": 1 }));
        assert_eq!(read(&[json!("\"{\\\"a\\\":1}\"")]), json!({ "a": 1 }));
    }

    #[test]
    fn arguments_that_lose_precision_are_not_parsed() {
        let huge = "{\"n\":123456789012345678901}";
        for pieces in [
            vec![json!("{\"a\":")],
            vec![json!(huge)],
            vec![json!(format!("{huge:?}"))],
            vec![json!("{\"a\":1,\"a\":2}")],
            vec![json!("{}{}")],
            vec![json!("[1]")],
            vec![json!([1])],
            vec![json!({ "a": 1 }), json!({ "a": 2 })],
            vec![json!({ "a": 1 }), json!("{\"a\":2}")],
            vec![json!({ "a": format!("{MARK}d83d") })],
            vec![json!(format!("{{\"a\":\"{MARK}d83d")), json!("\"}")],
        ] {
            let Value::String(text) = read(&pieces) else { panic!("{pieces:?} became an object") };
            let reread = serde_json::from_str::<Value>(&text).unwrap_or_default();
            assert!(!reread.is_object() && !reread.is_string(), "{text}");
        }
    }

    #[test]
    fn a_call_that_was_cut_off_before_its_arguments_has_none() {
        assert!(call(&[]).arguments(IsCut::Yes).is_string());
        let mut closed = call(&[]);
        closed.is_closed = true;
        assert_eq!(closed.arguments(IsCut::Yes), json!({}));
    }
}
