//! What a provider expects back with a call: the call's id and, for Gemini, the thought signature.
//! Both are stored in `Call::model_id`.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::vendor::Provider;
use crate::journal::{event::Call, ids::CallId};

/// The maximum length of an id that OpenAI accepts.
const ID_CHARS: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModelCallId {
    pub id: String,
    pub signatures: Option<Vec<String>>,
}

impl ModelCallId {
    /// The id of a call that a model has made. Some servers number the calls of each answer from 0;
    /// such an id is not unique and is replaced by `ours`.
    pub fn new(ours: &CallId, theirs: String, signature: Option<String>) -> Self {
        let id = if theirs.len() < 9 { ours.as_str().to_owned() } else { theirs };
        Self { id, signatures: signature.map(|signature| vec![signature]) }
    }

    pub fn stored(self) -> String {
        if self.signatures.is_none() { self.id } else { json!(self).to_string() }
    }

    /// The id to send in a request. If another provider made the call, and this one would reject
    /// its id, our own id is sent.
    pub fn of(call: &Call, provider: Provider) -> Self {
        let theirs = Self::read(&call.model_id);
        if provider == Provider::Gemini {
            return theirs;
        }
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = (1..=ID_CHARS).contains(&theirs.id.len()) && theirs.id.chars().all(is_allowed);
        let id = if fits { theirs.id } else { call.id.as_str().to_owned() };
        Self { id, signatures: None }
    }

    fn read(model_id: &str) -> Self {
        let whole = model_id.starts_with('{').then(|| serde_json::from_str(model_id).ok());
        whole.flatten().unwrap_or_else(|| Self { id: model_id.to_owned(), signatures: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(model_id: &str) -> Call {
        Call {
            id: CallId::from("01"),
            model_id: model_id.to_owned(),
            tool: "a".to_owned(),
            arguments: json!({}),
        }
    }

    fn stored(theirs: &str, signature: Option<&str>) -> String {
        let signature = signature.map(str::to_owned);
        ModelCallId::new(&CallId::from("01"), theirs.to_owned(), signature).stored()
    }

    #[test]
    fn the_signatures_of_gemini_survive_the_journal() {
        let call = call(&stored("call_123456", Some("s")));
        let sent = ModelCallId::of(&call, Provider::Gemini);
        assert_eq!(sent.id, "call_123456");
        assert_eq!(sent.signatures, Some(vec!["s".to_owned()]));
        assert_eq!(ModelCallId::of(&call, Provider::Anthropic).signatures, None);
    }

    #[test]
    fn an_id_that_another_provider_would_reject_is_replaced_by_ours() {
        let sent = |id| ModelCallId::of(&call(id), Provider::Anthropic).id;
        assert_eq!(sent("call#a#0"), "01");
        assert_eq!(sent(""), "01");
        assert_eq!(sent("toolu_Ab-9"), "toolu_Ab-9");
        let of_vllm = format!("chatcmpl-tool-{}", "0".repeat(32));
        assert_eq!(sent(&of_vllm), "01", "it is too long for OpenAI");
        assert_eq!(sent(&"a".repeat(40)), "a".repeat(40));
    }

    #[test]
    fn an_id_that_would_repeat_is_replaced_by_ours() {
        assert_eq!(stored("call_0", None), "01");
        assert_eq!(stored("", None), "01");
        assert_eq!(stored("call_Abc12", None), "call_Abc12");
    }
}
