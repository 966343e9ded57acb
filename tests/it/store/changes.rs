//! Changes that a worker records: the order of their messages, drafts, the end of the lease.

use channels::{Outgoing, Receipt};
use countersign::testing::{
    journal::event::Event,
    store::{
        Store,
        conversations::record::{ConversationChange, Precondition, Recorded},
        leases::Lease,
        outbox::sending::SendOutcome,
    },
};

use crate::{
    store::guarantees::{begin, change, now, share},
    story,
    support::world::World,
};

async fn claimed(store: &Store) -> Option<Lease> {
    Some(store.claim(1, now()).await.unwrap().pop()?.lease)
}

async fn recorded(store: &Store, lease: &Lease, change: ConversationChange) -> Recorded {
    store.record(lease, change, now()).await.unwrap()
}

fn texts(all: [&str; 2]) -> Vec<Outgoing> {
    let text = |text: &str| Outgoing::Text { markdown: text.into(), reply_to: None };
    all.map(text).into()
}

/// Sends everything, and returns the texts in order, each with the message that it replaces.
async fn sent(store: &Store) -> Vec<(String, Option<Receipt>)> {
    let mut all = Vec::new();
    loop {
        let sendings = store.claim_sends(share(9), now()).await.unwrap();
        if sendings.is_empty() {
            return all;
        }
        for sending in sendings {
            store.record_send_outcome(&sending, SendOutcome::Sent, String::new()).await.unwrap();
            let Outgoing::Text { markdown, .. } = sending.what else { panic!("a text") };
            all.push((markdown, sending.receipt));
        }
    }
}

async fn texts_sent(store: &Store) -> Vec<String> {
    sent(store).await.into_iter().map(|(text, _)| text).collect()
}

story! {
    /// Messages that are recorded later, at the same event, are sent later.
    async fn messages_at_one_event_keep_their_order(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        begin(&store, "1").await;
        let lease = claimed(&store).await.unwrap();
        for all in [["a", "b"], ["c", "d"]] {
            let change = ConversationChange { shows: texts(all), seen: 1, ..ConversationChange::default() };
            assert_eq!(recorded(&store, &lease, change).await, Recorded::Done);
        }
        assert_eq!(texts_sent(&store).await, ["a", "b", "c", "d"]);
    }
}

story! {
    /// Messages of a sub-agent follow those of the conversation in which they are shown.
    async fn messages_of_a_sub_agent_keep_their_order(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        let root = begin(&store, "1").await;
        let parent = claimed(&store).await.unwrap();
        let sub = begin(&store, "2").await;
        let works_for = format!("UPDATE conversations SET root = '{root}' WHERE id = '{sub}'");
        world.tampers(&works_for).await;
        let child = claimed(&store).await.unwrap();
        assert_eq!((child.conversation(), child.home()), (&sub, &root));
        for (lease, all) in [(&parent, ["a", "b"]), (&child, ["c", "d"])] {
            let change = ConversationChange { shows: texts(all), ..change(1, Precondition::IfCurrent) };
            assert_eq!(recorded(&store, lease, change).await, Recorded::Done);
        }
        assert_eq!(texts_sent(&store).await, ["a", "b", "c", "d"]);
    }
}

/// Begins an answer in a draft message.
async fn drafted(store: &Store) -> (Lease, Receipt) {
    begin(store, "1").await;
    let lease = claimed(store).await.unwrap();
    let draft = Receipt { message: "draft".into() };
    assert!(store.keep_draft(&lease, 1, &draft).await.unwrap());
    (lease, draft)
}

/// An answer of two messages.
fn answer() -> ConversationChange {
    let shows = texts(["a", "b"]);
    ConversationChange { shows, answers: Some(1), ..change(1, Precondition::IfCurrentThenRest) }
}

story! {
    /// The first message of an answer replaces the draft of its turn; the others are new.
    async fn the_first_message_of_an_answer_replaces_its_draft(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        let (lease, draft) = drafted(&store).await;
        assert_eq!(recorded(&store, &lease, answer()).await, Recorded::Rested);
        assert_eq!(sent(&store).await, [("a".into(), Some(draft)), ("b".into(), None)]);
    }
}

story! {
    /// A draft to which an edit may still arrive is not replaced.
    async fn a_discarded_draft_is_not_replaced(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        let (lease, _) = drafted(&store).await;
        store.discard_draft(lease.conversation()).await.unwrap();
        assert_eq!(recorded(&store, &lease, answer()).await, Recorded::Rested);
        assert_eq!(sent(&store).await, [("a".into(), None), ("b".into(), None)]);
    }
}

story! {
    /// A worker keeps the lease as long as there are events that it has not read.
    async fn a_conversation_with_unread_events_is_not_released(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        begin(&store, "1").await;
        let lease = claimed(&store).await.unwrap();
        begin(&store, "1").await;
        assert_eq!(store.rest(&lease, 1).await.unwrap(), Recorded::Behind);
        assert_eq!(claimed(&store).await, None, "it is still held");
        assert_eq!(store.rest(&lease, 2).await.unwrap(), Recorded::Rested);
        assert_eq!(claimed(&store).await, None, "nothing is left to do");
        begin(&store, "1").await;
        assert!(claimed(&store).await.is_some(), "it has no holder");
        assert_eq!(store.rest(&lease, 3).await.unwrap(), Recorded::Fenced);
    }
}

story! {
    /// A failed turn also releases its conversation.
    async fn a_failed_turn_releases_its_conversation(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        let conversation = begin(&store, "1").await;
        let lease = claimed(&store).await.unwrap();
        let (reason, reference) = ("It broke.".into(), format!("{conversation}:1"));
        let failed = Event::Failed { reason, reference, upto: 1, cause: None };
        let terms = Precondition::IfCurrentThenRest;
        let failure = ConversationChange { events: vec![failed], ..change(1, terms) };
        assert_eq!(recorded(&store, &lease, failure).await, Recorded::Rested);
        assert_eq!(claimed(&store).await, None, "nothing is left to do");
        begin(&store, "1").await;
        assert!(claimed(&store).await.is_some(), "it has no holder");
    }
}
