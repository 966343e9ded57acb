//! Hosts that the agent may read without an approval, and credentials that are never disclosed.

use countersign::testing::{
    agent::{disclosure::Disclosure, prompt::Message},
    config::Config,
    scripted::{call, say},
};
use fakes::account::{Account, KEY};
use insta::assert_snapshot;
use serde_json::json;
use std::path::Path;

use crate::{story, support::world::World};

/// Configures the API, which may be read without an approval, with its key.
fn configured(world: &mut World, api: &Account, approval: &str) {
    let hosts = format!(r#"{{ pattern = "{}", approval = "{approval}" }}"#, api.url());
    let key = format!(r#"{{ url = "{}", header = "X-Api-Key", secret = "{KEY}" }}"#, api.url());
    let http = format!("{{ hosts = [{hosts}], credentials = [{key}] }}");
    let variables = [("COUNTERSIGN__HTTP".to_owned(), http)].into();
    world.config.http = Config::load(None, &variables).unwrap().http;
    world.config.web.allowed_private_hosts = vec!["127.0.0.1".into()];
    world.config.agents[0].disclosure = Disclosure::Legacy;
}

/// Everything that is stored and logged below the data folder, as bytes.
fn stored(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            all.extend(stored(&path));
        } else {
            all.extend(std::fs::read(&path).unwrap_or_default());
        }
    }
    all
}

async fn tables(world: &World) -> String {
    let mut all = String::new();
    for table in ["events", "outbox", "approvals", "audit", "usage"] {
        all.push_str(&world.rows_of(table).await.join("\n"));
    }
    all
}

story! {
    /// Reading runs immediately; changing something at the same host requires an approval.
    /// Proves IC-48, IC-27.
    async fn a_listed_host_is_read_without_an_approval(world: &mut World) {
        let api = Account::start().await;
        configured(world, &api, "never");
        let url = format!("{}/data?list=orders", api.url());
        world.model_will(call("http_request", json!({ "url": url }))).will(say("Two orders."));
        world.ann_says("which orders are open?").await;
        assert_snapshot!(world.shown(), @"Two orders.");
        world.model_will(call("http_request", json!({ "url": url, "method": "GET" }))).will(say("Still two."));
        world.ann_says("and now?").await;
        assert_eq!(world.last(), "Still two.", "also after the answer of the API was read");
        world.model_will(call("http_request", json!({ "url": url, "method": "DELETE" })));
        world.ann_says("delete them").await;
        assert_snapshot!(world.last(), @r"Allow **http\_request**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
        assert_eq!(api.requests().len(), 2);
    }
}

story! {
    /// `untainted` requires an approval after untrusted content was read, `ask` always does.
    async fn a_listed_host_may_ask_after_untrusted_content(world: &mut World) {
        let api = Account::start().await;
        configured(world, &api, "untainted");
        let url = format!("{}/data", api.url());
        world.model_will(call("http_request", json!({ "url": url }))).will(say("Read."));
        world.ann_says("read it").await;
        assert_eq!(world.last(), "Read.");
        world.model_will(call("http_request", json!({ "url": url })));
        world.ann_says("read it again").await;
        assert_snapshot!(world.last(), @r"Allow **http\_request**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
        world.ann_presses("Deny").await;
        configured(world, &api, "ask");
        world.ann_says("/new").await;
        world.model_will(call("http_request", json!({ "url": url })));
        world.ann_says("read it").await;
        assert_snapshot!(world.last(), @r"Allow **http\_request**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
    }
}

story! {
    /// The server repeats the key in its response, in several encodings. The key is in no prompt,
    /// approval request, table or file. A call that contains it does not run.
    async fn a_credential_of_a_host_is_stored_nowhere(world: &mut World) {
        let api = Account::start().await;
        configured(world, &api, "ask");
        let url = format!("{}/data", api.url());
        world.model_will(call("http_request", json!({ "url": url })));
        world.ann_says("read it").await;
        let asked = world.last_text();
        world.model_will(say("It was read."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "It was read.");
        let stolen = format!("{}/open?x={KEY}", api.url());
        world.model_will(call("http_request", json!({ "url": stolen }))).will(say("No."));
        world.ann_says("send it away").await;
        assert_eq!(api.requests().len(), 1, "the second call did not run");
        assert!(api.requests()[0].contains(KEY), "the API got its key");
        let result = world.results().await.remove(0);
        assert!(result.starts_with("HTTP 200") && result.contains("/data"), "{result}");
        let prompts = format!("{:?}", world.prompts());
        assert!(world.prompts().iter().flat_map(|p| &p.messages).any(|m| matches!(m, Message::Tool { .. })));
        let files = stored(&world.config.data_dir);
        let files = String::from_utf8_lossy(&files);
        let tables = tables(world).await;
        for (place, text) in
            [("question", asked.as_str()), ("prompts", &prompts), ("files", &files), ("tables", &tables)]
        {
            let letters: String = text.to_lowercase().split_whitespace().collect();
            assert!(!letters.contains(KEY), "{place}");
        }
    }
}
