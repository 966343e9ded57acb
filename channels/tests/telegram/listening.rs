//! Incoming updates, and their confirmation.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use channels::{Channel, ListenError, PlaceKind, incoming::IncomingContent, telegram::Mode};
use fakes::telegram::{BOT_ID, BOT_NAME, FakeTelegram, TOKEN, Trouble};
use serde_json::json;

use super::*;

fn said(message: i64, text: &str) -> IncomingContent {
    IncomingContent::Text {
        message: message.to_string(),
        text: text.to_owned(),
        reply_to: None,
        addressed: true,
        files: vec![],
        album: None,
        quoted_author: None,
    }
}

/// Proves M1.
#[tokio::test]
async fn an_update_is_confirmed_only_after_the_commit() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let mut listening = Listening::begin(&telegram(&fake), None);
    fake.user_says(chat, "Ann", "hello");
    let (batch, committed) = listening.batches.recv().await.expect("it listens");
    let update = fake.waiting()[0];
    assert_eq!(batch.position, Some(format!("{BOT_ID}:{}", update + 1)));
    assert_eq!(batch.incomings[0].key, format!("{BOT_ID}:{update}"));

    // Not committed: the listener ends, and the platform still has the update.
    drop(committed);
    assert!(matches!(listening.task.await.expect("no panic"), Err(ListenError::Closed)));
    assert_eq!(fake.waiting(), [update]);

    let mut again = Listening::begin(&telegram(&fake), None);
    assert_eq!(again.batch().await.incomings, batch.incomings);
    fake.until(|fake| fake.waiting().is_empty()).await;
    again.end().await.expect("it ends well");
}

/// Proves R9.
#[tokio::test]
async fn a_saved_position_a_lost_one_and_duplicates_keep_their_keys() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let channel = telegram(&fake);
    let one = fake.push_raw(json!({ "update_id": 500_000, "message": message(chat, "one") }));
    let two = fake.push_raw(json!({ "update_id": 500_001, "message": message(chat, "two") }));

    let mut saved = Listening::begin(&channel, Some(format!("{BOT_ID}:{two}")));
    assert_eq!(saved.event().await.key, format!("{BOT_ID}:{two}"));
    fake.repeat(one);
    fake.repeat(two);
    let keys: Vec<String> = saved.batch().await.incomings.into_iter().map(|i| i.key).collect();
    assert_eq!(keys, [format!("{BOT_ID}:{one}"), format!("{BOT_ID}:{two}")]);
    saved.end().await.expect("it ends well");

    let three = fake.push_raw(json!({ "update_id": 500_002, "message": message(chat, "three") }));
    let mut lost = Listening::begin(&channel, None);
    let keys: Vec<String> = lost.batch().await.incomings.into_iter().map(|i| i.key).collect();
    assert!(keys.contains(&format!("{BOT_ID}:{three}")), "{keys:?}");
    lost.end().await.expect("it ends well");
}

pub fn message(chat: i64, text: &str) -> serde_json::Value {
    json!({
        "message_id": 1, "date": 1_700_000_000, "text": text,
        "chat": { "id": chat, "type": "private", "first_name": "Ann" },
        "from": { "id": chat, "is_bot": false, "first_name": "Ann" },
    })
}

/// Proves M8.
#[tokio::test]
async fn each_kind_of_update_arrives_as_what_it_is() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let channel = telegram(&fake);
    let mut listening = Listening::begin(&channel, None);

    let first = fake.user_says(chat, "Ann", "hello 👍");
    let event = listening.event().await;
    assert_eq!(event.what, said(first, "hello 👍"));
    let person = event.person.expect("Ann");
    assert_eq!((person.id, person.name.as_str()), (chat.to_string(), "Ann"));
    assert_eq!((person.language.as_deref(), person.is_bot), (Some("en"), false));
    assert_eq!(event.place.kind, PlaceKind::Private);

    fake.user_edits(chat, first, "hello again");
    let (message, text) = (first.to_string(), "hello again".to_owned());
    let edited = IncomingContent::Edited { message, text, addressed: true };
    assert_eq!(listening.what().await, edited);

    let new = fake.user_posts(chat, "Ann", json!({ "hologram": { "depth": 3 } }));
    let content = "hologram".to_owned();
    assert_eq!(
        listening.what().await,
        IncomingContent::Unsupported { message: new.to_string(), content }
    );

    fake.user_posts(chat, BOT_NAME, json!({ "text": "I am a bot" }));
    assert!(listening.event().await.person.expect("the bot").is_bot);
    listening.end().await.expect("it ends well");
}

