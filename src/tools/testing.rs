//! A workspace and a context for the tests of tools.

use chrono::{DateTime, Utc};
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf};
use tokio_util::sync::CancellationToken;

use super::{Context, Output, Tool, ToolError};
use crate::{
    journal::{
        event::Speaker,
        ids::{CallId, ConversationId},
    },
    store::{files::Artifacts, memory::scope::MemoryScope},
};

/// A conversation: its folder, its artifacts, and the files that its agent has read.
pub struct ToolFixture {
    pub folder: tempfile::TempDir,
    pub context: Context,
}

impl ToolFixture {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let context = Context {
            conversation: ConversationId::from("c1"),
            call: CallId::from("call1"),
            agent: "default".into(),
            person: Speaker { id: "ann".into(), name: "Ann".into() },
            joined: Vec::new(),
            depth: 0,
            workspace: folder.path().join("work"),
            artifacts: Artifacts::new(folder.path().join("artifacts")),
            memory_scope: MemoryScope { agent: "default".into(), scope: "c1".into() },
            seen: BTreeMap::new(),
            untrusted: <_>::default(),
            taint: Vec::new(),
            approved: None,
            inherited: <_>::default(),
            jobs_before: 0,
            now: DateTime::parse_from_rfc3339("2026-04-11T12:30:22Z").unwrap().with_timezone(&Utc),
            cancelled: CancellationToken::new(),
            shows_pictures: true,
            language: <_>::default(),
            progress: <_>::default(),
            people: <_>::default(),
            variables: <_>::default(),
        };
        std::fs::create_dir(&context.workspace).unwrap();
        Self { folder, context }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.context.workspace.join(name)
    }

    pub fn has(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs the tool, and records the files that the agent has read.
    pub async fn runs(&mut self, tool: &dyn Tool, arguments: Value) -> Result<Output, ToolError> {
        let output = tool.run(arguments, &self.context).await?;
        for seen in &output.seen {
            self.context.seen.insert(seen.path.clone(), seen.digest.clone());
        }
        Ok(output)
    }
}
