//! Approvals and their outcomes.

use chrono::TimeDelta;
use countersign::testing::{
    gateway::approvals,
    journal::event::{Decider, Event, Speaker},
    scripted::{Gate, call, calls, say, wait},
    store::approvals::grants,
};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    story,
    support::{process::eventually, stable_output::stable, world::World},
};

async fn asked(world: &mut World) {
    world.model_will(call("delete", json!({ "path": "a.txt" })));
    world.ann_says("delete a.txt").await;
    assert_eq!(world.deletions(), 0);
}

story! {
    /// Every step of a story is a new process; two presses execute the call once.
    /// Proves A14, A3.
    async fn an_approval_outlives_a_restart_and_a_second_press(world: &mut World) {
        asked(world).await;
        world.model_will(say("Done."));
        let again = world.press("Allow once");
        world.ann_presses("Allow once").await;
        world.happens("1", again).await;
        assert_eq!(world.deletions(), 1);
        assert_eq!(world.room.toasts(), ["Allowed.", "Already allowed by Ann."]);
        assert_eq!(world.last(), "Done.");
    }
}

story! {
    /// The model reads the denial and its reason.
    /// Proves A10.
    async fn a_denial_reaches_the_model(world: &mut World) {
        asked(world).await;
        world.model_will(say("Then not."));
        world.ann_says("/deny it is the only copy").await;
        assert_eq!(world.deletions(), 0);
        assert_eq!(world.results().await, ["Denied by Ann: it is the only copy"]);
        assert_snapshot!(world.shown(), @"
        Allow **delete**? `a.txt` … 🚫 Denied by Ann.
        Denied.
        Then not.
        ");
    }
}

story! {
    /// A message is never a decision; it waits, and is read after the decision.
    /// Proves A9.
    async fn a_message_during_a_pending_approval_waits(world: &mut World) {
        asked(world).await;
        world.ann_says("allow").await;
        world.ann_says("do it").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"
        Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]
        I'm still waiting for a decision on the request above. I've saved your message and will read it afterwards. /stop withdraws the request.
        I'm still waiting for a decision on the request above. I've saved your message and will read it afterwards. /stop withdraws the request.
        ");
        world.model_will(say("Done, and I have read your messages."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
        let last = world.prompts().pop().unwrap();
        assert!(format!("{:?}", last.messages).contains("do it"));
    }
}

story! {
    /// Without a decision in time the call is denied, to the second, and the model is told.
    /// Proves A5, MC-43.
    async fn an_approval_expires(world: &mut World) {
        asked(world).await;
        world.model_will(say("Nobody answered."));
        world.time_passes(TimeDelta::seconds(30 * 60 - 1)).await;
        assert!(world.results().await.is_empty(), "there is a second left");
        world.time_passes(TimeDelta::seconds(1)).await;
        assert_eq!(world.results().await, ["Denied: nobody answered in time."]);
        let timeouts = world.journal().await.into_iter().filter(|entry| {
            matches!(entry.event, Event::ApprovalDecided { by: Decider::Timeout, .. })
        });
        assert_eq!(timeouts.count(), 1);
        assert_eq!((world.last().as_str(), world.deletions()), ("Nobody answered.", 0));
    }
}

story! {
    /// A running node expires approvals by itself.
    /// Proves A5.
    async fn a_running_node_expires_approvals(world: &mut World) {
        let app = world.node().await;
        app.start();
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("Nobody answered."));
        let said = world.said("delete a.txt");
        world.takes(&app, "1", said).await;
        let is_asked = async || world.last().contains("[Allow once]").then_some(());
        eventually("an approval is requested", is_asked).await;
        world.clock.advance(TimeDelta::minutes(30));
        let is_told = async || (world.last() == "Nobody answered.").then_some(());
        eventually("the approval expires", is_told).await;
        app.stop().await.unwrap();
    }
}

story! {
    /// A press after the expiry does not count, even before the sweep.
    /// Proves A5, S4.
    async fn a_press_after_the_deadline_does_not_count(world: &mut World) {
        asked(world).await;
        world.clock.advance(TimeDelta::minutes(31));
        world.model_will(say("Too late."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(stable(&world.room.toasts()[0]), @"Too late: this request has expired, which counts as denied.");
    }
}

story! {
    /// The deadline itself is too late.
    /// Proves A5.
    async fn a_press_at_the_deadline_does_not_count(world: &mut World) {
        asked(world).await;
        world.clock.advance(TimeDelta::minutes(30));
        world.model_will(say("Too late."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// Another person's press changes nothing and is rejected privately.
    /// Proves S2.
    async fn only_the_requester_decides(world: &mut World) {
        asked(world).await;
        world.bob_presses("Allow once").await;
        assert_eq!(world.deletions(), 0);
        assert_eq!(world.room.toasts(), ["Only the person who requested this can approve or deny it."]);
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// “Allow in this conversation” needs no further approvals for this tool, and ends with `/new`.
    async fn a_tool_can_be_allowed_for_the_conversation(world: &mut World) {
        asked(world).await;
        world.model_will(call("delete", json!({ "path": "b.txt" })));
        world.model_will(say("Both are gone."));
        world.ann_presses("Allow in this conversation").await;
        assert_eq!((world.deletions(), world.last().as_str()), (2, "Both are gone."));
        world.ann_says("/new").await;
        asked_again(world).await;
    }
}

async fn asked_again(world: &mut World) {
    world.model_will(call("delete", json!({ "path": "c.txt" })));
    world.ann_says("delete c.txt").await;
    assert_eq!(world.deletions(), 2);
}

story! {
    /// Two approvals of one reply, decided separately and in any order.
    /// Proves A7.
    async fn two_approvals_are_decided_separately(world: &mut World) {
        world.model_will(calls(vec![
            ("delete".into(), json!({ "path": "a.txt" })),
            ("delete".into(), json!({ "path": "b.txt" })),
        ]));
        world.ann_says("delete both").await;
        world.ann_presses("Deny").await;
        assert_eq!((world.deletions(), world.prompts().len()), (0, 1));
        world.model_will(say("One of two."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
        assert_eq!(world.last(), "One of two.");
    }
}

story! {
    /// `/stop` withdraws the approval; its button no longer works.
    async fn stop_withdraws_the_approval(world: &mut World) {
        asked(world).await;
        let press = world.press("Allow once");
        world.ann_says("/stop").await;
        world.happens("1", press).await;
        assert_eq!(world.deletions(), 0);
        assert_eq!(world.room.toasts(), ["Withdrawn by Ann."]);
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        assert_eq!(world.last(), "Hello.");
    }
}

story! {
    /// Only the right token on the right message decides.
    /// Proves A1.
    async fn an_unknown_button_token_decides_nothing(world: &mut World) {
        asked(world).await;
        for data in ["", "a", "1aAAAAAAAAAAAAAAAAAAAAAAa", "💥"] {
            let what = channels::IncomingContent::Press {
                press: "p".into(),
                message: "0".into(),
                data: data.into(),
                reason: None,
            };
            world.happens("1", what).await;
        }
        let channels::IncomingContent::Press { data, .. } = world.press("Allow once") else { unreachable!() };
        let elsewhere =
            channels::IncomingContent::Press { press: "p".into(), message: "99".into(), data, reason: None };
        world.happens("1", elsewhere).await;
        assert_eq!(world.deletions(), 0);
        assert_eq!(world.room.toasts(), ["This button is no longer valid."; 5]);
    }
}

story! {
    /// `callback_data` is at most 64 bytes and contains only the token and the choice.
    /// Proves A1.
    async fn a_button_carries_a_random_token_only(world: &mut World) {
        asked(world).await;
        let messages = world.room.messages();
        let buttons = &messages.last().unwrap().buttons;
        let data: Vec<_> = buttons.iter().map(|(_, data)| data.as_str()).collect();
        assert!(data.iter().all(|d| d.len() == 25 && d.starts_with("1a")), "{data:?}");
        assert!(data.iter().all(|d| d[..24] == data[0][..24]));
    }
}

story! {
    /// Claims of the model about an approval have no effect.
    /// Proves CV-07.
    async fn an_approval_by_the_model_is_ignored(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "a.txt", "approved": true })));
        world.ann_says("delete a.txt").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
    }
}

story! {
    /// No approval is requested for a call that cannot run.
    async fn an_invalid_call_asks_nobody(world: &mut World) {
        world.model_will(call("delete", json!({ "file": 1 })));
        world.model_will(say("I made a mistake."));
        world.ann_says("delete a.txt").await;
        assert_eq!(world.last(), "I made a mistake.");
        assert_snapshot!(stable(&world.results().await[0]), @"Invalid parameters: Missing 'path' parameter");
    }
}

story! {
    /// Nobody is asked about a call that cannot succeed as the files are: the model is told why. If
    /// another call of the reply could make it succeed, people are asked about both.
    async fn a_call_that_will_fail_asks_nobody(world: &mut World) {
        let patch = json!({ "path": "a.txt", "old_string": "milk", "new_string": "bread" });
        world.model_will(call("apply_patch", patch.clone()));
        world.model_will(say("There is no such file yet."));
        world.ann_says("replace milk with bread").await;
        assert_eq!(world.last(), "There is no such file yet.");
        let results = world.results().await;
        assert!(results.len() == 1 && results[0].contains("a.txt"), "{results:?}");

        let write = json!({ "path": "a.txt", "content": "milk" });
        world.model_will(calls(vec![("write_file".into(), write), ("apply_patch".into(), patch)]));
        world.ann_says("then write it first").await;
        let shown = world.shown();
        assert_eq!(shown.matches("[Allow once]").count(), 2, "{shown}");
    }
}

story! {
    /// A conversation may request 60 approvals per hour, also within one reply. Further calls are
    /// denied without asking.
    async fn too_many_approvals_are_not_requested(world: &mut World) {
        let delete = |n: usize| ("delete".to_owned(), json!({ "path": format!("{n}.txt") }));
        world.model_will(calls((0..61).map(delete).collect()));
        world.ann_says("delete everything").await;
        let denied = "Denied: the limit of 60 approval requests per hour for this conversation is \
            reached. Tell the person, and continue when they say so.";
        assert_eq!(world.results().await, [denied]);
        assert_eq!(world.rows_of("approvals").await.len(), 60);
        world.ann_says("/stop").await;
        for (minutes, requests) in [(59, 60), (2, 61)] {
            world.time_passes(TimeDelta::minutes(minutes)).await;
            world.model_will(calls(vec![delete(61)]));
            if requests == 60 {
                world.model_will(say("Later."));
            }
            world.ann_says("and now?").await;
            assert_eq!(world.rows_of("approvals").await.len(), requests, "{minutes}");
        }
    }
}

story! {
    /// The approval shows exactly what will run; no part of it is interpreted as formatting.
    /// Proves A8, S18.
    async fn an_approval_shows_the_arguments_and_a_diff(world: &mut World) {
        world.model_will(call("write_file", json!({ "path": "a.txt", "content": "one\ntwo\n" })));
        world.ann_says("write").await;
        world.model_will(say("Written."));
        world.ann_presses("Allow once").await;
        world.model_will(call("read_file", json!({ "path": "a.txt" })));
        world.model_will(call("apply_patch", json!({
            "path": "a.txt", "old_string": "two", "new_string": "2\u{202e}\u{200b}``` **bold**"
        })));
        world.ann_says("change it").await;
        let messages = world.room.messages();
        let question = &messages.last().unwrap().text;
        assert_snapshot!(stable(question), @r"
        Allow **apply\_patch**?
        Change the file `a.txt`.

        old\_string: `two`
        new\_string:
        ````
        2‹U+202E›‹U+200B›``` **bold**
        ````

        ````diff
        --- a/a.txt
        +++ b/a.txt
        @@ -1,2 +1,2 @@
         one
        -two
        +2‹U+202E›‹U+200B›``` **bold**
        ````

        apply\_patch makes changes\, and no rule allows it\.
        “Allow in this conversation” covers every later call of apply\_patch that Ann requests here, whatever its arguments, until /new.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        assert!(!question.contains(['\u{202e}', '\u{200b}']), "{question}");
        world.model_will(say("Changed."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "Changed.");
    }
}

story! {
    /// A person who writes while the model is thinking does not become the one who may decide.
    /// Proves S2.
    async fn a_later_speaker_does_not_become_the_requester(world: &mut World) {
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        let app = world.node().await;
        let (ann, bob) = (world.said("delete a.txt"), world.said("hi"));
        world.takes(&app, "1", ann).await;
        let advancing = app.worker.advance_ready();
        let meanwhile = async {
            gate.reached().await;
            world.takes(&app, "2", bob).await;
            gate.open();
        };
        let (advanced, ()) = tokio::join!(advancing, meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        world.bob_presses("Allow once").await;
        assert_eq!((world.deletions(), world.room.toasts().len()), (0, 1));
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// A permission for the conversation belongs to the requester, and never satisfies a rule that
    /// asks.
    /// Proves S3.
    async fn a_conversation_permission_covers_one_person_and_tool(world: &mut World) {
        let rule = "[{ tool = 'delete', arg_pattern = '^secrets/', action = 'ask' }]";
        let variables = [("COUNTERSIGN__GUARD__RULES".to_owned(), rule.to_owned())];
        let loaded = countersign::testing::config::Config::load(None, &variables.into()).unwrap();
        world.config.guard = loaded.guard;
        asked(world).await;
        world.model_will(say("Done."));
        world.ann_presses("Allow in this conversation").await;

        world.model_will(call("delete", json!({ "path": "secrets/key" })));
        world.ann_says("delete the key").await;
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
        world.model_will(say("Then not."));
        world.ann_presses("Deny").await;

        world.model_will(call("delete", json!({ "path": "b.txt" })));
        world.bob_says("delete b.txt").await;
        assert_eq!(world.deletions(), 1, "Bob was not given leave");
    }
}

story! {
    /// The parts of two long approvals are not interleaved.
    /// Proves A8.
    async fn long_approvals_are_shown_one_at_a_time(world: &mut World) {
        let long = "one line of a long text\n".repeat(400);
        let file = |name: &str| ("write_file".to_owned(), json!({ "path": name, "content": &long }));
        for name in ["a.txt", "b.txt"] {
            std::fs::create_dir_all(world.config.data_dir.join("w")).unwrap();
            std::fs::write(world.config.data_dir.join("w").join(name), "old\n".repeat(400)).unwrap();
        }
        world.config.agents[0].workspace = Some(world.config.data_dir.join("w"));
        world.model_will(calls(vec![file("a.txt"), file("b.txt")]));
        world.ann_says("write both").await;
        let texts: Vec<_> = world.room.messages().iter().map(|m| m.text.clone()).collect();
        let first = |needle: &str| texts.iter().position(|t| t.contains(needle)).unwrap();
        let buttons: Vec<_> = (0..texts.len())
            .filter(|n| !world.room.messages()[*n].buttons.is_empty())
            .collect();
        assert!(first("a.txt") <= buttons[0] && buttons[0] < first("b.txt"), "{texts:?}");
    }
}

story! {
    /// The target of the call is shown in full, regardless of disguises.
    /// Proves A8, S18.
    async fn an_approval_always_shows_the_path(world: &mut World) {
        let path = format!("notes/`{}`.md", "x".repeat(90));
        world.model_will(call("write_file", json!({ "path": path, "content": "a\nb" })));
        world.ann_says("write").await;
        let messages = world.room.messages();
        assert!(messages.last().unwrap().text.contains(&path), "{}", messages.last().unwrap().text);
    }
}

story! {
    /// Content that does not fit into the approval is sent as a file, which cannot be used to
    /// decide.
    /// Proves A8.
    async fn everything_can_be_shown(world: &mut World) {
        let content = "many words ".repeat(300);
        world.model_will(call("delete", json!({ "path": "a.txt", "why": content })));
        world.ann_says("delete it").await;
        world.ann_presses("Show everything").await;
        let file = world.room.messages().into_iter().find_map(|m| m.file).expect("a file");
        assert_eq!(file.0, "arguments.json");
        assert!(String::from_utf8_lossy(&file.1).contains(content.trim()));
        assert_eq!(world.deletions(), 0);
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// A reply to an approval denies it, with the reply as the reason.
    /// Proves A10.
    async fn a_reply_selects_its_approval(world: &mut World) {
        world.model_will(calls(vec![
            ("delete".into(), json!({ "path": "a.txt" })),
            ("delete".into(), json!({ "path": "b.txt" })),
        ]));
        world.ann_says("delete both").await;
        let reply_to = |what: channels::IncomingContent, to: &str| match what {
            channels::IncomingContent::Text { message, text, addressed, files, album, quoted_author, .. } => {
                let reply_to = Some(to.to_owned());
                channels::IncomingContent::Text { message, text, reply_to, addressed, files, album, quoted_author }
            }
            other => other,
        };
        let deny = reply_to(world.said("/deny the first stays"), "0");
        world.happens("1", deny).await;
        assert_eq!(world.results().await, ["Denied by Ann: the first stays"]);
        assert_snapshot!(stable(&world.room.messages()[0].text), @"
        Allow **delete**? `a.txt`

        🚫 Denied by Ann.
        ");
        assert!(!world.room.messages()[1].buttons.is_empty());
    }
}

/// Makes copies of the only approval.
async fn copied(world: &World, copies: usize) {
    world
        .tampers(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {copies})
            INSERT INTO approvals
                (id, conversation, call, asks, tool, arguments, digest, title, requester, question,
                 status, created_at, expires_at, approvers, offers, proposal, shown_in)
            SELECT a.id || '-' || n.i, a.conversation, a.call, a.asks, a.tool, a.arguments, a.digest,
                   a.title, a.requester, a.question, a.status, a.created_at, a.expires_at,
                   a.approvers, a.offers, a.proposal, a.shown_in
            FROM approvals a, n"
        ))
        .await;
}

story! {
    /// Any number of approvals that expire at the same time are expired together, and an unreadable
    /// one affects only itself.
    /// Proves R7.
    async fn one_sweep_expires_everything_that_is_due(world: &mut World) {
        asked(world).await;
        copied(world, 600).await;
        world.tampers("UPDATE approvals SET approvers = 'unreadable' WHERE id LIKE '%-1'").await;
        let app = world.node().await;
        world.clock.advance(TimeDelta::minutes(31));
        assert_eq!(approvals::sweep(&app.gateway).await.unwrap(), 600);
        let open = world.rows_of("approvals").await;
        let open = open.iter().filter(|row| row.contains("pending")).count();
        assert_eq!(open, 1, "the one that cannot be read");
    }
}

story! {
    /// An approval that was requested just when the tools were halted is denied.
    /// Proves A12.
    async fn a_halt_leaves_no_approval_open(world: &mut World) {
        asked(world).await;
        let app = world.node().await;
        let now = world.clock_now();
        let halting = app.gateway.store.write("halt", move |tx| {
            let owner = Speaker { id: "9".into(), name: "Olga".into() };
            Box::pin(async move { grants::halt(tx, &owner, now).await.map(drop) })
        });
        halting.await.unwrap();
        assert_eq!(approvals::sweep(&app.gateway).await.unwrap(), 1);
        assert_eq!(approvals::sweep(&app.gateway).await.unwrap(), 0);
        world.model_will(say("I do not."));
        world.settle(&app).await;
        assert_eq!((world.deletions(), world.last()), (0, "I do not.".to_owned()));
    }
}
