//! Validation of requests by the platform's documentation: fields, types, lengths, entities,
//! keyboards. Stricter than the platform, which ignores some mistakes.

use serde_json::{Map, Value, json};

/// A refusal in the platform's words.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) parameters: Value,
}

impl Refusal {
    pub(super) fn bad(text: &str) -> Self {
        Self { code: 400, description: format!("Bad Request: {text}"), parameters: Value::Null }
    }

    pub(super) fn conflict(text: &str) -> Self {
        Self { code: 409, description: format!("Conflict: {text}"), parameters: Value::Null }
    }
}

/// Name and fields of each method: `name:type`, with `!` where it is required.
const METHODS: [(&str, &str); 23] = [
    ("getMe", ""),
    ("getUpdates", "offset:int limit:int timeout:int allowed_updates:json"),
    (
        "setWebhook",
        "url!:str ip_address:str max_connections:int allowed_updates:json \
         drop_pending_updates:bool secret_token:str",
    ),
    ("deleteWebhook", "drop_pending_updates:bool"),
    ("getWebhookInfo", ""),
    (
        "sendMessage",
        "chat_id!:int text!:str message_thread_id:int parse_mode:str entities:json \
         link_preview_options:json disable_notification:bool protect_content:bool \
         allow_paid_broadcast:bool reply_parameters:json reply_markup:json",
    ),
    (
        "editMessageText",
        "chat_id!:int message_id!:int text!:str parse_mode:str entities:json \
         link_preview_options:json reply_markup:json",
    ),
    ("editMessageReplyMarkup", "chat_id!:int message_id!:int reply_markup:json"),
    ("editMessageMedia", "chat_id!:int message_id!:int media!:json reply_markup:json"),
    (
        "sendDocument",
        "chat_id!:int document!:str caption:str parse_mode:str caption_entities:json \
         message_thread_id:int disable_content_type_detection:bool disable_notification:bool \
         protect_content:bool allow_paid_broadcast:bool reply_parameters:json reply_markup:json",
    ),
    (
        "sendPhoto",
        "chat_id!:int photo!:str caption:str parse_mode:str caption_entities:json \
         message_thread_id:int disable_notification:bool protect_content:bool \
         allow_paid_broadcast:bool reply_parameters:json reply_markup:json",
    ),
    (
        "sendVoice",
        "chat_id!:int voice!:str caption:str parse_mode:str caption_entities:json duration:int \
         message_thread_id:int disable_notification:bool protect_content:bool \
         allow_paid_broadcast:bool reply_parameters:json reply_markup:json",
    ),
    (
        "sendMediaGroup",
        "chat_id!:int media!:json message_thread_id:int disable_notification:bool \
         protect_content:bool allow_paid_broadcast:bool reply_parameters:json",
    ),
    ("sendChatAction", "chat_id!:int action!:str message_thread_id:int"),
    (
        "answerCallbackQuery",
        "callback_query_id!:str text:str show_alert:bool url:str cache_time:int",
    ),
    ("setMessageReaction", "chat_id!:int message_id!:int reaction:json is_big:bool"),
    ("getFile", "file_id!:str"),
    (
        "sendMessageDraft",
        "chat_id!:int draft_id!:int text!:str message_thread_id:int parse_mode:str entities:json",
    ),
    ("setMyCommands", "commands!:json scope:json language_code:str"),
    ("getMyCommands", "scope:json language_code:str"),
    ("getChatMember", "chat_id!:int user_id!:int"),
    ("deleteMessage", "chat_id!:int message_id!:int"),
    ("getChat", "chat_id!:int"),
];

/// The documentation's spelling of a method, which the wire may write in any case.
pub(super) fn method(name: &str) -> Option<&'static str> {
    METHODS.iter().map(|(method, _)| *method).find(|method| method.eq_ignore_ascii_case(name))
}

/// The fields in their types. Forms and queries carry everything as text.
pub(super) fn typed(method: &str, fields: Map<String, Value>) -> Result<Value, Refusal> {
    let spec = METHODS.iter().find(|(name, _)| *name == method).map_or("", |(_, spec)| *spec);
    let known: Vec<(&str, &str)> =
        spec.split_whitespace().filter_map(|f| f.split_once(':')).collect();
    let mut typed = Map::new();
    for (name, value) in fields {
        let kind = known.iter().find(|(field, _)| field.trim_end_matches('!') == name);
        let Some((_, kind)) = kind else {
            return Err(Refusal::bad(&format!(
                "this fake does not know the field {name} of {method}"
            )));
        };
        if value.is_null() {
            continue;
        }
        let read = read(kind, value)
            .ok_or_else(|| Refusal::bad(&format!("field \"{name}\" must be of type {kind}")))?;
        typed.insert(name, read);
    }
    for (field, _) in known.iter().filter(|(field, _)| field.ends_with('!')) {
        let field = field.trim_end_matches('!');
        if !typed.contains_key(field) {
            let text = match field {
                "text" => "message text is empty".to_owned(),
                "chat_id" => "chat_id is empty".to_owned(),
                other => format!("parameter \"{other}\" is required"),
            };
            return Err(Refusal::bad(&text));
        }
    }
    Ok(Value::Object(typed))
}

