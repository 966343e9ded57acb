//! Hooks of the operator before and after model requests and tool calls.

use countersign::testing::{
    agent::{hooks::OnFailure, prompt::Message},
    config::hooks::{HookAction, HookEntry},
    journal::event::{Event, HookPoint},
    llm::ModelError,
    scripted::{Gate, call, fail, say, wait},
    texts::stopped_by_hook,
};
use insta::{allow_duplicates, assert_snapshot};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

use crate::{
    story,
    support::{stable_output::stable, world::World},
};

pub(super) fn hook(name: &str, on: HookPoint, action: HookAction) -> HookEntry {
    HookEntry {
        name: name.to_owned(),
        on,
        action,
        tool: None,
        argument: None,
        pattern: None,
        text: None,
        command: None,
        sandbox: false,
        timeout: None,
        max_bytes: None,
        on_failure: None,
    }
}

/// A shell script that records its input, one line per run.
fn script(world: &World, name: &str, on: HookPoint, then: &str) -> (HookEntry, PathBuf) {
    let given = world.config.data_dir.join(format!("{name}.given"));
    let script = format!("cat >> {0}; echo >> {0}; {then}", given.display());
    let command = Some(vec!["/bin/sh".into(), "-c".into(), script]);
    (HookEntry { command, ..hook(name, on, HookAction::Run) }, given)
}

fn questions(given: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(given).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn hooked(world: &World) -> usize {
    world.journal().await.iter().filter(|e| matches!(e.event, Event::HookRan { .. })).count()
}

story! {
    /// `before_tool` runs before the guard: the same call is judged, shown, hashed and run. It is
    /// not run again when the decision comes days later, in another process.
    async fn a_call_changed_by_a_hook_is_judged_shown_and_run(world: &mut World) {
        let answer = r#"echo '{"arguments":{"path":"./safe//a.txt"},"note":"moved to safe/"}'"#;
        let (program, given) = script(world, "mover", HookPoint::BeforeTool, answer);
        world.config.hooks = vec![HookEntry { tool: Some("del*".into()), ..program }];
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        let question = world.room.messages().last().unwrap().text.replace('\\', "");
        assert_snapshot!(stable(&question), @"
        Allow **delete**?
        Deletes a file

        path: `safe/a.txt`

        delete makes changes, and no rule allows it.
        moved to safe/
        “Allow in this conversation” covers every later call of delete that Ann requests here, whatever its arguments, until /new.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.results().await, ["deleted safe/a.txt"]);
        let asked = questions(&given);
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0]["on"], "before_tool");
        assert_eq!(asked[0]["tool"], "delete");
        assert_eq!(asked[0]["arguments"], json!({ "path": "a.txt" }));
        assert_eq!(asked[0]["person"]["name"], "Ann");
        assert_eq!(hooked(world).await, 1);
    }
}

