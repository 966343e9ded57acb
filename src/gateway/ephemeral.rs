//! Ephemeral replies, to a button press or a stranger. Nothing depends on their delivery.

use channels::{Outgoing, Place, SendError};
use std::{sync::Arc, time::Duration};

use super::Gateway;
use crate::clock::stops_within;

#[derive(Debug)]
pub struct Ephemeral {
    pub place: Place,
    pub what: Outgoing,
}

/// The emoji of a writing hand.
const ACKNOWLEDGED_EMOJI: &str = "\u{270d}";

impl Ephemeral {
    /// The reply to a button press.
    pub(super) fn toast(place: &Place, press: &str, text: String) -> Self {
        let what = Outgoing::Toast { press: press.to_owned(), text, alert: false };
        Self { place: place.clone(), what }
    }

    /// Shows the author of an edit that it was read.
    pub(super) fn acknowledgement(place: &Place, message: &str) -> Self {
        let emoji = ACKNOWLEDGED_EMOJI.to_owned();
        let what = Outgoing::Reaction { message: message.to_owned(), emoji };
        Self { place: place.clone(), what }
    }
}

/// The delays before further attempts, where the platform names none. They are short because people
/// do not wait long for the reaction to a press.
const WAITS: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(600), Duration::from_secs(2)];
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Sends the reply, with a few retries.
pub(super) async fn say(gateway: Arc<Gateway>, channel: String, reply: Ephemeral) {
    let mut waits = WAITS.into_iter();
    while let Err(problem) = gateway.show_now(&channel, &reply.place, reply.what.clone()).await {
        let wait = waits.next().and_then(|wait| match &problem {
            SendError::Retry { after, .. } => Some(after.unwrap_or(wait).min(LONGEST_WAIT)),
            // A text could be shown twice.
            SendError::Unknown(_)
                if matches!(reply.what, Outgoing::Toast { .. } | Outgoing::Reaction { .. }) =>
            {
                Some(wait)
            }
            _ => None,
        });
        let Some(wait) = wait else {
            let problem = problem.to_string();
            tracing::warn!(channel.id = channel, problem, "could not send an ephemeral reply");
            return;
        };
        // In real time, because this waits for a platform.
        stops_within(wait, &gateway.stop).await;
    }
}
