//! Outbox messages are delivered once and in order.

use channels::SendError;
use chrono::TimeDelta;
use countersign::testing::{
    crash,
    gateway::deliver::deliver_ready,
    scripted::{Gate, call, calls, say},
    texts::Language,
};
use insta::assert_snapshot;
use serde_json::json;
use std::{sync::Arc, time::Duration};

use super::messages::with_file;
use crate::{
    story,
    support::{
        fake_channel::{Fault, Message},
        process::eventually,
        tools::Hold,
        world::World,
    },
};

const PHOTO: &[u8] = include_bytes!("../../../renderers/tests/corpus/img/photo.jpg");

fn retry(after: Option<u64>) -> SendError {
    SendError::Retry { after: after.map(Duration::from_secs), reason: "busy".into() }
}

story! {
    /// A message that the platform delays waits as long as requested and is delivered in order.
    /// Proves M4.
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
    /// A response that is lost after the effect duplicates nothing except a placeholder.
    /// Proves M3, R3.
    async fn a_lost_answer_shows_nothing_twice(world: &mut World) {
        let unknown = || SendError::Unknown("connection reset".into());
        world.room.fails_next(Fault::After(unknown()));
        world.model_will(say("hello Ann"));
        world.ann_says("hello").await;
        world.time_passes(TimeDelta::seconds(60)).await;
        assert_eq!(world.shown(), "hello …\nhello Ann", "one orphan placeholder, one answer");
    }
}

/// A placeholder that another node uses is not deleted by a node that did not learn that it was
/// recorded.
/// Proves M3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_placeholder_that_another_node_uses_is_kept() {
    let mut world = World::on_sqlite();
    drop(world.node().await);
    // The other node has claimed the row once the receipt is recorded.
    let claimed = "
        CREATE TRIGGER claimed AFTER UPDATE OF receipt ON outbox
        BEGIN
            UPDATE outbox SET attempts = attempts + 1 WHERE id = NEW.id;
        END";
    world.tampers(claimed).await;
    crash::lose_next_answer("record receipt");
    world.model_will(say("hello Ann"));
    world.ann_says("hello").await;
    assert_eq!(world.shown(), "hello …");
    world.tampers("DROP TRIGGER claimed").await;
    crash::move_database_clock(16_000);
    world.time_passes(TimeDelta::seconds(60)).await;
    assert_eq!(world.shown(), "hello Ann");
    world.end().await;
}

story! {
    /// An edit whose response was lost is repeated as an edit.
    /// Proves M3.
    async fn a_lost_answer_of_an_edit_is_repeated(world: &mut World) {
        world.model_will(call("render_pdf", json!({ "markdown": "# Hi" })));
        world.model_will(say("Here."));
        let app = world.node().await;
        let said = world.said("report");
        world.takes(&app, "1", said).await;
        while app.worker.advance_ready().await.unwrap() > 0 {}
        let gateway = app.gateway.clone();
        // The placeholder is shown; the response to the edit that follows is lost.
        world.room.fails_next(Fault::Before(retry(Some(1))));
        deliver_ready(&gateway).await.unwrap();
        world.time_passes(TimeDelta::seconds(600)).await;
        let files = world.room.messages().iter().filter(|m| m.file.is_some()).count();
        assert_eq!(files, 2, "the first page, and the document");
        assert_eq!(world.last(), "Here.");
    }
}

story! {
    /// Messages to a deleted chat are not retried forever; an approval there counts as denied.
    /// Proves M10.
    async fn a_question_that_cannot_be_shown_is_denied(world: &mut World) {
        world.room.fails_next(Fault::Before(SendError::Gone("blocked".into())));
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("Nobody could be asked."));
        world.ann_says("delete a.txt").await;
        assert_eq!(world.results().await, ["Denied: there was nobody to ask for approval."]);
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// A long answer is split into parts.
    /// Proves M5.
    async fn a_long_answer_comes_in_parts(world: &mut World) {
        world.model_will(say("word ".repeat(2_000)));
        world.ann_says("talk").await;
        assert!(world.room.messages().len() >= 3);
        assert!(world.room.messages().iter().all(|m| m.text.encode_utf16().count() <= 4096));
    }
}

