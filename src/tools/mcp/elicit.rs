//! Elicitations of a server: its fields, one at a time, with buttons if there are options.
//!
//! All text is the server's and shown as such. Requests for secrets are declined without asking, as
//! the protocol forbids them, and the person is told so. A URL is shown, and never opened from here.

use channels::text::neutralise;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use crate::{
    agent::argument_check,
    journal::ids::CallId,
    texts::{AutoDecline, ElicitationText, ElicitationTexts},
    tools::contract::elicit::{ElicitationAnswer, ElicitationPrompt, Elicitor},
};

/// If there are more options, the answer is typed.
const MAX_BUTTONS: usize = 10;
const BUTTON_CHARS: usize = 40;
const MAX_FIELDS: usize = 10;
/// The maximum number of attempts after an invalid answer.
const TRIES: usize = 3;
/// The maximum number of options.
const MAX_CHOICES: usize = 100;
/// What no server may ask for, in the supported languages.
const SECRETS: [&str; 12] = [
    "password",
    "passwort",
    "kennwort",
    "passphrase",
    "passcode",
    "apikey",
    "api key",
    "credential",
    "contraseña",
    "密码",
    "口令",
    "密钥",
];
/// The same, as words of a field's name.
const SECRET_WORDS: [&str; 6] = ["secret", "token", "pin", "cvv", "cvc", "clave"];

/// The server that asks, its call, and the people who can answer.
pub(super) struct ElicitationSource<'a> {
    pub server: &'a str,
    pub call: &'a CallId,
    pub people: &'a Elicitor,
}

/// The person's answers, and what the model is told about them.
pub(super) async fn put(
    source: &ElicitationSource<'_>,
    request: &ElicitRequestParams,
) -> (ElicitResult, Option<String>) {
    let (message, answer) = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            (message.clone(), source.form(message, &schema).await)
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            (format!("{message} ({url})"), source.address(message, url).await)
        }
        _ => ("(a question of an unknown kind)".to_owned(), Err(AutoDecline::Unknown.into())),
    };
    let action = match answer {
        Ok(content) => {
            let accepted = ElicitResult::new(ElicitationAction::Accept);
            return (content.into_iter().fold(accepted, ElicitResult::with_content), None);
        }
        Err(NoAnswer::Declined) => ElicitationAction::Decline,
        Err(NoAnswer::Nobody) => ElicitationAction::Cancel,
        Err(NoAnswer::Unasked(why)) => {
            let words = source.people.language.words();
            source.people.notify(source.call, words.auto_declined(source.server, why)).await;
            ElicitationAction::Decline
        }
    };
    (ElicitResult::new(action), Some(message))
}

/// The answer, or why there is none.
type Answered<T> = Result<T, NoAnswer>;

#[derive(Debug)]
enum NoAnswer {
    /// By the person.
    Declined,
    /// Nobody answered, or the answers were not valid.
    Nobody,
    /// Declined on behalf of the person.
    Unasked(AutoDecline),
}

impl From<AutoDecline> for NoAnswer {
    fn from(why: AutoDecline) -> Self {
        Self::Unasked(why)
    }
}

