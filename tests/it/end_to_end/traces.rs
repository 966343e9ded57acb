//! Traces as received by a collector.

use axum::{Router, body::Bytes, routing::post};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::net::TcpListener;

use crate::{
    end_to_end::telegram::{API_KEY, By, TelegramSystem, Vendor},
    support::process::On,
};

/// A trace contains the steps of a turn, and no messages.
/// Proves MC-52, O1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_is_sent_what_a_turn_took() {
    let sent: Arc<Mutex<Vec<u8>>> = Arc::default();
    let keep = {
        let sent = sent.clone();
        async move |body: Bytes| sent.lock().extend_from_slice(&body)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    tokio::spawn(async {
        axum::serve(listener, Router::new().route("/v1/traces", post(keep))).await
    });

    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    system.site.variable("COUNTERSIGN__ADMIN__OTLP_URL", &url);
    let running = system.start(By::Poll).await;
    system.main_job().await;
    system.stop(running).await;

    let sent = String::from_utf8_lossy(&sent.lock()).into_owned();
    for part in ["countersign", "turn", "conversation.id", "chat", "main", "send", "write_file"] {
        assert!(sent.contains(part), "{part} is not in it");
    }
    assert!(sent.contains("gen_ai.usage.output_tokens") && sent.contains("execute_tool"));
    for secret in ["They flow", "write a report", API_KEY] {
        assert!(!sent.contains(secret), "{secret} is in it");
    }
    system.site.end().await;
}
