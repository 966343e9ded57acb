//! What people see of other people's servers of tools.

use countersign::llm::scripted::{call, say};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

use crate::{story, world::World};

/// A server of the world, which does on purpose what good ones do by accident.
struct Moody {
    folder: PathBuf,
}

impl Moody {
    fn with(world: &mut World, tools: &Value) -> Self {
        let folder = world.config.data_dir.join("moody");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("tools.json"), tools.to_string()).unwrap();
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/moody_mcp.py");
        let command = json!(["python3", program, folder]);
        let entry = json!({ "name": "m", "command": command, "sandbox": false, "tier": "core" });
        world.config.mcp = vec![serde_json::from_value(entry).unwrap()];
        Self { folder }
    }

    /// How often it was told that.
    fn heard(&self, method: &str) -> usize {
        let heard = std::fs::read_to_string(self.folder.join("heard")).unwrap();
        heard.lines().filter(|line| line.contains(&format!("\"{method}\""))).count()
    }
}

fn tool(name: &str) -> Value {
    let annotations = json!({ "readOnlyHint": true });
    json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations })
}

story! {
    /// S1, S16, I4: a tool that calls itself harmless is asked about all the same; when its server
    /// dies over it, nobody knows whether it ran: it is not run again until a person says so.
    async fn s16_a_call_whose_answer_was_lost_is_asked_about(world: &mut World) {
        let server = Moody::with(world, &json!([tool("die")]));
        world.model_will(call("m_die", json!({})));
        world.ann_says("die").await;
        assert!(world.last().contains("[Allow once]"), "{}", world.last());
        world.ann_presses("Allow once").await;
        assert!(world.last().contains("Run it again?"), "{}", world.last());
        assert_eq!(server.heard("tools/call"), 1);
        world.model_will(say("I leave it."));
        world.ann_presses("Skip").await;
        assert_eq!(world.last(), "I leave it.");
        assert_eq!(server.heard("tools/call"), 1);
        assert!(world.results().await[0].contains("outcome is unknown"));
    }
}

story! {
    /// MC-48: how far a call is stands in the chat; `/stop` ends it at the server too.
    async fn mc_48_how_far_a_call_is_stands_in_the_chat(world: &mut World) {
        world.room.limits.drafts = Some(Duration::from_millis(1));
        let server = Moody::with(world, &json!([tool("slow")]));
        world.model_will(call("m_slow", json!({})));
        world.ann_says("take your time").await;
        let (app, press) = (world.node().await, world.press("Allow once"));
        world.takes(&app, "1", press).await;
        let turn = {
            let worker = app.worker.clone();
            tokio::spawn(async move { worker.advance_ready().await.unwrap() })
        };
        while world.room.drafts().is_empty() {
            world.room.moves().await;
        }
        assert_eq!(world.room.drafts()[0], "⏳ `m_slow` 1/3 · the \\*first\\*");
        let stop = world.said("/stop");
        world.takes(&app, "1", stop).await;
        turn.await.unwrap();
        world.settle(&app).await;
        assert_eq!(server.heard("notifications/cancelled"), 1);
    }
}

story! {
    /// MC-02, MC-03: what a server offers is there without being named anywhere, beside what comes
    /// with the program and the skills.
    async fn mc_02_mc_03_what_a_server_offers_is_there(world: &mut World) {
        Moody::with(world, &json!([tool("echo")]));
        let skill = world.config.data_dir.join("skills/letters");
        std::fs::create_dir_all(&skill).unwrap();
        let text = "---\nname: letters\ndescription: How we write letters\n---\nBegin with Dear.";
        std::fs::write(skill.join("SKILL.md"), text).unwrap();
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        let prompts = world.prompts();
        let names: Vec<_> = prompts[0].tools.iter().map(|tool| tool.name.as_str()).collect();
        for name in ["read_file", "m_echo", "load_skill"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(format!("{:?}", prompts[0]).contains("How we write letters"));
    }
}
