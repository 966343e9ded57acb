//! A WASM tool whose process dies during a call: its effect class decides what happens next.

use fakes::{
    llm::{self, Answer},
    wasm::{Component, Guest, GuestEffect},
};

use super::chat::Chat;
use crate::support::process::{On, Site, eventually};

const DONE: &str = "It is done.";

/// `kill -9` in the middle of a call that never ends by itself: a person is asked whether it may run
/// again. A call that was complete, and changes nothing, is repeated without a question.
/// Proves IC-44, R2.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_in_a_call_leaves_the_decision_to_a_person() {
    for on in [On::Sqlite, On::Postgres] {
        let spin = Component::new("work", Guest::Loop).with_effect(GuestEffect::AtMostOnce);
        asked_after(on, spin, true).await;
        asked_after(on, Component::new("work", Guest::Echo), false).await;
    }
}

async fn asked_after(on: On, component: Component, is_asked: bool) {
    let mut site = Site::new(on).await;
    let chat = Chat::new(answer).await;
    let sections = "[wasm]\ntimeout = \"10m\"\nmax_instructions = 9000000000000000000";
    chat.configures(&mut site, "work", sections);
    site.migrate().await;
    trusts(&site, &component).await;
    // A call that ends at once dies before its result is recorded.
    let armed: &[_] = if is_asked { &[] } else { &[("COUNTERSIGN_CRASH_AT", "tool/after run#1")] };
    let mut dies = site.start(armed);
    dies.greeted().await;
    chat.says("work");
    if is_asked {
        eventually("the call", async || {
            let events = site.rows("events").await;
            events.iter().any(|row| row["body"].to_string().contains("tool_started")).then_some(())
        })
        .await;
        dies.kill().await;
    } else {
        dies.died().await;
    }
    let mut lives = site.start(&[]);
    if is_asked {
        chat.skips().await;
    }
    chat.hears(DONE).await;
    assert!(lives.stop().await.success());
    let asked =
        chat.telegram.messages(chat.id).iter().any(|message| message.text.contains("interrupted"));
    assert!(is_asked || !asked, "{}", site.said());
    assert_eq!(chat.model.problems(), Vec::<String>::new());
    site.end().await;
}

/// An operator puts the component into the folder, and trusts it on the command line.
async fn trusts(site: &Site, component: &Component) {
    std::fs::create_dir_all(site.path("data/tools")).unwrap();
    std::fs::write(site.path("data/tools/worker.wasm"), component.bytes()).unwrap();
    let (trusted, said) = site.run(&["wasm", "trust", "worker"]).await;
    assert!(!trusted && said.contains("nothing was trusted yet"), "{said}");
    let (_, digest) = said.split_once("--digest ").unwrap();
    let digest: String = digest.chars().take_while(char::is_ascii_hexdigit).collect();
    let (trusted, said) = site.run(&["wasm", "trust", "worker", "--digest", &"0".repeat(64)]).await;
    assert!(!trusted && said.contains("not the one with this digest"), "{said}");
    let (trusted, said) = site.run(&["wasm", "trust", "worker", "--digest", &digest]).await;
    assert!(trusted && said.contains("Trusted as reviewed"), "{said}");
    let (_, said) = site.run(&["wasm", "list"]).await;
    assert!(said.contains("worker (tool work): trusted"), "{said}");
    let (_, said) = site.run(&["mcp", "list"]).await;
    assert!(!said.contains("worker"), "{said}");
}

/// The model, whose answers depend only on the history.
fn answer(request: &llm::Request) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    if messages.iter().any(|message| message["role"] == "tool") {
        return llm::text(DONE).into();
    }
    llm::text("").call("call_1", "work", "{}").into()
}
