//! Private answers: to a press, to a stranger. Nothing depends on them.

use channels::{Outgoing, Place, SendError};
use std::{sync::Arc, time::Duration};

use super::Gateway;
use crate::crash;

pub struct Ephemeral {
    pub place: Place,
    pub what: Outgoing,
}

/// How long to wait before each further try, where the platform names no time: nobody waits longer
/// for an answer to a press.
const WAITS: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(600), Duration::from_secs(2)];
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Says it, again a few times where the platform does not take it.
pub(super) async fn say(gateway: Arc<Gateway>, channel: String, aside: Ephemeral) {
    let mut waits = WAITS.into_iter();
    while let Err(problem) = gateway.show_now(&channel, &aside.place, aside.what.clone()).await {
        let next = waits.next().filter(|_| !crash::planted("acknowledgement"));
        let wait = next.and_then(|wait| match &problem {
            SendError::Retry { after, .. } => Some(after.unwrap_or(wait).min(LONGEST_WAIT)),
            // A text could be shown twice.
            SendError::Unknown(_) if matches!(aside.what, Outgoing::Toast { .. }) => Some(wait),
            _ => None,
        });
        let Some(wait) = wait else {
            let problem = problem.to_string();
            tracing::warn!(channel.id = channel, problem, "a private answer was not shown");
            return;
        };
        // In real time: a platform is waited for, which knows no other.
        let _ = tokio::time::timeout(wait, gateway.stop.cancelled()).await;
    }
}