fn read(kind: &str, value: Value) -> Option<Value> {
    match (kind, value) {
        ("int", Value::String(text)) => text.parse::<i64>().ok().map(Value::from),
        ("int", value) => value.as_i64().map(Value::from),
        ("bool", Value::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true.into()),
            "false" | "0" => Some(false.into()),
            _ => None,
        },
        ("bool", value) => value.as_bool().map(Value::from),
        ("json", Value::String(text)) => serde_json::from_str(&text).ok(),
        ("json", value) => (value.is_object() || value.is_array()).then_some(value),
        (_, Value::String(text)) => Some(Value::String(text)),
        _ => None,
    }
}

pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// A text (or caption) with its entities, as the platform keeps it.
pub(super) fn text(fields: &Value, of: Text) -> Result<Value, Refusal> {
    let (name, entities, limit) = match of {
        Text::Message => ("text", "entities", 4096),
        Text::Caption => ("caption", "caption_entities", 1024),
    };
    let raw = fields[name].as_str().unwrap_or_default();
    let (text, mut list) = match fields["parse_mode"].as_str() {
        None => (raw.to_owned(), fields[entities].as_array().cloned().unwrap_or_default()),
        Some("MarkdownV2") => super::markdown::parse(raw)?,
        Some(mode) => return Err(Refusal::bad(&format!("this fake does not parse {mode}"))),
    };
    let text = text.trim().to_owned();
    if text.is_empty() && matches!(of, Text::Message) {
        return Err(Refusal::bad("message text is empty"));
    }
    if units(&text) > limit {
        let what =
            if limit == 4096 { "message is too long" } else { "message caption is too long" };
        return Err(Refusal::bad(what));
    }
    check_entities(&text, &list)?;
    list.sort_by_key(|e| (e["offset"].as_u64(), std::cmp::Reverse(e["length"].as_u64())));
    let list = if list.is_empty() { Value::Null } else { list.into() };
    let text = if text.is_empty() { Value::Null } else { text.into() };
    Ok(json!({ name: text, entities: list }))
}

#[derive(Clone, Copy)]
pub(super) enum Text {
    Message,
    Caption,
}

const KINDS: [&str; 20] = [
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "custom_emoji",
    "date_time",
];

fn check_entities(text: &str, entities: &[Value]) -> Result<(), Refusal> {
    let wrong = |what: &str| Refusal::bad(&format!("can't parse entities: {what}"));
    let wide: Vec<u16> = text.encode_utf16().collect();
    let mut spans = Vec::new();
    for entity in entities {
        let kind = entity["type"].as_str().unwrap_or_default();
        if !KINDS.contains(&kind) {
            return Err(wrong(&format!("unknown type {kind:?}")));
        }
        let (Some(from), Some(length)) = (entity["offset"].as_u64(), entity["length"].as_u64())
        else {
            return Err(wrong("offset and length must be numbers"));
        };
        let (from, to) = (from as usize, (from + length) as usize);
        if length == 0 || to > wide.len() || String::from_utf16(&wide[from..to]).is_err() {
            return Err(Refusal::bad("ENTITY_BOUNDS_INVALID"));
        }
        if kind == "text_link" && !entity["url"].as_str().is_some_and(|url| url.contains(':')) {
            return Err(wrong("a text_link needs a url"));
        }
        spans.push((from, to, kind));
    }
    for (index, (from, to, kind)) in spans.iter().enumerate() {
        for (other_from, other_to, other) in &spans[index + 1..] {
            let apart = to <= other_from || other_to <= from;
            let outer = from <= other_from && other_to <= to;
            let inner = other_from <= from && to <= other_to;
            let closed = |kind: &str| matches!(kind, "code" | "pre");
            let in_code = (outer && closed(kind)) || (inner && closed(other));
            let quotes = *kind == "blockquote" && *other == "blockquote";
            if !apart && (!(outer || inner) || in_code || quotes) {
                return Err(wrong(&format!("{kind} and {other} overlap")));
            }
        }
    }
    Ok(())
}

/// The keyboard as the platform keeps it: none if it is absent or empty.
pub(super) fn keyboard(fields: &Value) -> Result<Value, Refusal> {
    let Some(rows) = fields["reply_markup"]["inline_keyboard"].as_array() else {
        return match &fields["reply_markup"] {
            Value::Null => Ok(Value::Null),
            _ => Err(Refusal::bad("object expected as reply markup")),
        };
    };
    for row in rows {
        let row =
            row.as_array().ok_or_else(|| Refusal::bad("a row must be an array of buttons"))?;
        for button in row {
            check_button(button)?;
        }
    }
    let empty = rows.iter().all(|row| row.as_array().is_none_or(Vec::is_empty));
    Ok(if empty { Value::Null } else { json!({ "inline_keyboard": rows }) })
}

fn check_button(button: &Value) -> Result<(), Refusal> {
    let fields = button.as_object().ok_or_else(|| Refusal::bad("a button must be an object"))?;
    if fields.get("text").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
        return Err(Refusal::bad("can't parse inline keyboard button: field \"text\" is empty"));
    }
    let actions: Vec<&String> = fields.keys().filter(|name| *name != "text").collect();
    if actions.len() != 1 {
        let text = "Text buttons are unallowed in the inline keyboard";
        return Err(Refusal::bad(&format!("can't parse inline keyboard button: {text}")));
    }
    match fields.get("callback_data").map(|data| data.as_str().unwrap_or_default().len()) {
        Some(1..=64) => Ok(()),
        Some(_) => Err(Refusal::bad("BUTTON_DATA_INVALID")),
        None if fields.contains_key("url") => Ok(()),
        None => Err(Refusal::bad("this fake knows buttons with callback_data or url")),
    }
}
