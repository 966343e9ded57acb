//! `write_file`: writes a whole file, new or replacing another.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

use super::{MAX_WRITE_BYTES, RATE, diff, digest, edits::Edits, seen};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Subject, ToolSpec},
        paths::{absolute, normalise},
    },
    texts::{PreviewNote, preview::Preview},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        workspace::{self, Workspace},
    },
};

/// File names of the agent's memory, which is stored in the database. Written as files, notes would
/// be lost.
const MEMORY_FILES: [&str; 7] =
    ["heartbeat.md", "memory.md", "identity.md", "soul.md", "agents.md", "user.md", "readme.md"];
const MEMORY_FOLDERS: [&str; 2] = ["daily", "context"];

/// `write_file`
pub struct WriteFile {
    pub edits: Arc<Edits>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Path in the workspace; missing folders are created.
    path: String,
    /// The whole content of the file, at most 5 MB.
    content: String,
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::Idempotent,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Path("path")),
            rate: RATE,
            ..ToolSpec::read_only(
                "write_file",
                "Writes a file of the workspace: makes it, or replaces all of it. Use apply_patch \
                 to change a part of a file.",
                schema::<Arguments>(),
            )
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let arguments: Arguments = parse(arguments.clone()).ok()?;
        if let Err(error) = checked(&arguments) {
            return Some(Preview::failure(error));
        }
        let preview = workspace::beneath(context, move |workspace, _| {
            Ok(shown(workspace, &arguments.path, &arguments.content))
        });
        preview.await.ok()
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let arguments: Arguments = parse(arguments)?;
        let path = checked(&arguments)?;
        let versions = self.edits.of(context, &path);
        workspace::beneath(context, move |workspace, cancelled| {
            let mut versions = versions.lock();
            let content = arguments.content.as_bytes();
            workspace.replace(&path, content, cancelled)?;
            *versions = super::edits::Versions::default();
            let receipt =
                json!({ "path": absolute(&path), "bytes_written": content.len(), "success": true });
            Ok(Output { seen: seen(&path, digest(content)), ..Output::text(receipt.to_string()) })
        })
        .await
    }
}

/// The normalised path, if it and the content may be written.
fn checked(arguments: &Arguments) -> Result<String, ToolError> {
    let path = normalise(&arguments.path)?;
    if arguments.content.len() as u64 > MAX_WRITE_BYTES {
        return Err(ToolError::InvalidParameters(format!(
            "content has {} bytes; the limit is 5 MB",
            arguments.content.len()
        )));
    }
    let plain = path.to_lowercase();
    let parts: Vec<&str> = plain.split('/').map(|part| part.trim_end_matches([' ', '.'])).collect();
    let is_memory = match parts.as_slice() {
        [name] => MEMORY_FILES.contains(name) || MEMORY_FOLDERS.contains(name),
        [folder, ..] => MEMORY_FOLDERS.contains(folder),
        [] => false,
    };
    if is_memory {
        return Err(ToolError::InvalidParameters(format!(
            "{path} belongs to the agent's memory: use memory_store for it"
        )));
    }
    if parts.first() == Some(&".countersign") {
        return Err(ToolError::ExecutionFailed(format!("Path not allowed: {path}")));
    }
    Ok(path)
}

