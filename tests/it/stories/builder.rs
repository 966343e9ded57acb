//! Software that is built in a chat: what people approve, see and pay, and the skill at the end.

use countersign::testing::{
    config::hooks::{HookAction, HookEntry},
    journal::{
        event::{Event, HookPoint},
        ids::ConversationId,
    },
    scripted::{Gate, ScriptedModel, call, say, wait},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::{fs, path::PathBuf, sync::Arc};

use super::hooks::hook;
use crate::{
    story,
    support::{program::sandbox, world::World},
};

const ADDER: &str = "import sys\nprint(sum(map(int, sys.argv[1:])))\n";

/// Enables the builder, with a model of its own.
async fn prepare(world: &mut World) -> Arc<ScriptedModel> {
    world.sandbox = Arc::new(sandbox().await);
    world.config.builder.enabled = true;
    world.config.builder.model = Some("coder".into());
    let coder = Arc::new(ScriptedModel::new("coder"));
    world.more_models = vec![coder.clone()];
    coder
}

fn requirement() -> Value {
    json!({
        "name": "adder", "description": "Adds the numbers in its arguments.", "language": "python",
        "testCases": [{ "name": "two numbers", "args": ["1", "2"], "output": "3" }],
    })
}

fn version(code: &str) -> Value {
    json!({ "files": [{ "path": "main.py", "content": code }] })
}

fn skill(world: &World) -> PathBuf {
    world.config.data_dir.join("skills/adder")
}

/// The id of the last build.
async fn code(world: &World) -> String {
    let results = world.results().await;
    let result = results.iter().rev().find_map(|text| text.strip_prefix("Build ")).unwrap();
    result.split_once(':').unwrap().0.to_owned()
}

story! {
    /// The build needs an approval that says what it may cost. It sends the code to the chat, and
    /// installs nothing. Installing needs the approval of an operator, who sees the code and the
    /// results of the test cases; then the skill can be used.
    /// Proves IC-36.
    async fn software_is_built_reviewed_installed_and_used(world: &mut World) {
        let coder = prepare(world).await;
        world.model_will(call("build_software", requirement()));
        world.ann_says("make yourself a tool that adds numbers").await;
        assert_snapshot!(world.last_text(), @r#"
        Allow **build\_software**?
        Let a model write the program `adder` in `python`, and test it in the sandbox.

        description: `Adds the numbers in its arguments.`
        testCases: `[{"name":"two numbers","args":["1","2"],"output":"3"}]`

        A model writes the code, and it runs only in the sandbox, without network: at most 5 rounds, 200000 tokens and 10 minutes. Nothing is installed without another approval.

        build\_software makes changes\, and no rule allows it\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        "#);
        assert!(coder.prompts().is_empty(), "nothing is spent before the approval");
        coder.will(call("write_files", version("print(4)")));
        coder.will(call("write_files", version(ADDER)));
        world.model_will(say("It works."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "It works.");
        let code = code(world).await;
        let result = world.results().await.remove(0);
        assert!(result.contains("adder works, all 1 test cases passed"), "{result}");
        assert!(result.contains("2 rounds, 220 tokens") && result.contains("PASSED two numbers"));
        let shown = world.shown();
        assert!(shown.contains(&format!("adder-{code}.txt")), "{shown}");
        assert!(!skill(world).exists());

        world.model_will(call("install_software", json!({ "build": code })));
        world.ann_says("install it").await;
        let text = world.last_text().replace(&code, "<build>");
        assert!(text.contains("print(sum(map(int, sys.argv[1:])))"), "{text}");
        assert!(text.contains("PASSED two numbers"), "{text}");
        assert!(text.contains("The skill `adder` is installed with this code:"), "{text}");
        world.ann_presses("Allow once").await;
        assert!(!skill(world).exists(), "Ann is no operator");
        world.make_owner("1").await;
        world.model_will(say("Installed."));
        world.ann_presses("Allow once").await;
        assert_eq!(fs::read_to_string(skill(world).join("scripts/main.py")).unwrap(), ADDER);

        let run = json!({ "skill": "adder", "script": "scripts/main.py", "args": ["20", "22"] });
        world.model_will(call("load_skill", json!({ "name": "adder" })));
        world.model_will(call("run_skill_script", run));
        world.ann_says("add 20 and 22").await;
        world.model_will(say("42."));
        world.ann_presses("Allow once").await;
        let results = world.results().await;
        assert!(results.last().unwrap().contains(r#""stdout":"42\n""#), "{results:?}");
        let prompt = world.prompts().pop().unwrap();
        assert!(prompt.system.contains("- adder: Adds the numbers in its arguments."));
    }
}

story! {
    /// Software that fails a test case cannot be installed, and neither can what has changed since
    /// the approval.
    /// Proves IC-39, S3.
    async fn only_what_was_tested_and_reviewed_is_installed(world: &mut World) {
        let coder = prepare(world).await;
        world.make_owner("1").await;
        world.config.builder.max_rounds = 1;
        coder.will(call("write_files", version("print(4)")));
        world.model_will(call("build_software", requirement()));
        world.ann_says("build it").await;
        world.model_will(say("It fails."));
        world.ann_presses("Allow once").await;
        let result = world.results().await.pop().unwrap();
        assert!(result.contains("does not work, 0 of 1 test cases passed"), "{result}");
        assert!(result.contains("FAILED two numbers") && result.contains("standard output: 4"));
        let failed = code(world).await;
        world.model_will(call("install_software", json!({ "build": failed })));
        world.model_will(say("It cannot be installed."));
        world.ann_says("install it all the same").await;
        if let Some(press) = world.press_if_there("Allow once") {
            world.happens("1", press).await;
        }
        assert!(!skill(world).exists());

        coder.will(call("write_files", version(ADDER)));
        world.model_will(call("build_software", requirement()));
        world.ann_says("build it again").await;
        world.model_will(say("It works."));
        world.ann_presses("Allow once").await;
        world.model_will(call("install_software", json!({ "build": code(world).await })));
        world.ann_says("install it").await;
        fs::create_dir_all(skill(world)).unwrap();
        let own = "---\nname: adder\ndescription: The operator's\n---\n";
        fs::write(skill(world).join("SKILL.md"), own).unwrap();
        world.model_will(say("There is one already."));
        world.ann_presses("Allow once").await;
        assert_eq!(fs::read_to_string(skill(world).join("SKILL.md")).unwrap(), own);
    }
}

story! {
    /// Each request of a build is charged to the person at once, and a build ends when the day's
    /// budget is used up.
    /// Proves S13.
    async fn a_build_is_paid_by_the_person_and_ends_with_the_budget(world: &mut World) {
        let coder = prepare(world).await;
        // The request of the chat uses 110 tokens, and so does each round.
        world.config.limits.person.tokens = Some(300);
        for _ in 0..3 {
            coder.will(call("write_files", version("print(4)")));
        }
        world.model_will(call("build_software", requirement()));
        world.ann_says("build it").await;
        world.ann_presses("Allow once").await;
        assert_eq!(coder.prompts().len(), 2);
        let result = world.results().await.pop().unwrap();
        assert!(result.contains("today's limit (tokens) is used up"), "{result}");
        assert_snapshot!(world.last_text(), @"
        You've reached today's token limit. It resets in 14 h (00:00 UTC), or the operator can raise it.

        Reference: `<reference>`
        ");
        let usage = world.rows_of("usage").await;
        let coded: Vec<_> = usage.iter().filter(|row| row.contains("coder")).collect();
        assert_eq!(coded.len(), 1, "{usage:?}");
        assert!(coded[0].contains("room/1") && coded[0].contains("200"), "{coded:?}");
        assert_eq!(world.rows_of("reservations").await, Vec::<String>::new());
    }
}

story! {
    /// What hooks redact from the agent's prompts is redacted from those of a build as well.
    /// Proves MC-46.
    async fn a_build_is_asked_for_without_what_hooks_redact(world: &mut World) {
        let coder = prepare(world).await;
        world.config.hooks = vec![HookEntry {
            pattern: Some(r"\d{16}".into()),
            ..hook("cards", HookPoint::BeforeLlm, HookAction::Redact)
        }];
        let description = "Checks card numbers such as 4111111111111111.";
        let requirement = json!({
            "name": "cards", "description": description, "language": "python",
            "testCases": [{ "name": "one", "output": "ok" }],
        });
        coder.will(call("write_files", version("print('ok')")));
        world.model_will(call("build_software", requirement));
        world.model_will(say("It works."));
        world.ann_says("build it").await;
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "It works.");
        let prompts = format!("{:?}", coder.prompts());
        assert!(prompts.contains("Checks card numbers") && !prompts.contains("4111"), "{prompts}");
    }
}

story! {
    /// A stopped build is interrupted: what it had is listed with its results, its requests are
    /// paid, and its programs are ended.
    async fn a_stopped_build_is_listed_as_interrupted(world: &mut World) {
        let coder = prepare(world).await;
        let gate = Gate::new();
        coder.will(call("write_files", version("print(4)"))).will(wait(&gate));
        world.model_will(call("build_software", requirement()));
        world.ann_says("build it").await;
        let app = world.node().await;
        let press = world.press("Allow once");
        world.takes(&app, "1", press).await;
        let stop = world.said("/stop");
        let meanwhile = async {
            gate.reached().await;
            world.takes(&app, "1", stop).await;
        };
        let ((), advanced) = tokio::join!(meanwhile, app.worker.advance_ready());
        advanced.unwrap();
        world.settle(&app).await;
        world.model_will(call("list_builds", json!({})));
        world.model_will(say("It was interrupted."));
        world.ann_says("what became of it?").await;
        let listed = world.results().await.pop().unwrap();
        assert!(listed.contains("adder was interrupted after 1 rounds"), "{listed}");
        assert!(listed.contains("0 of 1 test cases passed"), "{listed}");
        let usage = world.rows_of("usage").await;
        assert!(usage.iter().any(|row| row.contains("coder")), "{usage:?}");
        let ended = world.journal().await;
        assert!(ended.iter().any(|entry| matches!(entry.event, Event::Stopped { .. })));
        let builds: Vec<_> = fs::read_dir(world.config.data_dir.join("builds")).unwrap().collect();
        let [Ok(own)] = &builds[..] else { panic!("{builds:?}") };
        let conversation = ConversationId::from(own.file_name().to_str().unwrap());
        app.worker.workspaces.remove(&conversation).await.unwrap();
        assert!(!own.path().exists(), "a build is removed with its conversation");
    }
}

story! {
    /// The tools exist only where the builder is enabled.
    async fn there_is_no_builder_unless_it_is_enabled(world: &mut World) {
        let has = async |world: &World| {
            let app = world.node().await;
            let specs = app.worker.toolbox.specs().into_iter().map(|spec| spec.name);
            specs.filter(|name| name.contains("build") || name == "install_software").count()
        };
        assert_eq!(has(world).await, 0);
        prepare(world).await;
        assert_eq!(has(world).await, 3);
    }
}
