//! `send_file`: sends a file of the workspace as an attachment. Its contents never enter the
//! dialogue.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{parse, schema},
    workspace::{self, file_names},
};
use crate::{
    agent::catalog::{EffectClass, Subject, ToolSpec},
    journal::event::Attachment,
};

pub const MAX_BYTES: u64 = 20 * 1024 * 1024;

/// `send_file`
pub struct SendFile;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// Path in the workspace.
    #[serde(alias = "file_path")]
    file_path: String,
    /// Name for the person; by default its own name.
    #[serde(default, alias = "file_name")]
    file_name: Option<String>,
    /// Text shown with the file, in Markdown.
    #[serde(default)]
    caption: Option<String>,
}

#[async_trait]
impl Tool for SendFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::Idempotent,
            subject: Some(Subject::Path("filePath")),
            timeout: Duration::from_mins(1),
            ..ToolSpec::read_only(
                "send_file",
                "Sends a file of the workspace to the people of this conversation as an \
                 attachment, up to 20 MB.",
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { file_path, file_name, caption } = parse(arguments)?;
        let own_name = file_path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = file_names::file_name(file_name.as_deref().unwrap_or(own_name))?;
        let path = file_path.clone();
        let bytes =
            workspace::beneath(context, move |workspace, _| workspace.bytes(&path, MAX_BYTES))
                .await?;
        if bytes.is_empty() {
            return Err(ToolError::ExecutionFailed(format!(
                "{file_path} is empty: there is nothing to send"
            )));
        }
        let media_type = file_names::media_type(&name, &bytes);
        let caption = caption.filter(|text| !text.trim().is_empty()).map(String::into_boxed_str);
        let attachment = Attachment { caption, ..keep(context, &name, &media_type, bytes).await? };
        Ok(Output {
            text: receipt(&attachment, ""),
            attachments: vec![attachment],
            ..Output::default()
        })
    }
}

/// Stores the contents as an artifact.
pub(super) async fn keep(
    context: &Context,
    name: &str,
    media_type: &str,
    bytes: Vec<u8>,
) -> Result<Attachment, ToolError> {
    context.artifacts.put(name, media_type, bytes).await.map_err(|error| {
        tracing::error!(%error, call = %context.call, "could not store an artifact");
        ToolError::ExecutionFailed(format!("{name} could not be stored: try again later"))
    })
}

/// What the model reads instead of the contents; `about` follows the size.
pub(super) fn receipt(attachment: &Attachment, about: &str) -> String {
    let size = file_names::size(attachment.size_bytes);
    format!(
        "{} ({size}{about}) is attached for the people here. They need no link.",
        attachment.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;
    use serde_json::json;
    use sha2::{Digest as _, Sha256};

    /// Proves MC-17.
    #[tokio::test]
    async fn a_file_of_20_mb_is_sent_and_one_byte_more_is_not() {
        let mut place = ToolFixture::new();
        place.has("ok.bin", vec![7; MAX_BYTES as usize]);
        place.has("big.bin", vec![7; MAX_BYTES as usize + 1]);
        let sent = place.runs(&SendFile, json!({ "filePath": "ok.bin" })).await.unwrap();
        assert_eq!(sent.attachments[0].size_bytes, MAX_BYTES);
        let error = place.runs(&SendFile, json!({ "filePath": "big.bin" })).await.unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }

    /// Proves MC-18.
    #[tokio::test]
    async fn the_bytes_are_stored_and_never_shown_to_the_model() {
        let mut place = ToolFixture::new();
        place.has("notes/a.csv", "secret,1\n");
        let arguments = json!({
            "file_path": "notes/a.csv", "file_name": "Report.csv", "caption": "*This* year",
        });
        let sent = place.runs(&SendFile, arguments).await.unwrap();
        let attachment = &sent.attachments[0];
        assert_eq!(attachment.name, "Report.csv");
        assert_eq!(attachment.media_type, "text/csv");
        assert_eq!(attachment.caption.as_deref(), Some("*This* year"));
        assert_eq!(attachment.digest, hex::encode(Sha256::digest("secret,1\n")));
        assert!(sent.text.starts_with("Report.csv (9B) is attached"), "{}", sent.text);
        assert!(!sent.text.contains("secret") && !sent.text.contains("http"), "{}", sent.text);
        let stored = place.context.artifacts.read(&attachment.digest).await.unwrap();
        assert_eq!(&stored[..], b"secret,1\n");
    }

    /// Proves T4.
    #[tokio::test]
    async fn only_files_of_the_workspace_are_sent() {
        let mut place = ToolFixture::new();
        std::fs::write(place.folder.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", place.path("link")).unwrap();
        place.has("empty", "");
        for (path, words) in [
            ("../secret", "Path not allowed: ../secret"),
            ("/etc/passwd", "Path not allowed: /etc/passwd"),
            ("link", "Path not allowed: link"),
            (".", "is a folder"),
            ("none", "Not found: none"),
            ("empty", "empty"),
        ] {
            let arguments = json!({ "filePath": path, "fileName": "a" });
            let error = place.runs(&SendFile, arguments).await.unwrap_err();
            assert!(error.to_string().contains(words), "{path}: {error}");
        }
    }
}
