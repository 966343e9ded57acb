//! A conversation with a workspace folder, for tools that read and write documents.

use countersign::testing::{
    journal::{
        event::Speaker,
        ids::{CallId, ConversationId},
    },
    store::{files::Artifacts, memory::scope::MemoryScope},
    tools::{Context, Tool as _, ToolError, documents::extract::ExtractDocument, shell::Shell},
};
use serde_json::Value;
use std::{collections::BTreeMap, fs, sync::Arc};
use tokio_util::sync::CancellationToken;

use super::program::sandbox;

/// A conversation with its folder.
pub struct DocumentFixture {
    pub context: Context,
    pub extract: ExtractDocument,
    pub shell: Shell,
    pub folder: tempfile::TempDir,
}

impl DocumentFixture {
    pub async fn new() -> Self {
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
            memory_scope: MemoryScope { agent: "default".into(), scope: String::new() },
            taint: vec![],
            approved: None,
            inherited: <_>::default(),
            jobs_before: 0,
            untrusted: <_>::default(),
            seen: BTreeMap::new(),
            now: "2026-04-11T12:30:22Z".parse().unwrap(),
            language: <_>::default(),
            shows_pictures: true,
            progress: <_>::default(),
            people: <_>::default(),
            variables: <_>::default(),
            cancelled: CancellationToken::new(),
        };
        let sandbox = Arc::new(sandbox().await);
        fs::create_dir(&context.workspace).unwrap();
        let extract = ExtractDocument {
            sandbox: sandbox.clone(),
            passwords: vec!["wrong".into(), "swordfish 7".into()],
            office: None,
        };
        Self { context, extract, shell: Shell { sandbox, egress: None }, folder }
    }

    pub fn has(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.context.workspace.join(name), bytes).unwrap();
    }

    pub async fn reads(&self, arguments: Value) -> Result<(Value, String), ToolError> {
        let text = self.extract.run(arguments, &self.context).await?.text;
        let (about, content) = text.split_once('\n').unwrap();
        Ok((serde_json::from_str(about).unwrap(), content.to_owned()))
    }

    pub async fn shell(&self, arguments: Value) -> Value {
        let text = self.shell.run(arguments, &self.context).await.unwrap().text;
        serde_json::from_str(&text).unwrap()
    }
}
