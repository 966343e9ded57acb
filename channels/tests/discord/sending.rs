//! Sending, rejections, and lost responses.

use super::*;

#[tokio::test]
async fn a_text_is_shown_in_their_dialect_and_pings_nobody() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let said = fake.says(general, ann, "hi");
    let reply = Outgoing::Text {
        markdown: "# Hi\n\n@everyone **b** https://x.y/a_b".to_owned(),
        reply_to: Some(said.to_string()),
    };
    show(&discord(&fake), general, reply).await.expect("sent");
    let shown = fake.messages(general).pop().expect("it stands there");
    assert_eq!(shown["content"], "# Hi\n\n@\u{200b}everyone **b** https://x.y/a_b");
    assert_eq!(shown["mention_everyone"], false);
    assert_eq!(shown["flags"], 4, "no previews");
    assert_eq!(shown["message_reference"]["message_id"], said.to_string());
    let gone = Outgoing::Text { markdown: "x".to_owned(), reply_to: Some("5".to_owned()) };
    show(&discord(&fake), general, gone).await.expect("an answer to what is gone is sent");
}

/// Proves A1, A4.
#[tokio::test]
async fn a_question_has_its_buttons_until_it_is_settled() {
    let fake = FakeDiscord::start().await;
    let general = fake.general();
    let channel = discord(&fake);
    let receipt = show(&channel, general, question("Delete?")).await.expect("sent");
    let shown = fake.messages(general).remove(0);
    let buttons = shown["components"][0]["components"].as_array().expect("a row");
    let ids: Vec<_> = buttons.iter().filter_map(|button| button["custom_id"].as_str()).collect();
    assert_eq!(ids, ["a", "c", "d"].map(|key| format!("{BUTTON_TOKEN}{key}")));
    let settled = Outgoing::Settled {
        markdown: "Allowed by Ann.".to_owned(),
        approval: None,
        choices: vec![],
    };
    for _ in 0..2 {
        let again = delivery(general, settled.clone(), Some(receipt.clone()));
        assert_eq!(channel.send(&again).await.expect("edited"), receipt);
    }
    let shown = fake.messages(general);
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0]["content"], "Allowed by Ann.");
    assert_eq!(shown[0]["components"], serde_json::json!([]));
}

#[tokio::test]
async fn a_message_that_was_deleted_is_sent_again() {
    let fake = FakeDiscord::start().await;
    let general = fake.general();
    let channel = discord(&fake);
    let receipt = show(&channel, general, question("Delete?")).await.expect("sent");
    fake.deletes(general, id(&receipt));
    let settled =
        Outgoing::Settled { markdown: "Denied.".to_owned(), approval: None, choices: vec![] };
    let again = Delivery { key: "k".into(), ..delivery(general, settled, Some(receipt.clone())) };
    assert_ne!(channel.send(&again).await.expect("sent"), receipt);
    assert_eq!(fake.reads(general), ["Denied."]);
    let draft = Outgoing::Draft { markdown: "x".to_owned() };
    let lost = channel.send(&delivery(general, draft.clone(), Some(receipt))).await;
    assert!(matches!(lost, Err(SendError::Rejected(_))), "a draft is not worth a new message");
    assert!(matches!(show(&channel, general, draft).await, Err(SendError::Rejected(_))));
}

/// Proves M3.
#[tokio::test]
async fn a_lost_answer_is_unknown_and_the_repeated_send_is_the_same_message() {
    let fake = FakeDiscord::start().await;
    let general = fake.general();
    let channel = discord(&fake);
    for what in [text("once"), file("a.txt", None), question("sure?")] {
        let before = fake.messages(general).len();
        let once = Delivery { key: format!("{what:?}"), ..delivery(general, what, None) };
        fake.fault("send", Trouble::LoseAnswer);
        assert!(matches!(channel.send(&once).await, Err(SendError::Unknown(_))));
        let first = channel.send(&once).await.expect("known again");
        assert_eq!(channel.send(&once).await.expect("and again"), first);
        assert_eq!(fake.messages(general).len(), before + 1);
    }
}

