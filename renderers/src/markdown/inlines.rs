//! comrak's inlines to ours.

use comrak::nodes::{Node, NodeValue};

use super::clean;
use super::html::{self, Piece};
use super::reader::Reader;
use crate::budgets::NESTING;
use crate::document::{Inline, plain_text};

/// A paragraph, or the formula between two.
pub enum Cut {
    Text(Vec<Inline>),
    Math(String),
}

/// The inlines inside `node`, which stands `depth` levels deep.
pub fn read<'a>(reader: &mut Reader<'a>, node: Node<'a>, depth: usize) -> Vec<Inline> {
    let mut open = Open::default();
    for child in node.children() {
        inline(reader, child, depth, &mut open);
    }
    open.close_all()
}

/// Like [`read`], cut where a formula stands on lines of its own.
pub fn read_cut<'a>(reader: &mut Reader<'a>, node: Node<'a>, depth: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut open = Open::default();
    for child in node.children() {
        match &child.data().value {
            NodeValue::Math(math) if math.display_math => {
                push(&mut cuts, std::mem::take(&mut open).close_all());
                cuts.push(Cut::Math(clean::text(math.literal.trim())));
            }
            _ => inline(reader, child, depth, &mut open),
        }
    }
    push(&mut cuts, open.close_all());
    cuts
}

fn push(cuts: &mut Vec<Cut>, mut content: Vec<Inline>) {
    let is_break = |inline: &Inline| matches!(inline, Inline::SoftBreak | Inline::LineBreak);
    while content.last().is_some_and(is_break) {
        content.pop();
    }
    let breaks = content.iter().take_while(|inline| is_break(inline)).count();
    content.drain(..breaks);
    if !content.is_empty() {
        cuts.push(Cut::Text(content));
    }
}

/// The inlines read so far, and the HTML tags that are still open around the next one.
#[derive(Default)]
struct Open {
    done: Vec<Inline>,
    tags: Vec<(String, Vec<Inline>)>,
}

impl Open {
    fn push(&mut self, inline: Inline) {
        self.tags.last_mut().map_or(&mut self.done, |(_, content)| content).push(inline);
    }

    fn extend(&mut self, content: Vec<Inline>) {
        self.tags.last_mut().map_or(&mut self.done, |(_, inside)| inside).extend(content);
    }

    fn open(&mut self, name: String) {
        self.tags.push((name, Vec::new()));
    }

    /// Closes the innermost tag if it is this one; a tag that nobody opened is nothing.
    fn close(&mut self, name: &str) {
        if self.tags.last().is_some_and(|(open, _)| open == name)
            && let Some((name, content)) = self.tags.pop()
            && let Some(inline) = styled(&name, content)
        {
            self.push(inline);
        }
    }

    /// What is still open was never closed, so its tag says nothing.
    fn close_all(mut self) -> Vec<Inline> {
        for (name, content) in std::mem::take(&mut self.tags) {
            if !html::SILENT.contains(&name.as_str()) {
                self.done.extend(content);
            }
        }
        self.done
    }
}

fn styled(tag: &str, content: Vec<Inline>) -> Option<Inline> {
    match tag {
        "b" | "strong" => Some(Inline::Strong(content)),
        "i" | "em" => Some(Inline::Emphasis(content)),
        "s" | "del" | "strike" => Some(Inline::Strike(content)),
        "code" | "kbd" | "samp" | "tt" => Some(Inline::Code(plain_text(&content))),
        _ => None,
    }
}

fn is_styled(tag: &str) -> bool {
    styled(tag, Vec::new()).is_some()
}

