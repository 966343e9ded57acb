//! Guilds: roles, threads, and removal of the bot.

use super::*;

fn roles_of(event: &Incoming) -> Vec<String> {
    event.person.as_ref().expect("somebody").roles.clone()
}

/// Also for messages that were missed and are read by REST, which does not include roles.
/// Proves A13, R10.
#[tokio::test]
async fn a_missed_message_comes_with_the_roles_of_its_writer() {
    let fake = FakeDiscord::start().await;
    let (ann, eve) = (fake.person("Ann"), fake.person("Eve"));
    let (general, cook) = (fake.general(), fake.role("Cooks", 0));
    fake.gives_role(eve, cook);
    fake.owns(ann);
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "seen");
    listening.event().await;
    fake.faults("gateway", Trouble::Page { status: 502 }, 1);
    fake.fault("member", Trouble::Page { status: 502 });
    fake.forgets_sessions();
    for person in [eve, ann, eve] {
        fake.says(general, person, "missed");
    }
    let (events, _) = listening.events(3).await;
    let owner = ["admin".to_owned(), "owner".to_owned()];
    assert_eq!(roles_of(&events[0]), [cook.to_string()]);
    assert_eq!(roles_of(&events[1]), owner);
    assert_eq!(roles_of(&events[2]), [cook.to_string()]);
    let asked = fake.calls().iter().filter(|call| call.act == "member").count();
    assert_eq!(asked, 3, "each is asked about once, and again where the platform was down");
    listening.end().await.expect("it ends well");
}

/// Proves A13.
#[tokio::test]
async fn a_person_comes_with_their_roles() {
    let fake = FakeDiscord::start().await;
    let (ann, bob, eve) = (fake.person("Ann"), fake.person("Bob"), fake.person("Eve"));
    let general = fake.general();
    fake.owns(ann);
    let (admin, plain) = (fake.role("Admins", 1 << 3), fake.role("Cooks", 0));
    fake.gives_role(bob, admin);
    fake.gives_role(eve, plain);
    let mut listening = Listening::connected(&fake).await;
    let asked = id(&show(&discord(&fake), general, question("Delete?")).await.expect("sent"));
    listening.event().await;
    for person in [ann, bob, eve] {
        fake.says(general, person, "hi");
        fake.presses(general, person, (asked, "Allow"));
    }
    let (events, _) = listening.events(6).await;
    let expected = [
        vec!["admin".to_owned(), "owner".to_owned()],
        vec![admin.to_string(), "admin".to_owned()],
        vec![plain.to_string()],
    ];
    for (pair, expected) in events.chunks(2).zip(expected) {
        assert_eq!(roles_of(&pair[0]), expected, "by what the guild says");
        assert_eq!(roles_of(&pair[1]), expected, "by what the press says");
    }
    let late = fake.role("Late", 1 << 5);
    fake.gives_role(eve, late);
    fake.says(general, eve, "and now?");
    let event = listening.event().await;
    assert_eq!(roles_of(&event), [plain.to_string(), late.to_string(), "admin".to_owned()]);
    fake.says(fake.private(ann), ann, "in private");
    assert!(roles_of(&listening.event().await).is_empty());
    listening.end().await.expect("it ends well");
}

/// A node that is not connected looks up the guild and its roles. A failure is not taken for a
/// person without roles.
/// Proves A13.
#[tokio::test]
async fn roles_are_looked_up_without_a_connection() {
    let fake = FakeDiscord::start().await;
    let (ann, bob) = (fake.person("Ann"), fake.person("Bob"));
    fake.owns(ann);
    let admin = fake.role("Admins", 1 << 3);
    fake.gives_role(bob, admin);
    let channel = discord(&fake);
    let general = Place { chat: fake.general().to_string(), thread: None, kind: PlaceKind::Group };
    let roles = async |person: u64| channel.roles(&general, &person.to_string()).await;
    fake.fault("guild", Trouble::Page { status: 502 });
    assert!(roles(bob).await.is_err(), "the permissions of roles are unknown");
    assert_eq!(roles(bob).await.unwrap(), [admin.to_string(), "admin".to_owned()]);
    assert_eq!(roles(ann).await.unwrap(), ["admin", "owner"]);
    assert_eq!(roles(999).await.unwrap(), [""; 0], "no member");
    fake.fault("member", Trouble::Page { status: 403 });
    assert!(roles(998).await.is_err(), "a proxy in front of the platform");
    let private = Place { kind: PlaceKind::Private, ..general.clone() };
    assert_eq!(channel.roles(&private, &bob.to_string()).await.unwrap(), [""; 0]);
    let asked = |act: &str| fake.calls().iter().filter(|call| call.act == act).count();
    assert_eq!(
        (asked("channel"), asked("guild")),
        (1, 2),
        "each is asked for once, and again after a failure"
    );
}

