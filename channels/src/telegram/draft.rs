//! Native drafts: a preview in a private chat that grows and leaves no message.
//! <https://core.telegram.org/bots/api#sendmessagedraft>

use std::sync::atomic::Ordering;

use serde::Serialize;
use serde_json::Value;
use teloxide::{requests::Payload, types::MessageEntity};

use super::{
    Telegram,
    api::{Failure, USUAL},
    outcome,
    send::Show,
    target,
};
use crate::{Place, PlaceKind, Receipt, SendError};

/// Not supported by teloxide yet.
#[derive(Serialize)]
struct SendMessageDraft {
    chat_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<i64>,
    draft_id: u64,
    text: String,
    entities: Vec<MessageEntity>,
}

impl Payload for SendMessageDraft {
    type Output = Value;
    const NAME: &'static str = "SendMessageDraft";
}

/// One draft id is enough, because a conversation has one turn at a time. Clients animate changes
/// of the same draft.
const DRAFT: u64 = 1;

impl Telegram {
    /// If the server does not support drafts, this is recorded, and the limits say so from then on.
    pub(super) async fn draft(&self, place: &Place, markdown: &str) -> Result<Receipt, SendError> {
        if place.kind != PlaceKind::Private || self.refuses_drafts.load(Ordering::Relaxed) {
            return Err(SendError::Rejected("a draft needs an existing message".to_owned()));
        }
        let chat_id = place.chat.parse().map_err(|_| SendError::Rejected("no chat".to_owned()))?;
        let Show { formatted, .. } = Show::of(markdown);
        let payload = SendMessageDraft {
            chat_id,
            message_thread_id: place.thread.as_ref().and_then(|thread| thread.parse().ok()),
            draft_id: DRAFT,
            text: formatted.text,
            entities: target::entities(&formatted.spans),
        };
        match self.api.call(&payload, USUAL).await {
            Ok(_) => Ok(Receipt::nowhere()),
            Err(failure) => {
                if is_unknown(&failure) {
                    self.refuses_drafts.store(true, Ordering::Relaxed);
                }
                Err(outcome::repeatable(failure))
            }
        }
    }
}

/// The method does not exist, or not for this bot.
fn is_unknown(failure: &Failure) -> bool {
    match failure {
        Failure::Refused { code: 404, .. } => true,
        Failure::Refused { code: 400, description, .. } => {
            let description = description.to_lowercase();
            description.contains("method") || description.contains("textdraft")
        }
        _ => false,
    }
}
