//! How input becomes turns: files, albums, edits, messages in quick succession.

use channels::{FileRef, IncomingContent, Outgoing, Place, PlaceKind, Receipt, SendError};
use chrono::TimeDelta;
use countersign::testing::{
    agent::prompt::{Message, Prompt},
    clock::Clock as _,
    gateway::{BusyPolicy, deliver},
    scripted::{Gate, call, say, wait},
};
use insta::assert_snapshot;
use serde_json::json;
use std::time::Duration;

use crate::{
    story,
    support::{fake_channel::Fault, stable_output::stable, world::World},
};

pub(super) fn with_file(
    world: &mut World,
    text: &str,
    (id, name): (&str, &str),
) -> IncomingContent {
    let mut what = world.said(text);
    if let IncomingContent::Text { files, .. } = &mut what {
        let (id, name) = (id.to_owned(), name.to_owned());
        files.push(FileRef { id, name, media_type: None, size_bytes: None, is_voice: false });
    }
    what
}

fn of_album(world: &mut World, text: &str) -> IncomingContent {
    let mut what = world.said(text);
    if let IncomingContent::Text { album, .. } = &mut what {
        *album = Some("a1".into());
    }
    what
}

pub(super) fn edit_of(what: &IncomingContent, new: &str) -> IncomingContent {
    let IncomingContent::Text { message, .. } = what else { panic!("not a text") };
    IncomingContent::Edited { message: message.clone(), text: new.into(), addressed: true }
}

