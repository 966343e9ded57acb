//! Several nodes on one database, and recovery after crashes.

use channels::IncomingContent;
use countersign::testing::{
    app::App,
    crash,
    journal::event::{Event, Outcome},
    scripted::{Gate, call, say, wait},
    store::leases::DutyKind,
};
use futures::future::join_all;
use insta::assert_snapshot;
use serde_json::json;
use std::time::Duration;

use crate::{story, support::world::World};

story! {
    /// Two nodes race for one conversation; a hundred simultaneous presses run the call once.
    /// Proves I3, R4.
    async fn two_nodes_race_for_one_conversation(world: &mut World) {
        let (one, two) = (world.node().await, world.node().await);
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        let said = world.said("delete a.txt");
        world.takes(&one, "1", said).await;
        let (a, b) = tokio::join!(one.worker.advance_ready(), two.worker.advance_ready());
        assert_eq!(a.unwrap() + b.unwrap(), 1, "one of them got the lease");
        world.settle(&one).await;

        world.model_will(say("Done."));
        let presses: Vec<IncomingContent> = (0..100).map(|n| {
            world.press(if n % 2 == 0 { "Allow once" } else { "Deny" })
        }).collect();
        let pressing = presses.into_iter().enumerate().map(|(n, press)| {
            let gateway = if n % 3 == 0 { one.gateway.clone() } else { two.gateway.clone() };
            async move {
                let incoming = channels::Incoming {
                    key: format!("press {n}"),
                    at: "2026-05-04T10:00:00Z".parse().unwrap(),
                    place: World::place(),
                    person: Some(channels::Person {
                        id: "1".into(), name: "Ann".into(), language: None, is_bot: false,
 roles: vec![], roles_unknown: false,
                    }),
                    what: press,
                };
                let batch = channels::Batch { incomings: vec![incoming], position: None };
                countersign::testing::gateway::receive::receive(&gateway, "room", batch).await.unwrap();
            }
        });
        join_all(pressing).await;
        tokio::join!(world.settle(&one), world.settle(&two));
        assert!(world.deletions() <= 1);
        let decided = world.journal().await.into_iter()
            .filter(|entry| matches!(entry.event, Event::ApprovalDecided { .. })).count();
        assert_eq!(decided, 1, "exactly one transition");
        assert_eq!(world.room.toasts().len(), 100, "every press is answered");
    }
}

story! {
    /// The loop reads messages that arrived during the request; the next prompt still starts with
    /// the previous one.
    async fn a_message_during_a_model_request_is_answered_too(world: &mut World) {
        // Disables the merging of messages in quick succession.
        world.settings.debounce = chrono::TimeDelta::zero();
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(say("First."));
        world.model_will(say("Second."));
        let app = world.node().await;
        let first = world.said("one");
        world.takes(&app, "1", first).await;
        let second = world.said("two");
        let mut turn = {
            let worker = app.worker.clone();
            tokio::spawn(async move { worker.advance_ready().await.unwrap() })
        };
        gate.reached().await;
        world.takes(&app, "1", second).await;
        // Time to cut off the request, if anything did.
        let ended = tokio::time::timeout(Duration::from_millis(200), &mut turn).await;
        assert!(ended.is_err(), "the request goes on");
        gate.open();
        turn.await.unwrap();
        world.settle(&app).await;
        assert_eq!(world.shown(), "First.\nSecond.");
        let prompts = world.prompts();
        assert_eq!(prompts[0].messages, prompts[1].messages[..prompts[0].messages.len()]);
    }
}

story! {
    /// `/stop` ends a model request.
    async fn stop_cancels_a_model_request(world: &mut World) {
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(say("Never shown."));
        let app = world.node().await;
        let first = world.said("one");
        world.takes(&app, "1", first).await;
        let stop = world.said("/stop");
        let advancing = app.worker.advance_ready();
        let meanwhile = async {
            gate.reached().await;
            world.takes(&app, "1", stop).await;
        };
        let (advanced, ()) = tokio::join!(advancing, meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        assert_snapshot!(world.shown(), @"Stopped.");
    }
}

story! {
    /// A person decides about an interrupted call that must not run twice.
    /// Proves T6, I4.
    async fn a_call_that_was_cut_off_is_put_to_the_person(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        let press = world.press("Allow once");
        let app = world.node().await;
        world.takes(&app, "1", press).await;
        start_and_die(world, &app).await;
        world.model_will(say("Then I leave it."));

        world.happens("1", IncomingContent::Unsupported { message: "x".into(), content: "sticker".into() }).await;
        let again = world.node().await;
        world.settle(&again).await;
        assert_snapshot!(world.shown(), @"
        Allow **delete**? `a.txt` … ✅ Allowed by Ann.
        I can't read this kind of message (sticker) yet. Please send it as text.
        **delete** was interrupted. Run it again? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Run again] [Skip]
        ");
        assert_eq!(world.deletions(), 0);
        world.ann_presses("Skip").await;
        assert_eq!(world.deletions(), 0);
        assert_eq!(world.last(), "Then I leave it.");
        let last = world.journal().await.into_iter().rev().find_map(|entry| match entry.event {
            Event::ToolFinished { result, .. } => Some(result.outcome),
            _ => None,
        });
        assert_eq!(last, Some(Outcome::Denied));
    }
}

/// A worker that dies after recording the start of the call and before running it.
async fn start_and_die(world: &World, app: &countersign::testing::app::App) {
    use countersign::testing::{
        clock::Clock as _,
        store::conversations::record::{ConversationChange, Precondition, Recorded},
    };
    let store = &app.gateway.store;
    let claimed = store.claim(1, world.clock.now()).await.unwrap().pop().expect("ready");
    let call = world.journal().await.iter().find_map(|entry| match &entry.event {
        Event::Replied { calls, .. } => calls.first().map(|call| call.id.clone()),
        _ => None,
    });
    let events = vec![Event::ToolStarted { call: call.unwrap() }];
    let change =
        ConversationChange { events, terms: Precondition::Always, ..ConversationChange::default() };
    let now = "2026-05-04T10:00:00Z".parse().unwrap();
    assert_eq!(store.record(&claimed.lease, change, now).await.unwrap(), Recorded::Done);
    store.release(&claimed.lease).await.unwrap();
}

story! {
    /// One node at a time has a duty. Another takes it over when it is released or has expired.
    /// Proves I7, R5.
    async fn a_duty_is_held_by_one_node(world: &mut World) {
        let (one, two) = (world.node().await, world.node().await);
        let holds = async |app: &App| {
            app.gateway.store.hold_duty(DutyKind::Listen("room")).await.unwrap().is_some()
        };
        assert!(holds(&one).await && holds(&one).await);
        assert!(!holds(&two).await);
        crash::move_database_clock(20_000);
        assert!(holds(&two).await && !holds(&one).await);
        two.gateway.store.release_duties().await.unwrap();
        assert!(holds(&one).await && !holds(&two).await);
    }
}