story! {
    /// An answer of hundreds of messages is sent as a few messages and a file with the whole text.
    async fn a_very_long_answer_is_a_file(world: &mut World) {
        let answer = "word ".repeat(150_000);
        world.model_will(say(answer.clone()));
        world.ann_says("talk for ever").await;
        let messages = world.room.messages();
        assert_eq!(messages.len(), 5);
        let (name, bytes) = messages[4].file.as_ref().expect("the last one is a file");
        assert_eq!((name.as_str(), bytes.len()), ("answer.md", answer.len()));
        assert!(messages[..4].iter().all(|message| message.text.starts_with("word word")));
    }
}

story! {
    /// After a stop the remaining parts are not sent, and the confirmation is sent immediately.
    async fn the_rest_of_a_long_answer_can_be_stopped(world: &mut World) {
        world.model_will(say("word ".repeat(150_000)));
        let app = world.node().await;
        let said = world.said("talk for ever");
        world.takes(&app, "1", said).await;
        while app.worker.advance_ready().await.unwrap() > 0 {}
        deliver_ready(&app.gateway).await.unwrap();
        let stop = world.said("/stop");
        world.takes(&app, "1", stop).await;
        world.settle(&app).await;
        let messages = world.room.messages();
        assert_eq!(messages.len(), 2, "one part, and the answer to the command");
        assert!(messages[0].text.starts_with("word word"));
        assert_snapshot!(world.last(), @"Stopped.");
    }
}

story! {
    /// The reply to a command does not wait for the rest of a long answer, which follows it.
    async fn a_command_is_answered_before_the_rest_of_a_long_answer(world: &mut World) {
        world.model_will(say("word ".repeat(150_000)));
        let app = world.node().await;
        let said = world.said("go on");
        world.takes(&app, "1", said).await;
        while app.worker.advance_ready().await.unwrap() > 0 {}
        deliver_ready(&app.gateway).await.unwrap();
        for command in ["/status", "/whoami"] {
            let said = world.said(command);
            world.takes(&app, "1", said).await;
        }
        world.settle(&app).await;
        let messages = world.room.messages();
        let kinds: Vec<_> = messages
            .iter()
            .map(|message| match &message.text {
                _ if message.file.is_some() => "file",
                text if text.starts_with("word") => "part",
                _ => "command",
            })
            .collect();
        assert_eq!(kinds, ["part", "command", "command", "part", "part", "part", "file"]);
        assert!(messages[2].text.contains("Ann"), "{}", messages[2].text);
    }
}

/// Ann sends a photo and gets it back three times in one answer, whose first sends have these
/// faults.
async fn three_pictures(world: &mut World, faults: Vec<Fault>) -> Vec<Message> {
    world.room.has_file("f", PHOTO);
    let send = |name: &str| {
        ("send_file".to_owned(), json!({ "filePath": "inbox/a.jpg", "fileName": name }))
    };
    world.model_will(calls(["1.jpg", "2.jpg", "3.jpg"].map(send).to_vec()));
    world.model_will(say("Here they are."));
    for fault in faults {
        world.room.fails_next(fault);
    }
    let sent = with_file(world, "thrice, please", ("f", "a.jpg"));
    world.happens("1", sent).await;
    for _ in 0..5 {
        world.time_passes(TimeDelta::seconds(60)).await;
    }
    assert_eq!(world.last(), "Here they are.");
    world.room.messages().into_iter().filter(|message| message.file.is_some()).collect()
}

