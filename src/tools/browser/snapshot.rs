//! The page as text: its accessibility tree, with references for the elements that can be used.
//!
//! A reference names an element of a snapshot. It is valid as long as the element is in the same
//! document with the same role and name. What a page shows under another name needs a new
//! snapshot, so an approval is never for an element that the model has not seen.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{connection, session::OpenBrowser, state::one_line};
use crate::tools::{ToolError, contract::toolbox::cut};

/// The maximum number of frames whose contents are shown.
const MAX_FRAMES: usize = 20;
/// The maximum number of lines of a snapshot.
const MAX_LINES: usize = 4_000;
/// The maximum length of a name as it is compared, and as it is shown in a snapshot.
const NAME_CHARS: usize = 1_000;
const SHOWN_CHARS: usize = 200;
/// Deeper levels are indented like this one.
const MAX_INDENT: usize = 20;

/// Roles that only structure the page.
const SILENT: [&str; 9] = [
    "RootWebArea",
    "InlineTextBox",
    "LabelText",
    "LayoutTable",
    "LineBreak",
    "MenuListPopup",
    "Section",
    "generic",
    "none",
];

/// A document in a frame of the page.
#[derive(Debug, Clone)]
pub struct FrameDocument {
    pub frame: String,
    /// Identifies the document: another one in the same frame has another.
    pub loader: String,
    pub address: String,
}

/// An element that a reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageElement {
    pub node: i64,
    pub role: String,
    pub name: String,
    /// Where a link leads.
    pub link: Option<String>,
    pub frame: String,
    pub loader: String,
    /// The address of the document that it is in.
    pub address: String,
}

/// The elements of the last snapshot by reference.
#[derive(Debug, Default)]
pub struct References {
    elements: BTreeMap<String, PageElement>,
    last: u32,
}

/// The page as it is now.
pub struct PageView {
    pub title: String,
    pub address: String,
    pub is_loading: bool,
    /// The tree.
    pub text: String,
}

impl References {
    /// The reference of an element: the same as in the last snapshot, or a new one.
    fn of(&mut self, element: &PageElement, before: &BTreeMap<(String, i64), String>) -> String {
        let key = (element.loader.clone(), element.node);
        before.get(&key).cloned().unwrap_or_else(|| {
            self.last += 1;
            format!("e{}", self.last)
        })
    }

    fn find(&self, reference: &str) -> Result<&PageElement, ToolError> {
        let reference = reference.trim().trim_start_matches('@');
        self.elements.get(reference).ok_or_else(|| {
            ToolError::ExecutionFailed(format!(
                "There is no element {reference} in the last snapshot: take a new snapshot"
            ))
        })
    }
}