/// Proves M8.
#[tokio::test]
async fn an_update_that_nobody_can_read_is_kept_and_does_not_stop_the_rest() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let odd = fake.push_raw(json!({ "message": { "chat": { "id": chat, "type": "private" } } }));
    let new = fake.push_raw(json!({ "telepathy": { "from": 1 } }));
    fake.user_says(chat, "Ann", "after");
    let mut listening = Listening::begin(&telegram(&fake), None);
    let batch = listening.batch().await;
    let keys: Vec<&str> = batch.incomings.iter().map(|i| i.key.as_str()).collect();
    assert_eq!(keys[..2], [format!("{BOT_ID}:{odd}"), format!("{BOT_ID}:{new}")]);
    let [first, second, third] = &batch.incomings[..] else { panic!("{batch:?}") };
    assert!(matches!(&first.what, IncomingContent::Unparsed { raw } if raw.contains("update_id")));
    assert_eq!(first.place.chat, chat.to_string());
    assert!(matches!(&second.what, IncomingContent::Unparsed { raw } if raw.contains("telepathy")));
    assert!(matches!(&third.what, IncomingContent::Text { text, .. } if text == "after"));
    listening.end().await.expect("it ends well");
}

/// Proves M12.
#[tokio::test]
async fn in_a_group_the_bot_is_addressed_by_name_command_or_reply() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    let channel = telegram(&fake);
    let mut listening = Listening::begin(&channel, None);
    let cases = [
        ("just talk", "just talk", false),
        ("@counter_bot what is up", "what is up", true),
        ("@Counter_Bot, hi", "hi", true),
        ("ask @counter_bot about it", "ask @counter_bot about it", true),
        ("@other_bot hi", "@other_bot hi", false),
        ("/start now", "/start now", true),
        ("/start@counter_bot now", "/start now", true),
        ("/start@other_bot now", "/start@other_bot now", false),
        ("mail me@counter_bot.org", "mail me@counter_bot.org", false),
    ];
    for (written, heard, to_us) in cases {
        fake.user_says(group, "Ann", written);
        let event = listening.event().await;
        assert_eq!(event.place.kind, PlaceKind::Group);
        let IncomingContent::Text { text, addressed, .. } = event.what else { panic!("{written}") };
        assert_eq!((text.as_str(), addressed), (heard, to_us), "{written}");
    }

    let ours = channel.send(&delivery(group, text("Yes?"), None)).await.expect("sent");
    fake.user_replies(group, "Ann", id(&ours), "do it");
    let IncomingContent::Text { reply_to, addressed, .. } = listening.what().await else {
        panic!("a text")
    };
    assert_eq!((reply_to, addressed), (Some(ours.message), true));
    listening.end().await.expect("it ends well");
}

