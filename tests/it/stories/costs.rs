//! The costs of tools, and details of calls for operators.

use async_trait::async_trait;
use countersign::testing::{
    agent::catalog::ToolSpec,
    journal::{event::Event, role::Role},
    scripted::{call, say},
    tools::{Context, Output, Tool, ToolError},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::{
    story,
    support::{http::Served, stable_output::stable, world::World},
};

/// Scans sheets, at a thousandth each.
struct Scan;

fn price(arguments: &Value) -> Option<u64> {
    Some(arguments["sheets"].as_u64()? * 1_000)
}

#[async_trait]
impl Tool for Scan {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": { "sheets": { "type": "integer" } },
            "required": ["sheets"],
        });
        ToolSpec::read_only("scan", "Scans sheets.", parameters)
    }

    fn estimated_cost(&self, arguments: &Value) -> Option<u64> {
        price(arguments)
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let raw = Some(format!("the lamp hums, password=hunter2hunter2 {}", "x".repeat(5_000)));
        Ok(Output { raw, cost_micros: price(&arguments), ..Output::text("scanned") })
    }
}

story! {
    /// The cost of a call depends on its arguments and is summed without rounding errors; a call
    /// that exceeds the daily budget is not run, one that just fits is.
    /// Proves IC-06, IC-17.
    async fn costs_are_counted_in_millionths(world: &mut World) {
        world.tools = vec![Arc::new(Scan)];
        world.config.limits.person.cost = Some(0.01);
        for sheets in [4, 3, 2, 2, 1] {
            world.model_will(call("scan", json!({ "sheets": sheets })));
        }
        world.ann_says("scan them").await;
        let results = world.results().await;
        assert_eq!(results[..3], ["scanned", "scanned", "scanned"]);
        assert_snapshot!(stable(&results[3]), @"Action budget exhausted: today's spending limit does not cover this call. Try again in 14 h. Continue without it, or tell the person.");
        assert_eq!(results[4], "scanned");
        let served = Served::of(world).await;
        let token = served.token("books", Role::Operator).await;
        let used = served.get(&token, "/usage").await;
        let scans = used["items"].as_array().unwrap().iter().find(|line| line["name"] == "scan");
        let scans = scans.unwrap_or_else(|| panic!("{used}"));
        assert_eq!((&scans["times"], &scans["cost_micros"]), (&json!(4), &json!(10_000)));
    }
}

story! {
    /// Details that a tool stores beside its result are not shown to the model; they are in the
    /// journal, redacted and limited in size.
    /// Proves IC-18.
    async fn raw_details_are_not_sent_to_the_model(world: &mut World) {
        world.tools = vec![Arc::new(Scan)];
        world.model_will(call("scan", json!({ "sheets": 1 })));
        world.model_will(say("Done."));
        world.ann_says("scan it").await;
        assert!(!format!("{:?}", world.prompts()).contains("the lamp hums"));
        let kept = world.journal().await.into_iter().find_map(|entry| match entry.event {
            Event::ToolFinished { result, .. } => result.raw,
            _ => None,
        });
        let kept = kept.unwrap();
        assert!(kept.starts_with("the lamp hums, password=") && !kept.contains("hunter2"), "{kept}");
        assert_eq!(kept.chars().count(), 4_001, "with a mark at its end");
    }
}
