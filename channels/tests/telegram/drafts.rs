//! Streamed answers.

use channels::{Channel, SendError};
use fakes::telegram::Trouble;

use super::{
    sending::{only, stage},
    *,
};

pub fn draft(markdown: &str) -> Outgoing {
    Outgoing::Draft { markdown: markdown.to_owned() }
}

#[tokio::test]
async fn a_draft_grows_in_a_private_chat_and_leaves_no_message() {
    let (fake, channel, chat) = stage().await;
    for text in ["**so", "**so far** so good"] {
        channel.send(&delivery(chat, draft(text), None)).await.expect("shown");
    }
    let drafts = fake.drafts();
    let shown: Vec<&str> = drafts.iter().map(|draft| draft.text.as_str()).collect();
    assert_eq!(shown, ["**so", "so far so good"]);
    assert!(drafts.iter().all(|draft| draft.id == drafts[0].id), "it is one that grows");
    assert!(fake.messages(chat).is_empty());
    assert!(channel.limits().supports_drafts);
}

#[tokio::test]
async fn elsewhere_a_draft_is_the_edit_of_a_message() {
    let (fake, channel, _) = stage().await;
    let group = fake.group("Team");
    let in_group = |what, receipt: Option<&Receipt>| {
        let delivery = delivery(group, what, receipt);
        Delivery { place: Place { kind: PlaceKind::Group, ..delivery.place }, ..delivery }
    };
    let refused = channel.send(&in_group(draft("x"), None)).await;
    assert!(matches!(refused, Err(SendError::Rejected(_))), "{refused:?}");
    assert!(fake.calls().is_empty());
    let placeholder = Outgoing::Placeholder { markdown: "Hello …".into(), reply_to: None };
    let receipt = channel.send(&in_group(placeholder, None)).await.expect("sent");
    channel.send(&in_group(draft("so far"), Some(&receipt))).await.expect("edited");
    assert_eq!(only(&fake, group).text, "so far");
}

/// A server without drafts is asked once; supported features keep working.
#[tokio::test]
async fn a_server_without_drafts_is_asked_once() {
    let unknown = [(404, "Not Found"), (400, "Bad Request: TEXTDRAFT_PEER_INVALID")];
    for (code, description) in unknown {
        let (fake, channel, chat) = stage().await;
        let description = description.to_owned();
        fake.fault("sendMessageDraft", Trouble::Refuse { code, description });
        for _ in 0..2 {
            assert!(channel.send(&delivery(chat, draft("x"), None)).await.is_err());
        }
        assert_eq!(fake.calls().len(), 1);
        assert!(!channel.limits().supports_drafts && channel.limits().drafts.is_some());
    }
    let (fake, channel, chat) = stage().await;
    fake.fault("sendMessageDraft", Trouble::TooMany { retry_after: 1 });
    assert!(channel.send(&delivery(chat, draft("x"), None)).await.is_err());
    assert!(channel.limits().supports_drafts, "a full line says nothing about drafts");
}
