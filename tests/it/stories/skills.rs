//! Skills: trust, creation and scripts.

use countersign::testing::{
    agent::{catalog::Domain, prompt::Prompt},
    journal::event::Event,
    scripted::{call, say},
    tools::skills::{folder, package::Package},
};
use fakes::web::FakeWeb;
use insta::assert_snapshot;
use renderers::{Format, markdown};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::messages::with_file;
use crate::{
    story,
    support::{program::sandbox, stable_output::stable, world::World},
};

const MAIN: &str = "---\nname: letters\ndescription: How we write letters\n---\nBegin with Dear.";

fn skills_dir(world: &World) -> PathBuf {
    world.config.data_dir.join("skills")
}

/// Adds a skill, as its owner does.
fn lay(world: &World, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = skills_dir(world).join("letters").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

async fn taint(world: &World) -> Vec<String> {
    let sources = world.journal().await.into_iter().filter_map(|entry| match entry.event {
        Event::Tainted { source } => Some(source),
        _ => None,
    });
    sources.collect()
}

fn tools(prompt: &Prompt) -> Vec<&str> {
    prompt.tools.iter().map(|tool| tool.name.as_str()).collect()
}

story! {
    /// An installed skill is untrusted until the operator trusts its current content.
    /// Proves S16.
    async fn a_skill_from_elsewhere_taints_until_somebody_trusts_it(world: &mut World) {
        let mut package = Package::default();
        package.add("SKILL.md", MAIN.as_bytes(), false).unwrap();
        folder::put(&folder::lock(&skills_dir(world)).unwrap(), "letters", &package, "https://example.org/x").unwrap();
        world.model_will(call("load_skill", json!({ "name": "letters" })));
        world.model_will(say("Dear Ann,"));
        world.ann_says("write me a letter").await;
        assert_eq!(taint(world).await, ["load_skill letters"]);

        world.ann_says("/new").await;
        folder::trust(&folder::lock(&skills_dir(world)).unwrap(), "letters").unwrap();
        world.model_will(call("load_skill", json!({ "name": "letters" })));
        world.model_will(say("Dear Ann,"));
        world.ann_says("write me a letter").await;
        assert_eq!(taint(world).await.len(), 1, "no more than before");
    }
}

story! {
    /// Without `load_skill` the operator's own skills are included in the prompt; those of others
    /// are not.
    /// Proves MC-16.
    async fn skills_can_stand_in_the_prompt(world: &mut World) {
        world.config.skills.load_tool = false;
        lay(world, &[("SKILL.md", MAIN)]);
        let mut package = Package::default();
        let main = MAIN.replace("letters", "others").replace("Dear", "Yo");
        package.add("SKILL.md", main.as_bytes(), false).unwrap();
        folder::put(&folder::lock(&skills_dir(world)).unwrap(), "others", &package, "https://example.org/x").unwrap();
        world.model_will(call("load_skill", json!({ "name": "letters" })));
        world.model_will(say("Dear Ann,"));
        world.ann_says("write me a letter").await;
        let prompt = world.prompts().remove(0);
        assert!(prompt.system.contains("## Skill: letters\n---\nname: letters"));
        assert!(!prompt.system.contains("Begin with Yo") && !prompt.system.contains("## Skills"));
        assert!(!tools(&prompt).contains(&"load_skill"));
        assert_snapshot!(stable(&world.results().await[0]), @"There is no tool `load_skill`.");
    }
}

story! {
    /// An approval is for the skill as it was: a skill that has changed in the meantime stays.
    /// Proves S3.
    async fn an_approval_is_bound_to_the_state_of_a_skill(world: &mut World) {
        world.make_owner("1").await;
        let mut package = Package::default();
        package.add("SKILL.md", MAIN.as_bytes(), false).unwrap();
        let place = skills_dir(world);
        let put = |package: &Package| {
            let lock = folder::lock(&place).unwrap();
            folder::put(&lock, "letters", package, "https://example.org/x").unwrap();
        };
        put(&package);
        world.model_will(call("skill_manage", json!({ "action": "delete", "name": "letters" })));
        world.ann_says("delete it").await;
        package.add("references/addresses.md", &b"Bob: 7"[..], false).unwrap();
        put(&package);
        world.model_will(say("It has changed."));
        world.ann_presses("Allow once").await;
        assert!(place.join("letters/references/addresses.md").exists());
        assert_eq!(world.last(), "It has changed.");
        world.model_will(call("skill_manage", json!({ "action": "delete", "name": "letters" })));
        world.model_will(say("Deleted."));
        world.ann_says("delete it all the same").await;
        world.ann_presses("Allow once").await;
        assert!(!skills_dir(world).join("letters").exists());
    }
}

story! {
    /// The agent writes a skill only with the approval of an operator, who sees all of it, since it
    /// is part of everybody's prompts. Nothing is written before.
    async fn an_agent_writes_a_skill_if_an_operator_lets_it(world: &mut World) {
        let create = json!({ "action": "create", "name": "letters", "content": MAIN });
        world.model_will(call("skill_manage", create));
        world.ann_says("remember how we write letters").await;
        assert_snapshot!(world.last_text(), @r"
        Allow **skill\_manage**?
        Create, change or delete the skill `letters`.

        action: `create`

        ```
        ---
        name: letters
        description: How we write letters
        ---
        Begin with Dear.
        ```

        skill\_manage requires approval every time\.
        🔴 Severity\: high\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        world.ann_presses("Allow once").await;
        assert!(!skills_dir(world).join("letters").exists(), "Ann is a member like others");
        world.make_owner("1").await;
        world.model_will(say("Written."));
        world.ann_presses("Allow once").await;
        world.model_will(call("load_skill", json!({ "name": "letters" })));
        world.model_will(say("Dear Ann,"));
        world.ann_says("write one").await;
        let prompt = world.prompts().pop().unwrap();
        assert!(prompt.system.contains("- letters: How we write letters"));
        assert_snapshot!(stable(&world.results().await[1]), @r#"
        <skill name="letters" file="SKILL.md">
        ---
        name: letters
        description: How we write letters
        ---
        Begin with Dear.
        </skill>
        "#);
        assert_eq!(taint(world).await, ["load_skill letters"], "it is not the operator's word");
    }
}

story! {
    /// A script of a skill runs in the sandbox, beside the conversation's folder, after an
    /// approval; it can change neither the skill nor anything else.
    async fn a_script_of_a_skill_runs_in_the_sandbox(world: &mut World) {
        world.sandbox = Arc::new(sandbox().await);
        let script = "import sys, os\n\
            open('/workspace/made.txt', 'w').write(sys.argv[1] + sys.stdin.read())\n\
            print(open('/skill/references/a.txt').read())\n\
            try: open('/skill/SKILL.md', 'w')\n\
            except OSError: print('kept')\n\
            print(os.path.exists('/etc/shadow'))";
        lay(world, &[
            ("SKILL.md", MAIN),
            ("references/a.txt", "forms"),
            ("scripts/make.py", script),
        ]);
        let run = json!({
            "skill": "letters", "script": "scripts/make.py", "args": ["a"], "input": "b"
        });
        world.model_will(call("run_skill_script", run));
        world.model_will(call("read_file", json!({ "path": "made.txt" })));
        world.model_will(say("Made."));
        world.ann_says("make it").await;
        assert_snapshot!(world.last(), @r"Allow **run\_skill\_script**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
        world.ann_presses("Allow once").await;
        let results = world.results().await;
        assert!(results[0].contains(r#""stdout":"forms\nkept\nFalse\n""#), "{results:?}");
        assert!(results[1].contains("ab"), "{results:?}");
        assert_eq!(fs::read_to_string(skills_dir(world).join("letters/SKILL.md")).unwrap(), MAIN);
    }
}

/// An approved run of a script, and its result.
async fn runs(world: &mut World, run: Value) -> String {
    world.model_will(call("run_skill_script", run));
    world.ann_says("go on").await;
    world.model_will(say("Done."));
    world.ann_presses("Allow once").await;
    world.results().await.pop().unwrap()
}

/// The script of `edit-docx` with these arguments.
async fn edits(world: &mut World, words: Value) -> String {
    let run = json!({ "skill": "edit-docx", "script": "scripts/edit.py", "args": words });
    runs(world, run).await
}

story! {
    /// No tool edits an existing Word document; the example skill does, in the sandbox, and leaves
    /// other content unchanged.
    /// Proves MC-33.
    async fn a_skill_changes_a_word_document(world: &mut World) {
        world.sandbox = Arc::new(sandbox().await);
        let skill = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/skills/edit-docx");
        for name in ["SKILL.md", "scripts/edit.py"] {
            let text = fs::read_to_string(skill.join(name)).unwrap();
            lay(world, &[(&format!("../edit-docx/{name}"), &text)]);
        }
        let text = "---\nheader: House of Rivers\n---\n# Lease\n\nThe **House** of Rivers lets \
            a boat.\n\n| Day | Price |\n|---|---|\n| Monday | 3 |\n";
        let lease = renderers::render(&markdown::read(text).unwrap(), Format::Docx).unwrap();
        world.room.has_file("f", lease.bytes);
        let sent = with_file(world, "change this", ("f", "lease.docx"));
        world.model_will(call("load_skill", json!({ "name": "edit-docx" })));
        world.model_will(say("I have read how."));
        world.happens("1", sent).await;
        let path = "inbox/lease.docx";
        let shown = edits(world, json!(["show", path])).await;
        assert!(shown.contains(r"2\tBodyText\tThe House of Rivers lets a boat."), "{shown}");
        for (words, said) in [
            (json!(["replace", path, "House of Rivers", "Ann & Co"]), "replaced 2 times"),
            (json!(["replace", path, "House of Rivers", "x"]), "does not occur in"),
            (json!(["set", path, "6", "4"]), "paragraph 6 is rewritten"),
            (json!(["add", path, "2", "For a year."]), "a paragraph stands after 2"),
            (json!(["remove", path, "1"]), "paragraph 1 is gone"),
            (json!(["remove", path, "99"]), "they go from 1 to 7"),
        ] {
            let result = edits(world, words).await;
            assert!(result.contains(said), "{result}");
        }
        world.model_will(call("extract_document", json!({ "path": path })));
        world.model_will(say("Read."));
        world.ann_says("read it").await;
        let read = world.results().await.pop().unwrap();
        let kept = ["The **Ann & Co** lets a boat.", "For a year.", "| Monday | 4 |"];
        assert!(kept.iter().all(|text| read.contains(text)) && !read.contains("Lease"), "{read}");
    }
}

/// The namespaces of a process, as it sees them.
const SHOWS: &str = "readlink /proc/self/ns/pid /proc/self/ns/net /proc/self/ns/mnt";

async fn contained(world: &World) -> Vec<String> {
    let app = world.node().await;
    let specs = app.worker.toolbox.specs().into_iter();
    let specs = specs.filter(|spec| spec.unavailable.is_none());
    specs.filter(|spec| matches!(spec.domain, Domain::Container(_))).map(|spec| spec.name).collect()
}

story! {
    /// Work for a container never runs in this process: it is in namespaces of its own, and
    /// unavailable without a sandbox, except for the document reader, whose process cannot open
    /// anything.
    /// Proves IC-29.
    async fn a_container_tool_never_runs_in_the_main_process(world: &mut World) {
        assert_eq!(contained(world).await, ["extract_document"]);
        world.sandbox = Arc::new(sandbox().await);
        let script = format!("#!/bin/sh\n{SHOWS}\n");
        lay(world, &[("SKILL.md", MAIN), ("scripts/show.sh", script.as_str())]);
        assert_eq!(contained(world).await, ["extract_document", "run_skill_script", "shell"]);
        let run = json!({ "skill": "letters", "script": "scripts/show.sh" });
        for one in [call("shell", json!({ "command": SHOWS })), call("run_skill_script", run)] {
            world.model_will(one);
            world.ann_says("where are you?").await;
            world.model_will(say("There."));
            world.ann_presses("Allow once").await;
            let result = world.results().await.pop().unwrap();
            assert_eq!(result.matches(":[").count(), 3, "{result}");
            for space in ["pid", "net", "mnt"] {
                let ours = fs::read_link(format!("/proc/self/ns/{space}")).unwrap();
                assert!(!result.contains(ours.to_str().unwrap()), "{space}: {result}");
            }
        }
    }
}

/// The network access of that skill.
async fn reaches(world: &mut World, skill: &str) -> String {
    runs(world, json!({ "skill": skill, "script": "scripts/reach.py" })).await
}

story! {
    /// The scripts of a skill reach only the hosts that the operator configured for it; those of
    /// other skills, and of untrusted versions, reach nothing.
    /// Proves S7.
    async fn a_script_reaches_what_is_named_for_its_skill(world: &mut World) {
        world.sandbox = Arc::new(sandbox().await);
        let server = FakeWeb::start().await;
        let place = server.url().trim_start_matches("http://").to_owned();
        world.config.web.allowed_private_hosts = vec!["127.0.0.1".into()];
        world.config.skills.hosts = [("letters".to_owned(), vec![place.clone()])].into();
        let script = format!(
            "import socket\nfor place in ['{place}', 'example.org:443']:\n\
             \x20 s = socket.create_connection(('127.0.0.1', 3128), 5)\n\
             \x20 head = 'CONNECT ' + place + ' HTTP/1.1\\r\\n\\r\\n'\n\
             \x20 s.sendall((head + 'GET /echo HTTP/1.0\\r\\n\\r\\n').encode())\n\
             \x20 print(s.makefile().read())\n"
        );
        let others = MAIN.replace("letters", "others");
        lay(world, &[
            ("SKILL.md", MAIN),
            ("scripts/reach.py", &script),
            ("../others/SKILL.md", &others),
            ("../others/scripts/reach.py", &script),
        ]);
        let said = reaches(world, "letters").await;
        assert!(
            said.contains("200 Connection established") && said.contains("GET /echo"),
            "{said}"
        );
        assert!(said.contains("403 Forbidden"), "{said}");
        let said = reaches(world, "others").await;
        assert!(said.contains("refused") && !said.contains("200"), "{said}");

        let mut package = Package::default();
        package.add("SKILL.md", MAIN.as_bytes(), false).unwrap();
        package.add("scripts/reach.py", script.as_bytes(), false).unwrap();
        folder::put(&folder::lock(&skills_dir(world)).unwrap(), "letters", &package, "https://example.org/x").unwrap();
        let said = reaches(world, "letters").await;
        assert_snapshot!(stable(&said), @"Not authorized: `letters` may reach hosts, but nobody trusts it as it is now: run `countersign skill trust letters`");
        folder::trust(&folder::lock(&skills_dir(world)).unwrap(), "letters").unwrap();
        assert!(reaches(world, "letters").await.contains("200 Connection established"));
        assert_eq!(server.asked().len(), 2);
    }
}
