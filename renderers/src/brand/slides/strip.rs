//! Removes from a master, layout or theme everything that refers to parts that are not copied.

use std::collections::BTreeSet;

use crate::edit::tree::{Node, TreeElement};

/// Elements that refer to other parts, or that have an effect besides the look.
const DROPPED: [&str; 15] = [
    "extLst",
    "timing",
    "transition",
    "custDataLst",
    "controls",
    "contentPart",
    "hlinkClick",
    "hlinkHover",
    "hlinkMouseOver",
    "audioCd",
    "audioFile",
    "wavAudioFile",
    "videoFile",
    "quickTimeFile",
    "snd",
];

/// The attributes that refer to relationships.
const REFERENCES: [&str; 5] = ["r:id", "r:embed", "r:link", "r:pict", "r:href"];

/// Strips an element and all below it. `kept` has the ids of the relationships that are copied.
/// Returns whether objects such as tables were removed.
pub fn strip(element: &mut TreeElement, kept: &BTreeSet<String>) -> bool {
    let mut has_objects = false;
    let mut children = Vec::with_capacity(element.children.len());
    for child in std::mem::take(&mut element.children) {
        match child {
            Node::Element(child) => {
                has_objects |= child.local() == "graphicFrame";
                add(child, kept, &mut children);
            }
            // Comments and instructions for programs.
            Node::Raw(raw) if raw.starts_with('<') => {}
            text @ Node::Raw(_) => children.push(text),
        }
    }
    element.children = children;
    for name in REFERENCES {
        if element.attribute(name).is_some_and(|id| !kept.contains(&id)) {
            element.unset(name);
        }
    }
    for child in element.elements_mut() {
        has_objects |= strip(child, kept);
    }
    has_objects
}

/// Adds an element unless it is dropped. Of alternatives, the fallback is kept, which uses no
/// extensions.
fn add(child: TreeElement, kept: &BTreeSet<String>, children: &mut Vec<Node>) {
    match child.local() {
        "AlternateContent" => {
            let fallback = child.children.into_iter().find(|child| child.is("Fallback"));
            for inner in fallback.into_iter().flat_map(into_children) {
                if let Node::Element(inner) = inner {
                    add(inner, kept, children);
                }
            }
        }
        "graphicFrame" => {}
        "pic" if !has_picture(&child, kept) => {}
        name if DROPPED.contains(&name) => {}
        _ => children.push(Node::Element(child)),
    }
}

fn into_children(node: Node) -> Vec<Node> {
    match node {
        Node::Element(element) => element.children,
        Node::Raw(_) => Vec::new(),
    }
}

/// Whether the picture itself is copied.
fn has_picture(element: &TreeElement, kept: &BTreeSet<String>) -> bool {
    let blip = element.child("blipFill").and_then(|fill| fill.child("blip"));
    blip.and_then(|blip| blip.attribute("r:embed")).is_some_and(|id| kept.contains(&id))
}
