//! Validation of requests, with the platform's error messages.

use std::collections::HashSet;

use serde_json::{Value, json};

/// A refusal: status, Discord's own code, text, and what is wrong with which field.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub status: u16,
    pub code: u64,
    pub message: String,
    pub errors: Value,
}

pub(super) fn refusal(status: u16, code: u64, message: &str) -> Refusal {
    Refusal { status, code, message: message.to_owned(), errors: Value::Null }
}

/// 50035, which names the field.
fn invalid(field: &str, code: &str, message: &str) -> Refusal {
    let errors = json!({ field: { "_errors": [{ "code": code, "message": message }] } });
    Refusal { errors, ..refusal(400, 50035, "Invalid Form Body") }
}

const FIELDS: [&str; 17] = [
    "content",
    "nonce",
    "enforce_nonce",
    "tts",
    "embeds",
    "embed",
    "allowed_mentions",
    "message_reference",
    "components",
    "sticker_ids",
    "attachments",
    "flags",
    "poll",
    "username",
    "avatar_url",
    "thread_name",
    "applied_tags",
];
const TEXT: usize = 2000;
const NONCE: usize = 25;
const FILES: usize = 10;
/// No previews, only for the presser, without a sound.
const FLAGS: u64 = 1 << 2 | 1 << 6 | 1 << 12;

/// A file of a form: its number, name and size.
pub(super) type Uploaded<'a> = (u64, &'a str, usize);

/// A message that may be sent or edited, with files up to this size in bytes.
pub(super) fn message(body: &Value, files: &[Uploaded<'_>], limit: usize) -> Result<(), Refusal> {
    let fields = body
        .as_object()
        .ok_or_else(|| refusal(400, 50109, "The request body contains invalid JSON."))?;
    if let Some(odd) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(invalid(odd, "UNKNOWN_FIELD", "This field is not known"));
    }
    content(&body["content"])?;
    nonce(&body["nonce"])?;
    flags(&body["flags"])?;
    mentions(&body["allowed_mentions"])?;
    components(&body["components"])?;
    if files.iter().any(|(_, _, size)| *size > limit) {
        return Err(refusal(413, 40005, "Request entity too large"));
    }
    attachments(&body["attachments"], files)
}

/// Whether there is anything to show.
pub(super) fn not_empty(body: &Value, files: usize) -> Result<(), Refusal> {
    let has_text = body["content"].as_str().is_some_and(|text| !text.trim().is_empty());
    let has_more = ["embeds", "sticker_ids", "components"]
        .iter()
        .any(|field| body[*field].as_array().is_some_and(|list| !list.is_empty()));
    if has_text || has_more || files > 0 {
        return Ok(());
    }
    Err(refusal(400, 50006, "Cannot send an empty message"))
}

