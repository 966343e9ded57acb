//! Text that an HTML page does not show, as its elements themselves say. It is marked like hidden text of
//! Word files, because it may be written for the model alone.

use std::rc::Rc;

use htmd::Node;
use markup5ever_rcdom::NodeData;

use super::{
    html::NO_TEXT,
    html_tables::{attribute, name},
};

/// Marks the text of elements that are not shown, from their first word to their last.
pub fn mark(tree: &Rc<Node>) {
    let mut todo = vec![tree.clone()];
    while let Some(node) = todo.pop() {
        // Whole pages are often hidden until they are loaded.
        let is_page = matches!(name(&node), None | Some("html" | "body"));
        if !is_page && (attribute(&node, "hidden").is_some() || declares(&node, hides)) {
            mark_text(&node);
            continue;
        }
        let children = node.children.borrow();
        if !is_page && declares(&node, is_tiny) {
            // The elements in it may have a size of their own, as is common in mails.
            children.iter().filter(|child| has_words(child)).for_each(mark_text);
        }
        todo.extend(children.iter().cloned());
    }
}

/// Whether the style of an element has such a declaration.
fn declares(node: &Node, is_it: fn(&str) -> bool) -> bool {
    let style = attribute(node, "style").unwrap_or_default().to_ascii_lowercase();
    style.split(';').any(is_it)
}

/// A declaration, without `!important`.
fn declaration<'s>(style: &'s str, wanted: &str) -> Option<&'s str> {
    let (property, value) = style.split_once(':')?;
    (property.trim() == wanted).then(|| value.split('!').next().unwrap_or_default().trim())
}

fn hides(style: &str) -> bool {
    declaration(style, "display") == Some("none")
        || matches!(declaration(style, "visibility"), Some("hidden" | "collapse"))
}

/// Whether letters have no size.
fn is_tiny(style: &str) -> bool {
    let size = declaration(style, "font-size").unwrap_or_default();
    let number = size.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    number.parse() == Ok(0.0_f32)
}

fn mark_text(hidden: &Rc<Node>) {
    let mut texts = Vec::new();
    let mut todo = vec![hidden.clone()];
    while let Some(node) = todo.pop() {
        if name(&node).is_some_and(|name| NO_TEXT.contains(&name)) {
            continue;
        }
        todo.extend(node.children.borrow().iter().rev().cloned());
        if has_words(&node) {
            texts.push(node);
        }
    }
    let (Some(first), Some(last)) = (texts.first(), texts.last()) else { return };
    change(first, |text| {
        let start = text.len() - text.trim_start().len();
        format!("{}{{hidden: {}", &text[..start], &text[start..])
    });
    change(last, |text| {
        let end = text.trim_end().len();
        format!("{}}}{}", &text[..end], &text[end..])
    });
}

fn has_words(node: &Node) -> bool {
    match &node.data {
        NodeData::Text { contents } => !contents.borrow().trim().is_empty(),
        _ => false,
    }
}

/// Changes a text of the tree.
fn change(node: &Node, changed: impl Fn(&str) -> String) {
    if let NodeData::Text { contents } = &node.data {
        let text = changed(&contents.borrow());
        *contents.borrow_mut() = text.as_str().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_declarations_that_hide_are_found() {
        for style in [
            "display:none",
            " display : none !important",
            "visibility:hidden",
            "visibility:collapse",
        ] {
            assert!(hides(style), "{style}");
        }
        for style in ["display:block", "visibility:visible", "not-display:none", "display", ""] {
            assert!(!hides(style), "{style}");
        }
        for style in ["font-size:0", "font-size: 0px !important", "font-size:0.0%"] {
            assert!(is_tiny(style), "{style}");
        }
        for style in ["font-size:10px", "font-size:small", "margin:0", "font-size:"] {
            assert!(!is_tiny(style), "{style}");
        }
    }
}
