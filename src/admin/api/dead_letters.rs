//! Dead letters: messages that the platform rejected, or whose chat no longer exists.

use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use channels::Outgoing;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Page, Params, PathNames, Slice, none},
};
use crate::{
    admin::{
        Admin,
        problem::{PageText, Problem},
    },
    store::{
        audit,
        audit::AuditKind,
        lists::{
            PageRequest,
            outbox::{self, ListedMessage, OutboxFilter, list},
        },
        outbox::sending::MessageStatus,
    },
};

const MISSING: PageText = |page| page.problems.missing.dead_letter;

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new()
        .routes(routes!(index))
        .routes(routes!(replay_letters))
        .routes(routes!(replay))
        .routes(routes!(drop))
}

/// A message that could not be delivered.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterView {
    pub id: String,
    pub conversation: String,
    pub channel: String,
    /// The message
    #[schema(value_type = Object)]
    pub what: Value,
    /// The beginning of its text, or the name of its file
    pub summary: String,
    pub status: MessageStatus,
    pub attempts: i64,
    pub problem: String,
    pub created_at: DateTime<Utc>,
}

pub async fn page(admin: &Admin, page_request: PageRequest) -> Result<Page<DeadLetterView>> {
    let (rows, page_request) = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move {
                Ok((list(tx, OutboxFilter::GivenUp, "", &page_request).await?, page_request))
            })
        })
        .await?;
    let view = |row: ListedMessage| DeadLetterView {
        summary: admin.redactor().text(&summary(&row.what)).into_owned(),
        what: admin.redactor().value(&serde_json::to_value(row.what).unwrap_or_default()),
        id: row.id.0,
        conversation: row.conversation.0,
        channel: row.channel,
        status: row.status,
        attempts: row.attempts,
        problem: admin.redactor().text(&row.problem).into_owned(),
        created_at: row.created_at,
    };
    Ok(Page::of(rows, &page_request, |row| row.id.to_string(), view))
}

/// The longest summary, in characters.
const SUMMARY: usize = 80;

/// The beginning of the text of a message, cut after a word, or the name of its file.
fn summary(message: &Outgoing) -> String {
    let text = match message {
        Outgoing::Text { markdown, .. }
        | Outgoing::Approval { markdown, .. }
        | Outgoing::Settled { markdown, .. }
        | Outgoing::Draft { markdown } => markdown,
        Outgoing::File { name, .. } => name,
        Outgoing::Toast { text, .. } => text,
        Outgoing::Placeholder { .. }
        | Outgoing::Removal
        | Outgoing::Typing
        | Outgoing::Reaction { .. } => "",
    };
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let Some((end, _)) = line.char_indices().nth(SUMMARY) else { return line.to_owned() };
    let end = line[..end].rfind(' ').unwrap_or(end);
    format!("{} …", &line[..end])
}

/// What to do with a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    Replay,
    Drop,
}

/// Returns whether there was such a dead letter.
pub async fn resolve(
    admin: &Admin,
    caller: &Caller,
    id: &str,
    resolution: Resolution,
) -> Result<bool> {
    let kind = if resolution == Resolution::Replay {
        AuditKind::DeadLetterReplayed
    } else {
        AuditKind::DeadLetterDropped
    };
    let fact = caller.did(kind).with("letter", id);
    let (id, now) = (id.to_owned(), admin.gateway.clock.now());
    admin
        .gateway
        .store
        .write("resolve dead letter", move |tx| {
            Box::pin(async move {
                let settled = match resolution {
                    Resolution::Replay => outbox::replay(tx, &id).await?,
                    Resolution::Drop => outbox::drop(tx, &id).await?,
                };
                if settled {
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(settled)
            })
        })
        .await
}

/// The maximum number of transactions of one request to replay everything.
const ROUNDS: usize = 100;

/// Tries again to deliver every dead letter, of one channel if it is not empty. Returns how many.
pub async fn replay_all(admin: &Admin, caller: &Caller, channel: &str) -> Result<u64> {
    let mut total = 0;
    for _ in 0..ROUNDS {
        let (channel, now) = (channel.to_owned(), admin.gateway.clock.now());
        let fact = caller.did(AuditKind::LettersReplayed).with("channel", channel.as_str());
        let write = admin.gateway.store.write("replay dead letters", move |tx| {
            Box::pin(async move {
                let replayed = outbox::replay_many(tx, &channel).await?;
                if replayed > 0 {
                    let fact = fact.with("letters", replayed);
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(replayed)
            })
        });
        match write.await? {
            0 => break,
            replayed => total += replayed,
        }
    }
    Ok(total)
}

/// The response to a request to replay or drop something.
pub(super) fn no_content_or_not_found(
    settled: bool,
    says: PageText,
) -> Result<StatusCode, Problem> {
    settled.then_some(StatusCode::NO_CONTENT).ok_or_else(|| none(says))
}

/// List messages that could not be delivered
#[utoipa::path(get, path = "/dead-letters", tag = "dead letters", params(Slice),
    responses((status = 200, body = Page<DeadLetterView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<DeadLetterView>>, Problem> {
    Ok(Json(page(&admin, slice.page_request()?).await?))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LetterFilter {
    /// Only those of one channel
    #[serde(default)]
    channel: String,
}

/// The result of replaying all dead letters.
#[derive(Debug, Serialize, ToSchema)]
struct ReplayedLetters {
    /// How many there were
    letters: u64,
}

/// Try again to deliver all messages
#[utoipa::path(post, path = "/dead-letters/replay", tag = "dead letters", params(LetterFilter),
    responses((status = 200, body = ReplayedLetters)),
    extensions(("x-role" = json!("operator"))))]
async fn replay_letters(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Params(LetterFilter { channel }): Params<LetterFilter>,
) -> Result<Json<ReplayedLetters>, Problem> {
    let letters = replay_all(&admin, &caller, &channel).await?;
    Ok(Json(ReplayedLetters { letters }))
}

/// Try again to deliver a message
#[utoipa::path(post, path = "/dead-letters/{id}/replay", tag = "dead letters",
    params(("id" = String, Path)), responses((status = 204)),
    extensions(("x-role" = json!("operator"))))]
async fn replay(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<StatusCode, Problem> {
    no_content_or_not_found(resolve(&admin, &caller, &id, Resolution::Replay).await?, MISSING)
}

/// Drop a dead letter
#[utoipa::path(delete, path = "/dead-letters/{id}", tag = "dead letters",
    params(("id" = String, Path)), responses((status = 204)),
    extensions(("x-role" = json!("operator"))))]
async fn drop(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<StatusCode, Problem> {
    no_content_or_not_found(resolve(&admin, &caller, &id, Resolution::Drop).await?, MISSING)
}
