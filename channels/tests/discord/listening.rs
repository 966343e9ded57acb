//! Events of the platform, and recovery of missed ones.

use super::*;

#[tokio::test]
async fn messages_name_their_place_and_whether_the_bot_is_addressed() {
    let fake = FakeDiscord::start().await;
    let (ann, bob, general) = (fake.person("Ann"), fake.person("Bob"), fake.general());
    let (private, thread) = (fake.private(ann), fake.thread(general, ann, "aside"));
    let mut listening = Listening::connected(&fake).await;
    let ours = id(&show(&discord(&fake), general, text("Yes?")).await.expect("sent"));
    let bot = fakes::discord::BOT_ID;
    fake.says(general, ann, "to nobody");
    fake.says(general, ann, &format!("<@{bot}> to you and <@{bob}>"));
    fake.replies(general, ann, (ours, "an answer"));
    fake.says(private, ann, "in private");
    fake.says(thread, ann, "aside");
    let (events, _) = listening.events(6).await;
    let of = |at: usize| match &events[at].what {
        IncomingContent::Text { text, addressed, .. } => (text.as_str(), *addressed),
        other => panic!("{other:?}"),
    };
    assert!(events[0].person.as_ref().is_some_and(|person| person.is_bot), "our own");
    assert_eq!(of(1), ("to nobody", false));
    assert_eq!(of(2), ("to you and @Bob", true));
    assert_eq!(of(3), ("an answer", true));
    assert_eq!(of(4), ("in private", true));
    assert_eq!(of(5), ("aside", false));
    assert_eq!(events[4].place.kind, PlaceKind::Private);
    assert_eq!(events[4].place.chat, private.to_string());
    assert_eq!(events[5].place.kind, PlaceKind::Group);
    assert_eq!(events[5].place.chat, thread.to_string(), "a thread is a place of its own (M12)");
    let person = events[1].person.as_ref().expect("Ann");
    assert_eq!((person.id.as_str(), person.name.as_str()), (ann.to_string().as_str(), "Ann"));
    assert!(
        matches!(&events[3].what, IncomingContent::Text { reply_to: Some(to), .. } if *to == ours.to_string())
    );
    listening.end().await.expect("it ends well");
}

/// Proves M8.
#[tokio::test]
async fn edits_files_and_unreadable_updates_are_distinguished() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    let said = fake.says(general, ann, "frist");
    fake.unfurls(general, said);
    fake.edits(general, said, "first");
    fake.attaches(general, ann, ("cat.png", b"png"));
    let odd = serde_json::json!({
        "id": "1", "channel_id": general.to_string(), "guild_id": "5", "author": [],
    });
    fake.tells("MESSAGE_CREATE", &odd);
    fake.tells("SOMETHING_NEW", &serde_json::json!({ "id": "1" }));
    fake.says(general, ann, "last");
    let (events, position) = listening.events(5).await;
    assert!(matches!(&events[1].what, IncomingContent::Edited { text, .. } if text == "first"));
    assert_ne!(events[0].key, events[1].key);
    assert!(
        matches!(&events[2].what, IncomingContent::Text { files, .. } if files[0].name == "cat.png")
    );
    assert!(
        matches!(&events[3].what, IncomingContent::Unparsed { raw } if raw.contains("\"author\":[]"))
    );
    assert_eq!(text_of(events[4].what.clone()), "last");
    let last = &events[4].key[1..];
    assert_eq!(position.as_deref(), Some(last), "the highest id is the position");
    listening.end().await.expect("it ends well");
}

/// A reply need not mention the bot.
/// Proves M12.
#[tokio::test]
async fn an_edit_says_whether_it_is_for_the_bot() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    let ours = id(&show(&discord(&fake), general, text("Yes?")).await.expect("sent"));
    let said = fake.says(general, ann, "to nobody");
    let answer = fake.replies(general, ann, (ours, "an answer"));
    fake.edits(general, said, "still to nobody");
    fake.edits(general, answer, "another answer");
    let (events, _) = listening.events(5).await;
    let edit = |event: &Incoming| match &event.what {
        IncomingContent::Edited { text, addressed, .. } => Some((text.clone(), *addressed)),
        _ => None,
    };
    let edits: Vec<_> = events.iter().filter_map(edit).collect();
    let expected = [("still to nobody", false), ("another answer", true)];
    assert_eq!(edits, expected.map(|(text, addressed)| (text.to_owned(), addressed)));
    listening.end().await.expect("it ends well");
}

/// Proves M1.
#[tokio::test]
async fn a_batch_is_passed_on_only_after_the_previous_commit() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "one");
    let (first, committed) = listening.batches.recv().await.expect("it listens");
    assert_eq!(first.incomings.len(), 1);
    fake.says(general, ann, "two");
    let early = tokio::time::timeout(Duration::from_millis(200), listening.batches.recv()).await;
    assert!(early.is_err());
    drop(committed);
    let ended = listening.task.await.expect("it does not panic");
    assert!(matches!(ended, Err(ListenError::Closed)), "what was not committed ends it");
}