/// Forty people press at once: each is looked up once a minute.
/// Proves A13, S6.
#[tokio::test]
async fn members_are_looked_up_once() {
    let fake = FakeDiscord::start().await;
    let bob = fake.person("Bob");
    let channel = discord(&fake);
    let general = Place { chat: fake.general().to_string(), thread: None, kind: PlaceKind::Group };
    for _ in 0..40 {
        for person in [bob, 999] {
            channel.roles(&general, &person.to_string()).await.expect("the platform answers");
        }
    }
    assert_eq!(fake.calls().iter().filter(|call| call.act == "member").count(), 2);
}

/// Proves M12.
#[tokio::test]
async fn a_mention_of_the_bots_own_role_is_one_of_the_bot() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut listening = Listening::connected(&fake).await;
    let (ours, other) = (fake.own_role(), fake.role("Cooks", 0));
    fake.says(general, ann, &format!("<@&{ours}> hello"));
    fake.says(general, ann, &format!("<@&{other}> hello"));
    let (events, _) = listening.events(2).await;
    let of = |event: &Incoming| match &event.what {
        IncomingContent::Text { text, addressed, .. } => (text.clone(), *addressed),
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&events[0]), ("hello".to_owned(), true));
    assert_eq!(of(&events[1]), (format!("<@&{other}> hello"), false));
    let edited = fake.says(general, ann, "x");
    fake.edits(general, edited, &format!("<@{}> x", fakes::discord::BOT_ID));
    let (events, _) = listening.events(2).await;
    assert!(matches!(&events[1].what, IncomingContent::Edited { .. }));
    listening.end().await.expect("it ends well");
}

/// Proves M12.
#[tokio::test]
async fn forum_posts_are_separate_places_and_can_be_reopened() {
    let fake = FakeDiscord::start().await;
    let ann = fake.person("Ann");
    let forum = fake.forum("ideas");
    let (one, two) = (fake.thread(forum, ann, "one"), fake.thread(forum, ann, "two"));
    let channel = discord(&fake);
    let mut listening = Listening::connected(&fake).await;
    fake.says(one, ann, "first");
    fake.says(two, ann, "second");
    let (events, _) = listening.events(2).await;
    assert_eq!(events[0].place.chat, one.to_string());
    assert_eq!(events[1].place.chat, two.to_string());
    let there = Delivery { place: events[0].place.clone(), ..delivery(0, question("Well?"), None) };
    let asked = channel.send(&there).await.expect("sent");
    assert_eq!(fake.reads(one), ["Well?"]);

    fake.archives(one, false);
    let settled =
        Outgoing::Settled { markdown: "Denied.".to_owned(), approval: None, choices: vec![] };
    channel.send(&delivery(one, settled.clone(), Some(asked.clone()))).await.expect("taken up");
    assert_eq!(fake.reads(one), ["Denied."]);
    fake.archives(one, false);
    show(&channel, one, text("new")).await.expect("a new message takes it up by itself");
    fake.archives(one, true);
    for gone in [
        show(&channel, one, text("more")).await,
        channel.send(&delivery(one, settled, Some(asked))).await,
    ] {
        assert!(matches!(gone, Err(SendError::Gone(_))), "{gone:?}");
    }
    listening.end().await.expect("it ends well");
}

/// Proves A6, M10.
#[tokio::test]
async fn places_that_the_bot_leaves_and_joins_are_reported() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let aside = fake.thread(general, ann, "aside");
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "hi");
    listening.event().await;
    let mut told = async |count: usize, is: IncomingContent| {
        let (events, _) = listening.events(count).await;
        assert!(events.iter().all(|event| event.what == is), "{events:#?}");
        let mut chats: Vec<String> = events.iter().map(|e| e.place.chat.clone()).collect();
        chats.sort();
        let keys: Vec<String> = events.into_iter().map(|event| event.key).collect();
        (chats, keys)
    };
    let both = vec![general.to_string(), aside.to_string()];
    fake.kicks();
    let (chats, first) = told(2, IncomingContent::Expelled).await;
    assert_eq!(chats, both);
    fake.invites();
    assert_eq!(told(2, IncomingContent::Admitted).await.0, both);
    fake.kicks();
    let (chats, second) = told(2, IncomingContent::Expelled).await;
    assert_eq!(chats, both);
    assert!(first.iter().all(|key| !second.contains(key)), "another time, another event");
    fake.invites();
    told(2, IncomingContent::Admitted).await;
    fake.removes(general);
    assert_eq!(told(2, IncomingContent::Expelled).await.0, both, "a channel goes with its threads");
    listening.end().await.expect("it ends well");
}
