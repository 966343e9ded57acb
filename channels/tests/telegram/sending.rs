//! Sending, and the handling of failures.

use std::time::Duration;

use channels::{Channel, SendError, VOICE_NOTE};
use fakes::telegram::{FakeTelegram, Shown, Trouble};
use serde_json::json;

use super::*;

pub async fn stage() -> (FakeTelegram, Arc<Telegram>, i64) {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let channel = telegram(&fake);
    (fake, channel, chat)
}

/// The only message of a chat.
pub fn only(fake: &FakeTelegram, chat: i64) -> Shown {
    let mut messages = fake.messages(chat);
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

/// Proves M3.
#[tokio::test]
async fn text_question_file_and_settlement_are_edited_into_the_placeholder() {
    let (fake, channel, chat) = stage().await;
    let receipt = channel
        .send(&delivery(
            chat,
            Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None },
            None,
        ))
        .await
        .expect("sent");
    assert_eq!(only(&fake, chat).text, "Hello …");

    let placed = |what| delivery(chat, what, Some(&receipt));
    assert_eq!(channel.send(&placed(text("**Hi** there"))).await.expect("edited"), receipt);
    let shown = only(&fake, chat);
    assert_eq!((shown.id, shown.text.as_str()), (id(&receipt), "Hi there"));

    channel.send(&placed(question("Allow it?"))).await.expect("edited");
    let button = |label: &str, key| (label.to_owned(), format!("{BUTTON_TOKEN}{key}"));
    assert_eq!(only(&fake, chat).buttons, [button("Allow", 'a'), button("Deny", 'd')]);

    let settled = Outgoing::Settled {
        markdown: "Allowed by Ann.".to_owned(),
        approval: None,
        choices: vec![],
    };
    channel.send(&placed(settled)).await.expect("edited");
    let shown = only(&fake, chat);
    assert_eq!((shown.text.as_str(), shown.buttons.len()), ("Allowed by Ann.", 0));

    channel.send(&placed(file("a b\"ü.txt", Some("*see*")))).await.expect("edited");
    let shown = only(&fake, chat);
    assert_eq!((shown.text.as_str(), shown.entities.len()), ("see", 1));
    let document = fake.document(chat, shown.id).expect("a document");
    assert_eq!((document.bytes, document.media_type.as_str()), ("hello".into(), "text/plain"));
    assert_eq!(document.name, "a b%22ü.txt");
}

#[tokio::test]
async fn markup_around_nothing_is_shown_as_it_is_written() {
    let (fake, channel, chat) = stage().await;
    channel.send(&delivery(chat, text("```\n```\n"), None)).await.expect("sent");
    assert_eq!(only(&fake, chat).text, "```\n```");
}

#[tokio::test]
async fn without_a_placeholder_everything_is_sent_again() {
    let (fake, channel, chat) = stage().await;
    let asked = fake.user_says(chat, "Ann", "hello?");
    let what = Outgoing::Text { markdown: "hi".to_owned(), reply_to: Some(asked.to_string()) };
    channel.send(&delivery(chat, what, None)).await.expect("sent");
    let gone = Outgoing::Text { markdown: "hi".to_owned(), reply_to: Some("99999".to_owned()) };
    channel.send(&delivery(chat, gone, None)).await.expect("a lost question does not hinder");
    channel.send(&delivery(chat, file("a.txt", None), None)).await.expect("sent");
    let shown = fake.messages(chat);
    assert_eq!((shown[1].reply_to, shown[2].reply_to), (Some(asked), None));
    assert_eq!(shown[3].document.as_deref(), Some("a.txt"));
}

/// Proves S21, M5.
#[tokio::test]
async fn formatting_goes_out_as_entities_and_never_as_a_parse_mode() {
    let (fake, channel, chat) = stage().await;
    let markdown =
        "👍 **b *i* `c`**\n\n> q\n\n```rust\nx\n```\n[l](https://a.b) <b>@everyone</b> *x";
    channel.send(&delivery(chat, text(markdown), None)).await.expect("sent");
    let shown = only(&fake, chat);
    let kinds: Vec<&str> = shown.entities.iter().filter_map(|e| e["type"].as_str()).collect();
    assert_eq!(kinds, ["bold", "italic", "code", "blockquote", "pre", "text_link"]);
    assert_eq!(shown.entities[0]["offset"], 3, "an emoji counts for two");
    assert!(shown.text.ends_with("l <b>@everyone</b> *x"), "{}", shown.text);
    let call = &fake.granted("sendMessage")[0];
    assert_eq!(call["parse_mode"], json!(null));
    assert_eq!(call["link_preview_options"]["is_disabled"], true);
}