fn inline<'a>(reader: &mut Reader<'a>, node: Node<'a>, depth: usize, open: &mut Open) {
    if depth >= NESTING && node.first_child().is_some() {
        reader.losses.deep();
        open.extend(flat(node));
        return;
    }
    let read = match &node.data().value {
        NodeValue::Text(text) => Inline::Text(clean::text(text)),
        NodeValue::SoftBreak => Inline::SoftBreak,
        NodeValue::LineBreak => Inline::LineBreak,
        NodeValue::Code(code) => Inline::Code(clean::text(&code.literal)),
        NodeValue::Math(math) => Inline::Math(clean::text(math.literal.trim())),
        NodeValue::Emph => Inline::Emphasis(read(reader, node, depth + 1)),
        NodeValue::Strong => Inline::Strong(read(reader, node, depth + 1)),
        NodeValue::Strikethrough => Inline::Strike(read(reader, node, depth + 1)),
        NodeValue::Link(link) => {
            let content = read(reader, node, depth + 1);
            return match content.as_slice() {
                [Inline::Text(text)] if is_bare(&link.url, text) => {
                    push_bare(reader, &link.url, text, open);
                }
                _ => push_link(reader, &link.url, &link.title, content, open),
            };
        }
        NodeValue::Image(image) => Inline::Image {
            url: clean::line(&image.url),
            alt: clean::line(&plain_text(&read(reader, node, depth + 1))),
            title: clean::line(&image.title),
        },
        NodeValue::FootnoteReference(note) => match reader.note(&note.name) {
            Some(index) => Inline::Footnote(index),
            None => Inline::Text(format!("[{}]", clean::line(&note.name))),
        },
        NodeValue::HtmlInline(html) => return push_html(reader, html, open),
        _ => {
            open.extend(read(reader, node, depth + 1));
            return;
        }
    };
    open.push(read);
}

fn push_link(reader: &mut Reader, url: &str, title: &str, content: Vec<Inline>, open: &mut Open) {
    match clean::link(url) {
        Some(url) if !content.is_empty() => {
            open.push(Inline::Link { url, title: clean::line(title), content });
        }
        Some(url) => open.push(Inline::Text(url)),
        None => {
            if !url.is_empty() {
                reader.losses.link(&clean::line(url));
            }
            open.extend(content);
        }
    }
}

fn is_bare(url: &str, text: &str) -> bool {
    url.strip_prefix("http://").is_some_and(|rest| rest == text) || url == text
}

/// An address that stands for itself; what it has swallowed of the sentence is text again, but for
/// the addresses in it.
fn push_bare(reader: &mut Reader, url: &str, text: &str, open: &mut Open) {
    let (mut url, mut text) = (url, text);
    loop {
        let (shown, rest) = text.split_at(clean::bare_link(text));
        let content = vec![Inline::Text(shown.to_owned())];
        push_link(reader, &url[..url.len() - rest.len()], "", content, open);
        let next = ["https://", "http://"].iter().filter_map(|start| rest.find(start)).min();
        let (between, further) = rest.split_at(next.unwrap_or(rest.len()));
        if !between.is_empty() {
            open.push(Inline::Text(between.to_owned()));
        }
        if further.is_empty() {
            return;
        }
        (url, text) = (further, further);
    }
}

fn push_html(reader: &mut Reader, html: &str, open: &mut Open) {
    for piece in html::pieces(html) {
        match piece {
            Piece::Comment(comment) => reader.comments.push(clean::text(comment)),
            Piece::Text(text) => open.push(Inline::Text(clean::text(&text))),
            Piece::Tag { name, .. } if name == "br" => open.push(Inline::LineBreak),
            Piece::Tag { name, closes } => {
                let silent = html::SILENT.contains(&name.as_str());
                if !is_styled(&name) {
                    reader.losses.tag(&name);
                }
                match closes {
                    true => open.close(&name),
                    false if silent || is_styled(&name) => open.open(name),
                    false => {}
                }
            }
        }
    }
}

/// All text below `node`, without recursion and without style.
pub fn flat(node: Node) -> Vec<Inline> {
    let mut content = Vec::new();
    for below in node.descendants() {
        let text = match &below.data().value {
            NodeValue::Text(text) => clean::text(text),
            NodeValue::Code(code) => clean::text(&code.literal),
            NodeValue::CodeBlock(code) => clean::text(&code.literal),
            NodeValue::Math(math) => clean::text(&math.literal),
            NodeValue::SoftBreak
            | NodeValue::LineBreak
            | NodeValue::Paragraph
            | NodeValue::TableCell => " ".to_owned(),
            _ => continue,
        };
        content.push(Inline::Text(text));
    }
    content
}