impl ElicitationSource<'_> {
    fn words(&self) -> &'static ElicitationTexts {
        &self.people.language.words().elicitation
    }

    async fn form(&self, message: &str, schema: &Value) -> Answered<Option<Value>> {
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        if properties.iter().any(|(name, field)| is_secret(name, field)) {
            return Err(AutoDecline::Secret.into());
        }
        let required = |name: &String| {
            schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
        };
        let fields = properties.iter();
        let mut fields: Vec<_> =
            fields.map(|(name, schema)| Field::of(name, schema, required(name))).collect();
        let mut omitted = Vec::new();
        if fields.len() > MAX_FIELDS {
            let optional = fields.extract_if(.., |field| !field.required);
            omitted = optional.map(|field| field.asked().field).collect();
        }
        let too_long = |field: &Field<'_>| field.choices.len() > MAX_CHOICES;
        if fields.len() > MAX_FIELDS || fields.iter().any(too_long) {
            return Err(AutoDecline::TooMuch.into());
        }
        self.fields(
            ElicitationText { message: message.to_owned(), omitted, ..ElicitationText::default() },
            fields,
        )
        .await
    }

    /// Asks for one field after the other. The first question names those that are omitted.
    async fn fields(
        &self,
        form: ElicitationText,
        fields: Vec<Field<'_>>,
    ) -> Answered<Option<Value>> {
        let mut content = Map::new();
        if fields.is_empty() {
            self.ask(form, vec![self.words().confirm.to_owned()], false).await?;
            return Ok(Some(Value::Object(content)));
        }
        let ElicitationText { message, mut omitted, .. } = form;
        for field in fields {
            let omitted = std::mem::take(&mut omitted);
            let asked = ElicitationText { message: message.clone(), omitted, ..field.asked() };
            if let Some(value) = self.field(&field, asked).await? {
                content.insert(field.name.to_owned(), value);
            }
        }
        Ok(Some(Value::Object(content)))
    }

    async fn address(&self, message: &str, url: &str) -> Answered<Option<Value>> {
        let web =
            url.parse().is_ok_and(|url: reqwest::Url| matches!(url.scheme(), "https" | "http"));
        if !web {
            return Err(AutoDecline::Address.into());
        }
        let address = Some(neutralise(url).replace(['`', '\n'], ""));
        let asked =
            ElicitationText { message: message.to_owned(), address, ..ElicitationText::default() };
        self.ask(asked, vec![self.words().opened_url.to_owned()], false).await?;
        Ok(None)
    }

    /// `None` if the field was skipped and has no default.
    async fn field(
        &self,
        field: &Field<'_>,
        mut asked: ElicitationText,
    ) -> Answered<Option<Value>> {
        let words = self.words();
        let mut options = field.labels(words);
        let typed = options.is_empty();
        if !field.required {
            options.push(words.skip.to_owned());
        }
        for _ in 0..TRIES {
            let given = self.ask(asked.clone(), options.clone(), typed).await?;
            if !field.required && given.to_lowercase() == words.skip.to_lowercase() {
                return Ok(field.schema.get("default").cloned());
            }
            match field.read(&given, words) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => asked.invalid_answer = Some(why),
            }
        }
        Err(NoAnswer::Nobody)
    }

    async fn ask(
        &self,
        asked: ElicitationText,
        options: Vec<String>,
        typed: bool,
    ) -> Answered<String> {
        let prompt = ElicitationPrompt { server: self.server.to_owned(), asked, options, typed };
        match self.people.ask(self.call, prompt).await {
            ElicitationAnswer::Given(text) => Ok(text),
            ElicitationAnswer::Declined => Err(NoAnswer::Declined),
            ElicitationAnswer::Nobody => Err(NoAnswer::Nobody),
        }
    }
}

fn is_secret(name: &str, field: &Value) -> bool {
    let text = |key: &str| field[key].as_str().unwrap_or_default();
    let named = [name, text("title")].map(in_words);
    let descriptions = named.iter().cloned().chain([in_words(text("description"))]);
    descriptions
        .into_iter()
        .any(|descriptions| SECRETS.iter().any(|secret| descriptions.contains(secret)))
        || named.iter().any(|n| n.split(' ').any(|word| SECRET_WORDS.contains(&word)))
}

/// `API_key`, `apiKey` → "api key".
fn in_words(name: &str) -> String {
    let mut words = String::new();
    let mut before = ' ';
    for letter in name.chars() {
        if before.is_lowercase() && letter.is_uppercase() {
            words.push(' ');
        }
        words.extend(if letter.is_alphanumeric() { letter } else { ' ' }.to_lowercase());
        before = letter;
    }
    words
}

/// A field of the protocol's schema.
struct Field<'s> {
    name: &'s str,
    schema: &'s Value,
    required: bool,
    /// The options: labels and values.
    choices: Vec<(String, Value)>,
}

