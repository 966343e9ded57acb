//! What an OpenDocument file does not show: hidden sections, and elements that are no content.

use super::xml::XmlElement;

/// For each open section, whether it is not shown.
#[derive(Default)]
pub struct OdfSections(Vec<bool>);

impl OdfSections {
    pub fn open(&mut self, section: &XmlElement) {
        let is_hidden = self.are_hidden()
            || section.attribute("display") == Some("none")
            || is_hidden_now(section);
        self.0.push(is_hidden);
    }

    pub fn close(&mut self) {
        self.0.pop();
    }

    /// Whether what is in them is not shown.
    pub fn are_hidden(&self) -> bool {
        self.0.last() == Some(&true)
    }
}

/// Whether the condition under which a section or a paragraph is hidden was met.
pub fn is_hidden_now(element: &XmlElement) -> bool {
    element.attribute("is-hidden") == Some("true")
}

/// Deleted content, metadata and numbers.
pub fn is_skipped(name: &str) -> bool {
    matches!(
        name,
        "tracked-changes"
            | "sequence-decls"
            | "scripts"
            | "page-number"
            | "page-count"
            | "note-citation"
    )
}
