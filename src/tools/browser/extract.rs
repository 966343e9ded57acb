//! The text of a page as Markdown, and its picture.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sandbox::Sandbox;
use serde_json::json;
use std::fmt::Write as _;

use super::open_browser::OpenBrowser;
use crate::tools::{ToolError, workspace::confined_reader};

/// The beginning of a tag of a template in the text of a page.
const OPEN: &str = "<template";
const CLOSE: &str = "</template>";
/// How the contents of a shadow root are written.
const SHADOW: &str = "<template shadowrootmode=";

impl OpenBrowser {
    /// The page with its frames and shadow roots as Markdown.
    pub async fn markdown(&self, sandbox: &Sandbox, max_bytes: usize) -> Result<String, ToolError> {
        let (mut markdown, mut left_bytes) = (String::new(), max_bytes);
        for (place, document) in self.documents().await?.into_iter().enumerate() {
            let html = match self.html(&document.frame).await {
                Err(error) if place == 0 => return Err(error),
                html => html.unwrap_or_default(),
            };
            if html.len() > left_bytes {
                return Err(ToolError::ExecutionFailed(format!(
                    "The page is larger than {} MB, the limit for a page (browser.max_page_mb). \
                     Use snapshot to see its beginning",
                    max_bytes / (1024 * 1024)
                )));
            }
            left_bytes -= html.len();
            let page = with_shadow_roots(&html).into_bytes();
            let reading = confined_reader::document(sandbox, "page.html", &page, &[]).await?;
            if place > 0 && !reading.markdown.trim().is_empty() {
                let _ = write!(markdown, "\n\n[Frame: {}]\n\n", document.address);
            }
            markdown += reading.markdown.trim();
        }
        Ok(markdown)
    }

    async fn html(&self, frame: &str) -> Result<String, ToolError> {
        let tree = json!({ "frameId": frame, "depth": 1 });
        let tree = self.call("Accessibility.getFullAXTree", tree).await?;
        let mut nodes = tree["nodes"].as_array().into_iter().flatten();
        let root = nodes.find(|node| node["parentId"].is_null());
        let node = root.map(|root| &root["backendDOMNodeId"]);
        let params = json!({ "backendNodeId": node, "includeShadowDOM": true });
        let html = self.call("DOM.getOuterHTML", params).await?;
        Ok(html["outerHTML"].as_str().unwrap_or_default().to_owned())
    }

    /// The visible part of the page as JPEG.
    pub async fn screenshot(&self) -> Result<Vec<u8>, ToolError> {
        let params = json!({ "format": "jpeg", "quality": 80 });
        let picture = self.call("Page.captureScreenshot", params).await?;
        let picture = picture["data"].as_str().unwrap_or_default();
        STANDARD.decode(picture).map_err(|_| {
            ToolError::ExecutionFailed("The browser sent a damaged picture: try again".into())
        })
    }
}

/// Replaces the templates of shadow roots with elements. Other templates are not part of the page
/// and stay as they are.
fn with_shadow_roots(html: &str) -> String {
    let (mut shown, mut rest, mut open) = (String::with_capacity(html.len()), html, Vec::new());
    while let Some(at) = rest.find(['<']) {
        shown += &rest[..at];
        rest = &rest[at..];
        if rest.starts_with(CLOSE) {
            let is_shadow = open.pop().unwrap_or(false);
            shown += if is_shadow { "</div>" } else { CLOSE };
            rest = &rest[CLOSE.len()..];
        } else if rest.starts_with(OPEN) {
            let is_shadow = rest.starts_with(SHADOW);
            open.push(is_shadow);
            let end = rest.find('>').map_or(rest.len(), |end| end + 1);
            shown += if is_shadow { "<div>" } else { &rest[..end] };
            rest = &rest[end..];
        } else {
            let end = raw_text(rest);
            shown += &rest[..end];
            rest = &rest[end..];
        }
    }
    shown + rest
}

/// The length of the tag's first character, or of an element whose text contains no tags.
fn raw_text(rest: &str) -> usize {
    let raw = [("<script", "</script>"), ("<style", "</style>"), ("<!--", "-->")];
    let found = raw.iter().find(|(begin, _)| rest.starts_with(begin));
    found.and_then(|(_, end)| Some(rest.find(end)? + end.len())).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadow_roots_become_part_of_the_page_and_templates_do_not() {
        for (html, shown) in [
            (
                "<p><template shadowrootmode=\"closed\"><b>x</b></template></p>",
                "<p><div><b>x</b></div></p>",
            ),
            (
                "<template><template shadowrootmode=\"open\">a</template></template>b",
                "<template><div>a</div></template>b",
            ),
            (
                "<script>'<template>'</script>a</template>",
                "<script>'<template>'</script>a</template>",
            ),
            ("a < b", "a < b"),
        ] {
            assert_eq!(with_shadow_roots(html), shown);
        }
    }
}