/// Proves M4.
#[tokio::test]
async fn a_rate_limit_says_how_long_and_applies_to_its_chat_only() {
    let fake = FakeDiscord::start().await;
    let (general, other) = (fake.general(), fake.private(fake.person("Ann")));
    let channel = discord(&fake);
    fake.fault("send", Trouble::TooMany { retry_after: 1.5, global: false });
    let told = show(&channel, general, text("x")).await;
    assert!(
        matches!(told, Err(SendError::Retry { after: Some(after), .. }) if after == Duration::from_millis(1500)),
        "{told:?}"
    );
    let asked = fake.calls().len();
    let held = show(&channel, general, text("x")).await;
    assert!(matches!(held, Err(SendError::Retry { after: Some(_), .. })));
    assert_eq!(fake.calls().len(), asked, "the platform is left alone");
    show(&channel, other, text("y")).await.expect("another chat is free");
    fake.fault("send", Trouble::TooMany { retry_after: 60.0, global: true });
    let told = show(&channel, other, text("y")).await;
    let minute = Duration::from_mins(1);
    assert!(matches!(told, Err(SendError::Paused { after, .. }) if after == minute), "{told:?}");
    let typed = show(&channel, general, Outgoing::Typing).await;
    assert!(matches!(typed, Err(SendError::Paused { .. })), "{typed:?}");
}

#[tokio::test]
async fn a_reaction_is_shown() {
    let fake = FakeDiscord::start().await;
    let (general, channel) = (fake.general(), discord(&fake));
    let said = show(&channel, general, text("x")).await.expect("sent").message;
    let react = |message: &str| Outgoing::Reaction { message: message.into(), emoji: "✍".into() };
    show(&channel, general, react(&said)).await.expect("shown");
    let reacted = fake.calls().pop().expect("a call");
    assert_eq!(reacted.act, "react");
    assert!(
        reacted.path.ends_with(&format!("messages/{said}/reactions/%E2%9C%8D/@me")),
        "{}",
        reacted.path
    );
}

/// Proves M4.
#[tokio::test]
async fn a_limit_that_is_about_to_be_reached_is_not_run_into() {
    let fake = FakeDiscord::start().await;
    let general = fake.general();
    let channel = discord(&fake);
    fake.limit(2, Duration::from_mins(1));
    show(&channel, general, text("1")).await.expect("granted");
    show(&channel, general, text("2")).await.expect("granted, the last");
    let held = show(&channel, general, text("3")).await;
    assert!(matches!(held, Err(SendError::Retry { after: Some(_), .. })));
    assert!(fake.calls().iter().all(|call| call.status != 429), "no 429 was provoked");
}

/// Proves M10.
#[tokio::test]
async fn refusals_say_what_to_do_next() {
    let fake = FakeDiscord::start().await;
    let (general, private) = (fake.general(), fake.private(fake.person("Ann")));
    let channel = discord(&fake);
    let refuse =
        |status, code, message: &str| Trouble::Refuse { status, code, message: message.to_owned() };
    let gone = show(&channel, 5, text("x")).await;
    assert!(matches!(gone, Err(SendError::Gone(_))), "{gone:?}");
    for (status, code) in [(403, 50013), (403, 50007), (404, 10003)] {
        fake.fault("send", refuse(status, code, "no"));
        assert!(matches!(show(&channel, private, text("x")).await, Err(SendError::Gone(_))));
    }
    fake.fault("send", refuse(403, 50013, "Missing Permissions"));
    let forbidden = show(&channel, general, file("a.txt", None)).await;
    assert!(
        matches!(forbidden, Err(SendError::Rejected(_))),
        "texts may be allowed: {forbidden:?}"
    );
    for (status, code) in [(400, 50035), (413, 40005)] {
        fake.fault("send", refuse(status, code, "no"));
        assert!(matches!(show(&channel, private, text("x")).await, Err(SendError::Rejected(_))));
    }
    for trouble in [refuse(500, 0, "oh"), refuse(401, 0, "who"), Trouble::Page { status: 502 }] {
        fake.fault("send", trouble);
        assert!(matches!(show(&channel, private, text("x")).await, Err(SendError::Retry { .. })));
    }
    fake.closes(general);
    assert!(matches!(show(&channel, general, text("x")).await, Err(SendError::Gone(_))));
    let nobody = discord_at("http://127.0.0.1:9", TOKEN, None);
    assert!(matches!(show(&nobody, general, text("x")).await, Err(SendError::Retry { .. })));
    let long = show(&channel, private, text(&"x".repeat(2001))).await;
    assert!(matches!(long, Err(SendError::Rejected(_))), "{long:?}");
}

