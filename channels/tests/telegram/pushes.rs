//! Updates received by webhook, with the secret only.

use channels::{Channel, WebhookError, WebhookRequest, incoming::IncomingContent};
use fakes::telegram::{BOT_ID, FakeTelegram};
use serde_json::json;

use super::{listening::message, *};

fn push(secret: Option<&str>, body: &str) -> WebhookRequest {
    let name = "x-telegram-bot-api-secret-token".to_owned();
    let headers = secret.map(|secret| (name, secret.to_owned())).into_iter().collect();
    WebhookRequest { headers, body: Bytes::copy_from_slice(body.as_bytes()) }
}

/// Proves S6.
#[tokio::test]
async fn a_push_without_the_secret_is_refused() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let hook = |secret: &str| telegram_at(&fake.url(), TOKEN, webhook(secret, None));
    let update = json!({ "update_id": 9, "message": message(chat, "hi") }).to_string();
    let channel = hook("right");
    for wrong in [None, Some(""), Some("righ"), Some("right "), Some("wrong")] {
        let answer = channel.webhook(&push(wrong, &update)).await;
        assert_eq!(answer, Err(WebhookError::Forbidden), "{wrong:?}");
    }
    let taken = channel.webhook(&push(Some("right"), &update)).await.expect("taken");
    assert_eq!(taken[0].key, format!("{BOT_ID}:9"));
    assert!(matches!(&taken[0].what, IncomingContent::Text { text, .. } if text == "hi"));

    for body in ["{", "[]", "{\"a\":1}", &format!("\"{}\"", "x".repeat(1 << 20))] {
        let answer = channel.webhook(&push(Some("right"), body)).await;
        assert!(matches!(answer, Err(WebhookError::Malformed(_))), "{answer:?}");
    }
    assert_eq!(hook("").webhook(&push(Some(""), &update)).await, Err(WebhookError::Forbidden));
    let poll = telegram(&fake).webhook(&push(Some("right"), &update)).await;
    assert_eq!(poll, Err(WebhookError::Absent));
}

/// With two keys nothing is lost during a rotation; the old key is rejected as soon as it is
/// removed from the configuration.
/// Proves S6.
#[tokio::test]
async fn a_secret_is_changed_while_pushes_are_under_way() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let update = json!({ "update_id": 9, "message": message(chat, "hi") }).to_string();
    let both = telegram_at(&fake.url(), TOKEN, webhook("new", Some("old")));
    for secret in ["new", "old"] {
        assert_eq!(both.webhook(&push(Some(secret), &update)).await.expect("taken").len(), 1);
    }
    for channel in [
        telegram_at(&fake.url(), TOKEN, webhook("new", None)),
        telegram_at(&fake.url(), TOKEN, webhook("new", Some(""))),
    ] {
        for secret in [Some("old"), Some(""), None] {
            let answer = channel.webhook(&push(secret, &update)).await;
            assert_eq!(answer, Err(WebhookError::Forbidden), "{secret:?}");
        }
    }
    let pushed = Listening::begin(&both, None);
    fake.until(|fake| !fake.granted("setWebhook").is_empty()).await;
    assert_eq!(fake.granted("setWebhook")[0]["secret_token"], "new");
    pushed.end().await.expect("it ends well");
}