story! {
    /// A hook cannot allow a call. One that does, fails or times out stops the call, unless
    /// configured otherwise; its process group is killed.
    async fn a_hook_that_fails_stops_the_call(world: &mut World) {
        let marks = world.config.data_dir.join("child");
        let slow = format!("sleep 600 & echo $! > {}; wait", marks.display());
        for (then, timeout) in [
            (r#"echo '{"allow":true}'"#, "20s"),
            ("exit 3", "20s"),
            ("echo nonsense", "20s"),
            ("head -c 9000 /dev/zero | tr '\\0' ' '", "20s"),
            (slow.as_str(), "1s"),
        ] {
            let (program, _) = script(world, "gate", HookPoint::BeforeTool, then);
            let timeout = Some(timeout.to_owned());
            let program = HookEntry { timeout, max_bytes: Some(8_000), ..program };
            world.config.hooks = vec![program.clone()];
            world.model_will(call("delete", json!({ "path": "a.txt" })));
            world.model_will(say("Not today."));
            world.ann_says("delete a.txt").await;
            assert_eq!((world.deletions(), world.last().as_str()), (0, "Not today."), "{then}");
            let result = world.results().await.pop().unwrap();
            assert!(result.starts_with(&stopped_by_hook("gate", "")), "{result}");

            let go_on = Some(OnFailure::Continue);
            world.config.hooks = vec![HookEntry { on_failure: go_on, ..program }];
            world.model_will(call("delete", json!({ "path": "a.txt" })));
            world.ann_says("delete a.txt").await;
            allow_duplicates! {
                assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
            }
            world.ann_says("/stop").await;
        }
        let child = std::fs::read_to_string(&marks).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        let gone = status.map_or(true, |stat| stat.contains(") Z "));
        assert!(gone, "what it had started runs on");
    }
}

story! {
    /// A hook's program gets nothing from our environment.
    async fn a_hooks_program_has_no_environment_of_ours(world: &mut World) {
        let (program, _) = script(world, "env", HookPoint::BeforeTool, r#"printf '{"note":"%s"}' "$(env | sort | tr '\n' ' ' | tr -d '"')""#);
        world.config.hooks = vec![program];
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        let question = world.room.messages().last().unwrap().text.replace('\\', "");
        let question = question.replace('\\', "");
        assert!(question.contains("PATH=/usr/local/bin:/usr/bin:/bin"), "{question}");
        assert!(!question.contains("CARGO") && !question.contains("HOME="), "{question}");
    }
}

/// Whether the model answers beside a hook with this limit, and the size of the last input that the
/// hook has read.
async fn answers_beside(world: &mut World, then: &str, max_bytes: Option<usize>) -> (bool, usize) {
    let (program, given) = script(world, "gate", HookPoint::BeforeLlm, then);
    let on_failure = Some(OnFailure::Stop);
    world.config.hooks = vec![HookEntry { max_bytes, on_failure, ..program }];
    world.model_will(say("Hello."));
    world.ann_says("hello").await;
    let given = std::fs::read_to_string(given).unwrap();
    (world.last() == "Hello.", given.lines().last().map_or(0, str::len))
}

story! {
    /// The input and the answer of a hook may have `max_bytes` bytes each. If either has more, the
    /// hook has failed.
    async fn the_input_and_the_answer_of_a_hook_are_bounded(world: &mut World) {
        let (passes, size) = answers_beside(world, "true", None).await;
        assert!(passes && size > 100, "{size} bytes");
        assert!(answers_beside(world, "true", Some(size)).await.0);
        assert!(!answers_beside(world, "true", Some(size - 1)).await.0);
        let prints = |bytes: usize| format!("head -c {bytes} /dev/zero | tr '\\0' ' '");
        assert!(answers_beside(world, &prints(9_000), Some(9_000)).await.0);
        assert!(!answers_beside(world, &prints(9_001), Some(9_000)).await.0);
    }
}

story! {
    /// `before_llm` receives what the model has not read yet: messages and results of tools.
    /// Proves MC-46.
    async fn a_hook_reads_results_before_the_model_does(world: &mut World) {
        let (reader, given) = script(world, "reader", HookPoint::BeforeLlm, "true");
        world.config.hooks = vec![reader];
        world.model_will(call("rare", json!({})));
        world.model_will(say("It is rare."));
        world.ann_says("look").await;
        world.model_will(say("You are welcome."));
        world.ann_says("thanks").await;
        let texts: Vec<_> = questions(&given).iter().map(|input| input["text"].clone()).collect();
        assert_eq!(texts, ["look", "rare indeed", "thanks"]);
    }
}

story! {
    /// `before_llm`: its output is recorded before the model request. After a crash during the
    /// request it is not run again, and the next prompt starts with the previous one.
    async fn a_note_before_thinking_outlives_a_crash(world: &mut World) {
        let (program, given) =
            script(world, "clock", HookPoint::BeforeLlm, r#"echo '{"note":"It is Monday."}'"#);
        world.config.hooks = vec![program];
        let gate = Gate::new();
        world.model_will(wait(&gate));
        let dying = world.node().await;
        let said = world.said("what day is it?");
        world.takes(&dying, "1", said).await;
        tokio::select! {
            _ = dying.worker.advance_ready() => panic!("it stands at the gate"),
            () = gate.reached() => {}
        }
        dying.gateway.store.release_all().await.unwrap();
        world.model_will(say("Monday."));
        let app = world.node().await;
        world.settle(&app).await;
        assert_eq!(world.last(), "Monday.");
        let asked = questions(&given);
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0]["text"], "what day is it?");
        world.model_will(say("Still Monday."));
        world.ann_says("and now?").await;
        assert_eq!(questions(&given)[1]["text"], "and now?");
        let prompts = world.prompts();
        let noted = |n: usize| prompts[n].messages.iter().filter(|m| {
            matches!(m, Message::User { text } if text.contains("It is Monday."))
        }).count();
        assert_eq!((noted(0), noted(1), noted(2)), (1, 1, 2));
        assert_eq!(prompts[1].messages, prompts[2].messages[..prompts[1].messages.len()]);
    }
}

story! {
    /// `before_llm` can stop the turn and redact the model's input.
    /// Proves MC-46.
    async fn a_prompt_is_checked_and_redacted(world: &mut World) {
        let text = Some("we do not talk about that".to_owned());
        world.config.hooks = vec![
            HookEntry {
                pattern: Some("(?i)project x".into()),
                text,
                ..hook("topics", HookPoint::BeforeLlm, HookAction::Filter)
            },
            HookEntry {
                pattern: Some(r"\d{16}".into()),
                ..hook("cards", HookPoint::BeforeLlm, HookAction::Redact)
            },
        ];
        world.ann_says("tell me about Project X").await;
        assert_snapshot!(world.shown(), @"Stopped by the hook “topics”: we do not talk about that … Reference: `<reference>`");
        assert_eq!(world.prompts().len(), 0);
        assert_eq!(hooked(world).await, 1, "what stopped it stands in the journal");
        world.model_will(say("I see no card."));
        world.ann_says("my card is 4111111111111111").await;
        let last = world.prompts().pop().unwrap();
        assert!(!format!("{last:?}").contains("4111"), "{last:?}");
    }
}

story! {
    /// `after_llm`, `after_tool`, `on_error`: the hooks' output is what is shown and read.
    /// Proves MC-46.
    async fn replies_results_and_errors_are_changed(world: &mut World) {
        let text = |text: &str| Some(text.to_owned());
        world.config.hooks = vec![
            HookEntry {
                pattern: text("(?i)darn"),
                text: text("d***"),
                ..hook("manners", HookPoint::AfterLlm, HookAction::Redact)
            },
            HookEntry { text: text("Made by a machine."), ..hook("label", HookPoint::AfterLlm, HookAction::Annotate) },
            HookEntry {
                pattern: text("indeed"),
                text: text("nobody may know"),
                tool: text("rare"),
                ..hook("vault", HookPoint::AfterTool, HookAction::Filter)
            },
            HookEntry { text: text("Call 555."), ..hook("help", HookPoint::OnError, HookAction::Annotate) },
        ];
        world.model_will(call("rare", json!({})));
        world.model_will(say("Darn it."));
        world.ann_says("look").await;
        let shown = world.room.messages().last().unwrap().text.clone();
        assert_eq!(shown, "d*** it.\n\nMade by a machine.");
        let result = world.results().await.remove(0);
        assert_snapshot!(stable(&result), @"The call has run, but its result is withheld. Stopped by the hook “vault”: nobody may know");
        assert!(!result.contains("indeed"));
        world.model_will(fail(ModelError::Rejected("no".into())));
        world.ann_says("again").await;
        let shown = world.room.messages().last().unwrap().text.clone();
        assert!(shown.contains("Call 555."), "{shown}");
    }
}

story! {
    /// A hook's program has access neither to our data nor to the network, and writes only to a
    /// persistent folder of its own; without a sandbox it is not run.
    /// Proves S7.
    async fn a_hooks_program_is_confined(world: &mut World) {
        let data = world.config.data_dir.display().to_string();
        std::fs::write(world.config.data_dir.join("secret"), "x").unwrap();
        let seen = format!(
            "cat > /dev/null; n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; \
             test -e {data}/secret && n=ESCAPED; touch {data}/made /usr/made 2>/dev/null; \
             grep -v \" lo:\" /proc/net/dev | grep -q : && n=ONLINE; \
             printf '{{\"note\":\"run %s, %s\"}}' $n \"$HOME\""
        );
        let command = Some(vec!["/bin/sh".into(), "-c".into(), seen]);
        let program = HookEntry { command, ..hook("gate", HookPoint::BeforeTool, HookAction::Run) };
        let timeout = Some("20s".to_owned());
        world.config.hooks = vec![HookEntry { sandbox: true, timeout, ..program }];
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("Not today."));
        world.ann_says("delete a.txt").await;
        let refused = world.results().await.pop().unwrap();
        assert_snapshot!(stable(&refused), @"Stopped by the hook “gate”: a required check could not be performed");

        world.sandbox = std::sync::Arc::new(crate::support::program::sandbox().await);
        for n in 0..2 {
            world.model_will(call("delete", json!({ "path": "a.txt" })));
            world.ann_says("delete a.txt").await;
            let question = world.room.messages().pop().unwrap().text.replace('\\', "");
            assert!(question.contains(&format!("run {n}, /run/home")), "{question}");
            world.ann_says("/stop").await;
        }
        assert!(!world.config.data_dir.join("made").exists());
    }
}

