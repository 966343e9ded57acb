//! The text of HTML pages.

use htmd::{
    HtmlToMarkdown, Node,
    element_handler::Handlers,
    options::{BulletListMarker, Options},
};
use html5ever::{ParseOpts, parse_document, tendril::TendrilSink as _};
use markup5ever_rcdom::{NodeData, RcDom};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

use super::{
    html_hidden, html_lists, html_marks, html_tables::PageTables, limits, reading::ReadError,
};

/// Form fields are skipped, but not forms, since some pages are a single form.
pub(super) const NO_TEXT: [&str; 13] = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head",
    "input", "select", "button", "textarea",
];

/// The tree depth is checked after this many bytes, or after an eighth of the input so far, because
/// each check walks the whole tree.
const PIECE_BYTES: usize = 8 * 1024;

/// The text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlText {
    /// The text as Markdown.
    pub markdown: String,
    /// Warnings about its tables, one sentence each.
    pub warnings: Vec<String>,
}

/// A page with its title; nothing else in the head is text.
pub fn page(html: &str) -> Result<HtmlText, ReadError> {
    let HtmlText { markdown, warnings } = to_markdown(html)?;
    let titles = elements(html, |element| element.name == "title")?;
    let title = titles.first().map_or("", |title| title.text.as_str());
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() || markdown.contains(&title) {
        return Ok(HtmlText { markdown, warnings });
    }
    Ok(HtmlText { markdown: format!("# {title}\n\n{markdown}"), warnings })
}

/// Links and pictures keep their URLs, apart from those that are data; nothing is fetched.
pub fn to_markdown(html: &str) -> Result<HtmlText, ReadError> {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let tables = PageTables::default();
    let in_tables = tables.clone();
    let converter = HtmlToMarkdown::builder()
        .options(options)
        .skip_tags(NO_TEXT.to_vec())
        .add_handler(vec!["table"], tables.clone())
        .add_handler(vec!["img"], html_marks::picture)
        .add_handler(vec!["ol"], html_lists::ordered)
        .add_handler(vec!["sup", "sub"], html_marks::script)
        .add_handler(vec!["del", "s", "strike"], html_marks::struck)
        .add_handler(vec!["pre"], move |handlers: &dyn Handlers, element: htmd::Element<'_>| {
            html_marks::preformatted(handlers, element, in_tables.is_open())
        })
        .build();
    let tree = tree(html)?;
    html_marks::keep_scripts_apart(&tree);
    html_hidden::mark(&tree);
    let markdown = converter.tree_to_markdown(&tree);
    Ok(HtmlText { markdown, warnings: tables.warnings() })
}

/// An element of a page, with its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// The name of the tag, in lower case.
    pub name: String,
    /// The classes.
    pub classes: Vec<String>,
    /// The id; empty if there is none.
    pub id: String,
    /// The target of a link, as written.
    pub href: Option<String>,
    /// The text, including that of inner elements.
    pub text: String,
}

/// The elements with one of these ids or classes.
pub fn marked(html: &str, marks: &[String]) -> Result<Vec<Element>, ReadError> {
    elements(html, |it| marks.contains(&it.id) || it.classes.iter().any(|own| marks.contains(own)))
}

/// The elements for which `wanted` holds, in document order; of nested matches, the outermost.
pub fn elements(html: &str, wanted: impl Fn(&Element) -> bool) -> Result<Vec<Element>, ReadError> {
    // Keeps the root alive, which owns the children.
    let tree = tree(html)?;
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

/// The depth is already limited.
pub fn text(node: &Node, into: &mut String) {
    match &node.data {
        NodeData::Text { contents } => into.push_str(&contents.borrow()),
        NodeData::Element { name, .. } if matches!(&*name.local, "script" | "style") => {}
        _ => node.children.borrow().iter().for_each(|child| text(child, into)),
    }
}

/// Parsed piece by piece: the parser's time grows with the square of the depth, and only the tree
/// shows the depth.
fn tree(html: &str) -> Result<Rc<Node>, ReadError> {
    let mut parser = parse_document(RcDom::default(), ParseOpts::default());
    let mut at = 0;
    while at < html.len() {
        let end = html.floor_char_boundary(at + PIECE_BYTES.max(at / 8));
        parser.process(html[at..end].into());
        depth(&parser.tokenizer.sink.sink.document)?;
        at = end;
    }
    let tree = parser.finish().document;
    depth(&tree)?;
    Ok(tree)
}

/// Checks the depth without recursion, to protect the recursive conversion.
fn depth(tree: &Rc<Node>) -> Result<(), ReadError> {
    let mut todo = vec![(tree.clone(), 0)];
    while let Some((node, depth)) = todo.pop() {
        limits::depth(depth)?;
        todo.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1)));
    }
    Ok(())
}
