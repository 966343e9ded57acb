//! HTML, without what is not text.

use htmd::{
    HtmlToMarkdown, Node,
    options::{BulletListMarker, Options},
};
use std::rc::Rc;

use super::{ReadError, limits};

const NO_TEXT: [&str; 10] = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head", "form",
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
