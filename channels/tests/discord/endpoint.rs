//! Signed interactions received by webhook.

use channels::{WebhookError, WebhookRequest, discord::pong};
use ed25519_dalek::{Signer, SigningKey};

use super::*;

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn pushed(body: &serde_json::Value) -> WebhookRequest {
    let (body, timestamp) = (body.to_string(), "1700000000");
    let signature = key().sign(format!("{timestamp}{body}").as_bytes());
    let headers = vec![
        ("x-signature-ed25519".to_owned(), hex(&signature.to_bytes())),
        ("x-signature-timestamp".to_owned(), timestamp.to_owned()),
    ];
    WebhookRequest { headers, body: body.into() }
}

#[tokio::test]
async fn only_what_the_platform_signed_is_taken() {
    let fake = FakeDiscord::start().await;
    let public = hex(key().verifying_key().as_bytes());
    let channel = discord_at(&fake.url(), TOKEN, Some(public));
    let (ann, general) = (fake.person("Ann"), fake.general());
    let asked = id(&show(&channel, general, question("Delete?")).await.expect("sent"));
    let press = fake.pushed_press(general, ann, (asked, "Allow"));
    let signed = pushed(&press);
    let incomings = channel.webhook(&signed).await.expect("signed");
    assert!(
        matches!(&incomings[0].what, IncomingContent::Press { data, .. } if data.ends_with('a'))
    );
    let interaction = press["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    assert_eq!(fake.answer(interaction).map(|(kind, _)| kind), Some(6), "acknowledged (A2)");
    assert_eq!(pong(&signed), None);

    let mut forged = signed.clone();
    forged.body = serde_json::json!({ "type": 1 }).to_string().into();
    assert_eq!(channel.webhook(&forged).await, Err(WebhookError::Forbidden));
    let bare = WebhookRequest { headers: Vec::new(), body: signed.body.clone() };
    assert_eq!(channel.webhook(&bare).await, Err(WebhookError::Forbidden));
}

#[tokio::test]
async fn a_ping_is_no_event_and_has_its_own_answer() {
    let public = hex(key().verifying_key().as_bytes());
    let channel = discord_at("http://127.0.0.1:9", TOKEN, Some(public));
    let ping = pushed(&serde_json::json!({ "type": 1 }));
    assert_eq!(channel.webhook(&ping).await, Ok(Vec::new()));
    assert_eq!(pong(&ping), Some(r#"{"type":1}"#));
}

#[tokio::test]
async fn without_a_key_there_is_no_endpoint_and_a_wrong_key_opens_nothing() {
    let ping = pushed(&serde_json::json!({ "type": 1 }));
    let without = discord_at("http://127.0.0.1:9", TOKEN, None);
    assert_eq!(without.webhook(&ping).await, Err(WebhookError::Absent));
    let wrong = discord_at("http://127.0.0.1:9", TOKEN, Some("zz".to_owned()));
    assert_eq!(wrong.webhook(&ping).await, Err(WebhookError::Forbidden));
}
