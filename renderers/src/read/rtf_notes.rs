//! The footnotes of an RTF file, which stand inside the text, and the lines that they interrupt.

use super::{
    rtf_changes::RtfChange,
    words::{Line, Marks, Words},
};

/// A line that is being read.
#[derive(Default)]
pub struct RtfLine {
    line: Line,
    /// The change whose mark is open.
    change: Option<RtfChange>,
    /// The target of the link that is open.
    link: Option<String>,
}

impl RtfLine {
    pub fn push(&mut self, text: &str, marks: Marks, change: Option<RtfChange>) {
        self.turn_to(change);
        self.line.push(text, marks);
    }

    pub fn begin_link(&mut self, target: String) {
        self.end_link();
        self.turn_to(None);
        self.line.push_plain("[");
        self.link = Some(target);
    }

    pub fn end_link(&mut self) {
        if let Some(link) = self.link.take() {
            self.turn_to(None);
            self.line.push_plain(&format!("]({link})"));
        }
    }

    /// Ends the mark of the open change, and begins that of another one.
    fn turn_to(&mut self, change: Option<RtfChange>) {
        if self.change == change {
            return;
        }
        if let Some(ended) = std::mem::replace(&mut self.change, change) {
            self.line.push_plain(ended.marks()[1]);
        }
        if let Some(begun) = change {
            self.line.push_plain(begun.marks()[0]);
        }
    }

    /// The text of the line, which ends.
    pub fn take(&mut self) -> String {
        self.end_link();
        self.turn_to(None);
        std::mem::take(self).line.finish()
    }
}

/// The footnotes so far.
#[derive(Default)]
pub struct RtfNotes {
    texts: Vec<String>,
    /// The lines that open footnotes interrupt.
    outer: Vec<RtfLine>,
}

impl RtfNotes {
    /// Begins a footnote in a line, which becomes the line of the footnote.
    pub fn begin(&mut self, line: &mut RtfLine) {
        self.outer.push(std::mem::take(line));
    }

    /// Ends a footnote, and writes its mark into the line that it interrupted.
    pub fn end(&mut self, line: &mut RtfLine) {
        let Some(outer) = self.outer.pop() else { return };
        let text = std::mem::replace(line, outer).take();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            self.texts.push(text);
            line.line.push_plain(&format!("[^{}]", self.texts.len()));
        }
    }

    /// Ends the footnotes that a damaged file leaves open.
    pub fn end_all(&mut self, line: &mut RtfLine) {
        while !self.outer.is_empty() {
            self.end(line);
        }
    }

    /// Writes the footnotes with their marks, as for Word files.
    pub fn write_to(&self, words: &mut Words) {
        if !self.texts.is_empty() {
            words.heading(2, "Footnotes");
        }
        for (at, text) in self.texts.iter().enumerate() {
            words.paragraph(&format!("[^{}]: {text}", at + 1));
        }
    }
}
