//! The numbered lists of HTML pages. The converter counts all of them in digits.

use htmd::{
    Element, Node,
    element_handler::{HandlerResult, Handlers},
};

use super::{
    html_tables::{attribute, name},
    words::ItemMark,
};
use crate::package::numerals::Numerals;

/// A numbered list with the labels that a browser shows: `value`, `start`, `reversed` and `type`.
pub fn ordered(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let list = element.node;
    let children = list.children.borrow();
    let is_item = |node: &Node| name(node) == Some("li");
    let number = |node: &Node, name: &str| attribute(node, name)?.parse::<i64>().ok();
    let is_reversed = attribute(list, "reversed").is_some();
    let count = children.iter().filter(|child| is_item(child)).count() as i64;
    let mut next = number(list, "start").unwrap_or(if is_reversed { count } else { 1 });
    let kind = kind(list);
    let mut blocks = Vec::new();
    for child in children.iter() {
        let content = handlers.handle(child)?.content;
        let content = content.trim();
        if !is_item(child) {
            blocks.extend((!content.is_empty()).then(|| content.to_owned()));
            continue;
        }
        let own = number(child, "value").unwrap_or(next);
        next = if is_reversed { own.saturating_sub(1) } else { own.saturating_add(1) };
        let mark = mark(own, kind.as_deref()).written();
        let more = format!("\n{}", " ".repeat(mark.len() + 1));
        let lines = content.replace('\n', &more);
        let lines: Vec<&str> = lines.split('\n').map(str::trim_end).collect();
        blocks.push(format!("{mark} {}", lines.join("\n")));
    }
    let is_inner = is_inner(list);
    let gap = if is_inner { "\n" } else { "\n\n" };
    (!blocks.is_empty()).then(|| format!("{gap}{}{gap}", blocks.join("\n")).into())
}

/// Whether a list is in an item of another list.
fn is_inner(list: &Node) -> bool {
    let parent = list.parent.take();
    let is_inner = parent
        .as_ref()
        .and_then(std::rc::Weak::upgrade)
        .is_some_and(|parent| name(&parent) == Some("li"));
    list.parent.set(parent);
    is_inner
}

/// The kind of the labels: `type`, or that of the style.
fn kind(list: &Node) -> Option<String> {
    let style = attribute(list, "style").unwrap_or_default().to_ascii_lowercase();
    let of_style = style.split(';').find_map(|setting| {
        let (name, value) = setting.split_once(':')?;
        (name.trim() == "list-style-type").then(|| value.trim().to_owned())
    });
    of_style.or_else(|| attribute(list, "type"))
}

fn mark(number: i64, kind: Option<&str>) -> ItemMark {
    let Ok(number) = u64::try_from(number) else { return ItemMark::Label(format!("{number}.")) };
    let letters = match kind {
        _ if number == 0 => None,
        Some("a" | "lower-alpha" | "lower-latin") => Some(Numerals::Letters.write(number)),
        Some("A" | "upper-alpha" | "upper-latin") => {
            Some(Numerals::Letters.write(number).to_uppercase())
        }
        Some("i" | "lower-roman") => Some(Numerals::Roman.write(number)),
        Some("I" | "upper-roman") => Some(Numerals::Roman.write(number).to_uppercase()),
        _ => None,
    };
    letters.map_or(ItemMark::Number(number), |letters| ItemMark::Label(format!("{letters}.")))
}
