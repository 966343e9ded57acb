//! Reminders and scheduled tasks of the agent, on any number of nodes.

use channels::Place;
use chrono::{DateTime, TimeDelta, Utc};
use countersign::testing::{
    agent::schedule_rule::Recurrence,
    app::App,
    clock::Clock as _,
    gateway::{approvals::relocation, people::ChannelAccess},
    journal::{
        event::{Event, Outcome, Speaker},
        ids::ScheduleId,
        role::Role,
    },
    scripted::{call, calls, say},
    store::{
        conversations::journal,
        lists::PageRequest,
        schedules::{self, Schedule, ScheduleChange, ScheduleKind, ScheduleState},
    },
    worker::scheduler,
};
use futures::future::join_all;
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    story,
    support::{
        http::Served, process::eventually, stable_output::stable, tools::Page, world::World,
    },
};

/// The outcomes of a tool's calls.
async fn ends(world: &World) -> Vec<(Outcome, String)> {
    let ends = world.journal().await.into_iter().filter_map(|entry| match entry.event {
        Event::ToolFinished { result, .. } => Some((result.outcome, result.text)),
        _ => None,
    });
    ends.collect()
}

fn ticks(journal: &[countersign::testing::journal::event::Entry]) -> usize {
    journal.iter().filter(|entry| matches!(entry.event, Event::TaskDue { .. })).count()
}

/// Ann has the agent create it and approves it if asked, and the agent confirms.
async fn ann_schedules(world: &mut World, tool: &str, arguments: Value) {
    world.model_will(call(tool, arguments));
    world.model_will(say("Noted."));
    world.ann_says("later, please").await;
    if let Some(press) = world.press_if_there("Allow once") {
        world.happens("1", press).await;
    }
    assert_eq!(world.last(), "Noted.");
}

