//! Slash commands: registered, acknowledged, answered.

use channels::discord::{Command, LocalizedText};
use serde_json::json;

use super::*;

const EPHEMERAL: u64 = 1 << 6;
const LOADING: u64 = 1 << 7;

fn commands(help: &str) -> Vec<Command> {
    let others =
        [("de", "Hilfe"), ("es", "Ayuda")].map(|(l, text)| (l.to_owned(), text.to_owned()));
    vec![
        Command {
            name: "help".to_owned(),
            description: LocalizedText { english: help.to_owned(), others: others.into() },
            argument: None,
            private: true,
        },
        Command {
            name: "new".to_owned(),
            description: "Start over".into(),
            argument: Some(("text".to_owned(), "What to begin with".into())),
            private: false,
        },
    ]
}

fn offering(fake: &FakeDiscord, help: &str) -> Arc<Discord> {
    let api_url = Some(fake.url().parse().expect("a URL"));
    let usual = DiscordConfig::new("dc", TOKEN.into());
    Arc::new(Discord::new(DiscordConfig { api_url, commands: commands(help), ..usual }))
}

/// A channel that listens, with registered commands.
async fn offered(fake: &FakeDiscord) -> (Arc<Discord>, Listening) {
    let channel = offering(fake, "Help");
    let listening = Listening::begin(&channel, None);
    fake.until(|fake| fake.is_connected() && fake.commands().len() == 2).await;
    (channel, listening)
}

fn registrations(fake: &FakeDiscord) -> usize {
    fake.calls().iter().filter(|call| call.act == "register").count()
}

/// The message id of a command's call.
async fn called(listening: &mut Listening) -> (String, String) {
    loop {
        let event = listening.event().await;
        if let IncomingContent::Text { message, text, addressed, .. } = event.what {
            assert!(addressed);
            return (message, text);
        }
    }
}

fn answer(to: &str, text: &str) -> Outgoing {
    Outgoing::Text { markdown: text.to_owned(), reply_to: Some(to.to_owned()) }
}

#[tokio::test]
async fn commands_are_registered_once_and_again_only_where_they_differ() {
    let fake = FakeDiscord::start().await;
    fake.fault("register", Trouble::Page { status: 502 });
    fake.fault("commands", Trouble::TooMany { retry_after: 0.1, global: false });
    let (_, listening) = offered(&fake).await;
    assert_eq!(registrations(&fake), 2, "the first met a platform that was down");
    assert_eq!(fake.commands()[0]["description_localizations"]["es-419"], "Ayuda");
    listening.end().await.expect("it ends well");

    let asked = |fake: &FakeDiscord| fake.calls().iter().filter(|c| c.act == "commands").count();
    let before = asked(&fake);
    let listening = Listening::begin(&offering(&fake, "Help"), None);
    fake.until(|fake| asked(fake) > before).await;
    fake.until(FakeDiscord::is_connected).await;
    assert_eq!(registrations(&fake), 2, "nothing differs");
    listening.end().await.expect("it ends well");

    let listening = Listening::begin(&offering(&fake, "Say what I can do"), None);
    fake.until(|fake| fake.commands()[0]["description"] == "Say what I can do").await;
    listening.end().await.expect("it ends well");
}

/// Proves A2, M12.
#[tokio::test]
async fn a_call_is_deferred_at_once_and_its_answer_is_an_edit() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let (channel, mut listening) = offered(&fake).await;
    let interaction = fake.calls_command(general, ann, ("new", "a poem"));
    let (message, text) = called(&mut listening).await;
    assert_eq!(text, "/new a poem");
    assert!(message.starts_with(&format!("i:{interaction}:{}:", fakes::discord::APPLICATION_ID)));
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    let (kind, took) = fake.answer(interaction).expect("acknowledged");
    assert_eq!(kind, 5, "it thinks");
    assert!(took < Duration::from_millis(300), "{took:?}");
    assert_eq!(fake.messages(general)[0]["flags"], LOADING);
    fake.fault("original", Trouble::LoseAnswer);
    let lost = show(&channel, general, answer(&message, "Fresh.")).await;
    assert!(matches!(lost, Err(SendError::Retry { .. })), "{lost:?}");
    let receipt = show(&channel, general, answer(&message, "Fresh.")).await.expect("answered");
    assert_eq!(fake.reads(general), ["Fresh."]);
    let shown = &fake.messages(general)[0];
    assert_eq!((&shown["flags"], &shown["id"]), (&json!(4), &json!(receipt.message)));
    let mut later = question("Sure?");
    if let Outgoing::Approval { reply_to, .. } = &mut later {
        *reply_to = Some(message);
    }
    show(&channel, general, later).await.expect("a question is a message of its own");
    assert_eq!(fake.reads(general).len(), 2);
    listening.end().await.expect("it ends well");
}

