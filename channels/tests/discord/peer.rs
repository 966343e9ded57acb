//! The adapter against a Discord that somebody else wrote; `tests/peers/discord_check.sh` starts it.

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

    async fn says(&self, text: &str) {
        self.act("say", json!({ "user": "alice", "text": text })).await;
    }
}

/// The next thing that a person did; our own messages come back too.
async fn by_a_person(listening: &mut Listening) -> Incoming {
    loop {
        let event = listening.event().await;
        if event.person.as_ref().is_some_and(|person| !person.is_bot) {
            return event;
        }
    }
}

/// R10, A2
#[tokio::test]
#[ignore = "needs a peer: tests/peers/discord_check.sh"]
async fn somebody_elses_discord_is_spoken_to() {
    let url = std::env::var_os("COUNTERSIGN_PEER_URL").expect("discord_check.sh sets it");
    let url = url.into_string().expect("it is text");
    let peer = Peer::new(url.clone());
    let channel = discord_at(&url, "lab-token", None);
    let chat = peer.look("state").await["channel"].as_str().and_then(|c| c.parse().ok());
    let chat: u64 = chat.expect("a channel");
    let mut listening = Listening::begin(&channel, None);
    peer.is_live().await;

    peer.says("hello").await;
    assert_eq!(text_of(by_a_person(&mut listening).await.what), "hello");
    peer.act("dm", json!({ "user": "alice", "text": "in private" })).await;
    let private = by_a_person(&mut listening).await;
    assert_eq!(private.place.kind, PlaceKind::Private);

    let asked = show(&channel, chat, question("Delete **it**?")).await.expect("sent");
    let click = json!({ "user": "alice", "label": "Allow", "message_id": asked.message });
    let clicked = peer.act("click", click).await;
    let event = by_a_person(&mut listening).await;
    let What::Press { press, data, .. } = event.what else { panic!("{event:?}") };
    assert_eq!(data, format!("{BUTTON_TOKEN}a"));
    let toast = Outgoing::Toast { press, text: "Done.".to_owned(), alert: false };
    show(&channel, chat, toast).await.expect("said");
    let interaction = clicked["interaction"].as_str().expect("an id");
    let life = peer.look(&format!("interaction/{interaction}")).await;
    assert_eq!(life["responded"], true, "{life}");
    let settled =
        Outgoing::Settled { markdown: "Allowed.".to_owned(), approval: None, choices: vec![] };
    channel.send(&shipment(chat, settled, Some(asked))).await.expect("edited");
    show(&channel, chat, file("a.txt", Some("Here"))).await.expect("sent");
    show(&channel, chat, Outgoing::Typing).await.expect("shown");

    for action in ["abort", "op7", "op9"] {
        peer.act("ws", json!({ "action": action })).await;
        peer.says(&format!("after {action}")).await;
        assert_eq!(text_of(by_a_person(&mut listening).await.what), format!("after {action}"));
        peer.is_live().await;
    }
    listening.end().await.expect("it ends well");
}