/// Proves M12.
#[tokio::test]
async fn a_topic_is_a_place_of_its_own() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    let topic = fake.topic(group, "Plans");
    let channel = telegram(&fake);
    let mut listening = Listening::begin(&channel, None);
    fake.user_says_in_topic(group, topic, "Ann", "hello");
    let event = listening.event().await;
    assert_eq!(event.place.thread, Some(topic.to_string()));
    let IncomingContent::Text { reply_to, addressed, .. } = event.what else { panic!("a text") };
    assert_eq!(
        (reply_to, addressed),
        (None, false),
        "the message that opened the topic is not answered"
    );

    let place = event.place;
    let delivery = Delivery {
        place,
        ..delivery(
            group,
            Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None },
            None,
        )
    };
    let receipt = channel.send(&delivery).await.expect("sent");
    let messages = fake.messages(group);
    let shown = messages.iter().find(|m| m.id == id(&receipt)).expect("it is there");
    assert_eq!(shown.thread, Some(topic));
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn a_press_names_its_message_also_when_that_is_not_accessible() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let channel = telegram(&fake);
    let mut listening = Listening::begin(&channel, None);
    let asked = channel.send(&delivery(chat, question("Allow?"), None)).await.expect("sent");
    let press = fake.user_presses(chat, "Ann", id(&asked), "Deny");
    let event = listening.event().await;
    let data = format!("{BUTTON_TOKEN}d");
    assert_eq!(
        event.what,
        IncomingContent::Press { press, message: asked.message, data, reason: None }
    );
    assert_eq!(event.person.map(|p| p.id), Some(chat.to_string()));

    let old = json!({ "chat": { "id": chat, "type": "private" }, "message_id": 3, "date": 0 });
    let from = json!({ "id": chat, "is_bot": false, "first_name": "Ann" });
    fake.push_raw(json!({ "callback_query": {
        "id": "old", "from": from, "chat_instance": "1", "data": "x", "message": old,
    }}));
    let event = listening.event().await;
    assert_eq!(event.place.chat, chat.to_string());
    let (press, message, data) = ("old".to_owned(), "3".to_owned(), "x".to_owned());
    assert_eq!(event.what, IncomingContent::Press { press, message, data, reason: None });
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn a_group_that_moves_tells_its_new_id() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    let mut listening = Listening::begin(&telegram(&fake), None);
    let to = fake.migrate(group);
    // Reported in the old group and in the new one, with the same meaning.
    for event in listening.events(2).await {
        assert_eq!(event.place.chat, group.to_string());
        assert_eq!(event.what, IncomingContent::Moved { to: to.to_string() });
    }
    listening.end().await.expect("it ends well");
}

/// Proves M7.
#[tokio::test]
async fn a_second_poller_is_waited_out_and_never_ends_the_first() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let (mut one, two) = {
        let one = Listening::begin(&telegram(&fake), None);
        fake.until(|fake| asks_began(fake) >= 1).await;
        (one, Listening::begin(&telegram(&fake), None))
    };
    fake.until(|fake| fake.calls().iter().filter(|call| call.status == 409).count() >= 2).await;
    assert!(!one.task.is_finished() && !two.task.is_finished());
    two.end().await.expect("it ends well");
    fake.user_says(chat, "Ann", "still there?");
    assert!(matches!(one.what().await, IncomingContent::Text { .. }));
    one.end().await.expect("it ends well");
}

/// The number of times that polling was reached: before it, a webhook is removed.
fn asks_began(fake: &FakeTelegram) -> usize {
    fake.granted("deleteWebhook").len()
}

/// Proves R9, M7.
#[tokio::test]
async fn polling_takes_over_from_a_webhook_and_back_without_losing_anything() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let secret = "s3cret-of-the-hook";
    let mode = webhook(secret, None);
    let pushed = Listening::begin(&telegram_at(&fake.url(), TOKEN, mode), None);
    fake.until(|fake| !fake.granted("setWebhook").is_empty()).await;
    let set = fake.granted("setWebhook").remove(0);
    assert_eq!(set["secret_token"], secret);
    assert_eq!(set["drop_pending_updates"], json!(null), "nothing that waits is dropped");
    fake.user_says(chat, "Ann", "to nobody");
    pushed.end().await.expect("it ends well");

    let mut polling = Listening::begin(&telegram(&fake), None);
    assert!(
        matches!(polling.what().await, IncomingContent::Text { text, .. } if text == "to nobody")
    );
    polling.end().await.expect("it ends well");
}

#[tokio::test]
async fn only_the_kinds_that_are_read_are_asked_for() {
    let fake = FakeTelegram::start().await;
    let listening = Listening::begin(&telegram(&fake), Some(format!("{BOT_ID}:7")));
    let chat = fake.private("Ann");
    fake.until(|fake| asks_began(fake) > 0).await;
    fake.user_says(chat, "Ann", "x");
    fake.until(|fake| !fake.granted("getUpdates").is_empty()).await;
    let asked = fake.granted("getUpdates").remove(0);
    assert_eq!(asked["offset"], 7);
    let kinds = asked["allowed_updates"].to_string();
    assert!(kinds.contains("callback_query") && !kinds.contains("inline_query"), "{kinds}");
    listening.stop.cancel();
}

