//! Decisions, votes, edits and the halt at the same time, on two nodes. Which of them comes first
//! is not determined; what must be true afterwards does not depend on it.

use channels::{Batch, Incoming, IncomingContent, Place, PlaceKind};
use countersign::testing::{
    agent::prompt::Message,
    app::App,
    gateway::{
        approvals::{Choice, by_id::decide_as},
        receive,
    },
    journal::{
        event::{Decision, Event, Outcome},
        ids::ConversationId,
    },
    scripted::{ScriptStep, answer, call, calls, think},
    store::{approvals::open, conversations::journal},
    texts::Language,
};
use futures::future::join_all;
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use std::{ops::Range, time::Duration};

use super::{approvers::ops, delegation::staff, messages::edit_of};
use crate::{story, support::world::World};

const ROUNDS: usize = 3;
/// Each has an approval of its own, so that a round tries that many orders.
const GROUPS: usize = 8;

/// A wait for a lock ends after 10 s on SQLite and 30 s on PostgreSQL, which itself ends deadlocks
/// of its transactions.
const SOON: Duration = Duration::from_secs(8);

/// The groups of each round.
fn rounds() -> impl Iterator<Item = Range<usize>> {
    (0..ROUNDS).map(|round| round * GROUPS..(round + 1) * GROUPS)
}

fn group(n: usize) -> Place {
    Place { chat: format!("g{n}"), thread: None, kind: PlaceKind::Group }
}

/// Deletes the file that the last message names. If the last message is a result, or names none,
/// the model answers.
fn deletes_what_is_named() -> ScriptStep {
    think(|prompt| {
        let path = match prompt.messages.last() {
            Some(Message::User { text }) => text.split_once("delete ").map(|(_, path)| path),
            _ => None,
        };
        let call = path.map(|path| ("delete".to_owned(), json!({ "path": path })));
        let text = if call.is_some() { "" } else { "Done." };
        Ok(answer(text, call.into_iter().collect()))
    })
}

/// Ann requests the deletion of a file in each of these groups, and the approvals are shown.
/// Returns her messages.
async fn request_in(world: &mut World, app: &App, groups: Range<usize>) -> Vec<IncomingContent> {
    let mut requests = Vec::new();
    for n in groups {
        // The request, and what follows in the tests below.
        for _ in 0..4 {
            world.model_will(deletes_what_is_named());
        }
        let request = world.said(&format!("delete {n}.txt"));
        world.takes_at(group(n), app, "1", request.clone()).await;
        requests.push(request);
    }
    world.settle(app).await;
    requests
}

/// The press of the newest button with that label in a group.
fn press_in(world: &World, n: usize, label: &str) -> IncomingContent {
    let chat = group(n).chat;
    let found = world.room.messages().iter().enumerate().rev().find_map(|(place, message)| {
        let button = message.buttons.iter().find(|(l, _)| l == label)?;
        (message.chat == chat).then(|| (place.to_string(), button.1.clone()))
    });
    let (message, data) = found.unwrap_or_else(|| panic!("no button {label} in {chat}"));
    IncomingContent::Press { press: format!("press {n}"), message, data, reason: None }
}

/// What a person does in a group.
fn update_in(world: &mut World, n: usize, person: &str, what: IncomingContent) -> Incoming {
    Incoming { place: group(n), ..world.incoming(person, what) }
}

/// Stores updates at the same time, on each of the nodes in turn.
async fn store_at_once(nodes: &[App; 2], updates: Vec<Incoming>) {
    let storing = updates.into_iter().zip(nodes.iter().cycle()).map(|(update, node)| {
        let batch = Batch { incomings: vec![update], position: None };
        receive::receive(&node.gateway, "room", batch)
    });
    let stored = tokio::time::timeout(SOON, join_all(storing)).await;
    for stored in stored.expect("nothing is blocked") {
        stored.unwrap();
    }
}

/// An approver on another channel allows everything that is open.
async fn allow_elsewhere(app: &App) {
    let open = app.gateway.store.read(|tx| Box::pin(open(tx, 100))).await.unwrap();
    let deciding = open
        .iter()
        .map(|approval| decide_as(&app.gateway, approval.id.as_str(), Choice::Once, ops("api")));
    for decided in join_all(deciding).await {
        assert!(decided.unwrap().is_some());
    }
}

async fn settle(world: &World, [one, two]: &[App; 2]) {
    tokio::join!(world.settle(one), world.settle(two));
}

async fn journal_of(app: &App, n: usize) -> Vec<Event> {
    let place = group(n);
    let found = app.gateway.store.read(move |tx| {
        Box::pin(async move { journal::find_conversation(tx, "room", &place).await })
    });
    let conversation = found.await.unwrap().expect("somebody has spoken");
    let entries = app.gateway.store.events_after(&conversation, 0).await.unwrap();
    entries.into_iter().map(|entry| entry.event).collect()
}

