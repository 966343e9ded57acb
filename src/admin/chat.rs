//! The page, and what a person writes and presses on it.

use axum::{
    Json,
    extract::{Path, State, rejection::JsonRejection},
    http::{
        HeaderMap, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{Html, IntoResponse as _, Response},
};
use channels::{Batch, Incoming, Person, What};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

use super::{
    Admin,
    api::caller::by_session,
    html, language, place_of,
    problem::{
        BAD_ID, BAD_REQUEST, EMPTY, NO_SUCH_PAGE, NO_WEB_CHAT, NOT_SAVED, Problem, TOO_LONG,
    },
    sign_in::{self, Signed},
};
use crate::{gateway, journal::event::Speaker, texts::Language};

/// The longest message, in characters.
const TEXT_CHARS: usize = 100_000;

const CHAT: &str = include_str!("web/chat.html");
const BANNER: &str = include_str!("web/demo.html");
const CONSOLE: &str = "<a class=\"quiet\" href=\"/console\">{{console}}</a>";

pub async fn page(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    signed: Result<Signed, Problem>,
) -> Result<Response, Problem> {
    let words = &language::of(&headers).words().page;
    let signed = match signed {
        Ok(signed) => signed,
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
            return Ok(sign_in::told(&admin, StatusCode::UNAUTHORIZED, words, words.signed_out));
        }
        Err(problem) => return Err(problem),
    };
    if admin.web().is_none() {
        return Ok(sign_in::told(&admin, StatusCode::NOT_FOUND, words, words.no_web_chat));
    }
    let script = serde_json::to_string(&words.script).unwrap_or_default();
    // The script that plays the model understands these in English only.
    let starts = if admin.demo { &Language::English.words().page } else { words };
    let values = [
        ("bot", admin.bot.as_str()),
        ("person", signed.person.as_str()),
        ("words", script.as_str()),
        ("start_ask", starts.start_ask),
        ("start_note", starts.start_note),
        ("start_report", starts.start_report),
    ];
    let banner = if admin.demo { BANNER } else { "" };
    let steers = by_session(&admin, signed.person.clone()).await?.is_some();
    let console = if steers { CONSOLE } else { "" };
    let page = CHAT.replacen("<!-- banner -->", banner, 1).replacen("<!-- console -->", console, 1);
    Ok(Html(html::page(&page, words, &values)).into_response())
}

pub async fn asset(Path(name): Path<String>) -> Result<Response, Problem> {
    let (media_type, content) = match name.as_str() {
        "style.css" => ("text/css; charset=utf-8", include_str!("web/style.css")),
        "chat.js" => ("text/javascript; charset=utf-8", include_str!("web/chat.js")),
        "console.css" => ("text/css; charset=utf-8", include_str!("console/pages/console.css")),
        "console.js" => {
            ("text/javascript; charset=utf-8", include_str!("console/pages/console.js"))
        }
        "icon.svg" => ("image/svg+xml", include_str!("web/icon.svg")),
        _ => return Err(Problem::new(StatusCode::NOT_FOUND, NO_SUCH_PAGE)),
    };
    Ok(([(CONTENT_TYPE, media_type), (CACHE_CONTROL, "no-cache")], content).into_response())
}

#[derive(Deserialize)]
pub struct Message {
    /// Made by the page: the same message sent twice is taken once.
    id: String,
    text: String,
}

/// Answers once the message is in the database.
pub async fn say(
    State(admin): State<Arc<Admin>>,
    signed: Signed,
    headers: HeaderMap,
    message: Result<Json<Message>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let Json(message) = message.map_err(unreadable)?;
    let (channel, _) = admin.web().ok_or_else(no_web_chat)?;
    let batch =
        Batch { incomings: vec![incoming(&admin, &signed, &headers, message)?], position: None };
    if let Err(problem) = gateway::receive::receive(&admin.gateway, channel, batch).await {
        let problem = format!("{problem:#}");
        tracing::error!(channel.id = channel, problem, "not taken, the page may try again");
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, NOT_SAVED));
    }
    admin.changed.send(signed.person).ok();
    Ok(StatusCode::NO_CONTENT)
}

fn incoming(
    admin: &Admin,
    signed: &Signed,
    headers: &HeaderMap,
    message: Message,
) -> Result<Incoming, Problem> {
    let id =
        Uuid::try_parse(&message.id).map_err(|_| Problem::new(StatusCode::BAD_REQUEST, BAD_ID))?;
    if message.text.trim().is_empty() {
        return Err(Problem::new(StatusCode::BAD_REQUEST, EMPTY));
    }
    if message.text.chars().count() > TEXT_CHARS {
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, TOO_LONG));
    }
    let key = format!("w{}", id.simple());
    let person = Person {
        id: signed.person.clone(),
        name: signed.person.clone(),
        language: language::wanted(headers).map(|language| language.tag().to_owned()),
        is_bot: false,
        roles: vec![],
    };
    Ok(Incoming {
        key: key.clone(),
        at: admin.gateway.clock.now(),
        place: place_of(&signed.person),
        person: Some(person),
        what: What::Text {
            message: key,
            text: message.text,
            reply_to: None,
            addressed: true,
            files: vec![],
            album: None,
            foreign: None,
        },
    })
}

#[derive(Deserialize)]
pub struct Pressed {
    approval: String,
    key: char,
}

/// Decides by a button; the answer says the true state.
pub async fn press(
    State(admin): State<Arc<Admin>>,
    signed: Signed,
    pressed: Result<Json<Pressed>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let Json(pressed) = pressed.map_err(unreadable)?;
    let (channel, _) = admin.web().ok_or_else(no_web_chat)?;
    let place = place_of(&signed.person);
    let by = Speaker { id: signed.person.clone(), name: signed.person.clone() };
    let choice = (pressed.approval.as_str(), pressed.key);
    let text =
        gateway::approvals::doors::decide_by_id(&admin.gateway, (channel, &place), choice, by)
            .await?;
    admin.changed.send(signed.person).ok();
    Ok(Json(json!({ "text": text })))
}

fn unreadable(rejection: JsonRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(StatusCode::PAYLOAD_TOO_LARGE, TOO_LONG),
        status => Problem::new(status, BAD_REQUEST),
    }
}

fn no_web_chat() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, NO_WEB_CHAT)
}