/// People's messages as the model read them.
fn read(prompt: &Prompt) -> Vec<&str> {
    let said = prompt.messages.iter().filter_map(|message| match message {
        Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    said.collect()
}

fn group() -> Place {
    Place { chat: "-9".into(), thread: None, kind: PlaceKind::Group }
}

story! {
    /// A file is in the workspace before the model is told; files with the same name are kept side
    /// by side.
    /// Proves S13.
    async fn a_file_reaches_the_model_and_its_tools(world: &mut World) {
        world.room.has_file("f1", "one,two\n");
        world.room.has_file("f2", "three\n");
        world.model_will(say("Two columns."));
        let what = with_file(world, "what is it?", ("f1", "../a.csv"));
        world.happens("1", what).await;
        assert_eq!(world.last(), "Two columns.");
        let prompts = world.prompts();
        assert_eq!(read(&prompts[0]), ["what is it?\n[file: inbox/file, text/plain, 8 bytes]"]);
        world.model_will(call("send_file", json!({ "filePath": "inbox/a.csv" })));
        world.model_will(say("One."));
        let what = with_file(world, "", ("f2", "a.csv"));
        world.happens("1", what).await;
        let prompts = world.prompts();
        assert_eq!(read(&prompts[1]).last(), Some(&"[file: inbox/a.csv, text/csv, 6 bytes]"));
        assert_snapshot!(stable(&world.results().await[0]), @"a.csv (6B) is attached for the people here. They need no link.");
    }
}

story! {
    /// The node after a crash downloads the file; permanent failures are reported to the person and
    /// the model.
    /// Proves S13, M2.
    async fn a_file_outlives_a_crash_and_a_lost_one_is_reported(world: &mut World) {
        let app = world.node().await;
        let there = with_file(world, "this", ("f1", "a.txt"));
        let gone = with_file(world, "and this", ("f2", "b\u{202e}.txt"));
        world.takes(&app, "1", there).await;
        world.takes(&app, "1", gone).await;
        drop(app);
        world.room.has_file("f1", "hello");
        world.model_will(say("I see one."));
        let app = world.node().await;
        world.settle(&app).await;
        let shown = world.shown();
        let (told, answer) = shown.split_once('\n').expect("two messages");
        assert_snapshot!(stable(told), @r"I couldn't download the file b‹U\+202E›\.txt from the platform. Please send it again.");
        assert_eq!(answer, "I see one.");
        let prompts = world.prompts();
        let said = read(&prompts[0]);
        assert_eq!(said[0], "this\n[file: inbox/a.txt, text/plain, 5 bytes]");
        assert_snapshot!(stable(said[1]), @"
        and this
        [file: b‹U+202E›.txt, not here: the platform no longer provides it]
        ");
    }
}

story! {
    /// A file that is said to be too large is not downloaded. The person and the model are told.
    /// Proves S13.
    async fn a_file_that_is_too_large_is_not_downloaded(world: &mut World) {
        const MOST: u64 = 50 * 1024 * 1024;
        world.room.has_file("f1", "one,two\n");
        for (size, name) in [(MOST, "a.csv"), (MOST + 1, "b.csv")] {
            let mut what = with_file(world, "what is it?", ("f1", name));
            if let IncomingContent::Text { files, .. } = &mut what {
                files[0].size_bytes = Some(size);
            }
            world.model_will(say("A file."));
            world.happens("1", what).await;
        }
        assert_snapshot!(world.shown(), @r"
        A file.
        The file b\.csv is too large. The limit is 50 MB.
        A file.
        ");
        let prompts = world.prompts();
        let said = read(&prompts[1]);
        assert_eq!(said[0], "what is it?\n[file: inbox/a.csv, text/csv, 8 bytes]");
        assert_eq!(said[1], "what is it?\n[file: b.csv, not here: it is larger than 50 MB]");
    }
}

story! {
    /// An album, and a paste that the client split, are one turn, also across a restart; a plain
    /// message does not wait.
    /// Proves M9.
    async fn albums_and_split_pastes_are_one_turn(world: &mut World) {
        for (first, second) in [("x".repeat(4_000), "the end".to_owned()), ("1".into(), "2".into())] {
            let (first, second) = match first.len() {
                1 => (of_album(world, &first), of_album(world, &second)),
                _ => (world.said(&first), world.said(&second)),
            };
            let before = world.prompts().len();
            world.model_will(say("Seen."));
            world.happens("1", first).await;
            assert_eq!(world.prompts().len(), before, "more may come");
            world.clock.advance(TimeDelta::milliseconds(400));
            world.happens("1", second).await;
            world.time_passes(TimeDelta::seconds(2)).await;
            let prompts = world.prompts();
            assert_eq!(prompts.len(), before + 1);
            assert_eq!(world.last(), "Seen.");
        }
        let prompts = world.prompts();
        assert_eq!(read(&prompts[0])[1], "the end");
        assert_eq!(read(&prompts[1])[2..], ["1", "2"]);
    }
}

/// Something happens while the model thinks about Ann's message; then it answers.
async fn meanwhile(
    world: &mut World,
    (said, then): (IncomingContent, IncomingContent),
    answer: &str,
) {
    let gate = Gate::new();
    world.model_will(wait(&gate));
    world.model_will(say(answer));
    let app = world.node().await;
    world.takes(&app, "1", said).await;
    let turn = {
        let worker = app.worker.clone();
        tokio::spawn(async move { worker.advance_ready().await.unwrap() })
    };
    gate.reached().await;
    world.takes(&app, "1", then).await;
    // The model's answer is held back: its input is outdated.
    turn.await.unwrap();
    world.settle(&app).await;
}

story! {
    /// A message in quick succession is processed together with the previous one, which did not
    /// wait for it.
    /// Proves M9.
    async fn two_quick_messages_are_one_turn(world: &mut World) {
        let both = (world.said("one"), world.said("two"));
        meanwhile(world, both, "Both.").await;
        let prompts = world.prompts();
        assert_eq!(read(prompts.last().unwrap()), ["one", "two"]);
        assert_eq!(world.shown(), "Both.");
    }
}

story! {
    /// An edit before the first reply replaces the text; a later one is reported to the model and
    /// starts no turn. A reaction shows that it was read.
    async fn an_edit_is_read_as_such(world: &mut World) {
        world.room.limits.reactions = true;
        world.settings.debounce = TimeDelta::zero();
        let asked = world.said("2 + 3?");
        let edited = edit_of(&asked, "2 + 2?");
        meanwhile(world, (asked.clone(), edited), "Four.").await;
        assert_eq!(read(world.prompts().last().unwrap()), ["2 + 2?"]);
        assert_eq!(world.shown(), "Four.");
        let later = edit_of(&asked, "2 + 5?");
        world.happens("1", later).await;
        assert_eq!(world.shown(), "Four.");
        world.model_will(say("Seven."));
        world.ann_says("and now?").await;
        let prompts = world.prompts();
        let said = read(prompts.last().unwrap());
        assert_eq!(said[1], "(I have changed my earlier message to:) 2 + 5?");
        assert_eq!(said[2], "and now?");
        assert_eq!(world.last(), "Seven.");
        let IncomingContent::Text { message, .. } = asked else { unreachable!() };
        let reactions = world.room.reactions();
        assert_eq!(reactions, [(message.clone(), "✍".into()), (message, "✍".into())]);
    }
}

story! {
    /// `interrupt`: a message stops the current turn with its open approval, and starts a new one.
    async fn a_message_interrupts_where_it_is_configured(world: &mut World) {
        world.settings.queue = BusyPolicy::Interrupt;
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        world.model_will(say("Instead."));
        world.ann_says("no, tell me a joke").await;
        assert_snapshot!(world.shown(), @"
        Allow **delete**? `a.txt` … Withdrawn by Ann.
        Instead.
        ");
        assert_eq!(world.last(), "Instead.");
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// In a group the first part of the answer is a reply to the message; in private chats it is
    /// not.
    /// Proves M12.
    async fn an_answer_in_a_group_names_what_it_answers(world: &mut World) {
        let app = world.node().await;
        let asked = world.said("hello");
        let IncomingContent::Text { message, .. } = asked.clone() else { panic!() };
        world.model_will(say("word ".repeat(1_500)));
        world.takes_at(group(), &app, "1", asked).await;
        world.settle(&app).await;
        let replies: Vec<_> =
            world.room.messages().iter().map(|shown| shown.reply_to.clone()).collect();
        assert_eq!(replies, [Some(message), None]);
        world.model_will(say("Hi."));
        world.ann_says("hello").await;
        assert_eq!(world.room.messages().last().unwrap().reply_to, None);
    }
}

story! {
    /// In a group the reply to a command names it; in private chats it does not.
    async fn a_reply_to_a_command_names_it_only_in_a_group(world: &mut World) {
        let asked = world.said("/status");
        let IncomingContent::Text { message, .. } = asked.clone() else { panic!() };
        world.happens_at(group(), ("1", &[]), asked).await;
        assert_eq!(world.room.messages().last().unwrap().reply_to, Some(message));
        world.ann_says("/status").await;
        assert_eq!(world.room.messages().len(), 2);
        assert_eq!(world.room.messages().last().unwrap().reply_to, None);
    }
}

story! {
    /// `steer`: a message interrupts the current model request, which is restarted with it.
    async fn a_message_steers_where_it_is_configured(world: &mut World) {
        world.settings.queue = BusyPolicy::Steer;
        world.settings.debounce = TimeDelta::zero();
        let both = (world.said("a poem"), world.said("about rain"));
        meanwhile(world, both, "Drops.").await;
        assert_eq!(read(world.prompts().last().unwrap()), ["a poem", "about rain"]);
        assert_eq!(world.prompts().len(), 2);
        assert_eq!(world.shown(), "Drops.");
    }
}

story! {
    /// An answer is streamed into a message of its own, which becomes the answer.
    /// Proves M8, R3.
    async fn an_answer_grows_where_it_will_stand(world: &mut World) {
        world.room.limits.drafts = Some(Duration::from_millis(1));
        let gate = Gate::new();
        world.model_will(say("One two three").pausing(&gate));
        let app = world.node().await;
        let said = world.said("count");
        world.takes(&app, "1", said).await;
        let turn = {
            let worker = app.worker.clone();
            tokio::spawn(async move { worker.advance_ready().await.unwrap() })
        };
        gate.reached().await;
        while world.room.drafts().is_empty() {
            world.room.moves().await;
        }
        assert_eq!(world.room.drafts()[0].trim(), "One two");
        assert_eq!(world.room.messages().len(), 1);
        gate.open();
        turn.await.unwrap();
        world.settle(&app).await;
        assert_eq!(world.shown(), "One two three");
    }
}

story! {
    /// The typing indicator is refreshed while the agent works, and not while it waits for a
    /// person.
    /// Proves M11.
    async fn typing_is_shown_while_the_agent_works(world: &mut World) {
        world.room.limits.typing_for = Some(Duration::from_millis(2));
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        let app = world.node().await;
        let said = world.said("delete a.txt");
        world.takes(&app, "1", said).await;
        let turn = {
            let worker = app.worker.clone();
            tokio::spawn(async move { worker.advance_ready().await.unwrap() })
        };
        gate.reached().await;
        while world.room.typing() < 5 {
            world.room.moves().await;
        }
        gate.open();
        turn.await.unwrap();
        world.settle(&app).await;
        let until_asked = world.room.typing();
        let asked = app.worker.advance_ready().await.unwrap();
        assert_eq!((asked, world.room.typing()), (0, until_asked), "nobody works on it");
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
    }
}

story! {
    /// An answer that is there at once needs no typing indicator, and no call of the platform for
    /// it.
    async fn a_fast_answer_shows_no_typing_indicator(world: &mut World) {
        world.room.limits.typing_for = Some(Duration::from_secs(5));
        for turn in 0..8 {
            world.model_will(say(format!("answer {turn}")));
            world.ann_says("hello").await;
        }
        assert_eq!((world.last(), world.room.typing()), ("answer 7".to_owned(), 0));
    }
}

story! {
    /// An album and a split paste count as one message; an album is accepted as a whole or not at
    /// all, and the next message counts again.
    /// Proves M9.
    async fn albums_and_split_pastes_count_as_one_message(world: &mut World) {
        world.config.limits.messages_per_minute = 2;
        let app = world.node().await;
        for text in ["1", "2", "3", "4"] {
            let part = of_album(world, text);
            world.takes(&app, "1", part).await;
        }
        for text in ["x".repeat(4_000), "y".repeat(4_000), "the end".to_owned()] {
            let part = world.said(&text);
            world.takes(&app, "1", part).await;
        }
        let more = world.said("too much");
        world.takes(&app, "1", more).await;
        world.clock.advance(TimeDelta::seconds(2));
        world.model_will(say("Seen."));
        world.settle(&app).await;
        let prompts = world.prompts();
        let said = read(&prompts[0]);
        assert_eq!((said.len(), said[3], said[6]), (7, "4", "the end"));
        assert_snapshot!(world.shown(), @"
        You're sending messages too quickly, so I ignored your last one. Try again in 31 s.
        Seen.
        ");
    }
}

story! {
    /// Editing the request withdraws its approval, visibly, and the agent reads the new text. Edits
    /// by other people, and of other messages, do not.
    /// Proves S4.
    async fn an_edit_takes_the_question_back(world: &mut World) {
        world.model_will(say("Hello."));
        let before = world.said("hello");
        world.happens("1", before.clone()).await;
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        let asked = world.said("delete a.txt");
        world.happens("1", asked.clone()).await;
        let (other, stolen) = (edit_of(&before, "hi"), edit_of(&asked, "delete all"));
        world.happens("1", other).await;
        world.happens("2", stolen).await;
        assert_snapshot!(world.shown(), @"
        Hello.
        Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]
        ");
        let press = world.press("Allow once");
        world.model_will(say("Then not."));
        let edited = edit_of(&asked, "keep a.txt");
        world.happens("1", edited).await;
        assert_snapshot!(world.shown(), @"
        Hello.
        Allow **delete**? `a.txt` … Superseded: Ann edited the message.
        Then not.
        ");
        assert_eq!(world.last(), "Then not.");
        let prompts = world.prompts();
        let said = read(prompts.last().unwrap());
        assert_eq!(said.last(), Some(&"(I have changed my earlier message to:) keep a.txt"));
        world.happens("1", press).await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(stable(&world.room.toasts()[0]), @"The message behind this request was edited, so it is no longer valid.");
    }
}

story! {
    /// An acknowledgement that the platform rejects is retried a limited number of times.
    /// Proves A2.
    async fn a_failed_acknowledgement_is_tried_again(world: &mut World) {
        let at_once = || SendError::Retry { after: Some(Duration::ZERO), reason: "busy".into() };
        for (failures, shown) in [(2, 1), (9, 1)] {
            for _ in 0..failures {
                world.room.fails_next_toast(at_once());
            }
            let press = world.forged("nothing");
            world.happens("1", press).await;
            assert_eq!(world.room.toasts().len(), shown, "after {failures} failures");
        }
    }
}

story! {
    /// The draft message becomes the answer, also after a crash.
    /// Proves R3.
    async fn an_answer_takes_its_draft_over(world: &mut World) {
        let app = world.node().await;
        let said = world.said("hello");
        world.takes(&app, "1", said).await;
        let place = World::place();
        let growing = Outgoing::Text { markdown: "Hel".into(), reply_to: None };
        app.gateway.show_now("room", &place, growing).await.unwrap();
        let store = app.gateway.store.clone();
        let claimed = store.claim(1, world.clock.now()).await.unwrap().pop().unwrap();
        let turn = world.journal().await[0].seq;
        let receipt = Receipt { message: "0".into() };
        assert!(store.keep_draft(&claimed.lease, turn, &receipt).await.unwrap());
        store.release(&claimed.lease).await.unwrap();
        drop((claimed, app));
        world.model_will(say("Hello Ann."));
        let app = world.node().await;
        world.settle(&app).await;
        assert_eq!(world.shown(), "Hello Ann.");
        world.model_will(say("Again."));
        world.ann_says("and?").await;
        assert_eq!(world.shown(), "Hello Ann.\nAgain.", "it is taken over once");
    }
}

story! {
    /// If the bot was removed, nothing waits any more and nobody is told; when it returns, it works
    /// again.
    /// Proves M10.
    async fn a_place_that_shows_the_bot_out_is_left_alone(world: &mut World) {
        let busy = SendError::Retry { after: None, reason: "busy".into() };
        world.room.fails_next(Fault::Before(busy));
        world.model_will(say("one"));
        world.ann_says("hello").await;
        world.happens("2", IncomingContent::Expelled).await;
        world.time_passes(TimeDelta::hours(1)).await;
        assert_eq!(world.shown(), "");
        world.happens("2", IncomingContent::Admitted).await;
        world.model_will(say("two"));
        world.ann_says("back?").await;
        assert_eq!(world.shown(), "two");
    }
}

story! {
    /// A chat that the platform throttles waits with all its threads; another chat is answered
    /// immediately, even with five hundred waiting.
    /// Proves M4, M6.
    async fn chats_that_wait_delay_no_other(world: &mut World) {
        let app = world.node().await;
        for number in 0..500 {
            let chat = format!("c{}", number / 2);
            let busy =
                SendError::Retry { after: Some(std::time::Duration::from_mins(10)), reason: "429".into() };
            world.room.breaks(&chat, busy);
            let thread = Some(number.to_string());
            let said = world.said("/status");
            world.takes_at(Place { chat, thread, kind: PlaceKind::Private }, &app, "1", said).await;
        }
        while deliver::deliver_ready(&app.gateway).await.unwrap() > 0 {}
        assert_eq!(world.shown(), "");
        let said = world.said("/status");
        world.takes(&app, "1", said).await;
        assert_eq!(deliver::deliver_ready(&app.gateway).await.unwrap(), 1, "only the new one");
        assert_snapshot!(world.shown(), @"There are no open requests.");
    }
}

story! {
    /// The output of a command is limited in size.
    /// Proves M5.
    async fn a_long_answer_to_a_command_comes_in_parts(world: &mut World) {
        world.room.limits.text = 200;
        world.ann_says("/help").await;
        let shown = world.room.messages();
        assert!(shown.len() > 2, "{}", world.shown());
        assert!(shown.iter().all(|message| message.text.chars().count() <= 200));
        assert_snapshot!(stable(&shown.last().unwrap().text), @"- /panic halts all tools everywhere (owner)");
    }
}