/// Proves M5.
#[tokio::test]
async fn a_long_text_comes_in_parts_that_the_platform_takes() {
    let fake = FakeDiscord::start().await;
    let general = fake.general();
    let channel = discord(&fake);
    let line = "- a_b *c* 👍🏽 [link](https://example.org/very/long/path?of=things) `code`\n";
    let markdown = format!("{}\n\n```rust\n{}```\n", line.repeat(60), "let x = 1;\n".repeat(300));
    let parts = text(&markdown).degrade(channel.limits());
    assert!(parts.len() >= 4, "{}", parts.len());
    for part in parts {
        show(&channel, general, part).await.expect("it fits");
    }
    let shown = fake.reads(general);
    assert!(shown.iter().all(|text| text.chars().count() <= 2000));
    assert_eq!(shown.concat().matches("let x = 1;").count(), 300);
    assert!(shown.iter().all(|text| text.matches("```").count() % 2 == 0), "fences are balanced");
}

/// Proves M11.
#[tokio::test]
async fn a_file_arrives_as_a_file_and_typing_is_shown() {
    let fake = FakeDiscord::start().await;
    let general = fake.general();
    let channel = discord(&fake);
    show(&channel, general, file("a \"b\".txt", Some("**Here**"))).await.expect("sent");
    let shown = fake.messages(general).remove(0);
    let (name, bytes) = fake.file(&shown).expect("a file");
    assert_eq!((name.as_str(), bytes.as_ref()), ("a_\"b\".txt", b"hello".as_slice()));
    assert_eq!(shown["content"], "**Here**");
    show(&channel, general, Outgoing::Typing).await.expect("shown");
    assert_eq!(fake.granted("typing").len(), 1);
}

/// Proves M12.
#[tokio::test]
async fn everything_can_answer_a_message_and_all_buttons_are_shown() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let channel = discord(&fake);
    let said = fake.says(general, ann, "hi").to_string();
    let reply_to = || Some(said.clone());
    let option = |button: Button| Choice { label: button.key().to_string(), button };
    let choices: Vec<Choice> = Button::options().take(7).map(option).collect();
    let approval = "ap-1".to_owned();
    let asking =
        Outgoing::Approval { markdown: "?".into(), approval, choices, reply_to: reply_to() };
    let mut attached = file("a.txt", None);
    if let Outgoing::File { reply_to: to, .. } = &mut attached {
        *to = reply_to();
    }
    let placeholder = Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: reply_to() };
    let mut asked = None;
    for what in [asking, attached, placeholder] {
        asked.get_or_insert(show(&channel, general, what).await.expect("sent"));
    }
    let shown = fake.messages(general).split_off(1);
    assert!(shown.iter().all(|m| m["message_reference"]["message_id"] == said), "{shown:#?}");
    let rows = shown[0]["components"].as_array().expect("rows");
    let widths: Vec<_> =
        rows.iter().map(|row| row["components"].as_array().unwrap().len()).collect();
    assert_eq!(widths, [5, 2]);
    let revoke = vec![Choice { label: "Revoke".to_owned(), button: Button::RevokeGrant }];
    let settled = Outgoing::Settled {
        markdown: "Allowed always.".to_owned(),
        approval: Some("ap-1".to_owned()),
        choices: revoke,
    };
    channel.send(&delivery(general, settled, asked)).await.expect("edited");
    let shown = fake.messages(general).swap_remove(1);
    assert_eq!(shown["components"][0]["components"][0]["custom_id"], format!("{BUTTON_TOKEN}v"));
}

