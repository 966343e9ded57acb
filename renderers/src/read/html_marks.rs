//! Elements of HTML pages that the converter would read as plain text: superscripts, subscripts,
//! deleted and preformatted text.

use std::rc::Rc;

use htmd::{
    Element, Node,
    element_handler::{HandlerResult, Handlers},
};
use markup5ever_rcdom::NodeData;

use super::{
    docx_frames::fenced,
    html,
    html_tables::{attribute, name},
};

/// Puts a comment between superscripts or subscripts that follow each other. The converter joins equal
/// neighbours, so that two notes would be one with another number.
pub fn keep_scripts_apart(tree: &Rc<Node>) {
    let mut todo = vec![tree.clone()];
    while let Some(node) = todo.pop() {
        let mut children = node.children.borrow_mut();
        todo.extend(children.iter().cloned());
        if !children.windows(2).any(|pair| are_equal_scripts(&pair[0], &pair[1])) {
            continue;
        }
        let mut apart: Vec<Rc<Node>> = Vec::with_capacity(children.len());
        for child in children.drain(..) {
            if apart.last().is_some_and(|last| are_equal_scripts(last, &child)) {
                apart.push(Node::new(NodeData::Comment { contents: "".into() }));
            }
            apart.push(child);
        }
        *children = apart;
    }
}

fn are_equal_scripts(one: &Node, other: &Node) -> bool {
    matches!(name(one), Some("sup" | "sub")) && name(one) == name(other)
}

/// A superscript or subscript. Without its tag, 10⁶ would be 106.
pub fn script(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let tag = element.tag;
    let content = handlers.walk_children(element.node).content;
    let marked = || around(&content, &format!("<{tag}>"), &format!("</{tag}>"));
    (!content.is_empty()).then(|| marked().into())
}

/// Text that no longer applies, such as a former price.
pub fn struck(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let content = handlers.walk_children(element.node).content;
    let blocks = content.split("\n\n").map(|block| around(block, "~~", "~~"));
    let marked = blocks.collect::<Vec<_>>().join("\n\n");
    (!content.is_empty()).then(|| marked.into())
}

/// A picture. One whose address is its data is only named.
pub fn picture(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let said = |name: &str| attribute(element.node, name).unwrap_or_default();
    if !said("src").get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return handlers.fallback(element);
    }
    let alt = said("alt").split_whitespace().collect::<Vec<_>>().join(" ");
    (!alt.is_empty()).then(|| format!("![{alt}]").into())
}

/// Text whose line ends and spaces are kept, as a block of code. A cell has no blocks.
pub fn preformatted(
    handlers: &dyn Handlers,
    element: Element,
    is_in_cell: bool,
) -> Option<HandlerResult> {
    let has_code = element.node.children.borrow().iter().any(|child| name(child) == Some("code"));
    if has_code && !is_in_cell {
        return handlers.fallback(element);
    }
    let mut text = String::new();
    lines(element.node, &mut text);
    let text = text.trim_matches('\n');
    if text.trim().is_empty() {
        return None;
    }
    let block = if is_in_cell { text.to_owned() } else { fenced(text) };
    Some(format!("\n\n{block}\n\n").into())
}

/// Adds the text of an element with its line breaks. The depth is already limited.
fn lines(node: &Node, into: &mut String) {
    for child in node.children.borrow().iter() {
        match name(child) {
            Some("br") => into.push('\n'),
            Some("script" | "style") => {}
            Some(_) => lines(child, into),
            None => html::text(child, into),
        }
    }
}

/// The text between marks, and the spaces around it outside of them.
fn around(text: &str, opening: &str, closing: &str) -> String {
    let words = text.trim();
    if words.is_empty() {
        return text.to_owned();
    }
    let start = text.len() - text.trim_start().len();
    let end = start + words.len();
    [&text[..start], opening, words, closing, &text[end..]].concat()
}
