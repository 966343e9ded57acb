//! Webhook delivery: one update at a time, again and again until it is taken.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{Shared, state::Webhook};

/// Between two attempts. The platform waits longer; a test should not.
const AGAIN: Duration = Duration::from_millis(100);

pub(super) async fn push(shared: Arc<Shared>) {
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
            tokio::time::timeout(AGAIN, changes.changed()).await.ok();
        }
    }
}

fn next(shared: &Shared) -> Option<(Webhook, Value)> {
    let mut state = shared.state();
    let webhook = state.webhook.clone()?;
    let repeats = std::mem::take(&mut state.repeats);
    state.updates.splice(0..0, repeats);
    let (twice, swapped) = state.disorder.next();
    let next = usize::from(swapped).min(state.updates.len().saturating_sub(1));
    let update = state.updates.get(next)?.clone();
    state.repeats.extend(twice.then(|| update.clone()));
    Some((webhook, update))
}

async fn deliver(client: &reqwest::Client, webhook: &Webhook, update: &Value) -> bool {
    let mut request = client.post(&webhook.url).json(update);
    if let Some(secret) = &webhook.secret {
        request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
    }
    request.send().await.is_ok_and(|response| response.status().is_success())
}

#[cfg(test)]
mod tests {

    use axum::{
        Router,
        extract::State,
        http::{HeaderMap, StatusCode},
        routing::post,
    };
    use serde_json::json;

    use super::super::{FakeTelegram, TOKEN};
    use super::*;
    use parking_lot::Mutex;

    type Seen = Arc<Mutex<Vec<(String, i64)>>>;

    /// Fails the first push and takes all others.
    async fn hook(State(seen): State<Seen>, headers: HeaderMap, body: String) -> StatusCode {
        let secret = headers.get("x-telegram-bot-api-secret-token").expect("a secret");
        let update: Value = serde_json::from_str(&body).expect("an update");
        let id = update["update_id"].as_i64().expect("an id");
        let mut seen = seen.lock();
        seen.push((secret.to_str().expect("text").to_owned(), id));
        if seen.len() == 1 { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK }
    }

    #[tokio::test]
    async fn a_push_is_repeated_until_it_is_taken_and_keeps_the_order() {
        let seen = Seen::default();
        let router = Router::new().route("/hook", post(hook)).with_state(Arc::clone(&seen));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move { axum::serve(listener, router).await });

        let fake = FakeTelegram::start().await;
        let chat = fake.private("Ann");
        let set = json!({ "url": format!("http://{address}/hook"), "secret_token": "s3" });
        let url = format!("{}/bot{TOKEN}/setWebhook", fake.url());
        let client = reqwest::Client::builder().build().expect("a client");
        client.post(url).json(&set).send().await.expect("set");
        fake.user_says(chat, "Ann", "one");
        fake.user_says(chat, "Ann", "two");
        fake.until(|fake| fake.waiting().is_empty()).await;
        let seen = seen.lock().clone();
        assert!(seen.iter().all(|(secret, _)| secret == "s3"));
        let ids: Vec<i64> = seen.iter().map(|(_, id)| *id).collect();
        assert_eq!((ids.len(), ids[0]), (3, ids[1]));
        assert!(ids[2] > ids[1]);
    }
}