/// Proves M5.
#[tokio::test]
async fn a_long_text_arrives_whole_in_parts() {
    let (fake, channel, chat) = stage().await;
    let markdown = format!(
        "{}\n\n```py\n{}```\n\n| a | b |\n|---|---|\n{}",
        "**Bold** words and 👍🏽 emoji. ".repeat(300),
        "print('x')\n".repeat(500),
        "| cell | more |\n".repeat(300),
    );
    let parts = text(&markdown).degrade(channel.limits());
    assert!(parts.len() >= 4);
    for part in parts {
        channel.send(&delivery(chat, part, None)).await.expect("none is too long");
    }
    let all: String = fake.messages(chat).into_iter().map(|shown| shown.text).collect();
    assert_eq!(all.matches("Bold words").count(), 300);
    assert_eq!(all.matches("print('x')").count(), 500);
    assert_eq!(all.matches("cell | more").count(), 300);
    assert!(!all.contains("**") && !all.contains("```"));
}

/// Proves M5.
#[tokio::test]
async fn an_entity_that_the_platform_refuses_costs_the_formatting_and_nothing_else() {
    let (fake, channel, chat) = stage().await;
    let refuse = |description: &str| Trouble::Refuse { code: 400, description: description.into() };
    fake.fault("sendMessage", refuse("Bad Request: can't parse entities: no"));
    channel.send(&delivery(chat, text("**a**"), None)).await.expect("sent plainly");
    let shown = only(&fake, chat);
    assert_eq!((shown.text.as_str(), shown.entities.len()), ("a", 0));

    fake.fault("sendMessage", refuse("Bad Request: message is too long"));
    let sent = channel.send(&delivery(chat, text("**a**"), None)).await;
    assert!(matches!(sent, Err(SendError::Rejected(_))), "other refusals are not tried again");
    assert_eq!(fake.messages(chat).len(), 1);
}

/// Proves M10.
#[tokio::test]
async fn an_edit_that_changes_nothing_is_a_success() {
    let (fake, channel, chat) = stage().await;
    let receipt = channel.send(&delivery(chat, text("same"), None)).await.expect("sent");
    for _ in 0..2 {
        let again = channel.send(&delivery(chat, text("same"), Some(&receipt))).await;
        assert_eq!(again.as_ref(), Ok(&receipt));
    }
    assert!(fake.calls().iter().any(|call| call.description.contains("not modified")));
}

/// Proves M10.
#[tokio::test]
async fn a_person_who_blocked_the_bot_is_gone() {
    let (fake, channel, chat) = stage().await;
    fake.user_blocks(chat);
    for what in [text("x"), Outgoing::Typing, file("a", None)] {
        let sent = channel.send(&delivery(chat, what, None)).await;
        assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    }
    let unknown = channel.send(&delivery(4242, text("x"), None)).await;
    assert!(matches!(unknown, Err(SendError::Gone(_))), "{unknown:?}");
}

/// Texts still arrive, so that its schedules and approvals stay.
/// Proves M10.
#[tokio::test]
async fn a_group_that_forbids_files_is_not_gone() {
    let (fake, channel, chat) = stage().await;
    let refuse = |what: &str| Trouble::Refuse {
        code: 400,
        description: format!("Bad Request: not enough rights to send {what} to the chat"),
    };
    fake.fault("sendDocument", refuse("documents"));
    let sent = channel.send(&delivery(chat, file("a.txt", None), None)).await;
    assert!(matches!(sent, Err(SendError::Rejected(_))), "{sent:?}");
    fake.fault("sendPhoto", refuse("photos"));
    let bytes = png(80, 60);
    let photo = delivery(chat, picture("image/png", bytes.clone()), None);
    let photo = Delivery { bytes: Some(bytes), ..photo };
    channel.send(&photo).await.expect("sent as a document");
    assert!(only(&fake, chat).document.is_some());
    fake.fault("sendMessage", refuse("text messages"));
    let sent = channel.send(&delivery(chat, text("x"), None)).await;
    assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
}

#[tokio::test]
async fn a_group_that_moved_names_its_new_id() {
    let (fake, channel, _) = stage().await;
    let group = fake.group("Team");
    let chat = fake.migrate(group).to_string();
    let sent = channel.send(&delivery(group, text("x"), None)).await;
    assert_eq!(sent, Err(SendError::Moved { chat }));
}