impl<'s> Field<'s> {
    fn of(name: &'s str, schema: &'s Value, required: bool) -> Self {
        let several = schema["type"] == "array";
        let choices = choices(if several { &schema["items"] } else { schema });
        Self { name, schema, required, choices }
    }

    fn is(&self, kind: &str) -> bool {
        self.schema["type"] == kind
    }

    /// The labels of the buttons; empty if the answer is typed.
    fn labels(&self, words: &ElicitationTexts) -> Vec<String> {
        if self.is("boolean") {
            return vec![words.yes.to_owned(), words.no.to_owned()];
        }
        if self.is_listed() {
            return Vec::new();
        }
        self.choices.iter().map(|(label, _)| label.clone()).collect()
    }

    /// Whether there are too many options for buttons, or too long ones.
    fn is_listed(&self) -> bool {
        let long = |(label, _): &(String, Value)| label.chars().count() > BUTTON_CHARS;
        self.is("array") || self.choices.len() > MAX_BUTTONS || self.choices.iter().any(long)
    }

    fn asked(&self) -> ElicitationText {
        let text = |key: &str| self.schema[key].as_str().unwrap_or_default().to_owned();
        let title = Some(text("title")).filter(|title| !title.is_empty());
        let listed = self.choices.iter().filter(|_| self.is_listed());
        let listed = listed.map(|(label, _)| label.clone());
        let default_value = self.schema.get("default").map(|usual| match usual {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        ElicitationText {
            field: title.unwrap_or_else(|| self.name.to_owned()),
            description: text("description"),
            listed: listed.collect(),
            several: self.is("array"),
            default_value,
            ..ElicitationText::default()
        }
    }

    /// Converts the answer to a value, or says what is wrong with it.
    fn read(&self, text: &str, words: &ElicitationTexts) -> Result<Value, String> {
        let text = text.trim();
        let value = if self.is("boolean") {
            Value::Bool(text.to_lowercase() == words.yes.to_lowercase())
        } else if self.is("array") {
            let chosen = text.split(',').map(|one| self.chosen(one.trim()));
            Value::Array(chosen.collect::<Result<_, _>>()?)
        } else if !self.choices.is_empty() {
            self.chosen(text)?
        } else if self.is("integer") {
            text.parse::<i64>().map_err(|_| text.to_owned())?.into()
        } else if self.is("number") {
            decimal(text).ok_or_else(|| text.to_owned())?.into()
        } else {
            Value::from(text)
        };
        let options = jsonschema::options().offline().should_validate_formats(true);
        match options.build(self.schema) {
            Ok(schema) => argument_check::fits(&schema, &value).map(|()| value),
            Err(_) => Ok(value),
        }
    }

    fn chosen(&self, text: &str) -> Result<Value, String> {
        let wanted = text.to_lowercase();
        let labelled = self.choices.iter().find(|(label, _)| label.to_lowercase() == wanted);
        let numbered = || self.choices.get(text.parse::<usize>().ok()?.checked_sub(1)?);
        let found = labelled.or_else(numbered).map(|(_, value)| value.clone());
        found.ok_or_else(|| text.to_owned())
    }
}

/// With a point or a comma. "1,000" is ambiguous and therefore invalid.
fn decimal(text: &str) -> Option<f64> {
    if text.rsplit_once(',').is_some_and(|(_, behind)| behind.len() == 3) {
        return None;
    }
    text.replace(',', ".").parse().ok()
}

/// A label that can be shown and typed.
fn label(text: &str) -> String {
    neutralise(text).replace('`', "\u{2019}")
}

/// `enum`, with or without names, or constants with titles.
fn choices(schema: &Value) -> Vec<(String, Value)> {
    let titled = ["oneOf", "anyOf"].into_iter().find_map(|key| schema[key].as_array());
    if let Some(titled) = titled {
        let one = |one: &Value| {
            let title = one["title"].as_str().or(one["const"].as_str())?;
            Some((label(title), one["const"].clone()))
        };
        return titled.iter().filter_map(one).collect();
    }
    let values = schema["enum"].as_array().into_iter().flatten();
    let names = schema["enumNames"].as_array();
    let one = |(at, value): (usize, &Value)| {
        let name = names.and_then(|names| names.get(at)?.as_str());
        Some((label(name.or(value.as_str())?), value.clone()))
    };
    values.enumerate().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{texts::Language, tools::contract::elicit::ElicitationRequest};
    use serde_json::json;
    use tokio::sync::mpsc;

    /// What a server that asks for these fields gets, if a person gives these answers. An answer
    /// to a notice is that it was read.
    async fn asks(schema: Value, answers: &[&str]) -> (ElicitResult, Vec<ElicitationPrompt>) {
        let (requests, mut received) = mpsc::unbounded_channel();
        let people = Elicitor::reached_by(requests, Language::English);
        let call = CallId::from("c");
        let request: ElicitRequestParams = serde_json::from_value(schema).expect("a request");
        let person = async {
            let mut asked = Vec::new();
            for answer in answers {
                let elicitation = match received.recv().await.expect("a question") {
                    ElicitationRequest::Prompt(elicitation) => elicitation,
                    ElicitationRequest::Notice(notice) => {
                        assert!(notice.markdown.contains(answer), "{}", notice.markdown);
                        notice.recorded.send(()).expect("somebody waits");
                        continue;
                    }
                };
                let answer = match *answer {
                    "declined" => ElicitationAnswer::Declined,
                    text => ElicitationAnswer::Given(text.to_owned()),
                };
                elicitation.answer.send(answer).expect("somebody waits");
                asked.push(elicitation.prompt);
            }
            asked
        };
        let source = ElicitationSource { server: "s", call: &call, people: &people };
        let ((result, _), asked) = tokio::join!(put(&source, &request), person);
        (result, asked)
    }

    fn form(properties: Value, required: &[&str]) -> Value {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        json!({ "mode": "form", "message": "Tell me", "requestedSchema": schema })
    }

    /// Every kind of field of the protocol is asked for, and returned with its type.
    #[tokio::test]
    async fn fields_are_asked_in_turn_and_come_as_their_types() {
        let colours = json!({ "type": "string", "oneOf": [
            { "const": "r", "title": "Red" }, { "const": "g", "title": "Green" },
        ] });
        let sizes =
            json!({ "type": "array", "items": { "type": "string", "enum": ["S", "M", "L"] } });
        let fields = json!({
            "a_sure": { "type": "boolean" }, "b_colour": colours, "c_sizes": sizes,
            "d_count": { "type": "integer", "minimum": 1 }, "e_weight": { "type": "number" },
            "f_mail": { "type": "string", "format": "email" },
            "g_note": { "type": "string", "default": "none" },
        });
        let required = ["a_sure", "b_colour", "c_sizes", "d_count", "e_weight", "f_mail"];
        let answers = [
            "yes",
            "green",
            "1, L",
            "0",
            "7",
            "1,000",
            "1,5",
            "not one",
            "ann@example.org",
            "Skip",
        ];
        let (result, asked) = asks(form(fields, &required), &answers).await;
        assert_eq!(result.action, ElicitationAction::Accept);
        let given = json!({
            "a_sure": true, "b_colour": "g", "c_sizes": ["S", "L"], "d_count": 7, "e_weight": 1.5,
            "f_mail": "ann@example.org", "g_note": "none",
        });
        assert_eq!(result.content, Some(given));
        assert_eq!((asked[0].options.len(), asked[0].typed), (2, false));
        assert_eq!(asked[1].options, ["Red", "Green"]);
        assert!(asked[2].typed && asked[2].asked.several && asked[2].asked.listed.len() == 3);
        assert!(asked[3].asked.invalid_answer.is_none() && asked[4].asked.invalid_answer.is_some());
        assert!(asked[6].asked.invalid_answer.is_some(), "a thousand, or one?");
        assert_eq!(asked[9].options, ["Skip"]);
    }

    /// Of a form with too many fields, the required ones are asked for, and the person learns which
    /// ones are not. If there are too many of those as well, the form is declined.
    #[tokio::test]
    async fn a_long_form_is_reduced_to_its_required_fields() {
        let fields: Map<String, Value> = (0..12)
            .map(|n| {
                (format!("f{n:02}"), json!({ "type": "string", "title": format!("Field {n}") }))
            })
            .collect();
        let (result, asked) =
            asks(form(fields.clone().into(), &["f03", "f07"]), &["three", "seven"]).await;
        assert_eq!(result.content, Some(json!({ "f03": "three", "f07": "seven" })));
        assert_eq!(asked[0].asked.omitted.len(), 10);
        assert_eq!(asked[0].asked.omitted[..2], ["Field 0", "Field 1"]);
        assert!(asked[1].asked.omitted.is_empty(), "it was said");
        let (result, asked) = asks(form(fields.clone().into(), &[]), &["Confirm"]).await;
        assert_eq!((result.content, asked[0].asked.omitted.len()), (Some(json!({})), 12));
        let all: Vec<&str> = fields.keys().map(String::as_str).collect();
        let (result, _) = asks(form(fields.clone().into(), &all), &["too many fields"]).await;
        assert_eq!(result.action, ElicitationAction::Decline);
    }

    /// Declining one field declines the whole elicitation, and nothing is sent to the server.
    #[tokio::test]
    async fn declining_one_field_declines_the_elicitation() {
        let fields = json!({ "a": { "type": "string" }, "b": { "type": "string" } });
        let (result, _) = asks(form(fields, &["a", "b"]), &["one", "declined"]).await;
        assert_eq!((result.action, result.content), (ElicitationAction::Decline, None));
        let request = serde_json::from_value(form(json!({}), &[])).expect("a request");
        let people = Elicitor::default();
        let nobody = ElicitationSource { server: "s", call: &"c".into(), people: &people };
        let (result, descriptions) = put(&nobody, &request).await;
        assert_eq!(result.action, ElicitationAction::Cancel);
        assert_eq!(descriptions.as_deref(), Some("Tell me"));
    }

    /// Requests for secrets, or for invalid URLs, are declined without asking.
    #[tokio::test]
    async fn secrets_and_strange_addresses_are_declined_unasked() {
        let about = |name: &str, what: &str| {
            form(json!({ name: { "type": "string", "description": what } }), &["x"])
        };
        for (name, what) in [
            ("password", ""),
            ("API_key", ""),
            ("apiKey", ""),
            ("your_Token", ""),
            ("PIN", ""),
            ("contraseña", ""),
            ("a", "您的密码"),
        ] {
            let (result, _) = asks(about(name, what), &["another secret"]).await;
            assert_eq!(result.action, ElicitationAction::Decline, "{name}");
        }
        for name in ["max_tokens", "secretary", "pinned"] {
            let (result, _) = asks(about(name, ""), &["one"]).await;
            assert_eq!(result.action, ElicitationAction::Accept, "{name}");
        }
        let many: Vec<_> = (0..1_000).map(|n| n.to_string()).collect();
        let (result, _) =
            asks(form(json!({ "a": { "type": "string", "enum": many } }), &[]), &["too many"])
                .await;
        assert_eq!(result.action, ElicitationAction::Decline, "nobody reads a thousand");
        let page = |url: &str| json!({ "mode": "url", "message": "Sign in", "url": url, "elicitationId": "1" });
        let (result, _) = asks(page("javascript:alert(1)"), &["isn't a web address"]).await;
        assert_eq!(result.action, ElicitationAction::Decline);
        let (result, asked) = asks(page("https://example.org/a"), &["I'll open it"]).await;
        assert_eq!((result.action, result.content), (ElicitationAction::Accept, None));
        assert_eq!(asked[0].asked.address.as_deref(), Some("https://example.org/a"));
    }
}
