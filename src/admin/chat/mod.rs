//! The page of the web chat, and the messages and button presses that it sends.
//!
//! - [`participant`]: a person in a web chat
//! - [`widget`], [`visitor`]: the web chat in pages of other sites, and its visitors
//! - [`events`]: the event stream of an open page
//! - [`timeline`], [`timeline_item`]: a conversation as the page shows it, and what it consists of
//! - [`activity`]: what the running turn does, and its tool calls
//! - [`own_conversations`]: the list of a person's conversations
//! - [`regenerate`]: a new answer to the last message
//! - [`uploads`]: files that people upload
//! - [`downloads`]: downloads of files that were sent

mod activity;
pub mod downloads;
pub mod events;
pub mod own_conversations;
pub mod participant;
pub mod regenerate;
pub mod timeline;
pub mod timeline_item;
pub mod uploads;
pub mod visitor;
pub mod widget;

use axum::{
    Json,
    extract::{Path, State, rejection::JsonRejection},
    http::{
        HeaderMap, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER},
    },
    response::{Html, IntoResponse as _, Response},
};
use channels::{Button, FileRef, Incoming, IncomingContent, Person};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

use super::{
    Admin,
    api::caller::by_session,
    auth::web_session::{self, Signed},
    language,
    problem::{
        BAD_ID, BAD_REQUEST, EMPTY, NO_SUCH_PAGE, NOT_SAVED, Problem, TOO_LONG, TOO_MANY_MESSAGES,
    },
    templates::{self, extend},
};
use crate::{
    gateway::{
        approvals::by_id::{PressedButton, decide_by_id},
        intake::receive_from_web,
        receive::RateLimited,
    },
    store::people::BrowserSession,
    texts::{self, Language},
    tools::mcp::prompts::PromptCommand,
};
use participant::Participant;

/// The maximum length of a message, in characters.
const TEXT_CHARS: usize = 100_000;

const SCRIPT: &str = "text/javascript; charset=utf-8";

pub async fn page(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    signed: Result<Signed, Problem>,
) -> Result<Response, Problem> {
    let words = &language::of(&headers).words().page;
    let signed = match signed {
        Ok(signed) => signed,
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
            return Ok(web_session::signed_out_page(
                &admin,
                StatusCode::UNAUTHORIZED,
                words,
                words.signed_out,
            ));
        }
        Err(problem) => return Err(problem),
    };
    if admin.web().is_none() {
        return Ok(web_session::signed_out_page(
            &admin,
            StatusCode::NOT_FOUND,
            words,
            words.no_web_chat,
        ));
    }
    let steers = by_session(&admin, signed.session.clone()).await?.is_some();
    let view = ChatView::Signed { session: &signed.session, steers };
    Ok(Html(drawn(&admin, language::of(&headers), view)).into_response())
}

