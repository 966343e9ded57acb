//! Converts a result: text for the model, other content to files in the workspace.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::tools::{Context, Output, ToolError, contract::overflow};

/// Converts all content of a result.
pub(super) async fn output(
    result: &CallToolResult,
    unanswered: &[String],
    context: &Context,
) -> Result<Output, ToolError> {
    let mut parts = Vec::new();
    for (block, place) in result.content.iter().zip(1..) {
        parts.push(block_text(block, place, context).await);
    }
    if let Some(structured) = &result.structured_content
        && !parts.iter().any(|part| repeats(part, structured))
    {
        parts.push(structured.to_string());
    }
    let asked = |prompt| format!("[The server asked, and got no answer: {prompt}]");
    parts.extend(unanswered.iter().map(asked));
    let text = parts.join("\n");
    let text = if text.trim().is_empty() { "(no content)".to_owned() } else { text };
    if result.is_error == Some(true) {
        return Err(ToolError::ExecutionFailed(text));
    }
    Ok(Output::text(text))
}

/// Servers repeat structured content as text, often without the single field around it.
fn repeats(part: &str, structured: &Value) -> bool {
    let fields = structured.as_object().filter(|fields| fields.len() == 1);
    let bare = fields.and_then(|fields| fields.values().next()).unwrap_or(structured);
    let read: Option<Value> = serde_json::from_str(part).ok();
    bare.as_str() == Some(part) || read.is_some_and(|read| &read == structured || &read == bare)
}

async fn block_text(block: &ContentBlock, place: usize, context: &Context) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            let what = format!("image: {}", image.mime_type);
            kept(&what, &image.data, &image.mime_type, place, context).await
        }
        ContentBlock::Audio(audio) => {
            let what = format!("audio: {}", audio.mime_type);
            kept(&what, &audio.data, &audio.mime_type, place, context).await
        }
        ContentBlock::ResourceLink(r) => format!("[resource: {} at {}]", r.name, r.uri),
        ContentBlock::Resource(embedded) => resource(&embedded.resource, place, context).await,
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// The contents of a resource: its text, or the file in which other contents are.
pub(super) async fn resource(
    contents: &ResourceContents,
    place: usize,
    context: &Context,
) -> String {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("[resource: {uri}]\n{text}")
        }
        ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
            let media_type = mime_type.as_deref().unwrap_or_default();
            kept(&format!("resource: {uri}"), blob, media_type, place, context).await
        }
        _ => "[a resource of an unknown kind]".to_owned(),
    }
}

/// Stores content that is not text in a file, and names it.
async fn kept(
    what: &str,
    base64: &str,
    media_type: &str,
    place: usize,
    context: &Context,
) -> String {
    let Ok(bytes) = BASE64_STANDARD.decode(base64) else {
        return format!("[{what}, not readable]");
    };
    let size = bytes.len();
    let endings = mime_guess::get_mime_extensions_str(media_type);
    let ending = endings.and_then(|all| all.first()).unwrap_or(&"bin");
    match overflow::keep(&format!("-{place}.{ending}"), bytes, context).await {
        Some(path) => format!("[{what}, {size} bytes, in {path}]"),
        None => format!("[{what}, {size} bytes]"),
    }
}
