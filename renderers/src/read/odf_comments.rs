//! Comments of OpenDocument files, which are stored at the text that they refer to.

use super::{
    words::Words,
    xml::{XmlElement, XmlNode},
};
use crate::document::COMMENT_NAME;

/// The comments read so far, and the open one.
#[derive(Default)]
pub struct OdfComments {
    all: Vec<OdfComment>,
    open: Option<OdfComment>,
    /// The open elements of the comment.
    inside: Vec<String>,
}

#[derive(Default)]
struct OdfComment {
    author: String,
    text: String,
}

impl OdfComments {
    /// Takes an event that belongs to a comment; `false` if it belongs to the text. At the end of a
    /// comment, `mark` is its mark.
    pub fn take(&mut self, node: &XmlNode<'_>, mark: &mut Option<String>) -> bool {
        let Some(open) = &mut self.open else { return self.begins(node) };
        match node {
            XmlNode::Open(element) => self.inside.push(element.name.clone()),
            XmlNode::Text(text) => {
                let is_in = |name: &str| self.inside.iter().any(|inside| inside == name);
                if is_in("creator") {
                    open.author.push_str(text);
                } else if is_in("p") || is_in("h") {
                    open.text.push_str(text);
                }
            }
            XmlNode::Close(name) => {
                if matches!(*name, "p" | "h" | "s" | "line-break") {
                    open.text.push(' ');
                }
                if self.inside.pop().is_none() {
                    *mark = self.end();
                }
            }
        }
        true
    }

    fn begins(&mut self, node: &XmlNode<'_>) -> bool {
        let is_comment = |element: &XmlElement| element.name == "annotation";
        let begins = matches!(node, XmlNode::Open(element) if is_comment(element));
        if begins {
            self.open = Some(OdfComment::default());
        }
        begins
    }

    fn end(&mut self) -> Option<String> {
        let mut comment = self.open.take()?;
        comment.text = comment.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if comment.text.is_empty() {
            return None;
        }
        self.all.push(comment);
        Some(format!("[^{COMMENT_NAME}{}]", self.all.len()))
    }

    /// Writes the comments with their marks.
    pub fn write_to(self, words: &mut Words) {
        if !self.all.is_empty() {
            words.heading(2, "Comments");
        }
        for (at, OdfComment { author, text }) in self.all.into_iter().enumerate() {
            let who = if author.is_empty() { author } else { format!("{author}: ") };
            words.paragraph(&format!("[^{COMMENT_NAME}{}]: {who}{text}", at + 1));
        }
    }
}
