//! A third-party Discord simulator for the shared conformance suite; `tests/peers/discord_check.sh`
//! starts it.

use std::{
    future::ready,
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use channels::{
    Channel, Place, PlaceKind,
    discord::{Discord, DiscordConfig},
};
use serde_json::{Value, json};

use crate::{
    discord::buttons,
    suite::{Seen, Stage, conformance},
};

struct OnSimcord {
    host: String,
    channel: Arc<Discord>,
    chat: String,
    bot: String,
}

/// Exclusive access to the simulator, which is reset.
fn stage() -> OnSimcord {
    rustls::crypto::ring::default_provider().install_default().ok();
    let url = std::env::var("COUNTERSIGN_PEER_USERS").expect("discord_check.sh sets it");
    let api_url = Some(url.parse().expect("a URL"));
    let usual = DiscordConfig::new("dc", "lab-token".into());
    let channel = Arc::new(Discord::new(DiscordConfig { api_url, ..usual }));
    let host = url.trim_start_matches("http://").to_owned();
    let mut stage = OnSimcord { host, channel, chat: String::new(), bot: String::new() };
    stage.act("reset", &json!({}));
    let begun = stage.act("dm", &json!({ "user": "alice", "text": "before" }));
    let bot = stage.look("_sim/state");
    let id = |of: &Value| of.as_str().expect("an id").to_owned();
    (stage.chat, stage.bot) = (id(&begun["channel"]), id(&bot["bot"]));
    stage
}

impl OnSimcord {
    /// One request, without a delay: a person's action takes no time.
    fn ask(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let mut line = TcpStream::connect(&self.host).expect("the peer listens");
        let request = format!(
            "{method} /{path} HTTP/1.0\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        line.write_all(request.as_bytes()).expect("the peer reads");
        let mut answer = Vec::new();
        line.read_to_end(&mut answer).expect("the peer answers");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        assert!(head.contains(" 200 "), "{path} {body}: {head}");
        answer.split_off(end + 4)
    }

    fn act(&self, what: &str, how: &Value) -> Value {
        let answer = self.ask("POST", &format!("_sim/{what}"), &how.to_string());
        serde_json::from_slice(&answer).expect("JSON")
    }

    fn look(&self, path: &str) -> Value {
        serde_json::from_slice(&self.ask("GET", path, "")).expect("JSON")
    }

    fn file(&self, message: &Value) -> Option<Bytes> {
        let url = message["attachments"][0]["url"].as_str()?;
        let path = url.split_once("/cdn/")?.1;
        Some(self.ask("GET", &format!("cdn/{path}"), "").into())
    }

    fn messages(&self) -> Vec<Value> {
        let all = self.look(&format!("_sim/messages?channel={}", self.chat));
        let all = all.as_array().cloned().unwrap_or_default().into_iter();
        all.filter(|message| message["author"]["id"] == self.bot.as_str()).collect()
    }
}

impl Stage for OnSimcord {
    fn channel(&self) -> Arc<dyn Channel> {
        self.channel.clone()
    }

    fn place(&self) -> Place {
        Place { chat: self.chat.clone(), thread: None, kind: PlaceKind::Private }
    }

    fn lacks(&self, test: &str) -> Option<&'static str> {
        match test {
            "names_what_comes_twice_the_same" => {
                Some("this peer tells nothing twice; the fake does")
            }
            "shows_once_what_lost_its_answer" => {
                Some("this peer does not heed `enforce_nonce`; the fake does")
            }
            _ => None,
        }
    }

    async fn hears_us(&self) {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        while self.look("_sim/state")["live"] != 1 {
            ticks.tick().await;
        }
    }

    fn says(&self, text: &str) {
        self.act("dm", &json!({ "user": "alice", "text": text }));
    }

    fn attaches(&self, bytes: Bytes) -> &'static str {
        let files = json!([["a_b.txt", STANDARD.encode(&bytes)]]);
        self.act("dm", &json!({ "user": "alice", "text": "", "files": files }));
        "a_b.txt"
    }

    fn presses(&self, label: &str) {
        let channel: u64 = self.chat.parse().expect("a number");
        self.act("click", &json!({ "user": "alice", "label": label, "channel": channel }));
    }

    fn shown(&self) -> Vec<Seen> {
        let seen = |message: Value| Seen {
            text: message["content"].as_str().unwrap_or_default().to_owned(),
            buttons: buttons(&message),
            file: self.file(&message),
        };
        self.messages().into_iter().map(seen).collect()
    }

    fn throttles(&self, wait: Duration) {
        let after = wait.as_secs_f64();
        let path = "/channels/*/messages";
        let fault = json!({
            "method": "POST", "path": path, "status": 429, "retry_after": after, "times": 1,
        });
        self.act("fault", &fault);
    }

    /// It closes a connection before anything is done, never afterwards.
    fn loses_answer(&self) -> bool {
        false
    }
}

conformance!(ignore = "needs a peer: tests/peers/discord_check.sh", ready(stage()));
