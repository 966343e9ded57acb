//! The texts of a workbook's cells, which may have superscripts, and the strings that cells share.

use super::{
    docx_paragraphs::script,
    reading::ReadError,
    words::{Line, Marks, Script},
    xml::{XmlElement, XmlNode, walk},
};
use crate::package::cell_escapes;

/// A text of several runs that is being read, without phonetic hints.
#[derive(Default)]
pub struct CellText {
    line: Line,
    script: Script,
    in_text: bool,
    /// The number of open hints.
    hints: usize,
}

impl CellText {
    pub fn open(&mut self, element: &XmlElement) {
        match element.name.as_str() {
            "t" => self.in_text = self.hints == 0,
            "r" => self.script = Script::Level,
            "vertAlign" => self.script = script(element.attribute("val").unwrap_or_default()),
            "rPh" => self.hints += 1,
            _ => {}
        }
    }

    pub fn text(&mut self, text: &str) {
        if self.in_text {
            self.line.push(text, Marks { script: self.script, ..Marks::default() });
        }
    }

    pub fn close(&mut self, name: &str) {
        match name {
            "t" => self.in_text = false,
            "r" => self.script = Script::Level,
            "rPh" => self.hints = self.hints.saturating_sub(1),
            _ => {}
        }
    }

    pub fn finish(self) -> String {
        let text = self.line.verbatim();
        if text.contains("_x") { cell_escapes::shown(&text) } else { text }
    }
}

/// The strings that cells share.
pub fn shared_strings(xml: &[u8]) -> Result<Vec<String>, ReadError> {
    let (mut strings, mut text) = (Vec::new(), CellText::default());
    walk(xml, |node| {
        match node {
            XmlNode::Open(element) => text.open(element),
            XmlNode::Text(part) => text.text(part),
            XmlNode::Close("si") => strings.push(std::mem::take(&mut text).finish()),
            XmlNode::Close(name) => text.close(name),
        }
        Ok(())
    })?;
    Ok(strings)
}