/// The only decision in a journal.
fn decision(events: &[Event]) -> &Decision {
    let mut decisions = events.iter().filter_map(|event| match event {
        Event::ApprovalDecided { decision, .. } => Some(decision),
        _ => None,
    });
    let first = decisions.next().expect("a decision");
    assert_eq!(decisions.next(), None, "after {first:?}");
    first
}

/// The outcomes and texts of the calls in a journal.
fn results(events: &[Event]) -> Vec<(Outcome, &str)> {
    let results = events.iter().filter_map(|event| match event {
        Event::ToolFinished { result, .. } => Some((result.outcome, result.text.as_str())),
        _ => None,
    });
    results.collect()
}

fn has_started(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event, Event::ToolStarted { .. }))
}

/// Whether the only call of a group was allowed. It has run as it was shown, or not at all.
async fn was_allowed(app: &App, n: usize) -> bool {
    let events = journal_of(app, n).await;
    let is_allowed = *decision(&events) == Decision::Once;
    if is_allowed {
        assert_eq!(results(&events), [(Outcome::Done, format!("deleted {n}.txt").as_str())]);
    } else {
        assert!(!has_started(&events), "{events:?}");
    }
    is_allowed
}

story! {
    /// Ann allows a call and edits her request, Bob denies the call, and an approver elsewhere
    /// allows it. One of these decides. If the call was allowed, it runs once, with the arguments
    /// that were shown.
    /// Proves A13, S4, R4.
    async fn decisions_and_an_edit_at_once_decide_once(world: &mut World) {
        world.guard("{ approvers = 'members' }");
        let nodes = [world.node().await, world.node().await];
        let mut allowed = 0;
        for groups in rounds() {
            let requests = request_in(world, &nodes[0], groups.clone()).await;
            let mut updates = Vec::new();
            for (n, request) in groups.clone().zip(&requests) {
                let (allow, deny) = (press_in(world, n, "Allow once"), press_in(world, n, "Deny"));
                let mut all = [("1", allow), ("2", deny), ("1", edit_of(request, "keep it"))];
                all.rotate_left(n % 3);
                updates.extend(all.map(|(person, what)| update_in(world, n, person, what)));
            }
            tokio::join!(store_at_once(&nodes, updates), allow_elsewhere(&nodes[1]));
            settle(world, &nodes).await;
            for n in groups {
                allowed += usize::from(was_allowed(&nodes[0], n).await);
            }
            assert_eq!(world.deletions(), allowed);
        }
    }
}

story! {
    /// Bob votes for a call while Ann edits her request. His vote does not count for the call that
    /// the agent makes then, also if he presses the old button once more.
    /// Proves A13, S4.
    async fn a_vote_does_not_count_for_other_arguments(world: &mut World) {
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        let nodes = [world.node().await, world.node().await];
        for groups in rounds() {
            let requests = request_in(world, &nodes[0], groups.clone()).await;
            let (mut updates, mut late) = (Vec::new(), Vec::new());
            for (n, request) in groups.clone().zip(&requests) {
                let vote = press_in(world, n, "Allow once");
                late.push(update_in(world, n, "2", vote.clone()));
                let edit = edit_of(request, &format!("delete {n}.log"));
                let mut both = [("2", vote), ("1", edit)];
                both.rotate_left(n % 2);
                updates.extend(both.map(|(person, what)| update_in(world, n, person, what)));
            }
            store_at_once(&nodes, updates).await;
            settle(world, &nodes).await;
            store_at_once(&nodes, late).await;
            let before = world.deletions();
            for (person, ran) in [("1", 0), ("2", GROUPS)] {
                let mut votes = Vec::new();
                for n in groups.clone() {
                    let vote = press_in(world, n, "Allow once");
                    votes.push(update_in(world, n, person, vote));
                }
                store_at_once(&nodes, votes).await;
                settle(world, &nodes).await;
                assert_eq!(world.deletions() - before, ran, "after the vote of {person}");
            }
            for n in groups {
                let events = journal_of(&nodes[0], n).await;
                let last = results(&events).last().copied();
                assert_eq!(last, Some((Outcome::Done, format!("deleted {n}.log").as_str())));
            }
        }
    }
}