/// How the chat is embedded.
pub enum ChatView<'a> {
    /// For a person who is signed in, with a link to the console if they may open it.
    Signed { session: &'a BrowserSession, steers: bool },
    /// In a frame of another site; the path prefix of its requests.
    Frame(&'a str),
}

/// Renders the chat.
pub fn drawn(admin: &Admin, language: Language, view: ChatView<'_>) -> String {
    let words = &language.words().page;
    let values = match &view {
        ChatView::Signed { session, steers } => json!({
            "person": session.name,
            "person_id": participant::header_of(&session.person),
            "base": "",
            "opens_console": steers,
            "models": offered_models(admin),
        }),
        ChatView::Frame(base) => json!({
            "person": words.visitor,
            "person_id": "",
            "base": base,
            "opens_console": false,
            "models": [],
        }),
    };
    let mut all = json!({
        "bot": admin.bot,
        "words": script_words(admin, language, &view),
        // A visitor of another site has one conversation, and uploads nothing. In its frame, only
        // that site sets the focus.
        "is_signed_in": matches!(view, ChatView::Signed { .. }),
        "is_demo": admin.demo,
    });
    extend(&mut all, values);
    templates::page("chat.html", words, all)
}

/// The models of the menu, where there is a choice. It sends the command `/model`, so it works for
/// everybody who may use the command.
fn offered_models(admin: &Admin) -> &[String] {
    let models = &admin.gateway.models;
    if models.len() < 2 { &[] } else { models }
}

/// The texts of the scripts, as JSON.
fn script_words(admin: &Admin, language: Language, view: &ChatView<'_>) -> String {
    let words = language.words();
    let commands = texts::MENU.iter().zip(words.menu);
    let mut commands: Vec<_> =
        commands.map(|(name, does)| json!({ "name": name, "does": does })).collect();
    if let ChatView::Signed { .. } = view {
        commands.extend(prompts(admin));
    }
    let mut script = serde_json::to_value(&words.page.script).unwrap_or_default();
    script["commands"] = commands.into();
    script.to_string()
}

/// The prompts of MCP servers that people can use here.
fn prompts(admin: &Admin) -> Vec<Value> {
    let connected = admin.web().and_then(|(id, _)| admin.gateway.channels.get(id));
    let Some(connected) = connected else { return Vec::new() };
    let commands = admin.gateway.prompts.of(&connected.agent);
    let command =
        |command: &PromptCommand| json!({ "name": command.command(), "does": command.description });
    commands.iter().map(command).collect()
}

fn icon(name: &str, sizes: &str, purpose: &str) -> Value {
    let src = format!("/assets/{name}");
    json!({ "src": src, "sizes": sizes, "type": "image/png", "purpose": purpose })
}

/// Describes the page to a browser that installs it.
pub async fn manifest(State(admin): State<Arc<Admin>>) -> Response {
    let manifest = json!({
        "id": "/",
        "name": admin.bot,
        "short_name": admin.bot,
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#f7f6f3",
        "theme_color": "#0f6b5c",
        "icons": [
            icon("icon-192.png", "192x192", "any"),
            icon("icon-512.png", "512x512", "any"),
            icon("icon-maskable.png", "512x512", "maskable"),
        ],
    });
    ([(CONTENT_TYPE, "application/manifest+json")], manifest.to_string()).into_response()
}

/// The script that shows notifications. It is at the root, because it opens pages there.
pub async fn service_worker() -> Response {
    let headers = [(CONTENT_TYPE, SCRIPT), (CACHE_CONTROL, "no-cache")];
    (headers, include_str!("../web/service-worker.js")).into_response()
}

pub async fn asset(Path(name): Path<String>) -> Result<Response, Problem> {
    const CSS: &str = "text/css; charset=utf-8";
    const PNG: &str = "image/png";
    let (media_type, content): (_, &[u8]) = match name.as_str() {
        "style.css" => (CSS, include_bytes!("../web/style.css")),
        "chat.js" => (SCRIPT, include_bytes!("../web/chat.js")),
        "compose.js" => (SCRIPT, include_bytes!("../web/compose.js")),
        "dom.js" => (SCRIPT, include_bytes!("../web/dom.js")),
        "items.js" => (SCRIPT, include_bytes!("../web/items.js")),
        "notifications.js" => (SCRIPT, include_bytes!("../web/notifications.js")),
        "threads.js" => (SCRIPT, include_bytes!("../web/threads.js")),
        "console.css" => (CSS, include_bytes!("../console/pages/console.css")),
        "console.js" => (SCRIPT, include_bytes!("../console/pages/console.js")),
        "icon.svg" => ("image/svg+xml", include_bytes!("../web/icon.svg")),
        "icon-192.png" => (PNG, include_bytes!("../web/icon-192.png")),
        "icon-512.png" => (PNG, include_bytes!("../web/icon-512.png")),
        "icon-maskable.png" => (PNG, include_bytes!("../web/icon-maskable.png")),
        _ => return Err(Problem::new(StatusCode::NOT_FOUND, NO_SUCH_PAGE)),
    };
    Ok(([(CONTENT_TYPE, media_type), (CACHE_CONTROL, "no-cache")], content).into_response())
}

#[derive(Deserialize)]
pub struct PostedMessage {
    /// Created by the page, so that a message that is sent twice is stored once.
    id: String,
    text: String,
    /// The ids of uploaded files.
    #[serde(default)]
    files: Vec<String>,
}

/// A message to store.
struct NewMessage {
    key: String,
    text: String,
    files: Vec<FileRef>,
}

/// Responds once the message is in the database.
pub async fn say(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    headers: HeaderMap,
    message: Result<Json<PostedMessage>, JsonRejection>,
) -> Result<Response, Problem> {
    let Json(message) = message.map_err(unreadable)?;
    let files = uploads::files(&admin, &participant, &message.files).await?;
    let name = own_conversations::new_name(&admin, &participant, &message.text).await?;
    let new = NewMessage { key: message_key("w", &message.id)?, text: message.text, files };
    let incoming = incoming(&admin, &participant, &headers, new)?;
    if let Some(refused) = stored(&admin, &participant, incoming).await? {
        return Ok(refused);
    }
    if let Some(name) = name {
        own_conversations::name(&admin, &participant, name).await?;
    }
    admin.changed.send(participant.speaker.id).ok();
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Stores a message. One that the rate limit refuses is not stored, and the page can send it again;
/// then this is the response.
async fn stored(
    admin: &Arc<Admin>,
    participant: &Participant,
    incoming: Incoming,
) -> Result<Option<Response>, Problem> {
    let channel = participant.channel.as_str();
    let stored = receive_from_web(&admin.gateway, channel, incoming, participant.oidc_role).await;
    let refused = stored.map_err(|problem| {
        let problem = format!("{problem:#}");
        tracing::error!(
            channel.id = channel,
            problem,
            "could not store a message; the page may retry"
        );
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, NOT_SAVED)
    })?;
    if let Some(RateLimited { wait }) = refused {
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, TOO_MANY_MESSAGES);
        let seconds = (wait.as_secs() + 1).to_string();
        return Ok(Some(([(RETRY_AFTER, seconds)], problem).into_response()));
    }
    Ok(None)
}

