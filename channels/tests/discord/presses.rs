//! Buttons: acknowledged first, and never lost.

use super::*;
use channels::discord::Admission;

async fn asked(fake: &FakeDiscord) -> (u64, u64, u64) {
    let (ann, general) = (fake.person("Ann"), fake.general());
    let receipt = show(&discord(fake), general, question("Delete it?")).await.expect("sent");
    (ann, general, id(&receipt))
}

/// Proves A1, A2.
#[tokio::test]
async fn a_press_is_acknowledged_before_it_is_committed() {
    let fake = FakeDiscord::start().await;
    let mut listening = Listening::connected(&fake).await;
    let (ann, general, message) = asked(&fake).await;
    listening.event().await;
    let interaction = fake.presses(general, ann, (message, "Always here"));
    let (batch, committed) = listening.batches.recv().await.expect("it listens");
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    let (kind, took) = fake.answer(interaction).expect("acknowledged");
    assert_eq!(kind, 6, "a deferred update");
    assert!(took < Duration::from_millis(300), "{took:?}");
    committed.send(()).expect("it waits for the commit");
    let press = &batch.incomings[0];
    assert_eq!(press.key, format!("i{interaction}"));
    assert_eq!(press.place.kind, PlaceKind::Group);
    let person = press.person.as_ref().expect("somebody presses");
    assert_eq!((person.id.clone(), person.language.as_deref()), (ann.to_string(), Some("de")));
    let IncomingContent::Press { press, message: on, data, .. } = &press.what else {
        panic!("{press:?}")
    };
    assert_eq!(on, &message.to_string());
    assert_eq!(data, &format!("{BUTTON_TOKEN}c"));
    assert!(press.starts_with(&format!("{interaction}:")));
    listening.end().await.expect("it ends well");
}

/// Proves A2.
#[tokio::test]
async fn a_failed_acknowledgement_loses_no_press_and_its_answer_still_arrives() {
    let fake = FakeDiscord::start().await;
    let mut listening = Listening::connected(&fake).await;
    let (ann, general, message) = asked(&fake).await;
    listening.event().await;
    let refused = Trouble::Refuse { status: 400, code: 0, message: "no".to_owned() };
    fake.fault("callback", refused);
    let interaction = fake.presses(general, ann, (message, "Deny"));
    let IncomingContent::Press { press, .. } = listening.event().await.what else {
        panic!("no press")
    };
    fake.until(|fake| fake.calls().iter().any(|call| call.act == "callback")).await;
    let toast = Outgoing::Toast { press, text: "Too late.".to_owned(), alert: true };
    show(&discord(&fake), general, toast).await.expect("shown");
    assert_eq!(fake.answer(interaction).map(|(kind, _)| kind), Some(4));
    assert_eq!(fake.whispers(interaction), ["Too late."]);
    listening.end().await.expect("it ends well");
}

/// Proves A2.
#[tokio::test]
async fn an_acknowledgement_that_did_not_arrive_is_repeated() {
    let fake = FakeDiscord::start().await;
    let mut listening = Listening::connected(&fake).await;
    let (ann, general, message) = asked(&fake).await;
    listening.event().await;
    fake.fault("callback", Trouble::Page { status: 502 });
    fake.fault("callback", Trouble::LoseAnswer);
    let interaction = fake.presses(general, ann, (message, "Deny"));
    assert!(matches!(listening.event().await.what, IncomingContent::Press { .. }));
    fake.until(|fake| fake.calls().iter().filter(|call| call.act == "callback").count() == 3).await;
    assert_eq!(fake.answer(interaction).map(|(kind, _)| kind), Some(6));
    listening.end().await.expect("it ends well");
}

/// Proves A1.
#[tokio::test]
async fn a_private_answer_follows_the_acknowledgement() {
    let fake = FakeDiscord::start().await;
    let mut listening = Listening::connected(&fake).await;
    let (ann, general, message) = asked(&fake).await;
    listening.event().await;
    let interaction = fake.presses(general, ann, (message, "Allow"));
    let IncomingContent::Press { press, .. } = listening.event().await.what else {
        panic!("no press")
    };
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    let toast = |press: &str, text: &str| Outgoing::Toast {
        press: press.to_owned(),
        text: text.to_owned(),
        alert: false,
    };
    let channel = discord(&fake);
    show(&channel, general, toast(&press, "")).await.expect("nothing to say");
    assert!(fake.whispers(interaction).is_empty());
    show(&channel, general, toast(&press, "Only *Ann* may.")).await.expect("said");
    assert_eq!(fake.whispers(interaction), [r"Only \*Ann\* may."]);
    show(&channel, general, toast("1:2:3", "Too late.")).await.expect("nobody is there any more");
    listening.end().await.expect("it ends well");
}