story! {
    /// Ann and Bob vote for a call while Bob withdraws his vote, which may come before it, between
    /// both or too late. If it counts, his next vote is needed. Each call runs once.
    /// Proves A13, R4.
    async fn votes_and_a_withdrawal_at_once_are_counted(world: &mut World) {
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        let nodes = [world.node().await, world.node().await];
        for groups in rounds() {
            request_in(world, &nodes[0], groups.clone()).await;
            let mut updates = Vec::new();
            for n in groups.clone() {
                let vote = press_in(world, n, "Allow once");
                let mut all = [("2", vote.clone()), ("2", world.said("/withdraw")), ("1", vote)];
                all.rotate_left(n % 3);
                updates.extend(all.map(|(person, what)| update_in(world, n, person, what)));
            }
            store_at_once(&nodes, updates).await;
            settle(world, &nodes).await;
            let mut again = Vec::new();
            for n in groups.clone() {
                let events = journal_of(&nodes[0], n).await;
                assert_eq!(has_started(&events), !results(&events).is_empty());
                if !has_started(&events) {
                    let vote = press_in(world, n, "Allow once");
                    again.push(update_in(world, n, "2", vote));
                }
            }
            store_at_once(&nodes, again).await;
            settle(world, &nodes).await;
            for n in groups.clone() {
                assert!(was_allowed(&nodes[0], n).await);
            }
            assert_eq!(world.deletions(), groups.end);
        }
    }
}

/// The last message in the chat where the owner types commands.
fn last_to_owner(world: &World) -> String {
    let chat = World::place().chat;
    let messages = world.room.messages();
    messages.into_iter().rfind(|message| message.chat == chat).expect("a message").text
}

async fn lift_halt(world: &mut World, nodes: &[App; 2]) {
    let off = world.said("/panic off");
    world.takes(&nodes[0], "1", off).await;
    settle(world, nodes).await;
    assert_eq!(last_to_owner(world), Language::English.words().grant_texts.lifted);
}

story! {
    /// Ann halts all tools while she allows, denies and edits requests. Each approval is decided
    /// once, the halt reports how many of them it has denied, and no call starts during the halt or
    /// after it, also none that was allowed before it.
    /// Proves A12, S4, R4.
    async fn a_halt_and_decisions_at_once_decide_once(world: &mut World) {
        world.make_owner("1").await;
        let nodes = [world.node().await, world.node().await];
        for groups in rounds() {
            let requests = request_in(world, &nodes[0], groups.clone()).await;
            let mut updates = Vec::new();
            for (n, request) in groups.clone().zip(&requests) {
                let what = match n % 3 {
                    0 => press_in(world, n, "Allow once"),
                    1 => press_in(world, n, "Deny"),
                    _ => edit_of(request, "keep it"),
                };
                updates.push(update_in(world, n, "1", what));
            }
            let halt = world.said("/panic");
            updates.insert(GROUPS / 2, world.incoming("1", halt));
            store_at_once(&nodes, updates).await;
            settle(world, &nodes).await;
            let mut denied = 0;
            for n in groups {
                let events = journal_of(&nodes[0], n).await;
                assert!(!has_started(&events), "{events:?}");
                denied += usize::from(matches!(
                    decision(&events),
                    Decision::Deny { reason: Some(why) } if why == "all tools are halted"
                ));
            }
            let reported = (Language::English.words().grant_texts.halted)(denied);
            assert_eq!(last_to_owner(world), reported);
            lift_halt(world, &nodes).await;
            assert_eq!(world.deletions(), 0);
        }
    }
}

story! {
    /// Ann halts all tools while another node starts calls that she has allowed. Each call runs once,
    /// or is denied before it has started. `no_call_begins_beside_a_halt` is about the order.
    /// Proves A12.
    async fn beside_a_halt_a_call_runs_once_or_never_starts(world: &mut World) {
        world.make_owner("1").await;
        let nodes = [world.node().await, world.node().await];
        let mut done = 0;
        for groups in rounds() {
            request_in(world, &nodes[0], groups.clone()).await;
            let mut presses = Vec::new();
            for n in groups.clone() {
                let press = press_in(world, n, "Allow once");
                presses.push(update_in(world, n, "1", press));
            }
            store_at_once(&nodes, presses).await;
            let halt = world.said("/panic");
            let batch = Batch { incomings: vec![world.incoming("1", halt)], position: None };
            let both = async {
                tokio::join!(
                    nodes[0].worker.advance_ready(),
                    receive::receive(&nodes[1].gateway, "room", batch)
                )
            };
            let both = tokio::time::timeout(SOON, both).await;
            let (advanced, halted) = both.expect("nothing is blocked");
            advanced.unwrap();
            halted.unwrap();
            let ran = world.deletions();
            settle(world, &nodes).await;
            lift_halt(world, &nodes).await;
            for n in groups {
                let events = journal_of(&nodes[0], n).await;
                assert_eq!(*decision(&events), Decision::Once);
                match results(&events)[..] {
                    [(Outcome::Done, _)] => done += 1,
                    [(Outcome::Denied, _)] => assert!(!has_started(&events), "{events:?}"),
                    ref other => panic!("{other:?}"),
                }
            }
            assert_eq!((world.deletions(), ran), (done, done));
        }
    }
}

