//! The adapter against a third-party Discord simulator; `tests/peers/discord_check.sh` starts it.

use channels::discord::{Command, Roots};
use serde_json::{Value, json};

use super::*;

/// The users' side of the peer, at `<url>/_sim/`.
struct Peer {
    url: String,
    client: reqwest::Client,
}

impl Peer {
    fn new(url: String) -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().build().expect("a client");
        Self { url, client }
    }

    async fn look(&self, what: &str) -> Value {
        let url = format!("{}/_sim/{what}", self.url);
        let answer = self.client.get(url).send().await.expect("the peer answers");
        answer.json().await.expect("JSON")
    }

    async fn act(&self, what: &str, how: Value) -> Value {
        let url = format!("{}/_sim/{what}", self.url);
        let answer = self.client.post(url).json(&how).send().await.expect("the peer answers");
        assert!(answer.status().is_success(), "{what} {how}: {}", answer.status());
        answer.json().await.expect("JSON")
    }

    async fn is_live(&self) {
        let live = async {
            while self.look("state").await["live"].as_u64() != Some(1) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), live).await.expect("it connects");
    }

    async fn interaction(&self, of: &Value) -> Value {
        self.look(&format!("interaction/{}", of["interaction"].as_str().expect("an id"))).await
    }

    async fn answered(&self, interaction: &Value) {
        let answered = async {
            while self.interaction(interaction).await["responded"] != true {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), answered).await.expect("it is answered");
    }

    async fn says(&self, text: &str) {
        self.act("say", json!({ "user": "alice", "text": text })).await;
    }
}

/// The next event of a person; the bot's own messages are reported too.
async fn by_a_person(listening: &mut Listening) -> Incoming {
    loop {
        let event = listening.event().await;
        if event.person.as_ref().is_some_and(|person| !person.is_bot) {
            return event;
        }
    }
}

fn set(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.into_string().expect("it is text"))
}

/// With the peer's own certificate, if it has one.
fn speaking_to(url: &str) -> Arc<Discord> {
    let roots = set("COUNTERSIGN_PEER_CA").map(|file| std::fs::read(file).expect("it is there"));
    let roots = roots.map(|pem| Roots::from_pem(&pem).expect("an authority"));
    let help = Command {
        name: "help".to_owned(),
        description: "Say what I can do".into(),
        argument: Some(("topic".to_owned(), "About what".into())),
        private: true,
    };
    Arc::new(Discord::new(DiscordConfig {
        api_url: Some(url.parse().expect("a URL")),
        roots: roots.unwrap_or_default(),
        resolve: set("COUNTERSIGN_PEER_AT").map(|address| address.parse().expect("an address")),
        commands: vec![help],
        ..DiscordConfig::new("dc", "lab-token".into())
    }))
}

/// Repeats a delivery until the platform accepts it, and waits as long as it demands.
async fn insist(channel: &Discord, delivery: &Delivery) -> Receipt {
    loop {
        match channel.send(delivery).await {
            Ok(receipt) => return receipt,
            Err(SendError::Retry { after, .. }) => {
                let wait = after.unwrap_or(Duration::from_millis(50));
                tokio::time::timeout(wait, std::future::pending::<()>()).await.ok();
            }
            Err(problem) => panic!("{problem}"),
        }
    }
}

async fn shows(channel: &Discord, chat: u64, key: &str, what: Outgoing) -> Receipt {
    insist(channel, &Delivery { key: key.to_owned(), ..delivery(chat, what, None) }).await
}