/// Proves M8.
#[tokio::test]
async fn an_interaction_that_cannot_be_read_is_answered_and_kept() {
    let fake = FakeDiscord::start().await;
    let mut listening = Listening::connected(&fake).await;
    let (ann, general, message) = asked(&fake).await;
    listening.event().await;
    let mut odd = fake.pushed_press(general, ann, (message, "Allow"));
    odd["data"] = serde_json::json!({ "component_type": 99 });
    fake.tells("INTERACTION_CREATE", &odd);
    let event = listening.event().await;
    assert!(matches!(event.what, IncomingContent::Unparsed { .. }), "{event:?}");
    let interaction: u64 = odd["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    fake.until(|fake| fake.answer(interaction).is_some()).await;
    assert_eq!(fake.whispers(interaction).len(), 1);
    listening.end().await.expect("it ends well");
}

/// Proves A10.
#[tokio::test]
async fn a_denial_with_a_reason_opens_a_modal_whose_submission_is_the_press() {
    let fake = FakeDiscord::start().await;
    let mut listening = Listening::connected(&fake).await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut asking = question("Delete it?");
    if let Outgoing::Approval { choices, .. } = &mut asking {
        choices
            .push(Choice { label: "Deny, and say why".to_owned(), button: Button::DenyWithReason });
    }
    let channel = discord(&fake);
    assert_eq!(asking.clone().degrade(channel.limits()), [asking.clone()], "the button stays");
    let message = id(&show(&channel, general, asking).await.expect("sent"));
    listening.event().await;
    let pressed = fake.presses(general, ann, (message, "Deny, and say why"));
    fake.until(|fake| fake.answer(pressed).is_some()).await;
    let (kind, took) = fake.answer(pressed).expect("answered");
    assert_eq!(kind, 9, "a window");
    assert!(took < Duration::from_millis(300), "{took:?}");
    let window = fake.window(pressed).expect("it is open");
    assert_eq!(window["custom_id"], format!("{BUTTON_TOKEN}d"));
    let submitted = fake.submits(pressed, ann, "  It is *mine*.  ");
    let event = listening.event().await;
    assert_eq!(event.key, format!("i{submitted}"), "the press on the button was no decision");
    let IncomingContent::Press { press, message: on, data, reason } = event.what else {
        panic!("no press")
    };
    assert_eq!((on, data), (message.to_string(), format!("{BUTTON_TOKEN}d")));
    assert_eq!(reason.as_deref(), Some("It is *mine*."));
    fake.until(|fake| fake.answer(submitted).is_some()).await;
    assert_eq!(fake.answer(submitted).map(|(kind, _)| kind), Some(6));
    let toast = Outgoing::Toast { press, text: "Denied.".to_owned(), alert: false };
    show(&channel, general, toast).await.expect("said");
    assert_eq!(fake.whispers(submitted), ["Denied."]);
    listening.end().await.expect("it ends well");
}

/// An approval with a vote has a button to deny with a reason and one to withdraw the vote. The
/// second is a press like any other: it opens no window, and denies nothing.
#[tokio::test]
async fn a_vote_is_withdrawn_beside_a_button_that_asks_for_a_reason() {
    let fake = FakeDiscord::start().await;
    let mut listening = Listening::connected(&fake).await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let mut asking = question("Delete it?");
    if let Outgoing::Approval { choices, .. } = &mut asking {
        let choice = |label: &str, button| Choice { label: label.to_owned(), button };
        choices.push(choice("Deny, and say why", Button::DenyWithReason));
        choices.push(choice("Withdraw vote", Button::WithdrawVote));
    }
    let message = id(&show(&discord(&fake), general, asking).await.expect("sent"));
    listening.event().await;
    let pressed = fake.presses(general, ann, (message, "Withdraw vote"));
    let IncomingContent::Press { data, reason, .. } = listening.event().await.what else {
        panic!("no press")
    };
    assert_eq!(data, format!("{BUTTON_TOKEN}{}", Button::WithdrawVote.key()));
    assert_eq!(reason, None);
    assert!(fake.window(pressed).is_none());
    listening.end().await.expect("it ends well");
}

/// The response to the button that asks for a reason is a window, or a text that only they see.
#[tokio::test]
async fn a_stranger_is_refused_before_a_window_opens() {
    let fake = FakeDiscord::start().await;
    let (ann, bob, general) = (fake.person("Ann"), fake.person("Bob"), fake.general());
    let admission = Admission::by(move |person| {
        let is_ann = person.id == ann.to_string();
        Box::pin(async move { is_ann })
    });
    let api_url = Some(fake.url().parse().expect("a URL"));
    let usual = DiscordConfig::new("dc", TOKEN.into());
    let channel = Arc::new(Discord::new(DiscordConfig { api_url, admission, ..usual }));
    let listening = Listening::begin(&channel, None);
    fake.until(FakeDiscord::is_connected).await;
    let mut asking = question("Delete it?");
    if let Outgoing::Approval { choices, .. } = &mut asking {
        choices
            .push(Choice { label: "Deny, and say why".to_owned(), button: Button::DenyWithReason });
    }
    let message = id(&show(&channel, general, asking).await.expect("sent"));
    for (person, kind, opens) in [(bob, 4, false), (ann, 9, true)] {
        let pressed = fake.presses(general, person, (message, "Deny, and say why"));
        fake.until(|fake| fake.answer(pressed).is_some()).await;
        assert_eq!(fake.answer(pressed).map(|(kind, _)| kind), Some(kind));
        assert_eq!(fake.window(pressed).is_some(), opens);
    }
    listening.end().await.expect("it ends well");
}