impl PageElement {
    /// Its identity, which an approval is bound to.
    pub fn digest(&self, page: &str) -> String {
        let identity = json!([
            page,
            self.frame,
            self.loader,
            self.address,
            self.node,
            self.role,
            self.name,
            self.link,
        ]);
        hex::encode(Sha256::digest(identity.to_string()))
    }
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
        let mut trees = Trees::default();
        for document in documents {
            let tree = self
                .call("Accessibility.getFullAXTree", json!({ "frameId": document.frame }))
                .await;
            // A frame may be gone by now. The main one is always there.
            let tree = match tree {
                Err(error) if error == connection::too_large() => too_large_tree(),
                Err(error) if document.frame == main.frame => return Err(error),
                tree => tree.unwrap_or_default(),
            };
            if document.frame != main.frame {
                let owner = json!({ "frameId": document.frame });
                let owner = self.call("DOM.getFrameOwner", owner).await.unwrap_or_default();
                if let Some(owner) = owner["backendNodeId"].as_i64() {
                    trees.owners.insert(owner, document.frame.clone());
                }
            }
            trees.frames.insert(document.frame.clone(), FrameTree::of(document, &tree));
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

/// What is shown in place of a document whose tree is too large.
fn too_large_tree() -> Value {
    let says = "(The page is too large for a snapshot. Use extract, screenshot or web_fetch.)";
    json!({ "nodes": [{
        "nodeId": "1", "role": { "value": "StaticText" }, "name": { "value": says },
    }] })
}

fn gone() -> ToolError {
    ToolError::ExecutionFailed("The element is no longer on the page: take a new snapshot".into())
}

/// The accessibility trees of all frames.
#[derive(Default)]
struct Trees {
    frames: BTreeMap<String, FrameTree>,
    /// The elements that contain frames, by node.
    owners: BTreeMap<i64, String>,
}

struct FrameTree {
    document: FrameDocument,
    nodes: BTreeMap<String, Value>,
    root: Option<String>,
}

impl FrameTree {
    fn of(document: FrameDocument, tree: &Value) -> Self {
        let nodes: BTreeMap<_, _> = tree["nodes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|node| (text(&node["nodeId"]), node.clone()))
            .collect();
        let root = nodes.iter().find(|(_, node)| node["parentId"].is_null());
        let root = root.map(|(id, _)| id.clone());
        Self { document, nodes, root }
    }

    fn title(&self) -> String {
        let root = self.root.as_ref().and_then(|root| self.nodes.get(root));
        let root = root.filter(|root| root["role"]["value"] == "RootWebArea");
        root.map(|root| cut(&one_line(&text(&root["name"]["value"])), SHOWN_CHARS))
            .unwrap_or_default()
    }
}

/// A node that has still to be written.
struct Pending<'t> {
    tree: &'t FrameTree,
    id: &'t str,
    indent: usize,
    /// The name of the line above, which already contains the text of its children.
    above: String,
}

impl Trees {
    fn written(&self, main: &str, references: &mut References) -> String {
        let before: BTreeMap<_, _> = std::mem::take(&mut references.elements)
            .into_iter()
            .map(|(reference, element)| ((element.loader, element.node), reference))
            .collect();
        let root = |frame: &str| {
            let tree = self.frames.get(frame)?;
            Some((tree, tree.root.as_deref()?))
        };
        let (mut text, mut lines, mut left_out) = (String::new(), 0, 0);
        let (mut open, mut seen) = (Vec::new(), BTreeSet::new());
        open.extend(root(main).map(|(tree, id)| Pending {
            tree,
            id,
            indent: 0,
            above: String::new(),
        }));
        while let Some(Pending { tree, id, indent, above }) = open.pop() {
            let Some(node) = tree.nodes.get(id) else { continue };
            if !seen.insert((&tree.document.frame, id)) {
                continue;
            }
            let element = described(node, &tree.document);
            let is_shown = is_shown(node, &element, &above);
            let (mut indent, mut above) = (indent, above);
            if is_shown && lines == MAX_LINES {
                left_out += 1;
            } else if is_shown {
                lines += 1;
                let reference = is_usable(node, &element).then(|| references.of(&element, &before));
                write_line(
                    &mut text,
                    node,
                    &element,
                    Line { indent, reference: reference.as_deref() },
                );
                indent = (indent + 1).min(MAX_INDENT);
                above.clone_from(&element.name);
                if let Some(reference) = reference {
                    references.elements.insert(reference, element.clone());
                }
            }
            let children =
                node["childIds"].as_array().into_iter().flatten().filter_map(Value::as_str);
            open.extend(children.rev().map(|id| Pending {
                tree,
                id,
                indent,
                above: above.clone(),
            }));
            let inner = self.owners.get(&element.node).and_then(|frame| root(frame));
            open.extend(inner.map(|(tree, id)| Pending { tree, id, indent, above: String::new() }));
        }
        if left_out > 0 {
            let _ =
                writeln!(text, "({left_out} more elements are not shown. Use extract to read.)");
        }
        text
    }
}

/// A line of a snapshot.
struct Line<'a> {
    indent: usize,
    reference: Option<&'a str>,
}

fn write_line(text: &mut String, node: &Value, element: &PageElement, line: Line<'_>) {
    let _ = write!(text, "{:1$}- ", "", line.indent * 2);
    let name = quoted(&element.name);
    if element.role == "StaticText" {
        let _ = writeln!(text, "text {name}");
        return;
    }
    let _ = write!(text, "{}", element.role);
    if !element.name.is_empty() {
        let _ = write!(text, " {name}");
    }
    if let Some(reference) = line.reference {
        let _ = write!(text, " [ref={reference}]");
    }
    for property in node["properties"].as_array().into_iter().flatten() {
        let value = &property["value"]["value"];
        let name = property["name"].as_str().unwrap_or_default();
        match (name, value) {
            ("checked" | "pressed", value) => {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let _ = write!(text, " [{name}={value}]");
            }
            ("disabled" | "selected" | "required" | "readonly", Value::Bool(true)) => {
                let _ = write!(text, " [{name}]");
            }
            ("expanded", Value::Bool(is_open)) => {
                let _ = write!(text, " [expanded={is_open}]");
            }
            ("level", Value::Number(level)) => {
                let _ = write!(text, " [level={level}]");
            }
            _ => {}
        }
    }
    let value = one_line(node["value"]["value"].as_str().unwrap_or_default());
    if !value.is_empty() {
        let _ = write!(text, " value={}", quoted(&value));
    }
    text.push('\n');
}

/// Text of the page in quotes that it cannot close.
fn quoted(text: &str) -> String {
    format!("{:?}", cut(text, SHOWN_CHARS))
}

/// The identity of a node.
fn described(node: &Value, document: &FrameDocument) -> PageElement {
    let name = cut(&one_line(&text(&node["name"]["value"])), NAME_CHARS);
    let role = text(&node["role"]["value"]);
    let mut properties = node["properties"].as_array().into_iter().flatten();
    let link = properties.find(|property| property["name"] == "url" && role == "link");
    PageElement {
        node: node["backendDOMNodeId"].as_i64().unwrap_or_default(),
        name,
        link: link.map(|property| cut(&text(&property["value"]["value"]), NAME_CHARS)),
        role,
        frame: document.frame.clone(),
        loader: document.loader.clone(),
        address: document.address.clone(),
    }
}

fn is_shown(node: &Value, element: &PageElement, above: &str) -> bool {
    if node["ignored"] == true
        || SILENT.contains(&element.role.as_str()) && !is_usable(node, element)
    {
        return false;
    }
    element.role != "StaticText" || !element.name.is_empty() && !above.contains(&element.name)
}

/// Whether it can receive inputs.
fn is_usable(node: &Value, element: &PageElement) -> bool {
    let mut properties = node["properties"].as_array().into_iter().flatten();
    let can_focus = properties
        .any(|property| property["name"] == "focusable" && property["value"]["value"] == true);
    let usable = [
        "button",
        "checkbox",
        "combobox",
        "link",
        "listbox",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "radio",
        "searchbox",
        "slider",
        "spinbutton",
        "switch",
        "tab",
        "textbox",
        "treeitem",
    ];
    let is_root = element.role == "RootWebArea" || element.role == "Iframe";
    node["ignored"] != true
        && element.node != 0
        && !is_root
        && (can_focus || usable.contains(&element.role.as_str()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
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
