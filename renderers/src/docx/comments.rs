//! Comments of reviewers: footnotes whose names begin with `comment-`.

use super::draw::Draw;
use super::inlines::beginning;
use crate::document::{Block, Inline};
use crate::package::xml::Xml;

const KIND: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.comments+xml";

/// The maximum length of the name of an author.
const NAME_CHARS: usize = 60;
/// The maximum length of an author and of initials, in UTF-16 units; Word rejects longer ones.
const AUTHOR_UNITS: usize = 255;
const INITIALS_UNITS: usize = 9;

impl Draw<'_> {
    /// Writes the mark of a comment. Word allows one per comment; later ones are left out.
    pub fn comment_mark(&mut self, xml: &mut Xml, note: usize) {
        if std::mem::replace(&mut self.mentioned[note], true) {
            return;
        }
        xml.open("w:r", &[]);
        xml.empty("w:commentReference", &[("w:id", &note.to_string())]);
        xml.close();
    }

    /// Writes `word/comments.xml`, if there are comments.
    pub fn comments(&mut self) {
        let document = self.document;
        let marked: Vec<_> =
            document.comments.iter().copied().filter(|note| self.mentioned[*note]).collect();
        if marked.is_empty() {
            return;
        }
        self.notes_part("w:comments", KIND, |draw, xml| {
            for note in marked {
                draw.comment(xml, note);
            }
        });
    }

    fn comment(&mut self, xml: &mut Xml, note: usize) {
        let document = self.document;
        let (author, blocks) = authored(&document.notes[note]);
        let author = author.or_else(|| document.meta.author.clone()).unwrap_or_default();
        let author = beginning(&author, AUTHOR_UNITS);
        let initials: String =
            author.split_whitespace().filter_map(|word| word.chars().next()).collect();
        let initials = beginning(&initials, INITIALS_UNITS);
        let id = note.to_string();
        xml.open(
            "w:comment",
            &[("w:id", id.as_str()), ("w:author", author), ("w:initials", initials)],
        );
        self.blocks(xml, &blocks, self.note_place());
        // Word requires a paragraph at the end.
        if !matches!(blocks.last(), Some(Block::Paragraph(_) | Block::List(_))) {
            xml.empty("w:p", &[]);
        }
        xml.close();
    }
}

/// The author at the beginning of a comment, as in `Ann: Is this right?`, and the text without it.
fn authored(blocks: &[Block]) -> (Option<String>, Vec<Block>) {
    let mut blocks = blocks.to_vec();
    let first = match blocks.first_mut() {
        Some(Block::Paragraph(content)) => content.first_mut(),
        _ => None,
    };
    let Some(Inline::Text(text)) = first else { return (None, blocks) };
    let Some((name, rest)) = text.split_once(": ") else { return (None, blocks) };
    if name.trim().is_empty() || name.chars().count() > NAME_CHARS {
        return (None, blocks);
    }
    let (name, rest) = (name.trim().to_owned(), rest.to_owned());
    *text = rest;
    (Some(name), blocks)
}