/// A message that a guild rejects is replaced by a notice, in the same place, once.
/// Proves T4.
#[tokio::test]
async fn a_file_is_as_large_as_the_guild_takes_it() {
    const MIB: usize = 1024 * 1024;
    let fake = FakeDiscord::start().await;
    let general = fake.general();
    let channel = discord(&fake);
    let mut listening = Listening::begin(&channel, None);
    fake.until(FakeDiscord::is_connected).await;
    // The guild is known once a later message has been received.
    fake.says(general, fake.person("Ann"), "hi");
    listening.event().await;
    let large = |size: usize| {
        let mut what = file("film.mp4", Some("Here it is"));
        if let Outgoing::File { size_bytes, .. } = &mut what {
            *size_bytes = size as u64;
        }
        let bytes = Some(Bytes::from(vec![0; size]));
        Delivery { key: format!("file {size}"), bytes, ..delivery(general, what, None) }
    };
    let eleven = large(11 * MIB);
    for _ in 0..2 {
        channel.send(&eleven).await.expect("told");
    }
    let told = fake.reads(general);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("the limit is 10.0 MB") && told[0].contains("Here it is"), "{told:?}");

    fake.boosts(2);
    fake.says(general, fake.person("Bob"), "boosted");
    listening.events(2).await;
    let twelve = large(12 * MIB);
    channel.send(&twelve).await.expect("sent");
    let shown = fake.messages(general).pop().expect("it is there");
    assert_eq!(shown["attachments"][0]["size"], 12 * MIB);
    let sent = fake.calls().into_iter().rfind(|call| call.act == "send").expect("sent");
    assert_eq!(sent.body["attachments"][0]["id"], "0", "a snowflake is a string");
    // Its boosts have expired without an event.
    let lost = Trouble::Refuse { status: 413, code: 40005, message: "too large".to_owned() };
    fake.fault("send", lost);
    channel.send(&large(13 * MIB)).await.expect("told");
    assert!(fake.reads(general).pop().is_some_and(|told| told.contains("the limit is 10.0 MB")));
    listening.end().await.expect("it ends well");
}

/// Proves M4.
#[tokio::test]
async fn a_growing_text_is_edited_into_its_message() {
    let fake = FakeDiscord::start().await;
    let general = fake.general();
    let channel = discord(&fake);
    assert!(channel.limits().drafts.is_some_and(|pace| pace >= Duration::from_secs(1)));
    let placeholder = Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None };
    let receipt = show(&channel, general, placeholder).await.expect("sent");
    for text in ["It", "It grows", "It grows **well**"] {
        let draft = Outgoing::Draft { markdown: text.to_owned() };
        channel.send(&delivery(general, draft, Some(receipt.clone()))).await.expect("edited");
    }
    assert_eq!(fake.reads(general), ["It grows **well**"]);
    fake.limit(2, Duration::from_mins(1));
    let last = |text: &str| delivery(general, super::text(text), Some(receipt.clone()));
    let held = channel.send(&last("The end.")).await;
    assert!(matches!(held, Err(SendError::Retry { after: Some(_), .. })), "{held:?}");
    show(&channel, general, text("Something new")).await.expect("edits are counted for themselves");
}

/// Proves M4, M10.
#[tokio::test]
async fn a_rejection_by_a_proxy_pauses_the_whole_bot_and_closes_no_chat() {
    let fake = FakeDiscord::start().await;
    let (general, other) = (fake.general(), fake.private(fake.person("Ann")));
    let channel = discord(&fake);
    fake.fault("send", Trouble::Page { status: 403 });
    let told = show(&channel, general, text("x")).await;
    assert!(matches!(told, Err(SendError::Retry { .. })), "{told:?}");
    fake.fault("send", Trouble::Page { status: 429 });
    show(&channel, general, text("x")).await.expect_err("refused");
    let asked = fake.calls().len();
    let held = show(&channel, other, text("y")).await;
    assert!(matches!(held, Err(SendError::Paused { .. })), "{held:?}");
    assert_eq!(fake.calls().len(), asked);
}
