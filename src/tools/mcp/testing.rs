//! Configured servers for tests, and their store.

use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{ConnectionMode, McpConfig, Protocol, Server};
use crate::{
    agent::catalog::Tier,
    clock::SystemClock,
    store::{
        Store, StoreOptions,
        audit::{AuditRecord, Query},
        db::Durability,
        tools::pins::{self, Reviewed, TrustOutcome},
    },
    tools::{Output, Tool, ToolError, testing::ToolFixture},
};

pub fn config(name: &str) -> McpConfig {
    let _ = rustls::crypto::ring::default_provider().install_default();
    McpConfig {
        name: name.into(),
        command: None,
        url: None,
        env: BTreeMap::new(),
        tier: Tier::Extension,
        protocol: Protocol::Auto,
        connection: ConnectionMode::Shared,
        bearer: None,
        oauth: None,
        login: None,
        headers: BTreeMap::new(),
        sandbox: None,
        checked_client: None,
    }
}

pub fn named<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a Arc<dyn Tool> {
    let names: Vec<String> = tools.iter().map(|t| t.spec().name).collect();
    tools.iter().find(|t| t.spec().name == name).unwrap_or_else(|| panic!("{name} in {names:?}"))
}

pub async fn run(
    tools: &[Arc<dyn Tool>],
    name: &str,
    arguments: Value,
) -> Result<String, ToolError> {
    let place = ToolFixture::new();
    named(tools, name).run(arguments, &place.context).await.map(|output| output.text)
}

/// Runs a call in this place, and cancels it when it first reports progress.
pub async fn cancelled_at_progress(
    tools: &[Arc<dyn Tool>],
    name: &str,
    place: &ToolFixture,
) -> Result<Output, ToolError> {
    let mut progress = place.context.progress.subscribe();
    let watching = async {
        progress.changed().await.expect("progress");
        place.context.cancelled.cancel();
    };
    let call = named(tools, name).run(json!({}), &place.context);
    let (ended, ()) = tokio::join!(call, watching);
    ended
}

/// A database, and a folder for a server.
pub struct McpFixture {
    pub folder: tempfile::TempDir,
    pub store: Store,
}

impl McpFixture {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}", folder.path().join("mcp.db").display());
        let options = StoreOptions { durability: Durability::Normal, ..StoreOptions::default() };
        let store = Store::open(&url, options).await.expect("a database");
        Self { folder, store }
    }

    pub fn server(&self, config: McpConfig) -> Arc<Server> {
        Server::new(config, self.store.clone(), Arc::new(SystemClock))
    }

    pub async fn tools(&self, config: McpConfig) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        self.server(config).tools().await
    }

    /// Trusts a tool, or all tools of a server.
    pub async fn trusts(&self, server: &'static str, tool: Option<&'static str>) {
        let trust = self.store.write("trust", move |tx| {
            Box::pin(async move {
                let mut pins = pins::of_server(tx, server).await?;
                pins.retain(|name, _| tool.is_none_or(|tool| tool == name));
                let (tool, digest) = (tool.map(str::to_owned), pins::digest_of(pins.values()));
                let reviewed = Reviewed { server: server.to_owned(), tool, digest };
                pins::trust(tx, &reviewed, "ann", chrono::DateTime::UNIX_EPOCH).await
            })
        });
        let outcome = trust.await.expect("it is written");
        assert!(matches!(outcome, TrustOutcome::Trusted(_)), "{outcome:?}");
    }

    pub async fn audit(&self, kind: &str) -> Vec<AuditRecord> {
        let query = Query { kind: kind.into(), limit: 100, ..Query::default() };
        self.store.audit(query).await.expect("an audit")
    }

    /// A misbehaving server that offers these tools.
    pub fn moody(&self, tools: &Value) -> McpConfig {
        self.offers(tools);
        let program = format!("{}/tests/peers/moody_mcp.py", env!("CARGO_MANIFEST_DIR"));
        let folder = self.folder.path().display().to_string();
        McpConfig { command: Some(vec!["python3".into(), program, folder]), ..config("m") }
    }

    /// Changes the tools that it offers.
    pub fn offers(&self, tools: &Value) {
        std::fs::write(self.folder.path().join("tools.json"), tools.to_string()).expect("written");
    }

    /// The messages that it received.
    pub fn heard(&self) -> Vec<Value> {
        heard(self.folder.path())
    }
}

fn heard(folder: &Path) -> Vec<Value> {
    let lines = std::fs::read_to_string(folder.join("heard")).unwrap_or_default();
    lines.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
}