/// The id of a message from the one that the page created.
fn message_key(prefix: &str, id: &str) -> Result<String, Problem> {
    let id = Uuid::try_parse(id).map_err(|_| Problem::new(StatusCode::BAD_REQUEST, BAD_ID))?;
    Ok(format!("{prefix}{}", id.simple()))
}

fn incoming(
    admin: &Admin,
    participant: &Participant,
    headers: &HeaderMap,
    NewMessage { key, text, files }: NewMessage,
) -> Result<Incoming, Problem> {
    if text.trim().is_empty() && files.is_empty() {
        return Err(Problem::new(StatusCode::BAD_REQUEST, EMPTY));
    }
    if text.chars().count() > TEXT_CHARS {
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, TOO_LONG));
    }
    let person = Person {
        id: participant.speaker.id.clone(),
        name: participant.speaker.name.clone(),
        language: language::wanted(headers).map(|language| language.tag().to_owned()),
        is_bot: false,
        roles: vec![],
        roles_unknown: false,
    };
    Ok(Incoming {
        key: key.clone(),
        at: admin.gateway.clock.now(),
        place: participant.place(),
        person: Some(person),
        what: IncomingContent::Text {
            message: key,
            text,
            reply_to: None,
            addressed: true,
            files,
            album: None,
            quoted_author: None,
        },
    })
}

#[derive(Deserialize)]
pub struct Pressed {
    approval: String,
    key: char,
}

/// Decides by a button. The response reflects the actual state of the approval.
pub async fn press(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    pressed: Result<Json<Pressed>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let Json(pressed) = pressed.map_err(unreadable)?;
    let (place, by) = (participant.place(), participant.person());
    let button =
        PressedButton { approval: &pressed.approval, button: Button::from_key(pressed.key) };
    let text = decide_by_id(&admin.gateway, &participant.channel, &place, button, by).await?;
    admin.changed.send(participant.speaker.id).ok();
    Ok(Json(json!({ "text": text })))
}

fn unreadable(rejection: JsonRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(StatusCode::PAYLOAD_TOO_LARGE, TOO_LONG),
        status => Problem::new(status, BAD_REQUEST),
    }
}
