//! The headers and footers of an OpenDocument file, which its master pages have.

use std::collections::HashSet;

use super::{
    odf::OdfBody,
    words::EdgeTexts,
    xml::{XmlElement, XmlNode, walk},
};

/// The headers and footers of the master pages that are in use, each once. The first page is in use,
/// even if no style refers to it.
pub fn edges(styles: &[u8], masters: &HashSet<String>) -> EdgeTexts {
    let mut reader = EdgeReader { masters: masters.clone(), ..EdgeReader::default() };
    // A damaged header or footer is ignored.
    let _ = walk(styles, |node| {
        reader.step(&node);
        Ok(())
    });
    reader.texts
}

#[derive(Default)]
struct EdgeReader {
    masters: HashSet<String>,
    /// The number of master pages so far.
    pages: usize,
    is_used: bool,
    /// The header or footer that is open, and the number of open elements in it.
    open: Option<OdfBody>,
    inside: usize,
    texts: EdgeTexts,
}

impl EdgeReader {
    fn step(&mut self, node: &XmlNode<'_>) {
        if let Some(edge) = &mut self.open {
            match node {
                XmlNode::Open(_) => self.inside += 1,
                XmlNode::Close(_) if self.inside == 0 => return self.end(),
                XmlNode::Close(_) => self.inside -= 1,
                XmlNode::Text(_) => {}
            }
            if edge.step(node).is_err() {
                self.open = None;
            }
            return;
        }
        match node {
            XmlNode::Open(element) if element.name == "master-page" => self.begin_page(element),
            XmlNode::Close("master-page") => self.is_used = false,
            XmlNode::Open(element) if self.is_used && is_edge(element) => {
                (self.open, self.inside) = (Some(OdfBody::of_edge()), 0);
            }
            _ => {}
        }
    }

    fn begin_page(&mut self, element: &XmlElement) {
        let name = element.attribute("name").unwrap_or_default();
        self.pages += 1;
        self.is_used = self.pages == 1 || self.masters.contains(name);
        let next = element.attribute("next-style-name").filter(|_| self.is_used);
        self.masters.extend(next.map(str::to_owned));
    }

    fn end(&mut self) {
        self.texts.add(self.open.take().map(OdfBody::finish).unwrap_or_default());
    }
}

fn is_edge(element: &XmlElement) -> bool {
    let is_name = |start: &str| {
        let rest = element.name.strip_prefix(start);
        matches!(rest, Some("" | "-left" | "-first"))
    };
    (is_name("header") || is_name("footer")) && element.attribute("display") != Some("false")
}
