//! Validates each request against the official schema with a third-party proxy.

use channels::Channel;
use fakes::telegram::{FakeTelegram, File, TOKEN};
use serde_json::Value;

use super::*;

/// Proves S21.
#[tokio::test]
#[ignore = "needs a proxy in front of the fake: tests/peers/telegram_check.sh starts it and this"]
async fn every_request_is_what_the_official_schema_wants() {
    let set = |name| {
        let value = std::env::var_os(name).expect("telegram_check.sh sets it");
        value.into_string().expect("it is text")
    };
    let port = set("COUNTERSIGN_FAKE_PORT").parse().expect("a port");
    let (fake, proxy) = (FakeTelegram::start_on(port).await, set("COUNTERSIGN_PROXY_URL"));
    let channel = telegram_offering(
        &proxy,
        vec![menu(None, "Show what I can do"), menu(Some("de"), "Zeigen, was ich kann")],
    );
    let chat = fake.private("Ann");
    let group = fake.group("Team");
    let topic = fake.topic(group, "Plans");

    let mut listening = Listening::begin(&channel, None);
    let asked = fake.user_says(chat, "Ann", "hi");
    listening.batch().await;
    fake.user_says_in_topic(group, topic, "Ann", "@counter_bot hi");
    let mut place = listening.event().await.place;
    place.kind = PlaceKind::Group;
    let receipt = channel
        .send(&delivery(
            chat,
            Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None },
            None,
        ))
        .await
        .expect("sent");
    let markdown = "**b** *i* ~~s~~ `c` [l](https://a.b)\n\n> q\n\n```rust\nx\n```";
    let reply = Outgoing::Text { markdown: markdown.into(), reply_to: Some(asked.to_string()) };
    let settled =
        Outgoing::Settled { markdown: "Allowed.".into(), approval: None, choices: vec![] };
    for what in [text(markdown), question("Allow?"), settled, file("a.txt", Some("*c*"))] {
        channel.send(&delivery(chat, what, Some(&receipt))).await.expect("edited");
    }
    for what in [reply, question("Allow?"), file("a.txt", None), Outgoing::Typing] {
        channel.send(&delivery(chat, what.clone(), None)).await.expect("sent");
        let in_topic = Delivery { place: place.clone(), ..delivery(group, what, None) };
        channel.send(&in_topic).await.expect("sent");
    }
    let asked =
        fake.messages(chat).into_iter().find(|m| !m.buttons.is_empty()).expect("a question");
    let press = fake.user_presses(chat, "Ann", asked.id, "Allow");
    assert!(matches!(listening.what().await, IncomingContent::Press { .. }));
    let reaction = Outgoing::Reaction { message: receipt.message.clone(), emoji: "✍".into() };
    channel.send(&delivery(chat, reaction, None)).await.expect("shown");
    let toast = Outgoing::Toast { press, text: "Allowed".into(), alert: false };
    channel.send(&delivery(chat, toast, None)).await.expect("answered");
    media(&fake, &channel, &mut listening).await;
    listening.end().await.expect("it ends well");

    let pushed = Listening::begin(&telegram_at(&proxy, TOKEN, webhook("s", None)), None);
    fake.until(|fake| !fake.granted("setWebhook").is_empty()).await;
    pushed.end().await.expect("it ends well");
    check(&proxy).await;
}

/// Received files of every kind, sent pictures and drafts, and group membership.
async fn media(fake: &FakeTelegram, channel: &Arc<Telegram>, listening: &mut Listening) {
    let (chat, group) = (fake.private("Ann"), fake.group("Other"));
    let bytes = sending::png(8, 8);
    let picture = || File::new("a.png", "image/png", bytes.clone());
    let sound = || File::new("a.ogg", "audio/ogg", "OggS and so on");
    let film = || File::new("a.mp4", "video/mp4", "\0\0\0\u{18}ftypmp42 and so on");
    for (kind, file) in [
        ("document", picture()),
        ("photo", picture()),
        ("voice", sound()),
        ("audio", sound()),
        ("video", film()),
        ("video_note", film()),
        ("animation", film()),
        ("sticker", picture()),
    ] {
        let sent = file.bytes.clone();
        fake.user_sends(chat, "Ann", (kind, file));
        let IncomingContent::Text { files, .. } = listening.what().await else { panic!("a text") };
        assert_eq!(channel.fetch(&files[0]).await.expect("fetched"), sent, "{kind}");
    }
    fake.user_sends_album(chat, "Ann", vec![picture(), picture()], "two");
    let answered = fake.user_says(group, "Ann", "/stop");
    fake.bot_becomes(group, "Ann", "kicked");
    fake.bot_becomes(group, "Ann", "member");
    listening.events(5).await;
    let what = sending::picture("image/png", bytes.clone());
    let placeholder = Outgoing::Placeholder {
        markdown: "Hello …".into(),
        reply_to: Some(answered.to_string()),
    };
    let placed = channel.send(&delivery(group, placeholder, None)).await.expect("sent");
    for receipt in [None, Some(&placed)] {
        let delivery = delivery(group, what.clone(), receipt);
        let sent = channel.send(&Delivery { bytes: Some(bytes.clone()), ..delivery }).await;
        sent.expect("shown");
    }
    let album = sending::album(group, &[bytes.clone(), bytes], None);
    channel.send(&album).await.expect("shown");
    channel.send(&delivery(chat, drafts::draft("**so** far"), None)).await.expect("shown");
}

async fn check(proxy: &str) {
    let log = reqwest::get(format!("{proxy}/_shim/log")).await.expect("the proxy's log");
    let log: Vec<Value> = serde_json::from_str(&log.text().await.expect("text")).expect("JSON");
    for method in [
        "getFile",
        "getChatMember",
        "sendPhoto",
        "sendMediaGroup",
        "sendMessageDraft",
        "setMyCommands",
    ] {
        assert!(log.iter().any(|call| call["method"] == method), "{method} went through the proxy");
    }
    for call in log {
        assert_eq!(call["problems"], serde_json::json!([]), "{call:#}");
        assert!(call["bad_updates"].is_null(), "{call:#}");
    }
}