/// Proves M4.
#[tokio::test]
async fn a_429_says_when_to_try_again() {
    let (fake, channel, chat) = stage().await;
    fake.fault("sendMessage", Trouble::TooMany { retry_after: 17 });
    let sent = channel.send(&delivery(chat, text("x"), None)).await;
    let Err(SendError::Retry { after, .. }) = sent else { panic!("{sent:?}") };
    assert_eq!(after, Some(Duration::from_secs(17)));
    assert!(fake.messages(chat).is_empty());
}

/// Proves M3.
#[tokio::test]
async fn a_lost_answer_is_unknown_for_a_send_and_repeatable_for_an_edit() {
    let (fake, channel, chat) = stage().await;
    fake.fault("sendMessage", Trouble::LoseAnswer);
    let sent = channel
        .send(&delivery(
            chat,
            Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None },
            None,
        ))
        .await;
    assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
    let receipt = Receipt { message: only(&fake, chat).id.to_string() };

    let edit = delivery(chat, question("Allow?"), Some(&receipt));
    fake.fault("editMessageText", Trouble::LoseAnswer);
    let edited = channel.send(&edit).await;
    assert!(matches!(edited, Err(SendError::Retry { .. })), "{edited:?}");
    assert_eq!(channel.send(&edit).await.as_ref(), Ok(&receipt));

    let upload = delivery(chat, file("a.txt", None), Some(&receipt));
    fake.fault("editMessageMedia", Trouble::LoseAnswer);
    assert!(matches!(channel.send(&upload).await, Err(SendError::Retry { .. })));
    assert_eq!(channel.send(&upload).await.as_ref(), Ok(&receipt));
    assert_eq!(only(&fake, chat).document.as_deref(), Some("a.txt"), "once, not twice");
}

/// Proves M3.
#[tokio::test]
async fn a_failed_connection_is_retried() {
    let nobody = telegram_at("http://127.0.0.1:9", fakes::telegram::TOKEN, Mode::Poll);
    let sent = nobody.send(&delivery(500, text("x"), None)).await;
    assert!(matches!(sent, Err(SendError::Retry { .. })), "{sent:?}");
}

/// A server with an internal error may have executed the request.
/// Proves M3.
#[tokio::test]
async fn a_page_for_an_answer_leaves_the_outcome_unknown() {
    let (fake, channel, chat) = stage().await;
    for trouble in [Trouble::Page { code: 502 }, Trouble::PageAfter { code: 500 }] {
        fake.fault("sendMessage", trouble);
        let sent = channel.send(&delivery(chat, text("x"), None)).await;
        assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
    }
    assert_eq!(only(&fake, chat).text, "x");
}

#[tokio::test]
async fn content_outlives_a_placeholder_that_a_person_deleted() {
    let (fake, channel, chat) = stage().await;
    let receipt = channel
        .send(&delivery(
            chat,
            Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None },
            None,
        ))
        .await
        .expect("sent");
    fake.user_deletes(chat, id(&receipt));
    let sent =
        channel.send(&delivery(chat, text("kept"), Some(&receipt))).await.expect("sent again");
    assert_eq!((only(&fake, chat).text.as_str(), id(&sent)), ("kept", only(&fake, chat).id));
    let settled = Outgoing::Settled { markdown: "x".to_owned(), approval: None, choices: vec![] };
    let edited = channel.send(&delivery(chat, settled, Some(&receipt))).await;
    assert!(matches!(edited, Err(SendError::Rejected(_))), "a decision needs no second message");
}

#[tokio::test]
async fn presses_are_answered_and_late_answers_are_no_failure() {
    let (fake, channel, chat) = stage().await;
    let asked = channel.send(&delivery(chat, question("Allow?"), None)).await.expect("sent");
    let press = fake.user_presses(chat, "Ann", id(&asked), "Allow");
    let toast = |text: String| Outgoing::Toast { press: press.clone(), text, alert: true };
    channel.send(&delivery(chat, toast("é".repeat(300)), None)).await.expect("answered");
    let shown = fake.toasts().remove(0);
    assert_eq!((shown.text.chars().count(), shown.alert), (200, true));
    channel.send(&delivery(chat, toast(String::new()), None)).await.expect("too late is fine");
}

/// Proves M11.
#[tokio::test]
async fn typing_is_shown() {
    let (fake, channel, chat) = stage().await;
    channel.send(&delivery(chat, Outgoing::Typing, None)).await.expect("shown");
    assert_eq!(fake.granted("sendChatAction")[0]["action"], "typing");
}