/// The calls run concurrently: the first to end is shown first.
fn names(pictures: &[Message]) -> Vec<&str> {
    let files = pictures.iter().filter_map(|picture| picture.file.as_ref());
    let mut names: Vec<_> = files.map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

story! {
    /// Pictures of one answer are grouped, and its text follows them.
    async fn pictures_of_one_answer_are_an_album(world: &mut World) {
        let pictures = three_pictures(world, vec![]).await;
        assert_eq!(names(&pictures), ["1.jpg", "2.jpg", "3.jpg"]);
        assert!(pictures.iter().all(|picture| picture.album == 3), "{pictures:?}");
        assert_eq!(world.room.messages().len(), 4, "no placeholder is left");
    }
}

story! {
    /// A picture waits three seconds for those of other calls that are still running.
    async fn a_picture_waits_for_calls_that_are_running(world: &mut World) {
        let gate = Gate::new();
        world.tools = vec![Arc::new(Hold(gate.clone()))];
        world.room.has_file("f", PHOTO);
        let send = json!({ "filePath": "inbox/a.jpg", "fileName": "1.jpg" });
        world.model_will(calls(vec![("send_file".into(), send), ("hold".into(), json!({}))]));
        world.model_will(say("Here it is."));
        let app = world.node().await;
        let sent = with_file(world, "go", ("f", "a.jpg"));
        world.takes(&app, "1", sent).await;
        let meanwhile = async {
            gate.reached().await;
            let waits = async || {
                let rows = world.rows_of("outbox").await;
                rows.iter().any(|row| row.contains("1.jpg")).then_some(())
            };
            eventually("the picture is in the outbox", waits).await;
            deliver_ready(&app.gateway).await.unwrap();
            assert_eq!(world.room.messages(), []);
            world.clock.advance(TimeDelta::seconds(4));
            deliver_ready(&app.gateway).await.unwrap();
            assert!(world.room.messages()[0].file.is_some());
            gate.open();
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        assert_eq!(world.last(), "Here it is.");
    }
}

/// A call sends that file of Ann while another call is running. Returns whether it is shown before
/// the other call ends.
async fn is_shown_at_once(world: &mut World, name: &str) -> bool {
    let gate = Gate::new();
    world.tools = vec![Arc::new(Hold(gate.clone()))];
    let send = json!({ "filePath": format!("inbox/{name}") });
    world.model_will(calls(vec![("send_file".into(), send), ("hold".into(), json!({}))]));
    world.model_will(say("Here it is."));
    let app = world.node().await;
    let sent = with_file(world, "go", ("f", name));
    world.takes(&app, "1", sent).await;
    let meanwhile = async {
        gate.reached().await;
        let waits = async || {
            let rows = world.rows_of("outbox").await;
            rows.iter().any(|row| row.contains(name)).then_some(())
        };
        eventually("the file is in the outbox", waits).await;
        deliver_ready(&app.gateway).await.unwrap();
        let is_shown = world.room.messages().last().is_some_and(|last| last.file.is_some());
        gate.open();
        is_shown
    };
    let (advanced, is_shown) = tokio::join!(app.worker.advance_ready(), meanwhile);
    advanced.unwrap();
    world.clock.advance(TimeDelta::seconds(4));
    world.settle(&app).await;
    assert_eq!(world.last(), "Here it is.");
    is_shown
}

story! {
    /// Pictures whose contents are lost are reported one by one, with their captions, and do not
    /// hold up the answer.
    async fn pictures_that_cannot_be_read_hold_nothing_up(world: &mut World) {
        world.room.has_file("f", PHOTO);
        let send = |name: &str| {
            let caption = format!("*{name}* of today");
            let file = json!({ "filePath": "inbox/a.jpg", "fileName": name, "caption": caption });
            ("send_file".to_owned(), file)
        };
        world.model_will(calls(["1.jpg", "2.jpg", "3.jpg"].map(send).to_vec()));
        world.model_will(say("Here they are."));
        let app = world.node().await;
        let sent = with_file(world, "thrice, please", ("f", "a.jpg"));
        world.takes(&app, "1", sent).await;
        while app.worker.advance_ready().await.unwrap() > 0 {}
        std::fs::remove_dir_all(world.config.data_dir.join("artifacts")).unwrap();
        world.clock.advance(TimeDelta::seconds(4));
        world.settle(&app).await;
        let messages = world.room.messages();
        assert_eq!(messages.len(), 4, "{messages:?}");
        let missing = "its stored contents are missing or damaged";
        assert!(messages[..3].iter().all(|shown| shown.text.contains(missing)), "{messages:?}");
        for name in ["1.jpg", "2.jpg", "3.jpg"] {
            let caption = format!("\n\n*{name}* of today");
            assert!(messages.iter().any(|shown| shown.text.ends_with(&caption)), "{messages:?}");
        }
        assert_eq!(world.last(), "Here they are.");
    }
}

story! {
    /// Only pictures wait for other calls, and only where there are albums.
    async fn files_without_an_album_do_not_wait(world: &mut World) {
        world.room.has_file("f", "one,two\n");
        assert!(is_shown_at_once(world, "a.csv").await);
        world.room.has_file("f", PHOTO);
        assert!(!is_shown_at_once(world, "b.jpg").await);
        world.room.limits.album = 1;
        assert!(is_shown_at_once(world, "c.jpg").await);
    }
}

story! {
    /// An album whose response was lost may have been sent, so the retry carries a mark.
    /// Proves M3.
    async fn an_album_whose_answer_is_lost_comes_again_marked(world: &mut World) {
        let lost = Fault::After(SendError::Unknown("connection reset".into()));
        let pictures = three_pictures(world, vec![lost]).await;
        assert_eq!(names(&pictures), ["1.jpg", "1.jpg", "2.jpg", "2.jpg", "3.jpg", "3.jpg"]);
        let words = Language::English.words();
        for picture in &pictures[3..] {
            assert_eq!(picture.album, 1);
            assert!(picture.text.starts_with(words.possible_duplicate), "{picture:?}");
        }
    }
}

story! {
    /// A picture that may have been shown says so once, however often it is sent.
    /// Proves M3.
    async fn a_picture_that_is_sent_several_times_has_one_mark(world: &mut World) {
        let lost = || Fault::After(SendError::Unknown("connection reset".into()));
        let down = Fault::Before(SendError::Retry { after: None, reason: "down".into() });
        let pictures = three_pictures(world, vec![lost(), lost(), down, lost()]).await;
        assert_eq!(pictures.len(), 8, "{pictures:?}");
        let mark = Language::English.words().possible_duplicate;
        assert!(pictures[3..].iter().all(|picture| picture.text == mark), "{pictures:?}");
    }
}

story! {
    /// A text and a caption of any length leave room for the mark.
    /// Proves M3.
    async fn a_long_message_has_room_for_its_mark(world: &mut World) {
        let lost = || Fault::Before(SendError::Unknown("connection reset".into()));
        for _ in 0..2 {
            world.room.fails_next(lost());
        }
        let text = "word ".repeat(1_600);
        world.model_will(say(text.as_str()));
        world.ann_says("tell me everything").await;
        for _ in 0..3 {
            world.time_passes(TimeDelta::seconds(60)).await;
        }
        let shown: String = world.room.messages().iter().map(|shown| &*shown.text).collect();
        assert_eq!(shown.matches("word").count(), 1_600, "{}", world.shown());
        let mark = Language::English.words().possible_duplicate;
        assert_eq!(shown.matches(mark).count(), 1, "{}", world.shown());
    }
}

story! {
    /// An album that was certainly not sent is sent once, without a mark; its pictures are sent one
    /// by one if the platform rejected one of them.
    async fn an_album_that_is_refused_comes_once(world: &mut World) {
        let refused = SendError::Rejected("IMAGE_PROCESS_FAILED".into());
        let pictures = three_pictures(world, vec![Fault::Before(refused)]).await;
        assert_eq!(names(&pictures), ["1.jpg", "2.jpg", "3.jpg"]);
        assert_eq!(pictures[0].album, 1);
        let words = Language::English.words();
        assert!(pictures.iter().all(|picture| !picture.text.contains(words.possible_duplicate)));
    }
}
