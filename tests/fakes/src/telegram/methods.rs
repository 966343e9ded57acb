//! What each method does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    rules::{self, Refusal, Text},
    state::{Draft, File, State, Toast, Webhook},
};

/// What `getFile` gives, and what an upload takes.
const DOWNLOAD_BYTES: usize = 20 * 1024 * 1024;
const UPLOAD_BYTES: usize = 50 * 1024 * 1024;
const PHOTO_BYTES: usize = 10 * 1024 * 1024;

/// A request whose fields have their types.
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) fields: Value,
    pub(super) files: BTreeMap<String, File>,
}

impl Request {
    fn number(&self, name: &str) -> i64 {
        self.fields[name].as_i64().unwrap_or_default()
    }

    fn word(&self, name: &str) -> &str {
        self.fields[name].as_str().unwrap_or_default()
    }

    fn chat(&self) -> i64 {
        self.number("chat_id")
    }
}

/// Does what is asked. `getUpdates` is answered by the wire, because it waits.
pub(super) fn answer(state: &mut State, mut request: Request) -> Result<Value, Refusal> {
    match request.method {
        "getMe" => Ok(me()),
        "setWebhook" => set_webhook(state, &request),
        "deleteWebhook" => {
            state.webhook = None;
            if request.fields["drop_pending_updates"] == true {
                state.updates.clear();
            }
            Ok(true.into())
        }
        "getWebhookInfo" => Ok(webhook_info(state)),
        "sendMessage" => send_message(state, &request),
        "editMessageText" => edit_text(state, &request),
        "editMessageReplyMarkup" => edit_keyboard(state, &request),
        "editMessageMedia" => edit_media(state, &mut request),
        "sendDocument" => send_file(state, &mut request, "document"),
        "sendPhoto" => send_file(state, &mut request, "photo"),
        "sendVoice" => send_file(state, &mut request, "voice"),
        "sendMediaGroup" => send_album(state, &mut request),
        "sendChatAction" => chat_action(state, &request),
        "answerCallbackQuery" => answer_press(state, &request),
        "setMessageReaction" => react(state, &request),
        "getFile" => file(state, &request),
        "sendMessageDraft" => send_draft(state, &request),
        "setMyCommands" => set_commands(state, &request),
        "getMyCommands" => {
            let commands = state.commands.get(request.word("language_code")).cloned();
            Ok(commands.unwrap_or_else(|| json!([])))
        }
        "getChatMember" => member(state, &request),
        "deleteMessage" => {
            let removed = state.messages.remove(&(request.chat(), request.number("message_id")));
            removed.map(|_| true.into()).ok_or_else(|| Refusal::bad("message to delete not found"))
        }
        "getChat" => state.writable(request.chat()).map(|_| state.chat_json(request.chat())),
        other => Err(Refusal::bad(&format!("{other} is not answered here"))),
    }
}

fn send_draft(state: &mut State, request: &Request) -> Result<Value, Refusal> {
    if state.writable(request.chat())?.kind != "private" {
        return Err(Refusal::bad("TEXTDRAFT_PEER_INVALID"));
    }
    if request.number("draft_id") == 0 {
        return Err(Refusal::bad("draft_id must be non-zero"));
    }
    let shown = rules::text(&request.fields, Text::Message)?;
    let text = shown["text"].as_str().unwrap_or_default().to_owned();
    state.drafts.push(Draft { chat: request.chat(), id: request.number("draft_id"), text });
    Ok(true.into())
}