#[tokio::test]
async fn a_reaction_is_shown() {
    let (fake, channel, chat) = stage().await;
    let said = fake.user_says(chat, "Ann", "hi").to_string();
    let react = |message: &str| Outgoing::Reaction { message: message.into(), emoji: "✍".into() };
    channel.send(&delivery(chat, react(&said), None)).await.expect("shown");
    let reaction = &fake.granted("setMessageReaction")[0];
    assert_eq!(reaction["reaction"][0]["emoji"], "✍");
    let refused = channel.send(&delivery(chat, react("999"), None)).await;
    assert!(matches!(refused, Err(SendError::Rejected(_))), "{refused:?}");
}

/// The header of a PNG of that size, which is all that the platform reads.
pub fn png(width: u32, height: u32) -> Bytes {
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &size, b"\x08\x06\0\0\0"].concat().into()
}

pub fn picture(media_type: &str, bytes: Bytes) -> Outgoing {
    Outgoing::File {
        name: "a.png".to_owned(),
        media_type: media_type.to_owned(),
        size_bytes: bytes.len() as u64,
        digest: "d".to_owned(),
        caption: Some("*see*".to_owned()),
        reply_to: None,
    }
}

#[tokio::test]
async fn a_picture_is_shown_as_one_and_else_as_a_document() {
    let large = [png(9, 9), vec![0; 10 * 1024 * 1024].into()].concat().into();
    let cases = [
        ("image/png", png(80, 60), true),
        ("image/png", png(80, 8000), false),
        ("image/png", "not a picture".into(), false),
        ("image/png", large, false),
        ("image/svg+xml", "<svg/>".into(), false),
        ("application/pdf", "%PDF-1.7".into(), false),
    ];
    for (media_type, bytes, as_photo) in cases {
        for placed in [true, false] {
            let (fake, channel, chat) = stage().await;
            let placeholder = delivery(
                chat,
                Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None },
                None,
            );
            let receipt = if placed { channel.send(&placeholder).await.ok() } else { None };
            let what = picture(media_type, bytes.clone());
            let file = delivery(chat, what, receipt.as_ref());
            let file = Delivery { bytes: Some(bytes.clone()), ..file };
            let sent = channel.send(&file).await.expect("sent");
            let shown = only(&fake, chat);
            assert_eq!((shown.id, shown.text.as_str()), (id(&sent), "see"));
            assert_eq!((shown.photo, shown.document.is_some()), (as_photo, !as_photo));
            assert_eq!(fake.document(chat, shown.id).expect("it is kept").bytes, bytes);
            if placed {
                assert_eq!(channel.send(&file).await.as_ref(), Ok(&sent), "a repeat shows it once");
                assert_eq!(only(&fake, chat).id, id(&sent));
            }
        }
    }
}

/// Several pictures of one answer: one request, one message each, all as replies to the same
/// message.
#[tokio::test]
async fn pictures_stand_together_as_an_album() {
    let (fake, channel, chat) = stage().await;
    let asked = fake.user_says(chat, "Ann", "charts");
    let pictures = album(chat, &[png(80, 60), png(60, 80), png(9, 9)], Some(asked));
    let sent = channel.send(&pictures).await.expect("sent");
    let shown: Vec<_> = fake.messages(chat).into_iter().filter(|m| m.photo).collect();
    assert_eq!((shown.len(), shown[0].id), (3, id(&sent)));
    assert!(shown.iter().all(|m| m.text == "see" && m.reply_to == Some(asked)), "{shown:?}");
    let bytes = fake.document(chat, shown[1].id).expect("it is kept").bytes;
    assert_eq!(bytes, png(60, 80), "in their order");
    let refused = channel.send(&album(chat, &[png(9, 9), png(80, 8000)], None)).await;
    assert!(matches!(refused, Err(SendError::Rejected(_))), "{refused:?}");
    let refused = channel.send(&album(chat, &[png(9, 9), vec![0; 11 << 20].into()], None)).await;
    assert!(matches!(refused, Err(SendError::Rejected(_))), "{refused:?}");
    for trouble in [Trouble::LoseAnswer, Trouble::PageAfter { code: 502 }] {
        fake.fault("sendMediaGroup", trouble);
        let lost = channel.send(&album(chat, &[png(9, 9), png(8, 8)], None)).await;
        assert!(matches!(lost, Err(SendError::Unknown(_))), "who knows: {lost:?}");
    }
    assert_eq!(fake.messages(chat).iter().filter(|m| m.photo).count(), 7);
}