story! {
    /// A `before_llm` hook can provide the reply, so that no model is asked; an `on_error` hook can
    /// replace the notice. Replies of hooks are part of the conversation.
    /// Proves MC-46.
    async fn a_hook_answers_instead_of_the_model(world: &mut World) {
        let known = r#"tail -n 1 FILE | grep -q 'opening hours' && echo '{"answer":"From 9 to 5."}'; true"#;
        let known = known.replace("FILE", &world.config.data_dir.join("cache.given").display().to_string());
        let (cache, given) = script(world, "cache", HookPoint::BeforeLlm, &known);
        let (fallback, _) = script(world, "fallback", HookPoint::OnError, r#"echo '{"answer":"Please call 555."}'"#);
        world.config.hooks = vec![cache, fallback];
        world.ann_says("what are your opening hours?").await;
        assert_eq!((world.last().as_str(), world.prompts().len()), ("From 9 to 5.", 0));
        world.model_will(say("You are welcome."));
        world.ann_says("thanks").await;
        assert_eq!(world.last(), "You are welcome.");
        assert_eq!(questions(&given).len(), 2);
        let heard = format!("{:?}", world.prompts()[0].messages);
        assert!(heard.contains("From 9 to 5."), "the model knows what was said: {heard}");
        world.model_will(fail(ModelError::Rejected("no".into())));
        world.ann_says("one more").await;
        assert_eq!(world.last(), "Please call 555.");
        let failed = world.journal().await.into_iter().filter(|e| matches!(e.event, Event::Failed { .. }));
        assert_eq!(failed.count(), 1, "and yet it is known to have failed");
        world.model_will(say("Here I am."));
        world.ann_says("hello?").await;
        assert!(format!("{:?}", world.prompts().pop().unwrap().messages).contains("Please call 555."));
    }
}

story! {
    /// `after_llm` receives the tokens that the reply used.
    /// Proves MC-46.
    async fn a_hook_counts_tokens(world: &mut World) {
        let (counter, given) = script(world, "counter", HookPoint::AfterLlm, "true");
        world.config.hooks = vec![counter];
        world.model_will(say("Yes."));
        world.ann_says("hello").await;
        let usage = &questions(&given)[0]["usage"];
        assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(100), &json!(10)));
    }
}