#[tokio::test]
async fn a_private_command_is_answered_to_its_caller_only() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let (channel, mut listening) = offered(&fake).await;
    let interaction = fake.calls_command(general, ann, ("help", ""));
    let (message, text) = called(&mut listening).await;
    assert_eq!(text, "/help");
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    show(&channel, general, answer(&message, "Ask *me*.")).await.expect("answered");
    assert_eq!(fake.whispers(interaction), ["Ask *me*."]);
    assert!(fake.messages(general).is_empty());
    let flags = &fake.granted("callback")[0]["data"]["flags"];
    assert_eq!(flags.as_u64(), Some(EPHEMERAL));

    fake.forgets_interactions();
    show(&channel, general, answer(&message, "Late.")).await.expect("an ordinary message");
    assert_eq!(fake.reads(general), ["Late."]);
    listening.end().await.expect("it ends well");
}

/// All parts of a long answer go to the caller, and follow the first.
/// Proves M5.
#[tokio::test]
async fn a_long_private_answer_is_private_to_its_end() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let (channel, mut listening) = offered(&fake).await;
    let interaction = fake.calls_command(general, ann, ("help", ""));
    let (message, _) = called(&mut listening).await;
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    let parts = answer(&message, &"word ".repeat(900)).degrade(channel.limits());
    assert_eq!(parts.len(), 3);
    for part in parts {
        show(&channel, general, part).await.expect("answered");
    }
    let whispers = fake.whispers(interaction);
    assert_eq!(whispers.iter().map(|w| w.matches("word").count()).sum::<usize>(), 900);
    assert_eq!(whispers.len(), 3);
    assert!(fake.messages(general).is_empty(), "nobody else sees any of it");

    let interaction = fake.calls_command(general, ann, ("new", ""));
    let (message, _) = called(&mut listening).await;
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    for part in answer(&message, &"word ".repeat(900)).degrade(channel.limits()) {
        show(&channel, general, part).await.expect("answered");
    }
    assert_eq!(fake.reads(general).len(), 3, "this one is for all");
    listening.end().await.expect("it ends well");
}

/// Proves A2.
#[tokio::test]
async fn an_answer_that_is_faster_than_the_acknowledgement_waits_for_it() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let (channel, mut listening) = offered(&fake).await;
    fake.fault("callback", Trouble::Delay(Duration::from_millis(300)));
    let interaction = fake.calls_command(general, ann, ("help", ""));
    let (message, _) = called(&mut listening).await;
    let early = show(&channel, general, answer(&message, "Here.")).await;
    assert!(matches!(early, Err(SendError::Retry { after: Some(_), .. })), "{early:?}");
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    show(&channel, general, answer(&message, "Here.")).await.expect("answered");
    assert_eq!(fake.whispers(interaction), ["Here."]);
    listening.end().await.expect("it ends well");
}

/// Proves M8.
#[tokio::test]
async fn a_command_that_is_not_ours_is_answered_and_kept() {
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let (_, registered) = offered(&fake).await;
    registered.end().await.expect("it ends well");
    fake.until(|fake| !fake.is_connected()).await;
    let mut listening = Listening::connected(&fake).await;
    let interaction = fake.calls_command(general, ann, ("new", ""));
    let event = listening.event().await;
    assert!(matches!(event.what, IncomingContent::Unparsed { .. }), "{event:?}");
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    assert_eq!(fake.whispers(interaction).len(), 1);
    listening.end().await.expect("it ends well");
}
