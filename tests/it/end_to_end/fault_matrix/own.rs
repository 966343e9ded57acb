//! Faults between people and the web chat or terminal.

use serde_json::{Value, json};
use std::time::Duration;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};
use uuid::Uuid;

use super::{Fault, Platform};
use crate::support::process::{Running, Site};

/// Two people with the chat open in a browser.
#[derive(Default)]
pub struct Web {
    base: String,
    ann: String,
    bob: String,
}

fn client() -> reqwest::Client {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    client.timeout(Duration::from_secs(30)).build().expect("it needs nothing")
}

impl Web {
    /// The cookie of a person who has opened a link.
    async fn signed_in(&self, site: &Site, name: &str) -> String {
        let (went_well, link) = site.run(&["token", "--name", name]).await;
        assert!(went_well, "{link}");
        let (_, token) = link.trim().split_once("token=").expect("a link");
        let form = [("token", token.lines().next().unwrap_or_default())];
        let answer = client().post(format!("{}/sign-in", self.base)).form(&form).send().await;
        let cookies = answer.expect("it answers").headers()["set-cookie"].clone();
        cookies.to_str().expect("text").split(';').next().unwrap_or_default().to_owned()
    }

    /// Sends like the page: retries under the same id until the server has the message.
    async fn sends(&self, cookie: &str, message: &Value) {
        let request = client().post(format!("{}/chat/messages", self.base));
        let answer = request.header("cookie", cookie).json(message).send().await;
        assert_eq!(answer.expect("it answers").status(), 204);
    }

    /// Sends part of the request and disconnects.
    async fn hangs_up(&self, message: &Value, share: usize) {
        let (host, body) = (self.base.trim_start_matches("http://"), message.to_string());
        let request = format!(
            "POST /chat/messages HTTP/1.1\r\nhost: {host}\r\ncookie: {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.ann,
            body.len()
        );
        let mut line = TcpStream::connect(host).await.expect("it listens");
        let part = &request.as_bytes()[..request.len() / share];
        line.write_all(part).await.expect("it reads");
    }

    /// The bot's texts on a newly opened page.
    async fn page(&self, cookie: &str) -> Vec<String> {
        let request = client().get(format!("{}/chat/events", self.base)).header("cookie", cookie);
        let mut stream = request.send().await.expect("it answers");
        let mut told = String::new();
        while !told.contains("\n\n") {
            let Ok(Some(chunk)) = stream.chunk().await else { return Vec::new() };
            told += &String::from_utf8_lossy(&chunk);
        }
        let past = told.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_default();
        let past: Value = serde_json::from_str(past).unwrap_or_default();
        let items = past["items"].as_array().into_iter().flatten();
        let shown = items.filter_map(|item| item["html"].as_str());
        shown.map(|html| html.replace("<p>", "").replace("</p>", "")).collect()
    }
}

fn message(text: &str) -> Value {
    json!({ "id": Uuid::new_v4(), "text": text })
}

impl Platform for Web {
    fn channel(&self) -> String {
        String::new()
    }

    async fn start(&mut self, site: &Site) -> Running {
        let mut running = site.start(&[]);
        running.greeted().await;
        self.base = running.url();
        if self.ann.is_empty() {
            self.ann = self.signed_in(site, "ann").await;
            self.bob = self.signed_in(site, "bob").await;
        }
        running
    }

    async fn says(&self, _running: &mut Running, text: &str) {
        self.sends(&self.ann, &message(text)).await;
    }

    async fn says_under(&self, _running: &mut Running, fault: Fault, text: &str) {
        let message = message(text);
        match fault {
            Fault::DeliveredTwice => self.sends(&self.ann, &message).await,
            // The request is complete, but the response is lost.
            Fault::AnswerLost => self.hangs_up(&message, 1).await,
            Fault::CutBefore => self.hangs_up(&message, 2).await,
            _ => {}
        }
        self.sends(&self.ann, &message).await;
    }

    async fn another_says(&self, text: &str) {
        self.sends(&self.bob, &message(text)).await;
    }

    async fn shown(&self, _site: &Site) -> Vec<String> {
        self.page(&self.ann).await
    }

    async fn another_is_shown(&self) -> Vec<String> {
        self.page(&self.bob).await
    }

    async fn suffers(&self, _running: &mut Running, fault: Fault) -> bool {
        match fault {
            Fault::Unparsable => {
                let request = client().post(format!("{}/chat/messages", self.base));
                let request = request.header("cookie", &self.ann).json(&json!({ "id": 7 }));
                assert!(request.send().await.expect("it answers").status().is_client_error());
                true
            }
            Fault::DeliveredTwice
            | Fault::Killed
            | Fault::AnswerLost
            | Fault::CutBefore
            | Fault::LongAnswer
            | Fault::AnotherIsSlow => true,
            // There is no platform that could reject, drop or reorder anything.
            _ => false,
        }
    }
}

/// A person at the keyboard.
pub struct Terminal;

impl Platform for Terminal {
    fn channel(&self) -> String {
        String::new()
    }

    async fn start(&mut self, site: &Site) -> Running {
        site.talk()
    }

    async fn says(&self, running: &mut Running, text: &str) {
        running.types(format!("{text}\n").as_bytes()).await;
    }

    async fn shown(&self, site: &Site) -> Vec<String> {
        vec![site.printed()]
    }

    async fn suffers(&self, running: &mut Running, fault: Fault) -> bool {
        match fault {
            Fault::Unparsable => {
                running.types(b"\xff\xfe is no text \x1b[2J ask-700.\n").await;
                true
            }
            Fault::Killed | Fault::LongAnswer => true,
            // A single person sends one line after another.
            _ => false,
        }
    }
}
