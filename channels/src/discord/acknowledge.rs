//! The initial response to an interaction, which the platform requires within three seconds.

use parking_lot::{Mutex, MutexGuard};
use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::warn;

use super::{
    Discord,
    api::{Api, Body, Failure, Route},
    interaction::{Act, REASON, read},
    listen::idle,
};
use crate::{Unit, text};

/// A little shorter than the platform's timeout.
const WITHIN: Duration = Duration::from_millis(2800);
/// The delay before a response is sent again that certainly did not arrive.
const PAUSE: Duration = Duration::from_millis(200);
/// The flag of a message that only the presser sees.
pub(super) const EPHEMERAL: u64 = 1 << 6;
/// The maximum length of texts in a modal, in characters.
const WORDS: usize = 45;
/// The maximum length of a reason, in characters.
const REASON_CHARS: u64 = 1000;

/// The interactions whose initial response is being sent.
#[derive(Default)]
pub(super) struct PendingAcknowledgements(Mutex<HashSet<String>>);

impl PendingAcknowledgements {
    pub(super) fn begin(&self, interaction: &Value) {
        self.ids().insert(interaction["id"].as_str().unwrap_or_default().to_owned());
    }

    fn end(&self, id: &str) {
        self.ids().remove(id);
    }

    pub(super) fn holds(&self, id: &str) -> bool {
        self.ids().contains(id)
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock()
    }
}

impl Discord {
    /// Acknowledges an interaction. One that cannot be parsed is answered with an error. A failure
    /// is logged and has no other effect, because the press is processed anyway.
    pub(super) async fn acknowledge(&self, interaction: &Value) {
        let id = interaction["id"].as_str().unwrap_or_default();
        let token = interaction["token"].as_str().unwrap_or_default();
        let respond = async {
            let answer = self.first_answer(interaction).await;
            send_with_retries(&self.api, id, token, &answer).await
        };
        let failed = match timeout(WITHIN, respond).await {
            Ok(Ok(())) => None,
            Ok(Err(reason)) => Some(reason),
            Err(_) => Some("no answer in time".to_owned()),
        };
        self.pending_acknowledgements.end(id);
        if let Some(reason) = failed {
            warn!(interaction.id = id, reason, "Discord: could not acknowledge an interaction");
        }
    }

    /// The callback for the initial response to this interaction.
    async fn first_answer(&self, interaction: &Value) -> Value {
        let locale = interaction["locale"].as_str().unwrap_or_default();
        match read(interaction, &self.commands) {
            Some(Act::Press(_) | Act::Reason { .. }) => json!({ "type": 6 }),
            Some(Act::AskReason(data)) => {
                let is_admitted = match self.presser(interaction) {
                    Some(person) => self.admission.admits(person).await,
                    None => true,
                };
                if is_admitted {
                    self.window(data, locale)
                } else {
                    privately(self.words.not_yours.to(locale))
                }
            }
            Some(Act::Command { command, .. }) => {
                json!({ "type": 5, "data": { "flags": if command.private { EPHEMERAL } else { 0 } } })
            }
            // An autocomplete interaction cannot be answered with a message.
            None if interaction["type"] == 4 => json!({ "type": 8, "data": { "choices": [] } }),
            None => privately(self.words.unreadable.to(locale)),
        }
    }

    /// A modal that asks for the reason of a denial. Submitting it arrives as a press of `d`.
    fn window(&self, data: &str, locale: &str) -> Value {
        let cut = |text: &str| text::cut(text, WORDS, Unit::Chars);
        let field = json!({
            "type": 4, "custom_id": REASON, "style": 2, "required": true,
            "label": cut(self.words.reason.to(locale)), "max_length": REASON_CHARS,
        });
        let rows = json!([{ "type": 1, "components": [field] }]);
        let title = cut(self.words.denial.to(locale));
        json!({
            "type": 9,
            "data": { "custom_id": format!("{data}d"), "title": title, "components": rows },
        })
    }
}

/// A text that only the presser sees.
fn privately(content: &str) -> Value {
    json!({ "type": 4, "data": { "content": content, "flags": EPHEMERAL } })
}

/// The path of the initial response to an interaction.
pub(super) fn callback(id: &str, token: &str) -> Route {
    Route::post(format!("interactions/{id}/{token}/callback")).unsigned()
}

async fn send_with_retries(api: &Api, id: &str, token: &str, answer: &Value) -> Result<(), String> {
    loop {
        match api.call(callback(id, token), Body::Json(answer.clone())).await {
            // It was already acknowledged before the connection was resumed.
            Ok(_) | Err(Failure::Refused { code: 40060, .. }) => return Ok(()),
            Err(Failure::Refused { status: 400..500, message, .. }) => return Err(message),
            Err(_) => idle(PAUSE).await,
        }
    }
}
