//! What the outbox holds reaches the platform, once and in order.

use channels::SendError;
use chrono::TimeDelta;
use countersign::llm::scripted::{call, say};
use serde_json::json;
use std::time::Duration;

use crate::{room::Fault, story, world::World};

fn retry(after: Option<u64>) -> SendError {
    SendError::Retry { after: after.map(Duration::from_secs), reason: "busy".into() }
}

story! {
    /// M4: what the platform puts off waits as long as it says, and comes in order.
    async fn a_send_that_is_put_off_waits_and_keeps_its_order(world: &mut World) {
        world.room.fails_next(Fault::Before(retry(Some(30))));
        world.model_will(say("one"));
        world.ann_says("hello").await;
        world.model_will(say("two"));
        world.ann_says("more").await;
        assert_eq!(world.shown(), "");
        world.time_passes(TimeDelta::seconds(31)).await;
        assert_eq!(world.shown(), "one\ntwo");
    }
}

story! {
    /// M3, R3: an answer that is lost after the effect shows nothing twice but a placeholder.
    async fn a_lost_answer_shows_nothing_twice(world: &mut World) {
        let unknown = || SendError::Unknown("connection reset".into());
        world.room.fails_next(Fault::After(unknown()));
        world.model_will(say("hello Ann"));
        world.ann_says("hello").await;
        world.time_passes(TimeDelta::seconds(60)).await;
        assert_eq!(world.shown(), "…\nhello Ann", "one orphan placeholder, one answer");
    }
}

story! {
    /// M3: a lost answer of the edit is repeated, as an edit.
    async fn a_lost_answer_of_an_edit_is_repeated(world: &mut World) {
        world.model_will(call("render_pdf", json!({ "markdown": "# Hi" })));
        world.model_will(say("Here."));
        let app = world.node().await;
        let said = world.said("report");
        world.takes(&app, "1", said).await;
        while app.worker.advance_ready().await.unwrap() > 0 {}
        let gateway = app.gateway.clone();
        // The placeholder is shown; the answer to the edit that follows is lost.
        world.room.fails_next(Fault::Before(retry(Some(1))));
        countersign::gateway::deliver::deliver_ready(&gateway).await.unwrap();
        world.time_passes(TimeDelta::seconds(600)).await;
        let files = world.room.messages().iter().filter(|m| m.file.is_some()).count();
        assert_eq!(files, 2, "the first page, and the document");
        assert_eq!(world.last(), "Here.");
    }
}

story! {
    /// M10: a chat that is gone is not written to for ever; a question there counts as denied.
    async fn a_question_that_cannot_be_shown_is_denied(world: &mut World) {
        world.room.fails_next(Fault::Before(SendError::Gone("blocked".into())));
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("Nobody could be asked."));
        world.ann_says("delete a.txt").await;
        assert_eq!(world.results().await, ["Denied: nobody could be asked."]);
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// M5: a long answer comes in parts.
    async fn a_long_answer_comes_in_parts(world: &mut World) {
        world.model_will(say("word ".repeat(2_000)));
        world.ann_says("talk").await;
        assert!(world.room.messages().len() >= 3);
        assert!(world.room.messages().iter().all(|m| m.text.encode_utf16().count() <= 4096));
    }
}
