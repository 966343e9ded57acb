//! A fake Discord on its own port, for third-party clients: `fake-discord PORT`.
//!
//! The token is [`fakes::discord::TOKEN`]. Once a session is open, Ann writes in the channel
//! `general` and presses the first button that she is shown.

use fakes::discord::{FakeDiscord, TOKEN};
use serde_json::Value;

#[tokio::main]
async fn main() {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let Some(port) = port else {
        eprintln!("usage: fake-discord PORT");
        std::process::exit(2);
    };
    let fake = FakeDiscord::start_on(port).await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    eprintln!("{} token {TOKEN} channel {general}", fake.url());
    loop {
        if fake.is_connected() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    fake.says(general, ann, "Please run it.");
    let shown = loop {
        let asked = fake.messages(general).into_iter().find_map(button);
        if let Some(shown) = asked {
            break shown;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    // A person reads first; some clients take themselves for ready only after two seconds.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let (message, label) = &shown;
    let interaction = fake.presses(general, ann, (*message, label));
    eprintln!("pressed {label}: interaction {interaction}");
    std::future::pending::<()>().await;
}

fn button(message: Value) -> Option<(u64, String)> {
    let label = message["components"][0]["components"][0]["label"].as_str()?;
    Some((message["id"].as_str()?.parse().ok()?, label.to_owned()))
}