fn set_commands(state: &mut State, request: &Request) -> Result<Value, Refusal> {
    let commands = &request.fields["commands"];
    for command in commands.as_array().into_iter().flatten() {
        let name = command["command"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !(1..=32).contains(&name.len()) || !name.chars().all(plain) {
            return Err(Refusal::bad("BOT_COMMAND_INVALID"));
        }
        let about = command["description"].as_str().unwrap_or_default().chars().count();
        if !(1..=256).contains(&about) {
            return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    let language = request.word("language_code");
    if !matches!(language.len(), 0 | 2) {
        return Err(Refusal::bad("invalid language code specified"));
    }
    state.commands.insert(language.to_owned(), commands.clone());
    Ok(true.into())
}

fn member(state: &State, request: &Request) -> Result<Value, Refusal> {
    let chat = state.writable(request.chat())?;
    let id = request.number("user_id");
    let (name, _) = state
        .people
        .iter()
        .find(|(_, person)| **person == id)
        .ok_or_else(|| Refusal::bad("user not found"))?;
    let status = chat.ranks.get(&id).copied().unwrap_or("member");
    let user = json!({ "id": id, "is_bot": false, "first_name": name });
    Ok(json!({ "status": status, "user": user, "is_anonymous": false }))
}

fn me() -> Value {
    let mut me = State::bot();
    for flag in [
        "can_join_groups",
        "can_read_all_group_messages",
        "supports_inline_queries",
        "can_connect_to_business",
        "has_main_web_app",
        "has_topics_enabled",
        "allows_users_to_create_topics",
        "can_manage_bots",
    ] {
        me[flag] = (flag == "can_join_groups").into();
    }
    me
}

fn set_webhook(state: &mut State, request: &Request) -> Result<Value, Refusal> {
    let secret = request.fields["secret_token"].as_str().map(str::to_owned);
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if secret.as_ref().is_some_and(|s| s.is_empty() || s.len() > 256 || !s.chars().all(valid)) {
        return Err(Refusal::bad("secret token contains unallowed characters"));
    }
    if request.fields["drop_pending_updates"] == true {
        state.updates.clear();
    }
    allow(state, &request.fields);
    let url = request.word("url").to_owned();
    state.webhook = (!url.is_empty()).then_some(Webhook { url, secret });
    Ok(true.into())
}

/// The requested kinds stay as last set.
pub(super) fn allow(state: &mut State, fields: &Value) {
    if let Some(kinds) = fields["allowed_updates"].as_array() {
        let kinds: Vec<String> =
            kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        state.allowed = (!kinds.is_empty()).then_some(kinds);
    }
}

fn webhook_info(state: &State) -> Value {
    let url = state.webhook.as_ref().map_or("", |webhook| webhook.url.as_str());
    json!({
        "url": url, "has_custom_certificate": false, "pending_update_count": state.updates.len(),
    })
}

/// What all sending methods share: the place, the topic, the message that is answered.
fn place(state: &State, request: &Request) -> Result<Value, Refusal> {
    let chat = state.writable(request.chat())?;
    let mut fields = json!({ "reply_markup": rules::keyboard(&request.fields)? });
    if let Some(thread) = request.fields["message_thread_id"].as_i64() {
        if !chat.topics.contains(&thread) {
            return Err(Refusal::bad("message thread not found"));
        }
        if chat.closed.contains(&thread) {
            return Err(Refusal::bad("TOPIC_CLOSED"));
        }
        fields["message_thread_id"] = thread.into();
        fields["is_topic_message"] = true.into();
    }
    let reply = &request.fields["reply_parameters"];
    if let Some(id) = reply["message_id"].as_i64() {
        match state.messages.get(&(request.chat(), id)) {
            Some(message) => {
                let mut message = message.clone();
                message.as_object_mut().map(|m| m.remove("reply_to_message"));
                fields["reply_to_message"] = message;
            }
            None if reply["allow_sending_without_reply"] == true => {}
            None => return Err(Refusal::bad("message to be replied not found")),
        }
    }
    Ok(fields)
}

fn send_message(state: &mut State, request: &Request) -> Result<Value, Refusal> {
    let mut fields = place(state, request)?;
    extend(&mut fields, rules::text(&request.fields, Text::Message)?);
    Ok(state.post(request.chat(), State::bot(), fields))
}

/// The bot's own message that is to be edited.
fn own<'a>(state: &'a State, request: &Request) -> Result<&'a Value, Refusal> {
    state.writable(request.chat())?;
    let message = state.messages.get(&(request.chat(), request.number("message_id")));
    let message = message.ok_or_else(|| Refusal::bad("message to edit not found"))?;
    if message["from"]["is_bot"] != true {
        return Err(Refusal::bad("message can't be edited"));
    }
    Ok(message)
}

fn edit(state: &mut State, request: &Request, fields: Value) -> Result<Value, Refusal> {
    let message = own(state, request)?;
    let same =
        fields.as_object().into_iter().flatten().all(|(name, value)| message[name] == *value);
    if same {
        return Err(Refusal::bad(
            "message is not modified: specified new message content and reply markup are exactly \
             the same as a current content and reply markup of the message",
        ));
    }
    Ok(state.edit(request.chat(), request.number("message_id"), fields))
}

fn edit_text(state: &mut State, request: &Request) -> Result<Value, Refusal> {
    if own(state, request)?["text"].is_null() {
        return Err(Refusal::bad("there is no text in the message to edit"));
    }
    let mut fields = rules::text(&request.fields, Text::Message)?;
    fields["reply_markup"] = rules::keyboard(&request.fields)?;
    edit(state, request, fields)
}

fn edit_keyboard(state: &mut State, request: &Request) -> Result<Value, Refusal> {
    let fields = json!({ "reply_markup": rules::keyboard(&request.fields)? });
    edit(state, request, fields)
}

fn edit_media(state: &mut State, request: &mut Request) -> Result<Value, Refusal> {
    own(state, request)?;
    let media = request.fields["media"].clone();
    let kind = media["type"].as_str().unwrap_or_default();
    if !matches!(kind, "document" | "photo") {
        return Err(Refusal::bad("this fake edits documents and photos in"));
    }
    let mut fields = rules::text(&media, Text::Caption)?;
    fields["reply_markup"] = rules::keyboard(&request.fields)?;
    fields["text"] = Value::Null;
    fields["entities"] = Value::Null;
    let file = attached(request, &media)?;
    fields["document"] = Value::Null;
    fields["photo"] = Value::Null;
    fields[kind] = shown(state, kind, file)?;
    edit(state, request, fields)
}

fn send_file(state: &mut State, request: &mut Request, field: &str) -> Result<Value, Refusal> {
    let mut fields = place(state, request)?;
    extend(&mut fields, rules::text(&request.fields, Text::Caption)?);
    let part = request.word(field).strip_prefix("attach://").unwrap_or_default().to_owned();
    let file = uploaded(request, &part)?;
    fields[field] = shown(state, field, file)?;
    Ok(state.post(request.chat(), State::bot(), fields))
}

/// An album: two to ten, here pictures only, each in a message of its own; all of them or none.
fn send_album(state: &mut State, request: &mut Request) -> Result<Value, Refusal> {
    let place = place(state, request)?;
    let media = request.fields["media"].as_array().cloned().unwrap_or_default();
    if !(2..=10).contains(&media.len()) {
        return Err(Refusal::bad("group must include 2-10 items"));
    }
    let album = format!("{}", state.next());
    let mut album_fields = Vec::new();
    for item in &media {
        if item["type"] != "photo" {
            return Err(Refusal::bad("this fake groups photos"));
        }
        let mut fields = place.clone();
        extend(&mut fields, rules::text(item, Text::Caption)?);
        let file = attached(request, item)?;
        fields["photo"] = shown(state, "photo", file)?;
        fields["media_group_id"] = album.clone().into();
        album_fields.push(fields);
    }
    let chat = request.chat();
    let posted = album_fields.into_iter().map(|fields| state.post(chat, State::bot(), fields));
    Ok(posted.collect())
}

/// A file as its message shows it. A picture must be one, and neither large nor thin.
fn shown(state: &mut State, kind: &str, file: File) -> Result<Value, Refusal> {
    if kind == "voice" {
        return voice(state, file);
    }
    if kind != "photo" {
        return Ok(state.keep(file));
    }
    let magic: [&[u8]; 3] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF"];
    if file.bytes.len() > PHOTO_BYTES || !magic.iter().any(|magic| file.bytes.starts_with(magic)) {
        return Err(Refusal::bad("IMAGE_PROCESS_FAILED"));
    }
    let side = |at: usize| {
        file.bytes.get(at..at + 4).map(|s| u32::from_be_bytes(s.try_into().expect("four bytes")))
    };
    let is_png = file.bytes.starts_with(magic[0]);
    if let (true, Some(width), Some(height)) = (is_png, side(16), side(20)) {
        let (long, short) = (width.max(height), width.min(height).max(1));
        if width.saturating_add(height) > 10_000 || long / short > 20 {
            return Err(Refusal::bad("PHOTO_INVALID_DIMENSIONS"));
        }
    }
    let kept = state.keep(file);
    Ok(json!([{
        "file_id": kept["file_id"], "file_unique_id": kept["file_unique_id"],
        "width": 1, "height": 1, "file_size": kept["file_size"],
    }]))
}

/// Opus in Ogg, MP3 or M4A.
fn voice(state: &mut State, file: File) -> Result<Value, Refusal> {
    let head = &file.bytes[..file.bytes.len().min(256)];
    let is_opus = head.starts_with(b"OggS") && head.windows(8).any(|part| part == b"OpusHead");
    if !(is_opus || head.starts_with(b"ID3")) {
        return Err(Refusal::bad("wrong file: a voice note is OGG with Opus"));
    }
    let mut kept = state.keep(file);
    extend(&mut kept, json!({ "duration": 1 }));
    if let Some(fields) = kept.as_object_mut() {
        fields.remove("file_name");
    }
    Ok(kept)
}

/// The part of the form that an `InputMedia` names.
fn attached(request: &mut Request, media: &Value) -> Result<File, Refusal> {
    let part = media["media"].as_str().and_then(|media| media.strip_prefix("attach://"));
    uploaded(request, part.ok_or_else(|| Refusal::bad("wrong file identifier/HTTP URL specified"))?)
}

fn uploaded(request: &mut Request, part: &str) -> Result<File, Refusal> {
    let file = request.files.remove(part).ok_or_else(|| Refusal::bad("file is missing"))?;
    if file.bytes.is_empty() {
        return Err(Refusal::bad("file must be non-empty"));
    }
    if file.bytes.len() > UPLOAD_BYTES {
        let description = "Request Entity Too Large".to_owned();
        return Err(Refusal { code: 413, description, parameters: Value::Null });
    }
    Ok(file)
}

fn chat_action(state: &State, request: &Request) -> Result<Value, Refusal> {
    state.writable(request.chat())?;
    let known = ["typing", "upload_photo", "upload_document", "record_voice", "upload_voice"];
    if !known.contains(&request.word("action")) {
        return Err(Refusal::bad("wrong parameter action in request"));
    }
    Ok(true.into())
}

fn answer_press(state: &mut State, request: &Request) -> Result<Value, Refusal> {
    if rules::units(request.word("text")) > 200 {
        return Err(Refusal::bad("MESSAGE_TOO_LONG"));
    }
    let press = request.word("callback_query_id").to_owned();
    if !state.presses.remove(&press) {
        return Err(Refusal::bad(
            "query is too old and response timeout expired or query ID is invalid",
        ));
    }
    let text = request.word("text").to_owned();
    state.toasts.push(Toast { press, text, alert: request.fields["show_alert"] == true });
    Ok(true.into())
}

/// A few of the emoji with which bots may react.
const REACTIONS: [&str; 5] = ["👍", "👀", "✍", "👌", "❤"];

fn react(state: &mut State, request: &Request) -> Result<Value, Refusal> {
    state.writable(request.chat())?;
    let at = (request.chat(), request.number("message_id"));
    let chosen = request.fields["reaction"].as_array().cloned().unwrap_or_default();
    let fits = |one: &Value| {
        one["type"] == "emoji" && REACTIONS.iter().any(|emoji| one["emoji"] == *emoji)
    };
    if chosen.len() > 1 || !chosen.iter().all(fits) {
        return Err(Refusal::bad("REACTION_INVALID"));
    }
    if !state.messages.contains_key(&at) {
        return Err(Refusal::bad("message to react not found"));
    }
    Ok(true.into())
}

fn file(state: &State, request: &Request) -> Result<Value, Refusal> {
    let id = request.word("file_id");
    let file = state.files.get(id).ok_or_else(|| Refusal::bad("invalid file_id"))?;
    if file.bytes.len() > DOWNLOAD_BYTES {
        return Err(Refusal::bad("file is too big"));
    }
    let folder = if state.local { "/var/lib/telegram-bot-api/documents" } else { "documents" };
    Ok(json!({
        "file_id": id, "file_unique_id": format!("u{id}"), "file_size": file.bytes.len(),
        "file_path": format!("{folder}/{id}"),
    }))
}

pub(super) fn extend(into: &mut Value, fields: Value) {
    if let (Value::Object(into), Value::Object(fields)) = (into, fields) {
        into.extend(fields);
    }
}