/// Waits until a transaction waits for the row of a conversation.
async fn until_a_conversation_is_awaited(observer: &mut PgConnection) {
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
         AND query LIKE '%-- lock a conversation%' AND datname = current_database()
         AND pid <> pg_backend_pid()";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut *observer).await.unwrap() == 0 {}
}

/// A halt does not count an approval that another node decides while the halt waits for it.
/// Proves A12.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_counts_what_it_has_denied() {
    let mut world = World::on_postgres().await;
    world.make_owner("1").await;
    world.model_will(call("delete", json!({ "path": "a.txt" })));
    world.ann_says("delete a.txt").await;
    let app = world.node().await;
    let mut other = PgConnection::connect(&world.config.store_url()).await.unwrap();
    let mut deciding = other.begin().await.unwrap();
    for change in [
        "UPDATE conversations SET last_seq = last_seq",
        "UPDATE approvals SET status = 'denied', decided_by = 'Ann', decided_at = 0",
    ] {
        sqlx::query(change).execute(&mut *deciding).await.unwrap();
    }
    let mut observer = PgConnection::connect(&world.config.store_url()).await.unwrap();
    let halt_waits = async {
        until_a_conversation_is_awaited(&mut observer).await;
        deciding.commit().await.unwrap();
    };
    let halt = world.said("/panic");
    let batch = Batch { incomings: vec![world.incoming("1", halt)], position: None };
    let both = async { tokio::join!(receive::receive(&app.gateway, "room", batch), halt_waits) };
    let (halted, ()) = tokio::time::timeout(SOON, both).await.expect("the halt waits");
    halted.unwrap();
    world.settle(&app).await;
    assert_eq!(last_to_owner(&world), (Language::English.words().grant_texts.halted)(0));
    drop((app, other, observer));
    world.end().await;
}

/// Ann's request, for which two sub-agents want to delete a file each.
async fn request_of_two_agents(world: &mut World) -> IncomingContent {
    staff(world);
    let task = |agent: &str, n: usize| {
        ("delegate".to_owned(), json!({ "agent": agent, "task": format!("delete {n}.txt") }))
    };
    world.model_will(calls(vec![task("researcher", 1), task("writer", 2)]));
    for _ in 0..2 {
        world.model_will(deletes_what_is_named());
    }
    let request = world.said("tidy up");
    world.happens("1", request.clone()).await;
    request
}

/// The conversations of the two open approvals, in order. The approval of the second one is older
/// from now on.
async fn cross_approvals(world: &World, app: &App) -> [ConversationId; 2] {
    let open = app.gateway.store.read(|tx| Box::pin(open(tx, 9))).await.unwrap();
    let [first, second] = &open[..] else { panic!("{open:?}") };
    if first.id < second.id {
        let exchange = "UPDATE approvals SET conversation = (
            SELECT o.conversation FROM approvals o WHERE o.id <> approvals.id
        )";
        world.tampers(exchange).await;
    }
    [first.conversation.clone(), second.conversation.clone()]
}

/// An edit locks the conversations of sub-agents in the same order as a halt, whichever of their
/// approvals is older, so that the two do not deadlock.
/// Proves R4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_locks_conversations_in_the_order_of_a_halt() {
    let mut world = World::on_postgres().await;
    let request = request_of_two_agents(&mut world).await;
    let app = world.node().await;
    let [first, second] = cross_approvals(&world, &app).await;
    let mut other = PgConnection::connect(&world.config.store_url()).await.unwrap();
    let mut holding = other.begin().await.unwrap();
    let lock = sqlx::query("UPDATE conversations SET last_seq = last_seq WHERE id = $1");
    lock.bind(first.as_str()).execute(&mut *holding).await.unwrap();
    let mut observer = PgConnection::connect(&world.config.store_url()).await.unwrap();
    let edit_waits = async {
        until_a_conversation_is_awaited(&mut observer).await;
        let free = "SELECT id FROM conversations WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED";
        let free = sqlx::query(free).bind(second.as_str()).fetch_all(&mut observer).await;
        assert_eq!(free.unwrap().len(), 1, "it waits for the first before it locks the second");
        holding.rollback().await.unwrap();
    };
    let edit = world.incoming("1", edit_of(&request, "leave it"));
    let batch = Batch { incomings: vec![edit], position: None };
    let both = async { tokio::join!(receive::receive(&app.gateway, "room", batch), edit_waits) };
    let (edited, ()) = tokio::time::timeout(SOON, both).await.expect("the edit waits");
    edited.unwrap();
    drop((app, other, observer));
    world.end().await;
}
