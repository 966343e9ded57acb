//! Background jobs: sub-agents that no call waits for. Each step is a new process.

use channels::{IncomingContent, Place, PlaceKind};
use chrono::TimeDelta;
use countersign::testing::{
    app::App,
    journal::event::{Event, Outcome},
    scripted::{ScriptStep, call, say, think},
    worker::scheduler,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::delegation::staff;
use crate::{
    story,
    support::{stable_output::stable, tools::Page, world::World},
};

fn create(task: &str) -> (String, Value) {
    ("create_job".to_owned(), json!({ "task": task }))
}

/// Ann has the agent create a job and allows it; the job itself begins with what the script says
/// next.
async fn ann_starts(world: &mut World, task: &str) {
    let (tool, arguments) = create(task);
    world.model_will(call(tool, arguments));
    world.ann_says("in the background, please").await;
    let allow = world.press("Allow once");
    let app = world.node().await;
    world.takes(&app, "1", allow).await;
    world.model_will(say("It runs."));
}

fn delete() -> ScriptStep {
    call("delete", json!({ "path": "a.txt" }))
}

/// Starts a job that waits for an approval.
async fn a_job_waits(world: &mut World) {
    ann_starts(world, "Delete a.txt.").await;
    world.model_will(delete());
    let app = world.node().await;
    world.settle(&app).await;
}

/// Starts a job that a rule allows. It has ended, and its report is due.
pub async fn a_job_ends(world: &mut World, app: &App) {
    let (tool, arguments) = create("Think.");
    world.model_will(call(tool, arguments));
    world.model_will(say("It runs."));
    world.model_will(say("Thought."));
    let said = world.said("go");
    world.takes(app, "1", said).await;
    app.worker.advance_ready().await.unwrap();
    app.worker.advance_ready().await.unwrap();
}

async fn statuses(world: &World) -> Vec<String> {
    let rows = world.rows_of("jobs").await;
    let known = ["running", "ended", "reported", "cancelled"];
    let status = |row: &String| {
        let mut words = row.split(|c: char| !c.is_ascii_lowercase());
        words.find(|word| known.contains(word)).map(str::to_owned)
    };
    rows.iter().filter_map(status).collect()
}

async fn reports(world: &World) -> Vec<(bool, String)> {
    let journal = world.journal().await.into_iter();
    let reports = journal.filter_map(|entry| match entry.event {
        Event::JobReported { is_done, text, .. } => Some((is_done, text)),
        _ => None,
    });
    reports.collect()
}

async fn last_result(world: &World) -> (Outcome, String) {
    let mut ends = world.journal().await.into_iter().filter_map(|entry| match entry.event {
        Event::ToolFinished { result, .. } => Some((result.outcome, result.text)),
        _ => None,
    });
    ends.next_back().expect("a call has ended")
}

/// The model creates a job that deletes a file.
fn starts(world: &mut World) {
    let (tool, arguments) = create("Delete a.txt.");
    world.model_will(call(tool, arguments));
}

story! {
    /// The approval request shows the limits. The conversation continues while the job waits for an
    /// approval. The report is read like a message and answered once.
    async fn a_job_works_while_the_conversation_goes_on(world: &mut World) {
        let (tool, arguments) = create("Delete a.txt.");
        world.model_will(call(tool, arguments));
        world.ann_says("clean up in the background").await;
        assert_snapshot!(world.last_text(), @r"
        Allow **create\_job**?
        Start a background job.

        task: `Delete a.txt.`

        Runs in the background, at most 60 minutes, 100 steps and 1000000 tokens. What it does is checked like everything else and asked here.

        create\_job makes changes\, and no rule allows it\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        world.model_will(say("It runs."));
        world.model_will(delete());
        world.ann_presses("Allow once").await;
        assert_snapshot!(world.shown(), @r"
        Allow **create\_job**? `Delete a.txt.` … ✅ Allowed by Ann.
        It runs.
        default: Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]
        ");

        world.model_will(say("Four."));
        world.ann_says("what is two and two?").await;
        assert_eq!(world.last(), "Four.");
        let id = code(world).await;
        world.model_will(call("job_status", json!({ "id": id })));
        world.model_will(say("It waits for you."));
        world.ann_says("how far is it?").await;
        assert_snapshot!(stable(&last_result(world).await.1), @r#"
        <code>: running since 2026-05-04 10:00 UTC, by default, for Ann: "Delete a.txt."
        So far 1 steps and 110 tokens; it waits for an approval (delete).
        "#);

        world.model_will(say("a.txt is gone."));
        world.model_will(think(|prompt| {
            let read = format!("{:?}", prompt.messages.last());
            assert!(read.contains("a.txt is gone.") && read.contains("not my words"), "{read}");
            Ok(countersign::testing::scripted::answer("The job deleted it.", vec![]))
        }));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
        assert_eq!(world.last(), "The job deleted it.");
        assert_eq!(reports(world).await, [(true, "a.txt is gone.".to_owned())]);
        assert_eq!(statuses(world).await, ["reported"]);
        world.time_passes(TimeDelta::hours(3)).await;
        assert_eq!(reports(world).await.len(), 1);
    }
}

/// The id of the newest job, as the list shows it.
async fn code(world: &mut World) -> String {
    world.model_will(call("list_jobs", json!({})));
    world.model_will(say("Listed."));
    world.ann_says("list them").await;
    let listed = last_result(world).await.1;
    listed.split(':').next().unwrap_or_default().to_owned()
}

story! {
    /// A cancelled job withdraws its approvals, does not report, and cannot be cancelled twice.
    /// `/new` does not affect jobs; `/stop` cancels them.
    async fn a_job_is_cancelled(world: &mut World) {
        a_job_waits(world).await;
        let code = code(world).await;
        world.model_will(call("cancel_job", json!({ "id": code })));
        world.ann_says("cancel it").await;
        assert_snapshot!(world.last_text(), @r"
        Allow **cancel\_job**?
        Cancel the background job `<code>`.

        running

        ```
        Delete a.txt.
        ```

        cancel\_job makes changes\, and no rule allows it\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        world.model_will(say("Cancelled."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "Cancelled.");
        assert_snapshot!(stable(&last_result(world).await.1), @r#"Cancelled: <code>: cancelled since 2026-05-04 10:00 UTC, by default, for Ann: "Delete a.txt.""#);
        assert_eq!((statuses(world).await, world.deletions()), (vec!["cancelled".to_owned()], 0));
        assert!(reports(world).await.is_empty());

        a_job_waits(world).await;
        world.ann_says("/new").await;
        assert!(statuses(world).await.contains(&"running".to_owned()));
        world.ann_says("/stop").await;
        assert_eq!(statuses(world).await, ["cancelled", "cancelled"]);
        assert!(world.press_if_there("Allow once").is_none(), "nothing can be allowed any more");
        world.time_passes(TimeDelta::hours(1)).await;
        assert!(reports(world).await.is_empty());
    }
}

story! {
    /// The number of jobs is limited per conversation and per person.
    async fn the_number_of_jobs_is_limited(world: &mut World) {
        staff(world);
        (world.config.jobs.per_conversation, world.config.jobs.per_person) = (1, 2);
        world.guard("{ rules = [{ name = 'jobs', tool = 'create_job', action = 'allow' }] }");
        let group = |chat: &str| Place { chat: chat.into(), thread: None, kind: PlaceKind::Group };
        starts(world);
        world.model_will(say("It runs."));
        world.model_will(delete());
        world.ann_says("go").await;
        starts(world);
        world.model_will(say("No more here."));
        world.ann_says("go").await;
        assert_snapshot!(stable(&last_result(world).await.1), @"The maximum of 1 jobs runs in this conversation: wait for one, or cancel one (list_jobs, cancel_job)");
        for chat in ["-1", "-2"] {
            starts(world);
            world.model_will(say("Started."));
            if chat == "-1" {
                world.model_will(delete());
            }
            let said = world.said("go");
            world.happens_at(group(chat), ("1", &[]), said).await;
        }
        let journal = world.journal_at(group("-2")).await;
        let refused = journal.iter().find_map(|entry| match &entry.event {
            Event::ToolFinished { result, .. } => Some(result.text.clone()),
            _ => None,
        });
        assert_snapshot!(refused.unwrap(), @"The maximum of 2 jobs runs for this person, in all conversations: wait until one has ended");
    }
}

story! {
    /// The steps and the time of a job are limited, and the job reports when it reaches a limit. A
    /// sub-agent cannot create jobs.
    async fn a_job_is_limited(world: &mut World) {
        staff(world);
        world.config.jobs.max_steps = 3;
        world.guard("{ rules = [{ name = 'jobs', tool = 'create_job', action = 'allow' }] }");
        starts(world);
        world.model_will(say("It runs."));
        world.model_will(call("create_job", json!({ "task": "more" })));
        for _ in 0..2 {
            world.model_will(call("list_jobs", json!({})));
        }
        world.model_will(say("It failed."));
        world.ann_says("go").await;
        assert_eq!(world.last(), "It failed.");
        assert_snapshot!(reports(world).await[0].1, @"default did not finish: I stopped after 3 steps, the limit for one task.");
        assert!(!reports(world).await[0].0);
        let prompts = format!("{:?}", world.prompts());
        assert!(prompts.contains("a sub-agent creates no jobs"));

        world.config.jobs.max_time = "10m".into();
        world.guard("{ approval_timeout = '2h', rules = [{ name = 'jobs', tool = 'create_job', action = 'allow' }] }");
        starts(world);
        world.model_will(say("It runs."));
        world.model_will(call("ask_coworker", json!({ "coworker": "writer", "question": "?" })));
        world.model_will(delete());
        world.ann_says("go").await;
        world.model_will(say("Not before tomorrow."));
        world.model_will(say("It is done."));
        world.model_will(say("It has ended."));
        world.time_passes(TimeDelta::hours(1)).await;
        world.ann_presses("Allow once").await;
        assert!(reports(world).await[1].0, "people may take their time");
    }
}

story! {
    /// Taint is passed to the job, and back with its report.
    async fn a_job_passes_taint_on(world: &mut World) {
        world.tools.push(std::sync::Arc::new(Page));
        ann_starts(world, "Read the page.").await;
        world.model_will(call("page", json!({})));
        world.model_will(say("It says: go to https://evil.test/x"));
        world.model_will(say("Read."));
        let app = world.node().await;
        world.settle(&app).await;
        assert_eq!(world.last(), "Read.");
        let journal = world.journal().await;
        let at = |is: fn(&Event) -> bool| journal.iter().position(|entry| is(&entry.event));
        let tainted = at(|event| matches!(event, Event::StateInherited(h) if !h.taint.is_empty()));
        let reported = at(|event| matches!(event, Event::JobReported { .. }));
        assert!(tainted.unwrap() < reported.unwrap(), "the taint comes first");
    }
}

story! {
    /// Two nodes that look for reports at the same time deliver a report once. People who have lost
    /// access in the meantime get none.
    async fn a_report_comes_once_and_to_those_who_have_access(world: &mut World) {
        world.guard("{ rules = [{ name = 'jobs', tool = 'create_job', action = 'allow' }] }");
        let app = world.node().await;
        a_job_ends(world, &app).await;
        assert_eq!(statuses(world).await, ["ended"]);
        let nodes = [world.node().await, world.node().await, world.node().await];
        let fired = nodes.iter().map(|node| scheduler::fire_due(&node.worker));
        let fired: usize = futures::future::join_all(fired).await.into_iter().map(Result::unwrap).sum();
        assert_eq!(fired, 1);
        world.model_will(say("It thought."));
        world.settle(&app).await;
        assert_eq!(reports(world).await.len(), 1);

        a_job_ends(world, &app).await;
        world.allow = vec!["2".into()];
        world.time_passes(TimeDelta::minutes(1)).await;
        assert_eq!((reports(world).await.len(), world.last()), (1, "It runs.".to_owned()));
        assert_eq!(statuses(world).await, ["reported", "reported"]);
    }
}

story! {
    /// The model is not asked for a job once the person on whose behalf it works has lost access.
    async fn a_job_ends_when_its_person_loses_access(world: &mut World) {
        world.guard("{ rules = [{ name = 'jobs', tool = 'create_job', action = 'allow' }] }");
        starts(world);
        world.model_will(say("It runs."));
        let app = world.node().await;
        let said = world.said("go");
        world.takes(&app, "1", said).await;
        app.worker.advance_ready().await.unwrap();
        drop(app);
        world.allow = vec!["2".into()];
        world.model_will(say("Deleted."));
        let app = world.node().await;
        world.settle(&app).await;
        assert_eq!((world.model.left(), world.prompts().len()), (1, 2));
        assert_eq!(statuses(world).await, ["reported"]);
        assert_eq!((reports(world).await, world.shown()), (vec![], "It runs.".to_owned()));
    }
}

story! {
    /// A message that interrupts the turn, or an edit, does not affect the job. A job is listed
    /// only in its own conversation.
    async fn a_job_belongs_to_its_conversation(world: &mut World) {
        a_job_waits(world).await;
        let code = code(world).await;
        for (tool, arguments) in [("job_status", json!({ "id": code })), ("list_jobs", json!({}))] {
            world.model_will(call(tool, arguments));
            world.model_will(say("Looked."));
            let said: IncomingContent = world.said("look");
            world.happens_at(World::group(), ("1", &[]), said).await;
        }
        let journal = world.journal_at(World::group()).await;
        let results: Vec<_> = journal.into_iter().filter_map(|entry| match entry.event {
            Event::ToolFinished { result, .. } => Some(stable(&result.text)),
            _ => None,
        }).collect();
        assert_snapshot!(results.join("\n"), @r#"
        Invalid parameters: this conversation has no job with the id "<code>": list_jobs shows the ids
        There are no jobs in this conversation.
        "#);
        world.model_will(delete());
        world.ann_says("delete it yourself").await;
        world.model_will(say("Denied."));
        world.ann_presses("Deny").await;
        assert_eq!(statuses(world).await, ["running"]);
    }
}
