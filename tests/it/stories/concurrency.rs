//! Many simultaneous calls and conversations do not block each other.

use async_trait::async_trait;
use channels::{IncomingContent, Place, PlaceKind};
use countersign::testing::{
    agent::{catalog::ToolSpec, prompt::Message},
    journal::event::{Event, Outcome},
    scripted::{ScriptStep, answer, calls, say, think},
    store::conversations::journal,
    texts::Language,
    tools::{Context, Output, Tool, ToolError},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::sync::{Notify, Semaphore};

use crate::{
    story,
    support::world::{World, hold_transaction},
};

/// A wait for a lock ends after 10 s on SQLite and 30 s on PostgreSQL, which itself ends deadlocks
/// of its transactions.
const SOON: Duration = Duration::from_secs(8);

pub(super) fn chat(person: usize) -> Place {
    Place { chat: format!("c{person}"), thread: None, kind: PlaceKind::Private }
}

/// The presses of every button with that label, each where it is shown.
pub(super) fn all_presses(world: &mut World, label: &str) -> Vec<(Place, IncomingContent)> {
    let messages = world.room.messages();
    let found = messages.into_iter().enumerate().filter_map(|(number, message)| {
        let button = message.buttons.into_iter().find(|(l, _)| l == label)?;
        Some((number, message.chat, button.1))
    });
    let presses = found.map(|(number, chat, data)| {
        let press = IncomingContent::Press {
            press: format!("press {number}"),
            message: number.to_string(),
            data,
            reason: None,
        };
        (Place { chat, thread: None, kind: PlaceKind::Private }, press)
    });
    presses.collect()
}

story! {
    /// Forty people allow five calls each at the same time. All of them run promptly, and none is
    /// interrupted.
    /// Proves R4, S13.
    async fn two_hundred_approved_calls_run_at_once(world: &mut World) {
        const PEOPLE: usize = 40;
        const CALLS: usize = 5;
        world.allow = (0..PEOPLE).map(|person| person.to_string()).collect();
        let app = world.node().await;
        for person in 0..PEOPLE {
            world.model_will(calls(
                (0..CALLS).map(|n| ("delete".into(), json!({ "path": format!("{n}.txt") }))).collect(),
            ));
            let said = world.said("clean up");
            world.takes_at(chat(person), &app, &person.to_string(), said).await;
        }
        world.settle(&app).await;
        for (place, press) in all_presses(world, "Allow once") {
            let person = place.chat[1..].to_owned();
            world.takes_at(place, &app, &person, press).await;
        }
        for _ in 0..PEOPLE {
            world.model_will(say("Cleaned up."));
        }
        let advanced = tokio::time::timeout(SOON, app.worker.advance_ready()).await;
        assert_eq!(advanced.expect("no turn waits for another").unwrap(), PEOPLE);
        world.settle(&app).await;
        assert_eq!(world.deletions(), PEOPLE * CALLS);
        let again = (Language::English.words().run_again)("delete");
        assert!(!world.shown().contains(&again), "{}", world.shown());
        for person in 0..PEOPLE {
            let done = world.journal_at(chat(person)).await.into_iter().filter(|entry| {
                matches!(&entry.event,
                    Event::ToolFinished { result, .. } if result.outcome == Outcome::Done)
            });
            assert_eq!(done.count(), CALLS, "of {person}");
        }
    }
}

/// Makes 32 recalls at once if asked to; otherwise it just answers.
fn recalls() -> ScriptStep {
    think(|prompt| {
        let text = match prompt.messages.last() {
            Some(Message::Tool { .. }) => return Ok(answer("I remember.", vec![])),
            Some(Message::User { text }) => text.clone(),
            _ => String::new(),
        };
        if text.contains("remember") {
            let recall = |n| ("memory_recall".to_owned(), json!({ "path": format!("{n}.md") }));
            return Ok(answer("", (0..32).map(recall).collect()));
        }
        Ok(answer("Hello.", vec![]))
    })
}

story! {
    /// A reply that reads the database 32 times at once does not delay others.
    /// Proves S13.
    async fn many_calls_of_one_reply_do_not_delay_others(world: &mut World) {
        let app = world.node().await;
        for _ in 0..6 {
            world.model_will(recalls());
        }
        for round in 0..2 {
            for (person, text) in [("1", "what do you remember?"), ("2", "hi")] {
                let said = world.said(&format!("{text} {round}"));
                let place = Place { chat: person.into(), ..chat(0) };
                world.takes_at(place, &app, person, said).await;
            }
            let advanced = tokio::time::timeout(SOON, app.worker.advance_ready()).await;
            assert_eq!(advanced.expect("nothing is blocked").unwrap(), 2);
        }
        world.settle(&app).await;
        let shown = world.shown();
        for text in ["Hello.", "I remember."] {
            assert_eq!(shown.matches(text).count(), 2, "{shown}");
        }
    }
}

story! {
    /// A cancelled read releases its connection. There are four on SQLite and sixteen on
    /// PostgreSQL; here forty reads are started and dropped.
    /// Proves S13.
    async fn a_read_that_nobody_polls_keeps_no_connection(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        let mut left: Vec<_> = (0..40).map(|_| Box::pin(store.ping())).collect();
        for read in &mut left {
            let _begun = futures::poll!(read);
        }
        for _ in 0..20 {
            let read = tokio::time::timeout(SOON, store.ping()).await;
            read.expect("a connection is free").unwrap();
        }
        drop(left);
    }
}

/// Two calls: the first ends when it is told to, the second in three steps after that.
struct Stepwise {
    started: Arc<Semaphore>,
    first: Arc<Notify>,
    begun: Arc<Notify>,
    ended: Arc<Notify>,
}

#[async_trait]
impl Tool for Stepwise {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({
            "type": "object", "properties": { "which": { "type": "integer" } }
        });
        ToolSpec::read_only("stepwise", "Goes step by step", parameters)
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        self.started.add_permits(1);
        if arguments["which"] == 1 {
            self.first.notified().await;
            self.begun.notify_one();
            return Ok(Output::text("one"));
        }
        self.begun.notified().await;
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        self.ended.notify_one();
        Ok(Output::text("two"))
    }
}