fn content(content: &Value) -> Result<(), Refusal> {
    match content {
        Value::Null => Ok(()),
        Value::String(text) if text.chars().count() <= TEXT => Ok(()),
        Value::String(_) => {
            Err(invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length."))
        }
        _ => Err(invalid("content", "STRING_TYPE_CONVERT", "Could not interpret as string.")),
    }
}

fn nonce(nonce: &Value) -> Result<(), Refusal> {
    match nonce {
        Value::Null | Value::Number(_) => Ok(()),
        Value::String(text) if text.chars().count() <= NONCE => Ok(()),
        _ => Err(invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")),
    }
}

fn flags(flags: &Value) -> Result<(), Refusal> {
    match flags.as_u64() {
        None if flags.is_null() => Ok(()),
        Some(bits) if bits & !FLAGS == 0 => Ok(()),
        _ => Err(invalid("flags", "INVALID_BITWISE_VALUE", "Invalid flags.")),
    }
}

fn mentions(allowed: &Value) -> Result<(), Refusal> {
    let parse = allowed["parse"].as_array().into_iter().flatten();
    for kind in parse {
        if !matches!(kind.as_str(), Some("users" | "roles" | "everyone")) {
            return Err(invalid(
                "allowed_mentions",
                "BASE_TYPE_CHOICES",
                "Value must be one of {'users', 'roles', 'everyone'}.",
            ));
        }
    }
    Ok(())
}

fn components(components: &Value) -> Result<(), Refusal> {
    let wrong = |code: &str, text: &str| invalid("components", code, text);
    let rows = components.as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.len() > 5 {
        return Err(wrong("BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length."));
    }
    let mut ids = HashSet::new();
    for row in rows {
        let buttons = row["components"].as_array().map(Vec::as_slice).unwrap_or_default();
        if row["type"] != 1 || !(1..=5).contains(&buttons.len()) {
            return Err(wrong("BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length."));
        }
        for button in buttons {
            let length =
                |field: &str| button[field].as_str().map_or(0, |text| text.chars().count());
            if button["type"] != 2 || !matches!(button["style"].as_u64(), Some(1..=4)) {
                return Err(wrong(
                    "UNION_TYPE_CHOICES",
                    "Value of field \"type\" must be one of (2,).",
                ));
            }
            if !(1..=100).contains(&length("custom_id")) || !(1..=80).contains(&length("label")) {
                return Err(wrong("BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."));
            }
            if !ids.insert(button["custom_id"].as_str()) {
                return Err(wrong(
                    "COMPONENT_CUSTOM_ID_DUPLICATED",
                    "Component custom id cannot be duplicated",
                ));
            }
        }
    }
    Ok(())
}

fn attachments(listed: &Value, files: &[Uploaded<'_>]) -> Result<(), Refusal> {
    if files.len() > FILES {
        return Err(refusal(400, 30015, "Maximum number of attachments in a message reached (10)"));
    }
    for attachment in listed.as_array().into_iter().flatten() {
        // A snowflake: a string, of which the platform also takes a number.
        let id = &attachment["id"];
        let id = id.as_u64().or_else(|| id.as_str()?.parse().ok());
        let known = files.iter().any(|(number, _, _)| Some(*number) == id);
        // An attachment that stays is named by its own id.
        if !known && id.is_none_or(|id| id < 1000) {
            return Err(invalid(
                "attachments",
                "ATTACHMENT_NOT_FOUND",
                "There is no such file in the form.",
            ));
        }
    }
    Ok(())
}

fn length(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
}

/// A window with fields for text.
pub(super) fn window(data: &Value) -> Result<(), Refusal> {
    let bad = |field: &str| invalid(field, "BASE_TYPE_BAD_LENGTH", "Must have another length.");
    if !(1..=100).contains(&length(&data["custom_id"])) {
        return Err(bad("custom_id"));
    }
    if !(1..=45).contains(&length(&data["title"])) {
        return Err(bad("title"));
    }
    let rows = data["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_field = |row: &Value| {
        let field = &row["components"][0];
        row["type"] == 1
            && row["components"].as_array().is_some_and(|fields| fields.len() == 1)
            && field["type"] == 4
            && matches!(field["style"].as_u64(), Some(1 | 2))
            && (1..=100).contains(&length(&field["custom_id"]))
            && (1..=45).contains(&length(&field["label"]))
            && field["max_length"].as_u64().is_none_or(|limit| (1..=4000).contains(&limit))
    };
    let fits = (1..=5).contains(&rows.len()) && rows.iter().all(is_field);
    fits.then_some(()).ok_or_else(|| bad("components"))
}

/// Some of the languages that the platform speaks.
const LOCALES: [&str; 7] = ["de", "en-GB", "en-US", "es-419", "es-ES", "fr", "zh-CN"];

/// The slash commands of an application.
pub(super) fn commands(all: &Value) -> Result<(), Refusal> {
    let all = all.as_array().ok_or_else(|| refusal(400, 50035, "Invalid Form Body"))?;
    let names: HashSet<_> = all.iter().map(|command| command["name"].as_str()).collect();
    if all.len() > 100 || names.len() != all.len() {
        return Err(invalid("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Names must differ."));
    }
    for command in all {
        named(command)?;
        for option in command["options"].as_array().into_iter().flatten() {
            named(option)?;
        }
    }
    Ok(())
}

fn named(command: &Value) -> Result<(), Refusal> {
    let bad = |field: &str, text: &str| Err(invalid(field, "STRING_TYPE_REGEX", text));
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let name = command["name"].as_str().unwrap_or_default();
    if !(1..=32).contains(&name.len()) || !name.chars().all(lower) {
        return bad("name", "String value did not match validation regex.");
    }
    let others = command["description_localizations"].as_object();
    let mut said = others.into_iter().flatten().map(|(_, text)| text);
    let fits = |text: &Value| (1..=100).contains(&length(text));
    if !fits(&command["description"]) || !said.all(fits) {
        return bad("description", "Must be between 1 and 100 in length.");
    }
    if others.into_iter().flatten().any(|(locale, _)| !LOCALES.contains(&locale.as_str())) {
        return bad("description_localizations", "Locale is not one of the platform's.");
    }
    Ok(())
}