pub fn album(chat: i64, pictures: &[Bytes], reply_to: Option<i64>) -> Delivery {
    let one = |bytes: &Bytes| {
        let mut what = picture("image/png", bytes.clone());
        if let Outgoing::File { reply_to: to, .. } = &mut what {
            *to = reply_to.map(|id| id.to_string());
        }
        Delivery { bytes: Some(bytes.clone()), ..delivery(chat, what, None) }
    };
    Delivery { album: pictures[1..].iter().map(one).collect(), ..one(&pictures[0]) }
}

/// An approval and a file are replies too.
/// Proves M12.
#[tokio::test]
async fn whatever_is_shown_answers_its_message() {
    let (fake, channel, _) = stage().await;
    let group = fake.group("Team");
    let topic = fake.topic(group, "Plans");
    let asked = fake.user_says_in_topic(group, topic, "Ann", "@counter_bot report");
    let reply_to = Some(asked.to_string());
    let with_reply = |what| match what {
        Outgoing::Approval { markdown, approval, choices, .. } => {
            Outgoing::Approval { markdown, approval, choices, reply_to: reply_to.clone() }
        }
        Outgoing::File { name, media_type, size_bytes, digest, caption, .. } => {
            let reply_to = reply_to.clone();
            Outgoing::File { name, media_type, size_bytes, digest, caption, reply_to }
        }
        _ => Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: reply_to.clone() },
    };
    for what in [question("Allow?"), file("a.txt", None), text("x")] {
        let mut sending = delivery(group, with_reply(what), None);
        sending.place.thread = Some(topic.to_string());
        let sent = channel.send(&sending).await.expect("sent");
        let shown = fake.messages(group).into_iter().find(|m| m.id == id(&sent)).expect("there");
        assert_eq!((shown.reply_to, shown.thread), (Some(asked), Some(topic)));
    }
    fake.closes_topic(group, topic, "Ann");
    let mut late = delivery(group, text("x"), None);
    late.place.thread = Some(topic.to_string());
    let gone = channel.send(&late).await;
    assert!(matches!(gone, Err(SendError::Gone(_))), "{gone:?}");
}

#[tokio::test]
async fn invalid_messages_are_rejected_before_sending() {
    let (fake, channel, chat) = stage().await;
    let long = Some("x".repeat(64));
    let cases = [
        Delivery { token: None, ..delivery(chat, question("q"), None) },
        Delivery { token: long, ..delivery(chat, question("q"), None) },
        Delivery { bytes: None, ..delivery(chat, file("a", None), None) },
        delivery(chat, text("x"), Some(&Receipt { message: "not a number".to_owned() })),
    ];
    for delivery in cases {
        assert!(matches!(channel.send(&delivery).await, Err(SendError::Rejected(_))));
    }
    assert!(fake.calls().is_empty());
}

/// Opus in Ogg is a voice note. If the person accepts none, or it is none after all, it is a
/// document.
/// <https://core.telegram.org/bots/api#sendvoice>
#[tokio::test]
async fn a_voice_note_is_shown_as_one_and_else_as_a_document() {
    let opus: Bytes = fakes::media::opus(2).into();
    for (bytes, refusal, as_voice) in [
        (opus.clone(), None, true),
        (opus.clone(), Some("Bad Request: VOICE_MESSAGES_FORBIDDEN"), false),
        ("OggS but no voice".into(), None, false),
    ] {
        let (fake, channel, chat) = stage().await;
        if let Some(description) = refusal {
            let description = description.to_owned();
            fake.fault("sendVoice", Trouble::Refuse { code: 400, description });
        }
        let note = Outgoing::File {
            name: "voice.ogg".to_owned(),
            media_type: VOICE_NOTE.to_owned(),
            size_bytes: bytes.len() as u64,
            digest: "d".to_owned(),
            caption: None,
            reply_to: None,
        };
        assert_eq!(note.opening(), None, "no text can be edited into a voice note");
        let file = Delivery { bytes: Some(bytes.clone()), ..delivery(chat, note, None) };
        let sent = channel.send(&file).await.expect("sent");
        assert_eq!(fake.granted("sendVoice").len(), usize::from(as_voice));
        assert_eq!(fake.granted("sendDocument").len(), usize::from(!as_voice));
        assert_eq!(fake.document(chat, id(&sent)).expect("it is kept").bytes, bytes);
    }
}
