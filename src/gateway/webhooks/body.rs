//! Parses the body of an incoming webhook for its template: JSON, or a form.

use channels::WebhookRequest;
use serde_json::{Map, Value};

/// Forms with more fields are passed on as text.
const MAX_FIELDS: usize = 1_000;
/// The field in which GitHub and Slack send JSON.
const PAYLOAD: &str = "payload";

/// What a template sees as `payload`: parsed JSON, the fields of a form, or else the text.
pub(super) fn payload(request: &WebhookRequest) -> Value {
    let text = String::from_utf8_lossy(&request.body);
    if let Ok(json) = serde_json::from_str(&text) {
        return json;
    }
    let fields = is_form(request).then(|| fields(&request.body)).flatten();
    fields.unwrap_or_else(|| Value::from(&*text))
}

/// Media types are case-insensitive and may have parameters (RFC 9110, section 8.3.1).
fn is_form(request: &WebhookRequest) -> bool {
    let media_type = request.header("content-type").and_then(|kind| kind.split(';').next());
    media_type
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"))
}

/// The fields as an object; several fields with the same name form an array. A form that is only a
/// JSON object in the field `payload` is that object.
fn fields(body: &[u8]) -> Option<Value> {
    let mut fields = Map::new();
    for (count, (name, value)) in url::form_urlencoded::parse(body).enumerate() {
        if count == MAX_FIELDS {
            return None;
        }
        let value = Value::from(value.into_owned());
        match fields.get_mut(&*name) {
            None => {
                fields.insert(name.into_owned(), value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    let nested = fields.get(PAYLOAD).and_then(Value::as_str).and_then(object);
    match nested {
        Some(nested) if fields.len() == 1 => Some(nested),
        Some(nested) => {
            fields.insert(PAYLOAD.into(), nested);
            Some(fields.into())
        }
        None => Some(fields.into()),
    }
}

fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(kind: &str, body: &str) -> Value {
        let headers = vec![("content-type".into(), kind.into())];
        payload(&WebhookRequest { headers, body: body.to_owned().into() })
    }

    #[test]
    fn forms_are_parsed_into_fields() {
        const FORM: &str = "application/x-www-form-urlencoded";
        // GitHub with the content type form, and Slack's interactive messages.
        let nested = "payload=%7B%22action%22%3A%22opened%22%2C%22note%22%3A%22a+b%22%7D";
        assert_eq!(read(FORM, nested), json!({ "action": "opened", "note": "a b" }));
        // Slack's slash commands.
        let command = "token=t&command=%2Fdeploy&text=to+production&channel_name=ops";
        assert_eq!(
            read("Application/X-WWW-Form-URLEncoded; charset=utf-8", command),
            json!({ "token": "t", "command": "/deploy", "text": "to production", "channel_name": "ops" })
        );
        assert_eq!(
            read(FORM, "a=1&a=2&b=&a=3&c"),
            json!({ "a": ["1", "2", "3"], "b": "", "c": "" })
        );
        let beside = json!({ "payload": { "x": 1 }, "y": "2" });
        assert_eq!(read(FORM, "payload=%7B%22x%22%3A1%7D&y=2"), beside);
        assert_eq!(read(FORM, "payload=plain"), json!({ "payload": "plain" }));
        assert_eq!(read(FORM, r#"{"json":true}"#), json!({ "json": true }));
        assert_eq!(read("text/plain", "a=1"), json!("a=1"), "only what says that it is a form");
        let many = "a=1&".repeat(MAX_FIELDS + 1);
        assert_eq!(read(FORM, &many), json!(many));
    }
}
