//! Tables of a single cell that are no tables: the code, the alerts and the quotes of Word files that
//! the renderers have written, known by the styles of their paragraphs.

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

/// What an open table would be if it were none.
#[derive(Debug, Default)]
pub struct WordFrame {
    cells: usize,
    /// The content of the cell, apart from its title.
    words: Words,
    code: Vec<String>,
    title: Option<String>,
    is_quote: bool,
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
            self.words = Words::default();
            self.code = Vec::new();
        }
    }

    /// The content of the only cell; `None` if there are others.
    pub fn content(&mut self) -> Option<&mut Words> {
        (self.cells == 1).then_some(&mut self.words)
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
            _ => return text.trim().is_empty(),
        }
        true
    }

    /// The Markdown of code, an alert or a quote; `None` if it is a table.
    pub fn finish(self) -> Option<String> {
        if self.cells != 1 {
            return None;
        }
        if let Some(title) = self.title {
            return Some(quoted(&format!("{title}\n{}", self.words.finish())));
        }
        if !self.code.is_empty() && self.words.is_empty() {
            return Some(fenced(&self.code.join("\n")));
        }
        self.is_quote.then(|| quoted(&self.words.finish()))
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
fn fenced(code: &str) -> String {
    let fence = |line: &str| line.trim_start().bytes().take_while(|byte| *byte == b'`').count();
    let longest = code.lines().map(fence).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{code}\n{fence}")
}