story! {
    /// Calls continue while their turn waits for the database.
    /// Proves T7.
    async fn calls_go_on_while_their_turn_waits_for_the_database(world: &mut World) {
        let notify = Arc::<Notify>::default;
        let (first, begun, ended) = (notify(), notify(), notify());
        let started = Arc::new(Semaphore::new(0));
        world.tools = vec![Arc::new(Stepwise {
            started: started.clone(), first: first.clone(), begun, ended: ended.clone(),
        })];
        world.model_will(calls(
            [1, 2].map(|which| ("stepwise".into(), json!({ "which": which }))).into(),
        ));
        world.model_will(say("Both."));
        let app = world.node().await;
        let said = world.said("go");
        world.takes(&app, "1", said).await;
        let store = app.gateway.store.clone();
        let conversation = store
            .read(|tx| Box::pin(async move {
                journal::find_conversation(tx, "room", &World::place()).await
            }))
            .await
            .unwrap()
            .unwrap();
        // Another writer holds the conversation's row from shortly before the end of the first call
        // until the second one has ended.
        let blocking = store.write("block", move |tx| {
            let (conversation, first, ended) = (conversation.clone(), first.clone(), ended.clone());
            Box::pin(async move {
                journal::lock(tx, &conversation).await?;
                first.notify_one();
                hold_transaction(ended.notified()).await;
                Ok(())
            })
        });
        let meanwhile = async {
            started.acquire_many(2).await.unwrap().forget();
            blocking.await
        };
        let both = async { tokio::join!(app.worker.advance_ready(), meanwhile) };
        let both = tokio::time::timeout(SOON, both).await;
        let (advanced, blocked) = both.expect("the second call went on");
        blocked.unwrap();
        advanced.unwrap();
        world.settle(&app).await;
        assert_eq!(world.last(), "Both.");
    }
}