/// Proves R10.
#[tokio::test]
async fn a_broken_connection_is_resumed_and_nothing_is_lost_or_doubled() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "before");
    assert_eq!(listening.texts(1).await, ["before"]);
    for step in 0..4 {
        match step {
            0 => fake.hangs_up(),
            1 => fake.asks_to_reconnect(),
            2 => fake.invalidates_for_now(),
            _ => fake.closes_connections(4000),
        }
        let resumed = fake.introductions().1;
        fake.until(|fake| !fake.is_connected() || fake.introductions().1 > resumed).await;
        fake.says(general, ann, &format!("meanwhile {step}"));
        assert_eq!(listening.texts(1).await, [format!("meanwhile {step}")]);
        fake.until(FakeDiscord::is_connected).await;
    }
    let (identified, resumed, _) = fake.introductions();
    assert_eq!((identified, resumed), (1, 4));
    listening.end().await.expect("it ends well");
}

/// Proves R10.
#[tokio::test]
async fn after_a_lost_session_what_was_missed_is_read_back_in_order() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let (private, quiet) = (fake.private(ann), fake.thread(general, ann, "aside"));
    fake.says(general, ann, "long ago");
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "seen");
    fake.says(private, ann, "seen too");
    assert_eq!(listening.texts(2).await, ["seen", "seen too"]);
    fake.faults("gateway", Trouble::Page { status: 502 }, 1);
    fake.forgets_sessions();
    for n in 0..230 {
        fake.says(general, ann, &format!("missed {n}"));
    }
    fake.says(private, ann, "missed in private");
    fake.says(quiet, ann, "missed aside");
    let mut texts = listening.texts(232).await;
    let expected: Vec<String> = (0..230).map(|n| format!("missed {n}")).collect();
    let general: Vec<String> =
        texts.extract_if(.., |t| t.split(' ').count() == 2 && t != "missed aside").collect();
    assert_eq!(general, expected);
    texts.sort();
    assert_eq!(texts, ["missed aside", "missed in private"]);
    fake.says(private, ann, "live");
    assert_eq!(listening.texts(1).await, ["live"], "nothing comes twice");
    listening.end().await.expect("it ends well");
}

/// Proves R10.
#[tokio::test]
async fn a_new_process_reads_from_the_committed_position() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let private = fake.private(ann);
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "seen");
    let (_, position) = listening.events(1).await;
    listening.end().await.expect("it ends well");
    fake.until(|fake| !fake.is_connected()).await;
    fake.says(general, ann, "while down");
    fake.says(private, ann, "while down, in private");

    let channel = discord(&fake);
    channel.remember([private]);
    let mut listening = Listening::begin(&channel, position);
    let mut texts = listening.texts(3).await;
    texts.sort();
    assert_eq!(texts, ["seen", "while down", "while down, in private"]);
    fake.says(general, ann, "live");
    let (live, position) = listening.events(1).await;
    assert_eq!(position.map(|p| format!("m{p}")), Some(live[0].key.clone()));
    listening.end().await.expect("it ends well");
}

/// Proves M7.
#[tokio::test]
async fn a_platform_that_is_down_at_the_start_is_waited_for() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    fake.faults("gateway", Trouble::Cut, 1);
    fake.fault("gateway", Trouble::TooMany { retry_after: 0.3, global: false });
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "at last");
    assert_eq!(listening.texts(1).await, ["at last"]);
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn a_connection_that_stopped_answering_is_left_and_resumed() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    fake.beats_every(Duration::from_millis(300));
    let mut listening = Listening::connected(&fake).await;
    let is_up = |known: &ConnectionState| *known == ConnectionState::Connected;
    listening.connection.wait_for(is_up).await.expect("it is reported");
    fake.falls_silent();
    fake.says(general, ann, "unheard");
    let is_lost = |known: &ConnectionState| matches!(known, ConnectionState::Disconnected { .. });
    listening.connection.wait_for(is_lost).await.expect("so is the loss");
    assert_eq!(listening.texts(1).await, ["unheard"]);
    listening.connection.wait_for(is_up).await.expect("it is back");
    assert_eq!(fake.introductions().1, 1);
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn an_invalid_session_is_replaced() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "one");
    assert_eq!(listening.texts(1).await, ["one"]);
    fake.invalidates();
    fake.says(general, ann, "two");
    assert_eq!(listening.texts(1).await, ["two"]);
    assert_eq!(fake.introductions().0, 2);
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn only_a_refused_token_ends_the_listening() {
    let fake = FakeDiscord::start().await;
    let listening = Listening::begin(&discord_at(&fake.url(), "wrong", None), None);
    let ended = listening.task.await.expect("it does not panic");
    assert!(matches!(ended, Err(ListenError::Unauthorized { channel }) if channel == "dc"));
}

#[tokio::test]
async fn without_the_privileged_intent_mentions_and_private_chats_go_on() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    fake.grants_no_message_content();
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "not for you");
    fake.says(general, ann, &format!("<@{}> for you", fakes::discord::BOT_ID));
    let (events, _) = listening.events(2).await;
    assert!(matches!(&events[0].what, IncomingContent::Unsupported { .. }));
    assert_eq!(text_of(events[1].what.clone()), "for you");
    listening.end().await.expect("it ends well");
}
