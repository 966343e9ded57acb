//! The conventions of reveal.js: `Note:` begins the speaker notes of a slide, `--` a slide below the
//! current one, and comments such as `.element: class="fragment"` set attributes.

use super::plan::{is_cut_at_headings, is_large_heading};
use crate::Document;
use crate::document::{Block, Inline, each_block_of, each_in};
use crate::package::text::{flat, plain};

/// The beginnings of comments that set attributes.
const ATTRIBUTES: [&str; 2] = [".element:", ".slide:"];

/// The document in the conventions of this crate; `None` if it uses none of reveal.js.
pub fn adapted(document: &Document) -> Option<Document> {
    let has = |is: fn(&Block) -> bool| document.blocks.iter().any(is);
    let mut attributes = Vec::new();
    document.each_block(&mut |block| attributes.extend(attribute(block)));
    if !(has(is_note_line) || has(is_separator) || !attributes.is_empty()) {
        return None;
    }
    let mut adapted = document.clone();
    adapted.blocks = blocks(std::mem::take(&mut adapted.blocks));
    if let Some(first) = attributes.first() {
        let shown: String = first.chars().take(40).collect();
        let warning = format!("Attributes such as “{shown}” have no effect on slides.");
        adapted.warnings.push(warning.into());
    }
    Some(adapted)
}

fn blocks(blocks: Vec<Block>) -> Vec<Block> {
    let blocks = without_attributes(blocks);
    let is_break = |block: &Block| matches!(block, Block::Break) || is_separator(block);
    let by_heading = is_cut_at_headings(&blocks, is_break);
    let mut adapted: Vec<Block> = Vec::new();
    // The notes of the current slide, once they have begun.
    let mut notes: Option<Vec<String>> = None;
    for block in blocks {
        let is_break = is_break(&block);
        if is_break || by_heading && is_large_heading(&block) {
            adapted.extend(notes.take().map(|lines| Block::Comment(lines.join("\n"))));
            adapted.push(if is_break { Block::Break } else { block });
        } else if let Some(lines) = notes.as_mut().filter(|_| is_plain(&block)) {
            lines.extend(flat(&[block]));
        } else if let Some(first) = note(&block).filter(|_| is_plain(&block)) {
            notes = Some(first);
        } else {
            adapted.push(block);
        }
    }
    adapted.extend(notes.map(|lines| Block::Comment(lines.join("\n"))));
    adapted
}

/// Whether nothing is lost if the block becomes notes, which are lines of text.
fn is_plain(block: &Block) -> bool {
    let mut is_plain = true;
    each_block_of(std::slice::from_ref(block), &mut |block| match block {
        Block::Paragraph(content) | Block::Heading { content, .. } => {
            each_in(content, &mut |inline| {
                is_plain &= !matches!(inline, Inline::Image { .. } | Inline::Footnote(_));
            });
        }
        Block::List(_) | Block::Quote { .. } | Block::Code { .. } => {}
        _ => is_plain = false,
    });
    is_plain
}

fn without_attributes(mut blocks: Vec<Block>) -> Vec<Block> {
    blocks.retain(|block| attribute(block).is_none());
    for block in &mut blocks {
        match block {
            Block::List(list) => {
                for item in &mut list.items {
                    item.blocks = without_attributes(std::mem::take(&mut item.blocks));
                }
            }
            Block::Quote { blocks, .. } => *blocks = without_attributes(std::mem::take(blocks)),
            Block::Columns(columns) => {
                for column in columns {
                    *column = without_attributes(std::mem::take(column));
                }
            }
            Block::Definitions(terms) => {
                for term in terms {
                    term.description = without_attributes(std::mem::take(&mut term.description));
                }
            }
            _ => {}
        }
    }
    blocks
}

fn attribute(block: &Block) -> Option<&str> {
    let Block::Comment(text) = block else { return None };
    let text = text.trim();
    ATTRIBUTES.iter().any(|begin| text.starts_with(begin)).then_some(text)
}

fn is_separator(block: &Block) -> bool {
    matches!(block, Block::Paragraph(content) if plain(content).trim() == "--")
}

/// The first lines of the notes, if the paragraph begins with `Note:`.
fn note(block: &Block) -> Option<Vec<String>> {
    let Block::Paragraph(content) = block else { return None };
    let Some(Inline::Text(first)) = content.first() else { return None };
    let begin = ["Note:", "Notes:", "note:", "notes:"].into_iter();
    let begin = begin.clone().find(|begin| first.starts_with(begin))?;
    let text = plain(content);
    let lines = text[begin.len()..].lines().map(|line| line.trim().to_owned());
    Some(lines.filter(|line| !line.is_empty()).collect())
}

/// Whether the paragraph has a line with nothing but `Note:`.
fn is_note_line(block: &Block) -> bool {
    let Block::Paragraph(content) = block else { return false };
    let is_mark = |text: &str| matches!(text.trim(), "Note:" | "Notes:" | "note:" | "notes:");
    match content.as_slice() {
        [Inline::Text(text)] | [Inline::Text(text), Inline::SoftBreak | Inline::LineBreak, ..] => {
            is_mark(text)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Definition;
    use crate::markdown;
    use crate::pptx::plan;

    /// The title, the text and the notes of each slide.
    fn slides(source: &str) -> (Vec<(String, String, String)>, Vec<String>) {
        let document = markdown::read(source).unwrap();
        let document = adapted(&document).unwrap_or(document);
        let slides = plan::slides(&document).into_iter().map(|slide| {
            let text = slide.blocks.iter().flat_map(|block| flat(std::slice::from_ref(*block)));
            let text: Vec<String> = text.collect();
            let title = slide.title.as_deref().map(plain).unwrap_or_default();
            (title, text.join("|").trim().to_owned(), slide.notes.join("|"))
        });
        (slides.collect(), document.warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn notes_separators_and_attributes_of_reveal_are_known() {
        let source = "## A\n\ntext\n\nNote:\nsaid\n\n- also\n\n--\n\n## B\n\n\
                      - b <!-- .element: class=\"fragment\" -->\n\nNote: more\n";
        let (slides, warnings) = slides(source);
        let slide = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(slides, [slide("A", "text", "said\nalso"), slide("B", "b", "more")]);
        assert!(warnings.len() == 1 && warnings[0].contains(".element"), "{warnings:?}");
    }

    #[test]
    fn notes_end_at_a_heading_that_starts_a_slide() {
        let (slides, _) = slides("## A\n\ntext\n\nNote:\nsaid\n\n### also\n\n## B\n\nb\n");
        let slide = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(slides, [slide("A", "text", "said\nalso"), slide("B", "b", "")]);
    }

    #[test]
    fn attributes_in_definitions_are_no_notes() {
        let description = vec![Block::Comment(".element: class=\"fragment\"".into())];
        let definition = Definition { term: vec![Inline::Text("a".into())], description };
        let blocks = vec![Block::Definitions(vec![definition])];
        let document = adapted(&Document { blocks, ..Document::default() }).unwrap();
        assert_eq!(plan::slides(&document)[0].notes, Vec::<String>::new());
    }

    #[test]
    fn a_remark_of_an_ordinary_text_stays() {
        let (slides, _) = slides("## A\n\nNote: this is shown.\n");
        assert_eq!(slides[0].1, "Note: this is shown.");
    }
}
