//! The page as text: its accessibility tree, with references for the elements that can be used.
//!
//! A reference names an element of a snapshot. It is valid as long as the element is in the same
//! document with the same role and name. What a page shows under another name needs a new
//! snapshot, so an approval is never for an element that the model has not seen.

use serde_json::json;

use super::{
    accessibility_tree::{FrameTree, SHOWN_CHARS, Trees, described, text, too_large_tree},
    connection,
    open_browser::OpenBrowser,
    page_element::{FrameDocument, PageElement},
};
use crate::tools::{
    ToolError,
    contract::one_line::{cut, one_line},
};

/// The maximum number of frames whose contents are shown, and the maximum size of the accessibility
/// trees of all but the main one.
const MAX_FRAMES: usize = 20;
const MAX_FRAMES_BYTES: usize = 16 * 1024 * 1024;

/// The page as it is now.
pub struct PageView {
    pub title: String,
    pub address: String,
    pub is_loading: bool,
    /// The tree.
    pub text: String,
}

impl OpenBrowser {
    /// The documents of the active tab; the first is that of the main frame.
    pub async fn documents(&self) -> Result<Vec<FrameDocument>, ToolError> {
        let tree = self.call("Page.getFrameTree", json!({})).await?;
        let (mut documents, mut open) = (Vec::new(), vec![&tree["frameTree"]]);
        while let Some(branch) = open.pop() {
            let frame = &branch["frame"];
            documents.push(FrameDocument {
                frame: text(&frame["id"]),
                loader: text(&frame["loaderId"]),
                address: text(&frame["url"]) + frame["urlFragment"].as_str().unwrap_or_default(),
            });
            open.extend(branch["childFrames"].as_array().into_iter().flatten().rev());
        }
        // A frame that could not be loaded shows a page of the browser itself.
        let mut place = 0;
        documents.retain(|document| {
            place += 1;
            place == 1 || !document.address.starts_with("chrome-error:")
        });
        documents.truncate(MAX_FRAMES);
        Ok(documents)
    }

    /// The page as text. Its references replace the earlier ones.
    pub async fn view(&mut self) -> Result<PageView, ToolError> {
        let documents = self.documents().await?;
        let Some(main) = documents.first().cloned() else { return Err(gone()) };
        let (mut trees, mut left_bytes) = (Trees::default(), MAX_FRAMES_BYTES);
        for document in documents {
            let tree = self
                .call("Accessibility.getFullAXTree", json!({ "frameId": document.frame }))
                .await;
            // A frame may be gone by now. The main one is always there.
            let mut tree = match tree {
                Err(error) if error == connection::too_large() => too_large_tree(),
                Err(error) if document.frame == main.frame => return Err(error),
                tree => tree.unwrap_or_default(),
            };
            if document.frame != main.frame {
                let bytes = serde_json::to_vec(&tree).map_or(0, |tree| tree.len());
                match left_bytes.checked_sub(bytes) {
                    Some(left) => left_bytes = left,
                    None => tree = too_large_tree(),
                }
                let owner = json!({ "frameId": document.frame });
                let owner = self.call("DOM.getFrameOwner", owner).await.unwrap_or_default();
                if let Some(owner) = owner["backendNodeId"].as_i64() {
                    trees.owners.insert(owner, document.frame.clone());
                }
            }
            trees.frames.insert(document.frame.clone(), FrameTree::of(document, tree));
        }
        let title = trees.frames.get(&main.frame).map(FrameTree::title).unwrap_or_default();
        let text = trees.written(&main.frame, &mut self.references);
        let is_loading = self.state.read(super::state::BrowserState::is_loading);
        Ok(PageView { title, address: main.address, is_loading, text })
    }

    /// The element that a reference names, if it is still what the snapshot showed.
    pub async fn element(&self, reference: &str) -> Result<PageElement, ToolError> {
        let element = self.references.find(reference)?;
        let documents = self.documents().await?;
        let document = documents
            .iter()
            .find(|document| document.frame == element.frame && document.loader == element.loader);
        let Some(document) = document else { return Err(gone()) };
        let params = json!({ "backendNodeId": element.node, "fetchRelatives": false });
        let found = self.call("Accessibility.getPartialAXTree", params).await;
        let found = found.map_err(|error| if self.has_ended() { error } else { gone() })?;
        let node = &found["nodes"][0];
        if node["ignored"] == true || node["backendDOMNodeId"].as_i64() != Some(element.node) {
            return Err(gone());
        }
        let now = described(node, document);
        if (&now.role, &now.name, &now.link) != (&element.role, &element.name, &element.link) {
            return Err(ToolError::ExecutionFailed(format!(
                "The element {reference} has changed: it was the {} “{}”, and is now the {} “{}”. \
                 Take a new snapshot",
                element.role,
                cut(&element.name, SHOWN_CHARS),
                now.role,
                cut(&now.name, SHOWN_CHARS)
            )));
        }
        Ok(now)
    }
}

fn gone() -> ToolError {
    ToolError::ExecutionFailed("The element is no longer on the page: take a new snapshot".into())
}

impl OpenBrowser {
    /// Whether a document of the page contains the text.
    pub async fn shows(&self, wanted: &str) -> Result<bool, ToolError> {
        let wanted = one_line(wanted);
        for document in self.documents().await? {
            let params = json!({ "frameId": document.frame });
            let tree = self.call("Accessibility.getFullAXTree", params).await;
            // A page that is just being replaced has no tree.
            let tree = match tree {
                Err(error) if self.has_ended() => return Err(error),
                tree => tree.unwrap_or_default(),
            };
            let mut nodes = tree["nodes"].as_array().into_iter().flatten();
            if nodes.any(|node| one_line(&text(&node["name"]["value"])).contains(&wanted)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
