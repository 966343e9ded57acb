//! What is not recorded: growing text and "is typing". Losing any of it loses nothing.

use channels::{Outgoing, Place};
use std::time::Duration;
use tokio::sync::watch;

use super::Gateway;

/// Shows the text as it grows and that the agent is at work, for as long as it is polled; never
/// returns.
pub async fn show(
    gateway: &Gateway,
    (channel, place): (&str, &Place),
    mut text: watch::Receiver<String>,
) {
    let Some(connected) = gateway.channels.get(channel) else {
        return std::future::pending().await;
    };
    let limits = connected.channel.limits();
    let typing_for = limits.typing_for.unwrap_or(Duration::from_hours(1));
    let mut typing = tokio::time::interval(typing_for.mul_f32(0.8));
    let mut pace = tokio::time::interval(limits.drafts.unwrap_or(typing_for));
    loop {
        tokio::select! {
            _ = typing.tick() => {
                if limits.typing_for.is_some() {
                    // Whether it is seen is not worth a word.
                    let _ = gateway.show_now(channel, place, Outgoing::Typing).await;
                }
            }
            changed = text.changed(), if limits.drafts.is_some() => {
                if changed.is_err() {
                    return std::future::pending().await;
                }
                pace.tick().await;
                let markdown = text.borrow_and_update().clone();
                let _ = gateway.show_now(channel, place, Outgoing::Draft { markdown }).await;
            }
        }
    }
}
