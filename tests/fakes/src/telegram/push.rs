//! Webhook delivery: one update at a time, again and again until it is taken.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{Shared, state::Webhook};

/// Between two attempts. The platform waits longer; a test should not.
const AGAIN: Duration = Duration::from_millis(100);

pub(super) async fn push(shared: Arc<Shared>) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(10))
        .build()
        .expect("a client without files to load");
    let mut changes = shared.changes.subscribe();
    loop {
        changes.mark_unchanged();
        let Some((webhook, update)) = next(&shared) else {
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        if deliver(&client, &webhook, &update).await {
            shared.state().updates.retain(|waiting| *waiting != update);
            shared.changed();
        } else {
            tokio::time::sleep(AGAIN).await;
        }
    }
}

fn next(shared: &Shared) -> Option<(Webhook, Value)> {
    let mut state = shared.state();
    let webhook = state.webhook.clone()?;
    let repeats = std::mem::take(&mut state.repeats);
    state.updates.splice(0..0, repeats);
    Some((webhook, state.updates.first()?.clone()))
}

async fn deliver(client: &reqwest::Client, webhook: &Webhook, update: &Value) -> bool {
    let mut request = client.post(&webhook.url).json(update);
    if let Some(secret) = &webhook.secret {
        request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
    }
    request.send().await.is_ok_and(|response| response.status().is_success())
}
