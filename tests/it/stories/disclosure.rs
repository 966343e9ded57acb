//! Core tools at once, the rest by `enable_tool`, know-how by `load_skill`.

use countersign::{
    agent::prompt::{Message, Prompt},
    llm::scripted::{call, say},
};
use serde_json::json;

use crate::{story, world::World};

fn tools(prompt: &Prompt) -> Vec<&str> {
    prompt.tools.iter().map(|tool| tool.name.as_str()).collect()
}

story! {
    /// MC-05, MC-10, MC-11, MC-12: an enabled tool stays, over messages, restarts and approvals.
    async fn an_enabled_tool_stays_for_the_conversation(world: &mut World) {
        world.model_will(call("enable_tool", json!({ "names": ["rare"] })));
        world.model_will(call("rare", json!({})));
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("do the rare thing").await;
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        world.model_will(say("Still there."));
        world.ann_says("and now?").await;

        let prompts = world.prompts();
        assert!(!tools(&prompts[0]).contains(&"rare"));
        assert!(prompts[0].system.contains("- rare: Is seldom needed"));
        assert!(!prompts[0].system.contains("zebra"));
        assert!(prompts[1..].iter().all(|p| tools(p).last() == Some(&"rare")));
        world.ann_says("/new").await;
        world.model_will(say("Gone."));
        world.ann_says("hello").await;
        assert!(!tools(&world.prompts().pop().unwrap()).contains(&"rare"));
    }
}

story! {
    /// T2: a call to a listed tool enables it and runs.
    async fn a_call_to_a_listed_tool_enables_it(world: &mut World) {
        world.model_will(call("rare", json!({})));
        world.model_will(say("Rare indeed."));
        world.ann_says("do the rare thing").await;
        assert_eq!(world.results().await, ["rare indeed"]);
        assert!(tools(&world.prompts()[1]).contains(&"rare"));
    }
}

story! {
    /// T2: an unknown name is a short error with near names; a failed enable leaves no trace.
    async fn an_unknown_tool_is_a_short_error(world: &mut World) {
        world.model_will(call("enable_tool", json!({ "names": ["rare", "rarer_still"] })));
        world.model_will(call("read_fil", json!({ "path": "a" })));
        world.model_will(say("I was mistaken."));
        world.ann_says("try").await;
        let results = world.results().await;
        assert!(results[0].starts_with("There is no tool `rarer_still`"), "{results:?}");
        assert!(results[1].contains("read_file"), "{results:?}");
        assert!(!tools(&world.prompts()[1]).contains(&"rare"));
    }
}

story! {
    /// MC-13, MC-14: a skill comes into the history; the system prompt stays as it was.
    async fn a_skill_is_loaded_into_the_history(world: &mut World) {
        let folder = world.config.data_dir.join("skills/letters");
        std::fs::create_dir_all(&folder).unwrap();
        let skill = "---\nname: letters\ndescription: How we write letters\n---\nBegin with Dear.";
        std::fs::write(folder.join("SKILL.md"), skill).unwrap();
        world.model_will(call("load_skill", json!({ "name": "letters" })));
        world.model_will(call("load_skill", json!({ "name": "letters", "file": "../../x" })));
        world.model_will(say("Dear Ann,"));
        world.ann_says("write me a letter").await;

        let prompts = world.prompts();
        assert!(prompts[0].system.contains("- letters: How we write letters"));
        assert_eq!(prompts[0].system, prompts[2].system);
        let read = |p: &Prompt| match p.messages.last() {
            Some(Message::Tool { text, .. }) => text.clone(),
            other => panic!("{other:?}"),
        };
        assert!(read(&prompts[1]).contains("Begin with Dear."));
        assert!(read(&prompts[2]).starts_with("The skill `letters` has no file"));
    }
}
