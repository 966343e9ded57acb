//! The accessibility tree of a page, and the lines of a snapshot that are made of it.

use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::page_element::{FrameDocument, PageElement, References};
use crate::tools::contract::one_line::{cut, one_line};

/// The maximum number of lines of a snapshot.
const MAX_LINES: usize = 4_000;
/// The maximum length of a name as it is compared, and as it is shown in a snapshot.
const NAME_CHARS: usize = 1_000;
pub(super) const SHOWN_CHARS: usize = 200;
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

/// What is shown in place of a document whose tree is too large.
pub(super) fn too_large_tree() -> Value {
    let says = "(The page is too large for a snapshot. Use extract, screenshot or web_fetch.)";
    json!({ "nodes": [{
        "nodeId": "1", "role": { "value": "StaticText" }, "name": { "value": says },
    }] })
}

/// The accessibility trees of all frames.
#[derive(Default)]
pub(super) struct Trees {
    pub frames: BTreeMap<String, FrameTree>,
    /// The elements that contain frames, by node.
    pub owners: BTreeMap<i64, String>,
}

pub(super) struct FrameTree {
    document: FrameDocument,
    nodes: BTreeMap<String, Value>,
    root: Option<String>,
}

impl FrameTree {
    pub fn of(document: FrameDocument, mut tree: Value) -> Self {
        let nodes = tree.get_mut("nodes").and_then(Value::as_array_mut);
        let nodes = nodes.map(std::mem::take).unwrap_or_default();
        let nodes: BTreeMap<_, _> =
            nodes.into_iter().map(|node| (text(&node["nodeId"]), node)).collect();
        let root = nodes.iter().find(|(_, node)| node["parentId"].is_null());
        let root = root.map(|(id, _)| id.clone());
        Self { document, nodes, root }
    }

    pub fn title(&self) -> String {
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
    pub fn written(&self, main: &str, references: &mut References) -> String {
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
                    SnapshotLine { indent, reference: reference.as_deref() },
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
struct SnapshotLine<'a> {
    indent: usize,
    reference: Option<&'a str>,
}

fn write_line(text: &mut String, node: &Value, element: &PageElement, line: SnapshotLine<'_>) {
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
pub(super) fn described(node: &Value, document: &FrameDocument) -> PageElement {
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

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