/// Proves R10, A2, A10, M4.
#[tokio::test]
#[ignore = "needs a peer: tests/peers/discord_check.sh"]
async fn somebody_elses_discord_is_spoken_to() {
    let peer = Peer::new(set("COUNTERSIGN_PEER_USERS").expect("discord_check.sh sets it"));
    let channel = speaking_to(&set("COUNTERSIGN_PEER_URL").expect("discord_check.sh sets it"));
    let chat = peer.look("state").await["channel"].as_str().and_then(|c| c.parse().ok());
    let chat: u64 = chat.expect("a channel");
    let mut listening = Listening::begin(&channel, None);
    peer.is_live().await;
    talk(&peer, &mut listening).await;
    let asked = press(&peer, &channel, (chat, &mut listening)).await;
    let settled =
        Outgoing::Settled { markdown: "Allowed.".to_owned(), approval: None, choices: vec![] };
    channel.send(&delivery(chat, settled, Some(asked))).await.expect("edited");
    shows(&channel, chat, "file", file("a.txt", Some("Here"))).await;
    shows(&channel, chat, "typing", Outgoing::Typing).await;
    command(&peer, &channel, (chat, &mut listening)).await;
    for n in 0..8 {
        shows(&channel, chat, &format!("n{n}"), text(&format!("number {n}"))).await;
    }
    let log = peer.look("log").await;
    let limited = log.as_array().expect("a list").iter().filter(|call| call["status"] == 429);
    assert_eq!(limited.count(), 0, "no limit was run into");

    for action in ["abort", "op7", "op9"] {
        peer.act("ws", json!({ "action": action })).await;
        peer.says(&format!("after {action}")).await;
        let said = text_of(by_a_person(&mut listening).await.what);
        assert_eq!(said, format!("after {action}"));
        peer.is_live().await;
    }
    listening.end().await.expect("it ends well");
}

async fn talk(peer: &Peer, listening: &mut Listening) {
    peer.says("hello").await;
    assert_eq!(text_of(by_a_person(listening).await.what), "hello");
    // "hello", in base64.
    let files = json!([["a.txt", "aGVsbG8="]]);
    peer.act("say", json!({ "user": "alice", "text": "a file", "files": files })).await;
    let event = by_a_person(listening).await;
    let IncomingContent::Text { files, .. } = event.what else { panic!("{event:?}") };
    assert_eq!(files[0].name, "a.txt");
    let channel = speaking_to(&set("COUNTERSIGN_PEER_URL").expect("it was read before"));
    assert_eq!(channel.fetch(&files[0]).await.expect("fetched"), "hello");
    peer.act("dm", json!({ "user": "alice", "text": "in private" })).await;
    assert_eq!(by_a_person(listening).await.place.kind, PlaceKind::Private);
}

/// The question that was pressed.
async fn press(
    peer: &Peer,
    channel: &Discord,
    (chat, listening): (u64, &mut Listening),
) -> Receipt {
    let mut asking = question("Delete **it**?");
    if let Outgoing::Approval { choices, .. } = &mut asking {
        choices
            .push(Choice { label: "Deny, and say why".to_owned(), button: Button::DenyWithReason });
    }
    let asked = shows(channel, chat, "question", asking).await;
    let click =
        |label: &str| json!({ "user": "alice", "label": label, "message_id": asked.message });
    let clicked = peer.act("click", click("Allow")).await;
    let event = by_a_person(listening).await;
    let IncomingContent::Press { press, data, .. } = event.what else { panic!("{event:?}") };
    assert_eq!(data, format!("{BUTTON_TOKEN}a"));
    let toast = Outgoing::Toast { press, text: "Done.".to_owned(), alert: false };
    shows(channel, chat, "toast", toast).await;
    assert_eq!(peer.interaction(&clicked).await["responded"], true);

    let clicked = peer.act("click", click("Deny, and say why")).await;
    let interaction = clicked["interaction"].clone();
    let submit = json!({ "user": "alice", "interaction": interaction, "text": "It is mine." });
    peer.answered(&clicked).await;
    peer.act("submit", submit).await;
    let event = by_a_person(listening).await;
    let IncomingContent::Press { data, reason, .. } = event.what else { panic!("{event:?}") };
    assert_eq!(data, format!("{BUTTON_TOKEN}d"));
    assert_eq!(reason.as_deref(), Some("It is mine."));
    asked
}

async fn command(peer: &Peer, channel: &Discord, (chat, listening): (u64, &mut Listening)) {
    let call = json!({ "user": "alice", "name": "help", "text": "me" });
    let called = peer.act("command", call).await;
    let event = by_a_person(listening).await;
    let IncomingContent::Text { message, text, .. } = event.what else { panic!("{event:?}") };
    assert_eq!(text, "/help me");
    let answer = Outgoing::Text { markdown: "So.".to_owned(), reply_to: Some(message) };
    shows(channel, chat, "answer", answer).await;
    let life = peer.interaction(&called).await;
    assert_eq!((&life["loading"], &life["ephemeral"]), (&json!(false), &json!(true)), "{life}");
}