story! {
    /// It fires when due, not earlier, once, verbatim, and without an approval.
    /// Proves MC-39.
    async fn a_reminder_comes_once(world: &mut World) {
        let arguments = json!({ "text": "Take the **tea** out", "in": "20 minutes" });
        ann_schedules(world, "remind", arguments).await;
        world.time_passes(TimeDelta::seconds(20 * 60 - 1)).await;
        assert_eq!(world.shown(), "Noted.", "never early");
        world.time_passes(TimeDelta::seconds(1)).await;
        assert_snapshot!(world.shown(), @"
        Noted.
        ⏰ Take the **tea** out
        ");
        world.time_passes(TimeDelta::days(3)).await;
        assert_snapshot!(world.shown(), @"
        Noted.
        ⏰ Take the **tea** out
        ");
    }
}

story! {
    /// A reminder that comes a minute late says when it was due.
    /// Proves MC-39.
    async fn a_late_reminder_says_when_it_was_due(world: &mut World) {
        for (late, says_so) in [(59, false), (60, true)] {
            ann_schedules(world, "remind", json!({ "text": "Tea", "in": "20 minutes" })).await;
            world.time_passes(TimeDelta::seconds(20 * 60 + late)).await;
            let text = world.last_text();
            assert!(text.starts_with("⏰ Tea"), "{text}");
            assert_eq!(text.contains("This was due at"), says_so, "{text}");
        }
    }
}

story! {
    /// In the person's local time, whose zone is stored; a reminder missed during downtime fires
    /// once, and says when it was due.
    /// Proves MC-39.
    async fn a_calendar_of_another_zone(world: &mut World) {
        let arguments = json!({ "text": "Stand up", "cron": "0 9 * * *", "timezone": "asia/tokyo" });
        ann_schedules(world, "remind", arguments).await;
        // It is 19:00 in Tokyo.
        world.time_passes(TimeDelta::hours(14)).await;
        world.time_passes(TimeDelta::hours(24)).await;
        assert_snapshot!(world.shown(), @"
        Noted.
        ⏰ Stand up
        ⏰ Stand up
        ");
        world.time_passes(TimeDelta::hours(24 * 5 + 1)).await;
        let last = "⏰ Stand up … This was due at 2026-05-07 09:00.";
        assert_eq!(world.shown(), format!("Noted.\n⏰ Stand up\n⏰ Stand up\n{last}"));
        world.time_passes(TimeDelta::hours(23)).await;
        assert_snapshot!(world.last(), @"⏰ Stand up");
        ann_schedules(world, "remind", json!({ "text": "Sleep", "at": "2026-05-12T22:00" })).await;
        let text = &ends(world).await.pop().unwrap().1;
        assert_snapshot!(stable(text), @r#"<code>: reminder "Sleep" of Ann, next Tuesday 2026-05-12 22:00:00 (Asia/Tokyo, UTC+09:00), once"#);
    }
}

story! {
    /// A task of the agent needs an approval, runs as a turn of its own in its chat, on behalf of
    /// its author; [SILENT] shows nothing.
    /// Proves MC-39.
    async fn a_task_runs_where_it_was_made(world: &mut World) {
        let arguments = json!({ "text": "look at the mail", "every": "1h" });
        world.model_will(call("schedule", arguments));
        world.ann_says("look every hour").await;
        assert_snapshot!(world.last(), @"Allow **schedule**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
        assert_snapshot!(world.last_text(), @r"
        Allow **schedule**?
        Schedule a task that the agent carries out later.

        text: `look at the mail`
        every: `1h`

        next 2026-05-04 11:00:00 (UTC, UTC+00:00), every 1h

        schedule makes changes\, and no rule allows it\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        world.model_will(say("Noted."));
        world.ann_presses("Allow once").await;

        world.model_will(say("  [SILENT]\n"));
        world.time_passes(TimeDelta::hours(1)).await;
        assert_eq!(world.last(), "Noted.");
        let asked = world.prompts().pop().unwrap();
        let task = format!("{:?}", asked.messages.last().unwrap());
        assert!(task.contains("look at the mail") && task.contains("[SILENT]"), "{task}");

        world.model_will(call("delete", json!({ "path": "spam" })));
        world.time_passes(TimeDelta::hours(1)).await;
        let question = world.room.messages().pop().unwrap().text;
        assert_snapshot!(stable(&question), @r"
        Allow **delete**?
        Deletes a file

        path: `spam`

        delete makes changes\, and no rule allows it\.
        “Allow in this conversation” covers every later call of delete that Ann requests here, whatever its arguments, until /new.
        Requested by Ann. Open until 2026-05-04 12:30 UTC, code `<code>`.
        ");
        // As long as the approval is open, no other turn starts.
        world.time_passes(TimeDelta::hours(1) - TimeDelta::minutes(40)).await;
        world.model_will(say("One went."));
        world.ann_presses("Allow once").await;
        assert_eq!((world.deletions(), world.last()), (1, "One went.".to_owned()));
        assert_eq!(ticks(&world.journal().await), 2);

        world.model_will(say("[SILENT]"));
        world.ann_says("what is new?").await;
        assert_eq!(world.last(), "[SILENT]", "who asks gets an answer");
    }
}

story! {
    /// Schedules of a removed person do nothing until the person is admitted again and resumes
    /// them.
    async fn schedules_of_a_removed_person_pause(world: &mut World) {
        ann_schedules(world, "remind", json!({ "text": "Tea", "every": "1h" })).await;
        world.time_passes(TimeDelta::hours(1)).await;
        assert_snapshot!(world.last(), @"⏰ Tea");
        let allow = std::mem::replace(&mut world.allow, vec!["2".into()]);
        world.time_passes(TimeDelta::hours(2)).await;
        world.allow = allow;
        world.time_passes(TimeDelta::hours(2)).await;
        assert_snapshot!(world.shown(), @"
        Noted.
        ⏰ Tea
        ");
        ann_schedules(world, "list_schedules", json!({})).await;
        let listed = ends(world).await.pop().unwrap().1;
        assert_snapshot!(stable(&listed), @r#"<code>: reminder "Tea" of Ann, paused, was next Monday 2026-05-04 14:00:00 (UTC, UTC+00:00), every 1h"#);
    }
}

story! {
    /// A person who was removed has no access in a group either, nor in the chat that has their id.
    /// A webhook without a person acts for its group.
    async fn schedules_run_for_people_with_access_only(world: &mut World) {
        world.allow = vec!["1".into()];
        let app = world.node().await;
        let chat = |chat: &str| Place { chat: chat.into(), ..World::place() };
        for (place, by, expected) in [
            (World::group(), "1", true),
            (World::group(), "2", false),
            (World::group(), "-70", true),
            (chat("1"), "1", true),
            (chat("2"), "2", false),
        ] {
            let case = format!("{by} in {}", place.chat);
            let (worker, now) = (app.worker.clone(), world.clock.now());
            let by = Speaker { id: by.to_owned(), name: String::new() };
            let has_access = app.gateway.store.write("access", move |tx| {
                Box::pin(async move {
                    let conversation = journal::conversation(tx, "room", &place, now).await?;
                    scheduler::has_access(tx, &worker, &conversation, &by).await
                })
            });
            assert_eq!(has_access.await.unwrap(), expected, "{case}");
        }
    }
}

story! {
    /// A duplicate is ignored; schedules can be listed, paused and deleted; their number and
    /// frequency are limited.
    /// Proves MC-39.
    async fn schedules_are_listed_paused_resumed_and_deleted(world: &mut World) {
        world.config.limits.messages_per_minute = 0;
        world.config.schedules.per_conversation = 2;
        let tea = || json!({ "text": "Tea", "every": "1h" });
        ann_schedules(world, "remind", tea()).await;
        ann_schedules(world, "remind", tea()).await;
        ann_schedules(world, "remind", json!({ "text": "Tea", "at": "2026-05-04T23:59" })).await;
        ann_schedules(world, "remind", json!({ "text": "Too many", "in": "1h" })).await;
        ann_schedules(world, "remind", json!({ "text": "Too often", "every": "59s" })).await;
        let made: Vec<_> = ends(world).await;
        assert_snapshot!(stable(&made[1].1), @r#"It already exists: <code>: reminder "Tea" of Ann, next Monday 2026-05-04 11:00:00 (UTC, UTC+00:00), every 1h"#);
        assert_snapshot!(stable(&made[3].1), @"The maximum of 2 schedules in this conversation is reached: delete one first (list_schedules, change_schedule)");
        assert_snapshot!(stable(&made[4].1), @"Invalid parameters: that is too often: the shortest interval is 1m");
        assert_eq!(made.iter().map(|end| end.0).filter(|end| *end == Outcome::Failed).count(), 2);
        let id = made[0].1.split(':').next().unwrap().to_owned();

        ann_schedules(world, "list_schedules", json!({})).await;
        let list = ends(world).await.pop().unwrap().1;
        assert_eq!(list.lines().count(), 2, "{list}");
        let change = |action: &str| json!({ "id": id, "action": action });
        ann_schedules(world, "change_schedule", change("pause")).await;
        world.time_passes(TimeDelta::hours(2)).await;
        assert_eq!(world.last(), "Noted.");
        ann_schedules(world, "change_schedule", change("resume")).await;
        assert_eq!(world.last(), "Noted.", "it goes on with its next time");
        world.time_passes(TimeDelta::hours(1)).await;
        assert_snapshot!(world.last(), @"⏰ Tea");
        ann_schedules(world, "change_schedule", change("delete")).await;
        world.time_passes(TimeDelta::hours(2)).await;
        assert_eq!(world.last(), "Noted.");
        ann_schedules(world, "change_schedule", change("resume")).await;
        let (outcome, text) = ends(world).await.pop().unwrap();
        assert!(outcome == Outcome::Failed, "{text}");
        assert_snapshot!(stable(&text), @r#"Invalid parameters: nothing with the id "<code>" is scheduled here: list_schedules shows the ids"#);
    }
}

story! {
    /// Schedules of another conversation can be neither seen nor changed.
    /// Proves MC-39.
    async fn another_chat_has_its_own_schedules(world: &mut World) {
        ann_schedules(world, "remind", json!({ "text": "Secret", "in": "1h" })).await;
        let id = ends(world).await[0].1.split(':').next().unwrap().to_owned();
        let arguments = json!({ "id": id, "action": "delete" });
        world.model_will(calls(vec![
            ("list_schedules".to_owned(), json!({})),
            ("change_schedule".to_owned(), arguments),
        ]));
        world.model_will(say("Nothing there."));
        let said = world.said("what is planned?");
        world.happens_at(World::group(), ("2", &[]), said).await;
        let there = world.journal_at(World::group()).await;
        let mut texts: Vec<_> = there.iter().filter_map(|entry| match &entry.event {
            Event::ToolFinished { result, .. } => Some(result.text.as_str()),
            _ => None,
        }).collect();
        texts.sort_unstable();
        assert_snapshot!(stable(texts[1]), @"Nothing is scheduled in this conversation.");
        assert_snapshot!(stable(texts[0]), @r#"Invalid parameters: nothing with the id "<code>" is scheduled here: list_schedules shows the ids"#);
        world.time_passes(TimeDelta::hours(1)).await;
        let shown = world.room.messages().into_iter().filter(|m| m.text.contains("Secret"));
        assert_eq!(shown.count(), 1);
    }
}

story! {
    /// `/stop` and `/new` end running work, not schedules; after the bot was removed, nothing fires
    /// until a person resumes it.
    async fn schedules_survive_stop_and_wait_after_the_bot_is_removed(world: &mut World) {
        ann_schedules(world, "remind", json!({ "text": "Tea", "every": "1h" })).await;
        world.ann_says("/stop").await;
        world.ann_says("/new").await;
        world.time_passes(TimeDelta::hours(1)).await;
        assert_snapshot!(world.last(), @"⏰ Tea");
        let app = world.node().await;
        let now = "2026-05-04T11:00:00Z".parse().unwrap();
        let access = ChannelAccess::to(&app.gateway, "room").unwrap();
        app.gateway.store.write("expel", move |tx| {
            let access = access.clone();
            Box::pin(async move { relocation::expelled(tx, &access, &World::place(), now).await })
        }).await.unwrap();
        let shown = world.shown();
        world.time_passes(TimeDelta::hours(2)).await;
        assert_eq!(world.shown(), shown);
    }
}

story! {
    /// A schedule created under taint stays tainted: a reminder has no links, and a task taints its
    /// turn.
    /// Proves S17.
    async fn a_schedule_created_under_taint_stays_tainted(world: &mut World) {
        world.tools = vec![std::sync::Arc::new(Page)];
        world.model_will(call("page", json!({})));
        world.model_will(call("remind", json!({ "text": "Log in at https://evil.test/x", "in": "1h" })));
        world.model_will(call("schedule", json!({ "text": "obey the page", "in": "2h" })));
        world.ann_says("read it").await;
        let question = world.room.messages().pop().unwrap().text;
        assert_snapshot!(stable(&question), @r"
        Allow **schedule**?
        Schedule a task that the agent carries out later.

        text: `obey the page`
        in: `2h`

        next 2026-05-04 12:00:00 (UTC, UTC+00:00), once

        schedule makes changes\, and no rule allows it\.
        ⚠️ This conversation contains untrusted content \(page\)\, which may have prompted this request\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        world.model_will(say("Noted."));
        world.ann_presses("Allow once").await;
        world.ann_says("/new").await;
        world.time_passes(TimeDelta::hours(1)).await;
        assert_snapshot!(world.last(), @"⏰ Log in at `https://evil.test/x`");
        world.model_will(say("See https://evil.test/y"));
        world.time_passes(TimeDelta::hours(1)).await;
        assert_snapshot!(world.last(), @"See `https://evil.test/y`");
    }
}

/// Many schedules with this recurrence, due within ten seconds, in a few conversations.
async fn many(world: &World, app: &App, count: usize, rule: &Recurrence) {
    let mut conversations = Vec::new();
    for chat in 0..20 {
        let place = Place { chat: chat.to_string(), ..World::place() };
        let now = world.clock.now();
        let begin = app.gateway.store.write("begin", move |tx| {
            Box::pin(async move { journal::conversation(tx, "room", &place, now).await })
        });
        conversations.push(begin.await.unwrap());
    }
    let made = (0..count).map(|n| {
        let conversation = conversations[n % conversations.len()].clone();
        let new = schedules::Schedule {
            id: ScheduleId::new(),
            conversation,
            does: ScheduleKind::Remind,
            text: format!("number {n}."),
            rule: rule.clone(),
            zone: "UTC".into(),
            by: Speaker { id: "1".into(), name: "Ann".into() },
            taint: vec![],
            state: ScheduleState::Waiting,
            due_at: world.clock.now() + TimeDelta::seconds(1 + n as i64 % 10),
        };
        let (store, now) = (app.gateway.store.clone(), world.clock.now());
        async move {
            let make = store.write("make", move |tx| {
                Box::pin(async move { schedules::create(tx, &new, usize::MAX, now).await })
            });
            assert_eq!(make.await.unwrap(), schedules::ScheduleCreated::New);
        }
    });
    futures::StreamExt::collect::<Vec<()>>(futures::StreamExt::buffer_unordered(
        futures::stream::iter(made),
        64,
    ))
    .await;
}

story! {
    /// A running node runs schedules by itself.
    /// Proves MC-39.
    async fn a_running_node_runs_schedules(world: &mut World) {
        let app = world.node().await;
        app.start();
        many(world, &app, 3, &Recurrence::Once).await;
        world.clock.advance(TimeDelta::seconds(11));
        let are_shown = async || (world.room.messages().len() == 3).then_some(());
        eventually("three reminders are shown", are_shown).await;
        app.stop().await.unwrap();
    }
}

story! {
    /// With three nodes that are killed repeatedly, every schedule fires, none early, none twice.
    /// Proves R7.
    async fn no_reminder_is_lost_and_none_comes_twice(world: &mut World) {
        let count = if std::env::var("COUNTERSIGN_TEST_FULL").is_ok() { 10_000 } else { 400 };
        let nodes = [world.node().await, world.node().await, world.node().await];
        many(world, &nodes[0], count, &Recurrence::Once).await;
        for second in 0..=10 {
            let due = count / 10 * second;
            for patience in 0..3 {
                let firing = nodes.iter().map(|node| async move {
                    let patience = std::time::Duration::from_millis(1 + patience * 7);
                    // A node that times out counts as dead.
                    let _ = tokio::time::timeout(patience, scheduler::fire_due(&node.worker)).await;
                });
                join_all(firing).await;
            }
            // Messages of dead nodes may arrive first: then none is left to fire, although there
            // are more.
            let store = &nodes[0].gateway.store;
            while !store.due_schedules(1, world.clock.now()).await.unwrap().is_empty() {
                scheduler::fire_due(&nodes[0].worker).await.unwrap();
            }
            assert_eq!(world.rows_of("outbox").await.len(), due, "after {second} s");
            world.clock.advance(TimeDelta::seconds(1));
        }
        let rows = world.rows_of("outbox").await;
        assert_eq!(rows.len(), count);
        let number = |row: &String| row.split_once("number ")?.1.split_once('.')?.0.parse().ok();
        let mut fired: Vec<usize> = rows.iter().filter_map(number).collect();
        fired.sort_unstable();
        assert_eq!(fired, (0..count).collect::<Vec<_>>());
    }
}

/// All schedules that have not ended, newest first.
async fn active(app: &App) -> Vec<Schedule> {
    let page = PageRequest { after: String::new(), limit: 1_000 };
    let read = app
        .gateway
        .store
        .read(move |tx| Box::pin(async move { schedules::list(tx, "", &page).await }));
    read.await.unwrap()
}

async fn change(
    app: &App,
    id: &ScheduleId,
    to: ScheduleChange,
    now: DateTime<Utc>,
) -> Option<Schedule> {
    let id = id.clone();
    let change = app.gateway.store.write("change schedule", move |tx| {
        Box::pin(async move { schedules::change_state(tx, &id, to, now).await })
    });
    change.await.unwrap()
}

story! {
    /// A state that was computed before a run is not written after it, which would repeat or undo
    /// the run; it is computed again.
    /// Proves MC-39.
    async fn a_change_that_was_overtaken_by_a_run_does_not_undo_it(world: &mut World) {
        ann_schedules(world, "remind", json!({ "text": "Tea", "every": "1h" })).await;
        let app = world.node().await;
        let before = active(&app).await.pop().unwrap();
        let overdue = before.due_at + TimeDelta::minutes(1);
        let resumed = before.moved(ScheduleChange::Resume, overdue);
        assert_eq!(resumed, (ScheduleState::Waiting, before.due_at), "it was not paused, so none is skipped");
        world.time_passes(TimeDelta::hours(1)).await;
        assert_snapshot!(world.last(), @"⏰ Tea");
        let (now, next) = (world.clock_now(), before.due_at + TimeDelta::hours(1));
        for to in [ScheduleChange::Pause, ScheduleChange::Resume, ScheduleChange::Delete] {
            let ((state, due_at), before) = (before.moved(to, now), before.clone());
            let set = app.gateway.store.write("set schedule", move |tx| {
                Box::pin(async move { schedules::set(tx, &before, state, due_at, now).await })
            });
            assert!(!set.await.unwrap(), "{to:?}");
        }
        let after = active(&app).await.pop().unwrap();
        assert_eq!((after.state, after.due_at), (ScheduleState::Waiting, next));

        let paused = change(&app, &before.id, ScheduleChange::Pause, now).await.unwrap();
        assert_eq!((paused.state, paused.due_at), (ScheduleState::Paused, next));
        let resumed = change(&app, &before.id, ScheduleChange::Resume, now).await.unwrap();
        assert_eq!((resumed.state, resumed.due_at), (ScheduleState::Waiting, next));
        world.time_passes(TimeDelta::minutes(59)).await;
        assert_eq!(world.shown().matches("⏰ Tea").count(), 1, "no run is repeated");
        world.time_passes(TimeDelta::minutes(1)).await;
        assert_eq!(world.shown().matches("⏰ Tea").count(), 2, "no run is lost");
        let deleted = change(&app, &before.id, ScheduleChange::Delete, now).await.unwrap();
        assert_eq!(deleted.due_at, next + TimeDelta::hours(1));
        assert_eq!(change(&app, &before.id, ScheduleChange::Resume, now).await, None);
    }
}

story! {
    /// Schedules that one node pauses while another runs them are paused before the run, which then
    /// does not happen, or after it, with the next time.
    /// Proves MC-39.
    async fn a_pause_at_the_due_time_comes_before_the_run_or_after_it(world: &mut World) {
        let (one, other) = (world.node().await, world.node().await);
        many(world, &one, 40, &Recurrence::Every { seconds: 3_600 }).await;
        let before = active(&one).await;
        assert_eq!(before.len(), 40);
        world.clock.advance(TimeDelta::seconds(11));
        let now = world.clock_now();
        let pauses = before
            .iter()
            .map(|schedule| change(&other, &schedule.id, ScheduleChange::Pause, now));
        let (fired, paused) = tokio::join!(scheduler::fire_due(&one.worker), join_all(pauses));
        fired.unwrap();
        assert!(paused.iter().all(Option::is_some), "they recur");
        let (after, shown) = (active(&one).await, world.rows_of("outbox").await);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!((&after.id, after.state), (&before.id, ScheduleState::Paused));
            let runs = shown.iter().filter(|row| row.contains(&before.text)).count();
            let expected = before.due_at + TimeDelta::hours(runs as i64);
            assert!(runs <= 1 && after.due_at == expected, "{runs} runs, due {}", after.due_at);
        }
    }
}

story! {
    /// An owner creates and changes schedules through the API, checked like those of the chat and the
    /// console. The audit has who did it.
    async fn schedules_are_created_and_changed_through_the_api(world: &mut World) {
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        let served = Served::of(world).await;
        let owner = served.token("boss", Role::Owner).await;
        let operator = served.token("ops", Role::Operator).await;
        let listed = served.get(&operator, "/conversations").await;
        let conversation = &listed["items"][0]["id"];
        let plan = |text: &str, at: &str| {
            json!({ "does": "remind", "text": text, "at": at, "timezone": "Asia/Tokyo" })
        };
        let create = async |token: &str, person: &str, plan: &Value| {
            let body = json!({ "conversation": conversation, "person": person, "plan": plan });
            served.ask(token, Method::POST, "/schedules", Some(body)).await
        };
        let tea = plan("Take the tea out", "2026-05-04T19:20");
        assert_eq!(create(&operator, "1", &tea).await.0, StatusCode::FORBIDDEN);
        let (status, made) = create(&owner, "1", &tea).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        assert_eq!((&made["by"]["name"], &made["rule"]), (&json!("Ann"), &json!("once")));
        assert_eq!(made["due_at"], "2026-05-04T10:20:00Z");
        assert_eq!(create(&owner, "1", &tea).await.0, StatusCode::CONFLICT, "it already exists");
        let mut two_times = tea.clone();
        two_times["cron"] = json!("0 9 * * *");
        for (person, plan, says) in [
            ("1", plan("Tea", "2026-05-04T10:00"), "is in the past"),
            ("1", plan("", "2026-05-04T19:20"), "has 0 characters"),
            ("1", two_times, "exactly one time"),
            ("7", tea.clone(), "does not take part"),
            ("", tea.clone(), "Select a person."),
        ] {
            let (status, problem) = create(&owner, person, &plan).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
            assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
        }

        let path = format!("/schedules/{}/plan", made["id"].as_str().unwrap());
        let later = plan("Drink the tea", "2026-05-04T19:30");
        let change = async |token: &str| {
            served.ask(token, Method::PUT, &path, Some(later.clone())).await
        };
        assert_eq!(change(&operator).await.0, StatusCode::FORBIDDEN);
        let (status, changed) = change(&owner).await;
        assert_eq!((status, &changed["text"]), (StatusCode::OK, &json!("Drink the tea")));
        world.time_passes(TimeDelta::minutes(29)).await;
        assert_eq!(world.last(), "Hello.", "not at the earlier time");
        world.time_passes(TimeDelta::minutes(1)).await;
        assert_snapshot!(world.last(), @"⏰ Drink the tea");
        assert_eq!(change(&owner).await.0, StatusCode::NOT_FOUND, "it has ended");
        for kind in ["schedule_created", "schedule_edited"] {
            let facts = served.get(&owner, &format!("/audit?kind={kind}")).await;
            assert_eq!(facts["items"][0]["person"], "token:boss", "{kind}");
            assert_eq!(facts["items"].as_array().unwrap().len(), 1, "{kind}");
        }
    }
}

story! {
    /// An operator shows, pauses, resumes and deletes schedules through the API; those missed meanwhile
    /// do not fire.
    async fn schedules_are_changed_through_the_api(world: &mut World) {
        let arguments = json!({ "text": "Stretch", "every": "1h" });
        ann_schedules(world, "remind", arguments).await;
        let served = Served::of(world).await;
        let token = served.token("ops", Role::Operator).await;
        let list = served.get(&token, "/schedules").await;
        let one = &list["items"][0];
        assert_eq!((&one["text"], &one["rule"], &one["paused"]), (&json!("Stretch"), &json!("every 1h"), &json!(false)));
        let path = format!("/schedules/{}", one["id"].as_str().unwrap());
        let set = async |paused: bool| {
            served.ask(&token, Method::PUT, &path, Some(json!({ "paused": paused }))).await
        };
        assert_eq!(set(true).await.0, StatusCode::OK);
        let shown = served.get(&token, &path).await;
        assert_eq!((&shown["id"], &shown["paused"]), (&one["id"], &json!(true)), "{shown}");
        world.time_passes(TimeDelta::hours(5)).await;
        assert_eq!(world.shown(), "Noted.");
        let (status, view) = set(false).await;
        assert_eq!((status, &view["paused"]), (StatusCode::OK, &json!(false)));
        world.time_passes(TimeDelta::minutes(59)).await;
        assert_eq!(world.shown(), "Noted.", "what was missed does not come");
        world.time_passes(TimeDelta::minutes(1)).await;
        assert_snapshot!(world.last(), @"⏰ Stretch");
        let delete = async || served.ask(&token, Method::DELETE, &path, None).await.0;
        assert_eq!(delete().await, StatusCode::NO_CONTENT);
        assert_eq!(delete().await, StatusCode::NOT_FOUND);
        let (status, problem) = served.ask(&token, Method::GET, &path, None).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{problem}");
        let owner = served.token("owner", Role::Owner).await;
        for kind in ["schedule_paused", "schedule_resumed", "schedule_deleted"] {
            let facts = served.get(&owner, &format!("/audit?kind={kind}")).await;
            assert_eq!(facts["items"][0]["person"], "token:ops", "{kind}");
        }
    }
}
