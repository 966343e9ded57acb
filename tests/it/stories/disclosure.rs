//! Core tools are available immediately, others by `enable_tool`, skills by `load_skill`.

use async_trait::async_trait;
use countersign::testing::{
    agent::{
        catalog::{Tier, ToolSource, ToolSpec},
        disclosure::Disclosure,
        prompt::{Message, Prompt},
    },
    scripted::{call, say},
    tools::{Context, Output, Tool, ToolError},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::{
    story,
    support::{stable_output::stable, world::World},
};

fn tools(prompt: &Prompt) -> Vec<&str> {
    prompt.tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// The model's list of tools that it can enable.
fn directory(prompt: &Prompt) -> String {
    let enable = prompt.tools.iter().find(|tool| tool.name == "enable_tool");
    let told = enable.map(|tool| tool.parameters["properties"]["names"]["description"].clone());
    told.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

story! {
    /// An enabled tool stays enabled across messages, restarts and approvals.
    /// Proves MC-05, MC-10 … MC-12.
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
        assert!(directory(&prompts[0]).contains("- rare: Is seldom needed"));
        assert!(!directory(&prompts[0]).contains("zebra"));
        assert!(prompts[1..].iter().all(|p| tools(p).last() == Some(&"rare")));
        world.ann_says("/new").await;
        world.model_will(say("Gone."));
        world.ann_says("hello").await;
        assert!(!tools(&world.prompts().pop().unwrap()).contains(&"rare"));
    }
}

story! {
    /// A call to a listed tool enables and runs it.
    /// Proves T2.
    async fn a_call_to_a_listed_tool_enables_it(world: &mut World) {
        world.model_will(call("rare", json!({})));
        world.model_will(say("Rare indeed."));
        world.ann_says("do the rare thing").await;
        assert_eq!(world.results().await, ["rare indeed"]);
        assert!(tools(&world.prompts()[1]).contains(&"rare"));
    }
}

story! {
    /// An unknown name is a short error with similar names; a failed enable leaves no trace.
    /// Proves T2.
    async fn an_unknown_tool_is_a_short_error(world: &mut World) {
        world.model_will(call("enable_tool", json!({ "names": ["rare", "rarer_still"] })));
        world.model_will(call("read_any_file", json!({ "path": "a" })));
        world.model_will(say("I was mistaken."));
        world.ann_says("try").await;
        let results = world.results().await;
        assert_snapshot!(stable(&results[0]), @"There is no tool `rarer_still`. Similar names: rare.");
        assert_snapshot!(stable(&results[1]), @"There is no tool `read_any_file`. Similar names: read_file, send_file.");
        assert!(!tools(&world.prompts()[1]).contains(&"rare"));
    }
}

story! {
    /// A misspelt name is resolved to the similar tool, which is then judged, shown and run.
    /// Proves CA-17, CA-19.
    async fn a_misspelt_tool_is_the_one_that_is_meant(world: &mut World) {
        world.model_will(call("Delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        assert_eq!(world.deletions(), 0, "the guard knows it under any name");
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
        assert_eq!(world.results().await, ["deleted a.txt"]);
    }
}

/// A tool of a server.
struct Served(&'static str);

#[async_trait]
impl Tool for Served {
    fn spec(&self) -> ToolSpec {
        let (server, original_name) = self.0.split_once('_').unwrap();
        let source = ToolSource::Mcp { server: server.into(), original_name: original_name.into() };
        let parameters = json!({ "type": "object", "properties": {} });
        let about = format!("Lets {server} do {original_name}");
        ToolSpec {
            source,
            tier: Tier::Extension,
            ..ToolSpec::read_only(self.0, &about, parameters)
        }
    }

    async fn run(&self, _arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        Ok(Output::text(format!("{} ran", self.0)))
    }
}

/// The server tools of an agent with these bindings.
async fn has(world: &mut World, tools: &[&str], mcp: &[&str]) -> Vec<String> {
    let agent = &mut world.config.agents[0];
    agent.tools = tools.iter().map(|&t| t.to_owned()).collect();
    agent.mcp = mcp.iter().map(|&t| t.to_owned()).collect();
    world.model_will(say("Hello."));
    world.ann_says("hello").await;
    let prompt = world.prompts().pop().unwrap();
    let directory = directory(&prompt);
    let lines = directory.lines().filter_map(|line| line.strip_prefix("- ")?.split(':').next());
    lines.filter(|name| name.contains("zoo") || name.contains("mail")).map(str::to_owned).collect()
}

story! {
    /// No bindings: all tools of servers. Some: only those. Only built-in tools: still all tools of
    /// servers. Tools that the agent does not have can be neither enabled nor called.
    /// Proves MC-04, MC-09.
    async fn an_agent_has_the_tools_that_it_is_bound_to(world: &mut World) {
        let served = ["zoo_feed", "zoo_open", "mail_send"];
        world.tools = served.map(|name| Arc::new(Served(name)) as Arc<dyn Tool>).into();
        let mut all = served.map(str::to_owned);
        all.sort();
        assert_eq!(has(world, &[], &[]).await, all);
        assert_eq!(has(world, &["read_*", "note"], &[]).await, all);
        assert!(!tools(&world.prompts().pop().unwrap()).contains(&"write_file"));
        assert_eq!(has(world, &[], &["mail"]).await, ["mail_send"]);
        assert_eq!(has(world, &["read_*"], &["zoo_f*"]).await, ["zoo_feed"]);
        assert!(tools(&world.prompts().pop().unwrap()).contains(&"read_file"));

        world.model_will(call("enable_tool", json!({ "names": ["mail_send"] })));
        world.model_will(call("mail_send", json!({})));
        world.model_will(say("I cannot."));
        world.ann_says("mail it").await;
        for result in world.results().await {
            assert!(result.starts_with("There is no tool `mail_send`"), "{result}");
        }
        assert!(!tools(&world.prompts().pop().unwrap()).contains(&"mail_send"));
    }
}

story! {
    /// One of many tools is found, enabled and called, across restarts.
    async fn a_tool_of_a_large_catalogue_is_found(world: &mut World) {
        let many = (0..80).map(|n| -> &'static str { format!("zoo_feed_{n}").leak() });
        world.tools = many.map(|name| Arc::new(Served(name)) as Arc<dyn Tool>).collect();
        world.tools.push(Arc::new(Served("mail_send")));
        world.model_will(call("find_tool", json!({ "query": "send it by mail" })));
        world.model_will(call("enable_tool", json!({ "names": ["mail_send"] })));
        world.model_will(call("mail_send", json!({})));
        world.model_will(say("Sent."));
        world.ann_says("mail it").await;
        world.model_will(say("Yes."));
        world.ann_says("really?").await;

        let results = world.results().await;
        assert_snapshot!(stable(&results[0]), @"
        2 of 124 tools, best match first:
        - mail_send: Lets mail do send
        - http_request: Sends one HTTP request to a web API. (url, method?, headers?, body?)
        ");
        assert_eq!(results[2], "mail_send ran");
        let prompts = world.prompts();
        assert!(directory(&prompts[0]).contains("There are 81 tools of these servers: mail, zoo."));
        assert!(!directory(&prompts[0]).contains("zoo_feed_3"));
        assert_eq!(tools(&prompts[4]).last(), Some(&"mail_send"));
        assert_eq!(prompts[0].system, prompts[4].system);
        assert!(prompts[4].tools.starts_with(&prompts[0].tools));
    }
}

story! {
    /// All schemas at once.
    /// Proves MC-08.
    async fn a_legacy_agent_has_every_schema_in_its_prompt(world: &mut World) {
        world.config.agents[0].disclosure = Disclosure::Legacy;
        world.model_will(call("rare", json!({})));
        world.model_will(say("Rare indeed."));
        world.ann_says("do the rare thing").await;
        let prompts = world.prompts();
        assert!(tools(&prompts[0]).contains(&"rare") && !tools(&prompts[0]).contains(&"enable_tool"));
        assert_eq!(directory(&prompts[0]), "");
        assert_eq!(world.results().await, ["rare indeed"]);
        assert_eq!(prompts[0].tools, prompts[1].tools);
    }
}

story! {
    /// A skill is added to the history; the system prompt is unchanged.
    /// Proves MC-13, MC-14.
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
