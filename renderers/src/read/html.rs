//! HTML, without what is not text.

use htmd::{
    HtmlToMarkdown, Node,
    options::{BulletListMarker, Options},
};
use markup5ever_rcdom::NodeData;
use std::rc::Rc;

use super::{limits, reading::ReadError};

/// Fields are skipped, but not the forms around them: many a page is one form as a whole.
const NO_TEXT: [&str; 13] = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head",
    "input", "select", "button", "textarea",
];

/// Links and pictures stay as they are named; nothing is fetched.
pub fn to_markdown(html: &str) -> Result<String, ReadError> {
    nesting(html)?;
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).skip_tags(NO_TEXT.to_vec()).build();
    let tree = converter
        .html_to_tree(html)
        .map_err(|error| ReadError::Damaged(format!("The page cannot be read: {error}.")))?;
    depth(&tree)?;
    Ok(converter.tree_to_markdown(&tree))
}

/// An element of a page, with all the text in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub classes: Vec<String>,
    pub id: String,
    pub href: Option<String>,
    pub text: String,
}

/// The elements for which `wanted` holds, in the order of the page; of nested ones the outer.
pub fn elements(html: &str, wanted: impl Fn(&Element) -> bool) -> Result<Vec<Element>, ReadError> {
    nesting(html)?;
    let tree = HtmlToMarkdown::builder()
        .build()
        .html_to_tree(html)
        .map_err(|error| ReadError::Damaged(format!("The page cannot be read: {error}.")))?;
    depth(&tree)?;
    // The root stays: with it go the children of whatever stands below.
    let (mut found, mut todo) = (Vec::new(), vec![tree.clone()]);
    while let Some(node) = todo.pop() {
        match element(&node).filter(&wanted) {
            Some(mut element) => {
                text(&node, &mut element.text);
                found.push(element);
            }
            None => todo.extend(node.children.borrow().iter().rev().cloned()),
        }
    }
    Ok(found)
}

fn element(node: &Node) -> Option<Element> {
    let NodeData::Element { name, attrs, .. } = &node.data else { return None };
    let mut element = Element { name: name.local.to_string(), ..Element::default() };
    for attribute in attrs.borrow().iter() {
        let value = attribute.value.to_string();
        match &*attribute.name.local {
            "class" => element.classes = value.split_whitespace().map(str::to_owned).collect(),
            "id" => element.id = value,
            "href" => element.href = Some(value),
            _ => {}
        }
    }
    Some(element)
}

/// The depth is bounded already.
fn text(node: &Node, into: &mut String) {
    match &node.data {
        NodeData::Text { contents } => into.push_str(&contents.borrow()),
        NodeData::Element { name, .. } if matches!(&*name.local, "script" | "style") => {}
        _ => node.children.borrow().iter().for_each(|child| text(child, into)),
    }
}

/// Elements whose end may be left out, or that have none.
const UNENDED: [&str; 22] = [
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "br", "hr",
    "img", "input", "meta", "link", "col", "area", "base", "source", "wbr",
];

/// A first look, before the parser's: what it takes grows with the square of the depth.
fn nesting(html: &str) -> Result<(), ReadError> {
    let mut depth = 0_usize;
    for tag in html.split('<').skip(1) {
        let (ends, name) = tag.strip_prefix('/').map_or((false, tag), |name| (true, name));
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        let name = name[..end].to_ascii_lowercase();
        if name.is_empty() || UNENDED.contains(&name.as_str()) {
            continue;
        }
        depth = if ends { depth.saturating_sub(1) } else { depth + 1 };
        limits::within(depth as u64, 4 * limits::DEPTH as u64, "elements inside one another")?;
    }
    Ok(())
}

/// Without recursion: the conversion has it, and this is what keeps it from going too deep.
fn depth(tree: &Rc<Node>) -> Result<(), ReadError> {
    let mut todo = vec![(tree.clone(), 0)];
    while let Some((node, depth)) = todo.pop() {
        limits::depth(depth)?;
        todo.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1)));
    }
    Ok(())
}