#[tokio::test]
async fn a_platform_that_is_down_is_waited_for() {
    let mut nobody = Listening::begin(&telegram_at("http://127.0.0.1:9", TOKEN, Mode::Poll), None);
    assert!(tokio::time::timeout(Duration::from_millis(200), &mut nobody.task).await.is_err());
    let is_lost = |known: &ConnectionState| matches!(known, ConnectionState::Disconnected { .. });
    nobody.connection.wait_for(is_lost).await.expect("the problem is reported");
    nobody.end().await.expect("it ends well, although it never began");

    let fake = FakeTelegram::start().await;
    fake.fault("getMe", Trouble::Cut);
    fake.fault("getMe", Trouble::Page { code: 502 });
    fake.fault("deleteWebhook", Trouble::TooMany { retry_after: 0 });
    fake.fault("getUpdates", Trouble::Cut);
    let mut listening = Listening::begin(&telegram(&fake), None);
    let chat = fake.private("Ann");
    fake.user_says(chat, "Ann", "at last");
    assert!(
        matches!(listening.what().await, IncomingContent::Text { text, .. } if text == "at last")
    );
    assert_eq!(*listening.connection.borrow(), ConnectionState::Connected);
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn a_token_that_is_refused_ends_it() {
    let fake = FakeTelegram::start().await;
    let channel = telegram_at(&fake.url(), "12345:AAwrong", Mode::Poll);
    let ended = Listening::begin(&channel, None).task.await.expect("no panic");
    assert!(matches!(ended, Err(ListenError::Unauthorized { channel }) if channel == "tg"));
}

/// Duplicates have the same key, early updates their own; nothing is missing.
/// Proves R9.
#[tokio::test]
async fn updates_in_disorder_are_all_received_under_their_own_keys() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    fake.disorders(10, 20);
    let mut listening = Listening::begin(&telegram(&fake), None);
    let mut seen = BTreeMap::new();
    let mut deliveries = 0;
    for round in 0..10 {
        for number in 0..20 {
            fake.user_says(chat, "Ann", &format!("{round}/{number}"));
        }
        while seen.len() < (round + 1) * 20 {
            for incoming in listening.batch().await.incomings {
                let IncomingContent::Text { text, .. } = incoming.what else { panic!("a text") };
                assert_eq!(seen.entry(incoming.key).or_insert(text.clone()), &text);
                deliveries += 1;
            }
        }
    }
    assert!(deliveries > 200, "some came twice");
    let texts: BTreeSet<String> = seen.into_values().collect();
    assert_eq!(texts.len(), 200);
    listening.end().await.expect("it ends well");
}

/// Updates of another bot may have the same numbers; they are different updates.
/// Proves R9.
#[tokio::test]
async fn a_new_token_keeps_neither_the_position_nor_the_keys() {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let update = fake.push_raw(json!({ "update_id": 500_000, "message": message(chat, "one") }));
    let mut other = Listening::begin(&telegram(&fake), Some("777:900000".to_owned()));
    let batch = other.batch().await;
    assert_eq!(batch.incomings[0].key, format!("{BOT_ID}:{update}"));
    assert_eq!(batch.position, Some(format!("{BOT_ID}:{}", update + 1)));
    other.end().await.expect("it ends well");
}

#[tokio::test]
async fn the_commands_are_offered_once_and_again_when_they_change() {
    let fake = FakeTelegram::start().await;
    let start = async |menus: Vec<Menu>, sets: usize| {
        let asked = |fake: &FakeTelegram| {
            fake.calls().iter().filter(|call| call.method == "getMyCommands").count()
        };
        let all = asked(&fake) + menus.len();
        let channel = telegram_offering(&fake.url(), menus);
        let listening = Listening::begin(&channel, None);
        fake.until(|fake| asked(fake) == all && fake.granted("setMyCommands").len() == sets).await;
        listening.end().await.expect("it ends well");
    };
    let first = vec![menu(None, "Show what I can do"), menu(Some("de"), "Zeigen, was ich kann")];
    start(first.clone(), 2).await;
    assert_eq!(fake.commands("de")[0]["description"], "Zeigen, was ich kann");
    start(first, 2).await;
    fake.fault("getMyCommands", Trouble::Page { code: 502 });
    start(vec![menu(None, "not reached"), menu(Some("de"), "Hilfe")], 3).await;
    assert_eq!(fake.commands("")[0]["description"], "Show what I can do");
    assert_eq!(fake.commands("de")[0]["description"], "Hilfe");
}