fn shown(workspace: &Workspace, path: &str, content: &str) -> Preview {
    let preview = match workspace.bytes(path, MAX_WRITE_BYTES).map(String::from_utf8) {
        Ok(Ok(old)) => diff::changed(path, &old, content),
        Ok(Err(binary)) => {
            let bytes = binary.as_bytes().len();
            diff::created(content).after(PreviewNote::ReplacesBinary { bytes })
        }
        Err(ToolError::NotFound(_)) => diff::created(content),
        Err(error) => {
            diff::created(content).after(PreviewNote::Unread { problem: error.to_string() })
        }
    };
    preview.covering(&["content"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;

    fn tool() -> WriteFile {
        WriteFile { edits: Arc::default() }
    }

    /// Proves FO-07, FO-08, FO-12.
    #[tokio::test]
    async fn a_file_is_written_with_its_folders_and_counted_in_bytes() {
        let mut place = ToolFixture::new();
        let arguments = json!({ "path": "a/b/c.txt", "content": "é" });
        let output = place.runs(&tool(), arguments).await.unwrap();
        let receipt: Value = serde_json::from_str(&output.text).unwrap();
        assert_eq!(
            receipt,
            json!({ "path": "/workspace/a/b/c.txt", "bytes_written": 2, "success": true })
        );
        assert_eq!(output.seen, seen("a/b/c.txt", digest("é".as_bytes())));
        place.runs(&tool(), json!({ "path": "a/b/c.txt", "content": "new" })).await.unwrap();
        assert_eq!(place.content("a/b/c.txt"), "new");
    }

    /// Proves FO-09.
    #[tokio::test]
    async fn five_megabytes_are_written_and_not_one_byte_more() {
        let mut place = ToolFixture::new();
        let limit = "x".repeat(MAX_WRITE_BYTES as usize);
        let more = json!({ "path": "more", "content": format!("{limit}x") });
        place.runs(&tool(), json!({ "path": "most", "content": limit })).await.unwrap();
        let error = place.runs(&tool(), more).await.unwrap_err();
        assert!(matches!(error, ToolError::InvalidParameters(_)), "{error}");
        assert!(!place.path("more").exists());
    }

    /// Proves FO-10, FO-11.
    #[tokio::test]
    async fn memory_paths_are_rejected() {
        let mut place = ToolFixture::new();
        for path in [
            "HEARTBEAT.md",
            "MEMORY.md",
            "IDENTITY.md",
            "SOUL.md",
            "AGENTS.md",
            "USER.md",
            "README.md",
            "./MEMORY.md",
            "/workspace/MEMORY.md",
            "Memory.MD",
            "memory.md.",
            "daily/x.md",
            "DAILY/x.md",
            "context/a/b.md",
        ] {
            let error =
                place.runs(&tool(), json!({ "path": path, "content": "x" })).await.unwrap_err();
            assert!(matches!(error, ToolError::InvalidParameters(_)), "{path}: {error}");
            assert!(error.to_string().contains("memory_store"), "{path}: {error}");
        }
        for path in ["project/README.md", "my/daily/x.md", "MEMORY.txt"] {
            place.runs(&tool(), json!({ "path": path, "content": "x" })).await.unwrap();
        }
    }

    /// Proves FO-10.
    #[tokio::test]
    async fn memory_is_not_written_through_a_link() {
        let mut place = ToolFixture::new();
        place.has("MEMORY.md", "old");
        std::os::unix::fs::symlink("MEMORY.md", place.path("link")).unwrap();
        let error =
            place.runs(&tool(), json!({ "path": "link", "content": "x" })).await.unwrap_err();
        assert_eq!(error.to_string(), "Path not allowed: link");
        assert_eq!(place.content("MEMORY.md"), "old");
    }

    /// Proves FO-14.
    #[tokio::test]
    async fn unwritable_paths_fail() {
        let mut place = ToolFixture::new();
        place.has("file", "x");
        let long = "n".repeat(300);
        for path in ["file/a.txt", long.as_str(), ".", ".countersign/results/x.txt", "../x"] {
            let error =
                place.runs(&tool(), json!({ "path": path, "content": "x" })).await.unwrap_err();
            assert!(matches!(error, ToolError::ExecutionFailed(_)), "{path}: {error:?}");
        }
        // A folder in which nobody can create files, regardless of permissions.
        place.context.workspace = "/proc".into();
        for path in ["a.txt", "folder/a.txt"] {
            let error =
                place.runs(&tool(), json!({ "path": path, "content": "x" })).await.unwrap_err();
            let is_failure =
                matches!(error, ToolError::ExecutionFailed(_) | ToolError::NotFound(_));
            assert!(is_failure, "{path}: {error:?}");
        }
    }

    #[tokio::test]
    async fn a_person_sees_what_would_be_written() {
        let place = ToolFixture::new();
        place.has("a.txt", "old\n");
        place.has("a.bin", b"\xff\0");
        let show = async |path: &str| {
            let arguments = json!({ "path": path, "content": "new\n" });
            tool().preview(&arguments, &place.context).await.unwrap().shown()
        };
        assert!(show("a.txt").await.contains("-old\n+new\n"));
        assert_eq!(show("b.txt").await, "```\nnew\n```");
        assert!(show("a.bin").await.starts_with("Replaces a binary file of 2 bytes."));
        assert!(show("../x").await.contains("Path not allowed: ../x"));
        assert_eq!(place.content("a.txt"), "old\n", "a preview changes nothing");
    }

    /// Proves FO-13.
    #[test]
    fn writes_are_limited_to_twenty_a_minute_and_two_hundred_an_hour() {
        let spec = tool().spec();
        assert_eq!(spec.rate, Some(crate::agent::catalog::Rate::new(20, 200)));
        assert_eq!(spec.approval, ApprovalMode::UnlessAllowed, "MC-20");
    }
}
