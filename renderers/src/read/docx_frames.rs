//! Single-cell tables that the renderers write for code, alerts and quotes in Word files,
//! recognised by the styles of their paragraphs.

use super::{reading::ReadError, words::Words};
use crate::document::Alert;
use crate::package::look;

/// The styles of the renderers.
const CODE: &str = "Code";
const ALERT_TITLE: &str = "AlertTitle";
const QUOTE: &str = "QuoteText";

const ALERTS: [(Alert, &str); 5] = [
    (Alert::Note, "NOTE"),
    (Alert::Tip, "TIP"),
    (Alert::Important, "IMPORTANT"),
    (Alert::Warning, "WARNING"),
    (Alert::Caution, "CAUTION"),
];

/// What the current table represents if it is not a real table.
#[derive(Debug, Default)]
pub struct WordFrame {
    cells: usize,
    /// The content of the cell, apart from its title.
    words: Words,
    /// The lines of code that are not part of `words` so far.
    code: Vec<String>,
    has_code: bool,
    /// Whether anything but code is in `words`.
    has_text: bool,
    title: Option<String>,
    is_quote: bool,
    /// Whether the open row was deleted.
    pub has_deleted_row: bool,
}

/// A paragraph inside a cell.
pub struct FramedParagraph<'p> {
    pub style: &'p str,
    /// The color of its first run.
    pub color: Option<&'p str>,
    /// With the spaces around it.
    pub text: &'p str,
}

impl WordFrame {
    pub fn open_cell(&mut self) {
        self.cells += 1;
        if self.cells > 1 {
            (self.words, self.code) = (Words::default(), Vec::new());
        }
    }

    /// The content of the only cell, to add something; `None` if there are others.
    pub fn content(&mut self) -> Option<&mut Words> {
        if self.cells != 1 {
            return None;
        }
        self.end_code();
        self.has_text = true;
        Some(&mut self.words)
    }

    fn end_code(&mut self) {
        if !self.code.is_empty() {
            self.has_code = true;
            self.words.paragraph(&fenced(&std::mem::take(&mut self.code).join("\n")));
        }
    }

    /// Takes a paragraph that is code or a title; `false` if it is part of the content.
    pub fn takes(&mut self, paragraph: &FramedParagraph<'_>) -> bool {
        if self.cells != 1 {
            return true;
        }
        let FramedParagraph { style, color, text } = *paragraph;
        self.is_quote |= style == QUOTE;
        match style {
            CODE => self.code.push(text.trim_end().to_owned()),
            ALERT_TITLE if self.title.is_none() => {
                let is_kind = |(alert, _): &&(Alert, &str)| color == Some(look::alert(*alert));
                let kind = ALERTS.iter().find(is_kind);
                let title = || format!("**{}**", text.trim());
                self.title = Some(kind.map_or_else(title, |(_, name)| format!("[!{name}]")));
            }
            _ if text.trim().is_empty() => self.end_code(),
            _ => return false,
        }
        true
    }

    /// The Markdown of code, an alert or a quote; `None` if it is a table.
    pub fn finish(mut self) -> Option<String> {
        if self.cells != 1 {
            return None;
        }
        self.end_code();
        if let Some(title) = self.title {
            return Some(quoted(&format!("{title}\n{}", self.words.finish())));
        }
        if self.is_quote {
            return Some(quoted(&self.words.finish()));
        }
        (self.has_code && !self.has_text).then(|| self.words.finish())
    }
}

/// Adds the rows of a table to the content of the cell that it is in.
pub fn add_table(outer: Option<&mut WordFrame>, rows: &[Vec<String>]) -> Result<(), ReadError> {
    match outer.and_then(WordFrame::content) {
        Some(words) => words.table(rows),
        None => Ok(()),
    }
}

fn quoted(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { ">".to_owned() } else { format!("> {line}") };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The code between fences that are longer than any in it.
pub fn fenced(code: &str) -> String {
    let fence = |line: &str| line.trim_start().bytes().take_while(|byte| *byte == b'`').count();
    let longest = code.lines().map(fence).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{code}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(paragraphs: &[(&str, &str)]) -> Option<String> {
        let mut frame = WordFrame::default();
        frame.open_cell();
        for (style, text) in paragraphs {
            if !frame.takes(&FramedParagraph { style, color: None, text }) {
                frame.content().unwrap().paragraph(text);
            }
        }
        frame.finish()
    }

    #[test]
    fn code_among_other_paragraphs_keeps_its_place() {
        let alert = [
            (ALERT_TITLE, "Look"),
            ("BodyText", "before"),
            (CODE, "a {"),
            (CODE, "}"),
            ("", ""),
            (CODE, "b"),
            ("BodyText", "after"),
        ];
        let wanted =
            "> **Look**\n> before\n>\n> ```\n> a {\n> }\n> ```\n>\n> ```\n> b\n> ```\n>\n> after";
        assert_eq!(framed(&alert).unwrap(), wanted);
        let quote = [(QUOTE, "said"), (CODE, "code")];
        assert_eq!(framed(&quote).unwrap(), "> said\n>\n> ```\n> code\n> ```");
    }

    #[test]
    fn code_alone_is_code_and_with_text_a_table() {
        assert_eq!(framed(&[(CODE, "a"), (CODE, "b"), ("", "")]).unwrap(), "```\na\nb\n```");
        assert_eq!(framed(&[(CODE, "a"), ("", "text")]), None);
    }
}
