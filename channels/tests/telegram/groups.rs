//! Groups: the roles of people and of the bot.

use channels::{Channel, PlaceKind, SendError, incoming::IncomingContent};
use fakes::telegram::{FakeTelegram, Trouble};

use super::*;

/// The platform is asked at most once a minute per person, and only if needed.
/// Proves A13.
#[tokio::test]
async fn presses_and_commands_say_what_the_person_is_in_the_group() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    let channel = telegram(&fake);
    let mut listening = Listening::begin(&channel, None);
    fake.ranks(group, "Ann", "creator");
    fake.ranks(group, "Bob", "administrator");
    let mut roles = async |fake: &FakeTelegram, say: &dyn Fn(&FakeTelegram)| {
        say(fake);
        let person = listening.event().await.person.expect("somebody");
        let roles = if person.roles_unknown { vec!["unknown".to_owned()] } else { person.roles };
        (roles, fake.granted("getChatMember").len())
    };
    let says = |name: &'static str, text: &'static str| {
        move |fake: &FakeTelegram| {
            fake.user_says(group, name, text);
        }
    };
    let none = Vec::<String>::new;
    assert_eq!(roles(&fake, &says("Ann", "hello")).await, (none(), 0));
    assert_eq!(roles(&fake, &says("Ann", "/stop@other_bot")).await, (none(), 0));
    assert_eq!(roles(&fake, &says("Ann", "/stop")).await, (vec!["owner".to_owned()], 1));
    assert_eq!(roles(&fake, &says("Ann", "/new")).await, (vec!["owner".to_owned()], 1));
    assert_eq!(roles(&fake, &says("Cid", "/stop")).await, (none(), 2));
    let asked = channel.send(&delivery(group, question("Allow?"), None)).await.expect("sent");
    let press = |fake: &FakeTelegram| {
        fake.user_presses(group, "Bob", id(&asked), "Allow");
    };
    fake.fault("getChatMember", Trouble::Page { code: 502 });
    assert_eq!(roles(&fake, &press).await, (vec!["unknown".to_owned()], 2));
    assert_eq!(roles(&fake, &press).await, (vec!["admin".to_owned()], 3), "and is not kept");
    let chat = fake.private("Ann");
    let private = |fake: &FakeTelegram| {
        fake.user_says(chat, "Ann", "/stop");
    };
    assert_eq!(roles(&fake, &private).await, (none(), 3));
    listening.end().await.expect("it ends well");
}

/// Proves A13, S6.
#[tokio::test]
async fn a_person_who_presses_often_is_looked_up_once() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    fake.ranks(group, "Bob", "administrator");
    let channel = telegram(&fake);
    let asked = channel.send(&delivery(group, question("Allow?"), None)).await.expect("sent");
    for _ in 0..5 {
        fake.user_presses(group, "Bob", id(&asked), "Allow");
    }
    let mut listening = Listening::begin(&channel, None);
    for event in listening.batch().await.incomings {
        let person = event.person.expect("Bob");
        assert_eq!((person.roles, person.roles_unknown), (vec!["admin".to_owned()], false));
    }
    assert_eq!(fake.granted("getChatMember").len(), 1);
    listening.end().await.expect("it ends well");
}

/// A failure is not taken for a person without roles.
/// Proves A13.
#[tokio::test]
async fn a_failed_lookup_is_not_a_person_without_roles() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    fake.ranks(group, "Bob", "administrator");
    let bob = fake.person("Bob").to_string();
    let channel = telegram_at(&fake.url(), TOKEN, webhook("s", None));
    let place = Place { chat: group.to_string(), thread: None, kind: PlaceKind::Group };
    fake.fault("getChatMember", Trouble::Page { code: 502 });
    assert!(channel.roles(&place, &bob).await.is_err());
    assert_eq!(channel.roles(&place, &bob).await.unwrap(), ["admin"]);
    assert_eq!(channel.roles(&place, "999").await.unwrap(), [""; 0], "no member");
}

/// The same for pushed and polled updates.
/// Proves A13, S6.
#[tokio::test]
async fn a_pushed_command_says_it_too() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    fake.ranks(group, "Ann", "creator");
    let channel = telegram_at(&fake.url(), TOKEN, webhook("s", None));
    let update = serde_json::json!({ "update_id": 9, "message": {
        "message_id": 1, "date": 1, "chat": { "id": group, "type": "supergroup", "title": "Team" },
        "from": { "id": fake.person("Ann"), "is_bot": false, "first_name": "Ann" },
        "text": "/stop", "entities": [{ "type": "bot_command", "offset": 0, "length": 5 }],
    }});
    let request = channels::WebhookRequest {
        headers: vec![("x-telegram-bot-api-secret-token".to_owned(), "s".to_owned())],
        body: update.to_string().into(),
    };
    let taken = channel.webhook(&request).await.expect("taken");
    assert_eq!(taken[0].person.as_ref().expect("Ann").roles, ["owner"]);
}

/// Proves A6, M10.
#[tokio::test]
async fn removal_from_a_chat_and_return_are_reported() {
    let fake = FakeTelegram::start().await;
    let (chat, group) = (fake.private("Ann"), fake.group("Team"));
    let channel = telegram(&fake);
    let mut listening = Listening::begin(&channel, None);
    for (place, kind) in [(chat, PlaceKind::Private), (group, PlaceKind::Group)] {
        for (status, what) in
            [("kicked", IncomingContent::Expelled), ("member", IncomingContent::Admitted)]
        {
            fake.bot_becomes(place, "Ann", status);
            let event = listening.event().await;
            assert_eq!((event.place.chat, event.place.kind), (place.to_string(), kind));
            assert_eq!(event.person.map(|person| person.name).as_deref(), Some("Ann"));
            assert_eq!(event.what, what);
            let sent = channel.send(&delivery(place, text("x"), None)).await;
            assert_eq!(matches!(sent, Err(SendError::Gone(_))), status == "kicked", "{sent:?}");
        }
    }
    let topic = fake.topic(group, "Plans");
    fake.closes_topic(group, topic, "Ann");
    let event = listening.event().await;
    assert_eq!(
        (event.place.thread, event.what),
        (Some(topic.to_string()), IncomingContent::Expelled)
    );
    listening.end().await.expect("it ends well");
}

/// Proves M12.
#[tokio::test]
async fn an_edit_says_whether_it_is_for_the_bot() {
    let fake = FakeTelegram::start().await;
    let group = fake.group("Team");
    let mut listening = Listening::begin(&telegram(&fake), None);
    let message = fake.user_says(group, "Ann", "just talk");
    listening.event().await;
    for (written, text, addressed) in
        [("still talk", "still talk", false), ("@counter_bot do it", "do it", true)]
    {
        fake.user_edits(group, message, written);
        let (message, text) = (message.to_string(), text.to_owned());
        assert_eq!(listening.what().await, IncomingContent::Edited { message, text, addressed });
    }
    listening.end().await.expect("it ends well");
}
