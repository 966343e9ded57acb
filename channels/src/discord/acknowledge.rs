//! The first answer to an interaction, which the platform wants within three seconds.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::warn;

use super::{
    api::{Api, Body, Failure, Route},
    receive,
};

/// A little less than the platform waits.
const WITHIN: Duration = Duration::from_millis(2800);
/// Between two tries of one that surely did not arrive.
const PAUSE: Duration = Duration::from_millis(200);
/// Flags of a message that only the presser sees.
pub(super) const EPHEMERAL: u64 = 1 << 6;

const UNREADABLE: &str =
    "This could not be read here, and nothing was done. Please write a message instead.";

/// Says that a press has arrived; to what cannot be read, that it was not. A failure is logged and
/// changes nothing else: the press is taken all the same.
pub(super) async fn acknowledge(api: &Api, interaction: &Value) {
    let id = interaction["id"].as_str().unwrap_or_default();
    let token = interaction["token"].as_str().unwrap_or_default();
    let answer = answer(interaction);
    let failed = match timeout(WITHIN, insist(api, (id, token), &answer)).await {
        Ok(Ok(())) => return,
        Ok(Err(reason)) => reason,
        Err(_) => "no answer in time".to_owned(),
    };
    warn!(interaction.id = id, reason = failed, "Discord: an interaction was not acknowledged");
}

/// The callback that this interaction gets at once.
fn answer(interaction: &Value) -> Value {
    match interaction["type"].as_u64() {
        // What completes while a person types can have no message.
        Some(4) => json!({ "type": 8, "data": { "choices": [] } }),
        _ if receive::is_press(interaction) => json!({ "type": 6 }),
        _ => json!({ "type": 4, "data": { "content": UNREADABLE, "flags": EPHEMERAL } }),
    }
}

/// The path at which an interaction takes its first answer.
pub(super) fn callback(id: &str, token: &str) -> Route {
    Route::post(format!("interactions/{id}/{token}/callback")).unsigned()
}

async fn insist(api: &Api, (id, token): (&str, &str), answer: &Value) -> Result<(), String> {
    loop {
        match api.call(callback(id, token), Body::Json(answer.clone())).await {
            // Somebody did it already: us, before a connection was taken up again.
            Ok(_) | Err(Failure::Refused { code: 40060, .. }) => return Ok(()),
            Err(Failure::Refused { status: 400..500, message, .. }) => return Err(message),
            Err(_) => {
                timeout(PAUSE, std::future::pending::<()>()).await.ok();
            }
        }
    }
}
