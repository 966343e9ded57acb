//! `detect_file_type`: the type of a file by its contents, and the charset of a text.

use async_trait::async_trait;
use infer::MatcherType;
use renderers::read::charset;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Read as _;

use crate::{
    agent::catalog::{Subject, Tier, ToolSpec},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        workspace::{self, file_names},
    },
};

/// How much of a file is examined.
const HEAD_BYTES: u64 = 1024 * 1024;

/// `detect_file_type`
pub struct DetectFileType;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Path in the workspace.
    path: String,
}

#[async_trait]
impl Tool for DetectFileType {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            subject: Some(Subject::Path("path")),
            untrusted: true,
            tier: Tier::Extension,
            ..ToolSpec::read_only(
                "detect_file_type",
                "MIME type and encoding of a file.",
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { path } = parse(arguments)?;
        let named = path.clone();
        let (size_bytes, head) = workspace::beneath(context, move |workspace, _| {
            let open = workspace.file(&named)?;
            let mut head = Vec::new();
            let read = open.file.take(HEAD_BYTES).read_to_end(&mut head);
            read.map_err(|error| {
                ToolError::ExecutionFailed(format!("{named} cannot be read: {error}"))
            })?;
            Ok((open.size_bytes, head))
        })
        .await?;
        let mut about = json!({ "path": path, "size_bytes": size_bytes });
        let (media_type, encoding) = detect(&path, head, size_bytes);
        about["mime_type"] = media_type.into();
        if let Some(encoding) = encoding {
            about["encoding"] = encoding.into();
        }
        Ok(Output::text(about.to_string()))
    }
}

/// The media type, and the charset of a text.
fn detect(path: &str, mut head: Vec<u8>, size_bytes: u64) -> (String, Option<&'static str>) {
    if let Err(error) = std::str::from_utf8(&head)
        && error.error_len().is_none()
        && (head.len() as u64) < size_bytes
    {
        // A character that is cut off here is not invalid.
        head.truncate(error.valid_up_to());
    }
    let media_type = file_names::media_type(path, &head);
    let is_text = infer::get(&head).is_none_or(|kind| kind.matcher_type() == MatcherType::Text);
    let encoding = charset::name_of(&head).filter(|_| is_text);
    match encoding {
        Some(_) if media_type == "application/octet-stream" => ("text/plain".to_owned(), encoding),
        None if media_type == "text/plain" => ("application/octet-stream".to_owned(), None),
        _ => (media_type, encoding),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;

    /// Media type by contents, and the encoding.
    /// Proves MC-25.
    #[tokio::test]
    async fn a_file_is_what_its_content_says() {
        let mut place = ToolFixture::new();
        let long = format!("x{}", "ä".repeat(HEAD_BYTES as usize));
        for (name, content, media_type, encoding) in [
            ("a.csv", "n;v\nä;2\n".as_bytes(), "text/csv", Some("UTF-8")),
            (
                "latin",
                b"Die Gr\xf6\xdfe der Stra\xdfe ist \xfcblich",
                "text/plain",
                Some("windows-1252"),
            ),
            ("b.txt", b"\xff\xfeG\x00r\x00", "text/plain", Some("UTF-16LE")),
            ("c.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png", None),
            ("d.html", b"%PDF-1.7\n", "application/pdf", None),
            ("e", b"a\0b", "application/octet-stream", None),
            ("long", long.as_bytes(), "text/plain", Some("UTF-8")),
        ] {
            place.has(name, content);
            let told = place.runs(&DetectFileType, json!({ "path": name })).await.unwrap().text;
            let told: Value = serde_json::from_str(&told).unwrap();
            assert_eq!(
                (&told["mime_type"], &told["encoding"]),
                (&json!(media_type), &json!(encoding)),
                "{name}"
            );
            assert_eq!(told["size_bytes"], content.len(), "{name}");
        }
        let missing = place.runs(&DetectFileType, json!({ "path": "gone" })).await.unwrap_err();
        assert!(missing.to_string().contains("Not found"), "{missing}");
    }
}
