//! Template fields: `{{name}}`, and `{{#rows}}…{{/rows}}` around what is repeated or optional.

use serde_json::{Map, Value};
use std::{collections::BTreeSet, ops::Range};

/// The maximum length of a field's name, in characters.
const NAME_CHARS: usize = 64;

/// A field in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// In bytes of the text.
    pub range: Range<usize>,
    pub kind: FieldKind,
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    Value,
    Begin,
    End,
}

/// The fields of a text, in order. Braces around anything else than a name are text.
pub fn fields(text: &str) -> Vec<Field> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("{{").map(|start| at + start) {
        at = start + 2;
        let Some(end) = text[at..].find("}}").map(|end| at + end) else { break };
        let inner = text[at..end].trim();
        let (kind, name) = match (inner.strip_prefix('#'), inner.strip_prefix('/')) {
            (Some(name), _) => (FieldKind::Begin, name.trim()),
            (_, Some(name)) => (FieldKind::End, name.trim()),
            _ => (FieldKind::Value, inner),
        };
        if is_name(name) {
            found.push(Field { range: start..end + 2, kind, name: name.to_owned() });
            at = end + 2;
        }
    }
    found
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    name.chars().count() <= NAME_CHARS
        && name.chars().all(is_part)
        && name.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The values, from the outermost to the innermost repetition, and which names were used.
#[derive(Debug, Default)]
pub struct Scope<'v> {
    values: Vec<&'v Value>,
    used: BTreeSet<String>,
    unknown: BTreeSet<String>,
}

impl<'v> Scope<'v> {
    pub fn of(values: &'v Value) -> Self {
        Self { values: vec![values], ..Self::default() }
    }

    pub fn enter(&mut self, value: &'v Value) {
        self.values.push(value);
    }

    pub fn leave(&mut self) {
        self.values.pop();
    }

    /// The number of repetitions around this place.
    pub fn depth(&self) -> usize {
        self.values.len().saturating_sub(1)
    }

    /// The value of a name, which may be a path such as `customer.name`. `.` is the item itself.
    pub fn find(&mut self, name: &str) -> Option<&'v Value> {
        let found = self.values.iter().enumerate().rev().find_map(|(depth, values)| {
            let (value, key) = lookup(values, name)?;
            Some((depth, value, key))
        });
        let Some((depth, value, key)) = found else {
            self.unknown.insert(name.to_owned());
            return None;
        };
        if depth == 0 {
            self.used.insert(key);
        }
        Some(value)
    }

    /// Notes the name of a field in a section that is left out.
    pub fn mention(&mut self, name: &str) {
        let found = self.values.first().and_then(|values| lookup(values, name));
        self.used.extend(found.map(|(_, key)| key));
    }

    /// The names that the template has and the values do not.
    pub fn unknown(&self) -> Vec<String> {
        self.unknown.iter().cloned().collect()
    }

    /// The names that the values have and the template does not.
    pub fn unused(&self) -> Vec<String> {
        let all = self.values.first().and_then(|values| values.as_object());
        let names = all.into_iter().flat_map(Map::keys);
        names.filter(|name| !self.used.contains(*name)).cloned().collect()
    }
}

/// The value, and the key of the first step.
fn lookup<'v>(values: &'v Value, name: &str) -> Option<(&'v Value, String)> {
    if let Some(value) = values.get(name) {
        return Some((value, name.to_owned()));
    }
    if name == "item" && !values.is_object() {
        return Some((values, name.to_owned()));
    }
    let (first, rest) = name.split_once('.')?;
    let (value, _) = lookup(values.get(first)?, rest)?;
    Some((value, first.to_owned()))
}

/// A value as text.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.replace("\r\n", "\n"),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The scopes in which a section is repeated: each item of a list, once for an object or a true
/// value, and never for an empty one.
pub fn repetitions(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_names_in_two_braces() {
        let found = fields("a {{ name }} {{#rows}}{{x.y}}{{/rows}} {{ 1 + ( }} {{First name}} {{");
        let names: Vec<_> = found.iter().map(|field| (field.kind, field.name.as_str())).collect();
        assert_eq!(
            names,
            [
                (FieldKind::Value, "name"),
                (FieldKind::Begin, "rows"),
                (FieldKind::Value, "x.y"),
                (FieldKind::End, "rows"),
                (FieldKind::Value, "First name"),
            ]
        );
        assert_eq!(found[0].range, 2..12);
    }

    #[test]
    fn names_are_found_from_the_inside_out() {
        let values = json!({ "a": { "b": 1 }, "c.d": 2, "e": 3, "unused": 4 });
        let item = json!({ "e": 5 });
        let mut scope = Scope::of(&values);
        assert_eq!(scope.find("a.b"), Some(&json!(1)));
        assert_eq!(scope.find("c.d"), Some(&json!(2)));
        scope.enter(&item);
        assert_eq!(scope.find("e"), Some(&json!(5)));
        scope.leave();
        assert_eq!(scope.find("e"), Some(&json!(3)));
        assert_eq!(scope.find("a.x"), None);
        assert_eq!((scope.unknown(), scope.unused()), (vec!["a.x".into()], vec!["unused".into()]));
    }
}
