//! XML as a tree that keeps the source: what is not changed is written back byte for byte.

use std::fmt::Write as _;

use quick_xml::{Reader, escape, events::Event};

use super::EditError;
use crate::read::limits;

/// Elements around rows, cells or paragraphs of Word: content controls and the like.
pub const WRAPPERS: [&str; 3] = ["sdt", "sdtContent", "customXml"];

/// What some programs begin parts with.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// A part of an XML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Element(TreeElement),
    /// Escaped text, a comment, a declaration and the like, as in the source.
    Raw(String),
}

/// An element with its tags as in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeElement {
    /// With its prefix.
    pub name: String,
    start: String,
    pub children: Vec<Node>,
    end: String,
}

/// Parses a part of a package.
pub fn parse(part: &str, xml: &[u8]) -> Result<Vec<Node>, EditError> {
    let damaged = |why: &str| EditError::Invalid(format!("{part} is damaged: {why}."));
    let xml = std::str::from_utf8(xml).map_err(|_| damaged("it is not UTF-8"))?;
    // The reader would skip the mark without counting its bytes.
    let (marks, xml) = xml.split_at(xml.len() - xml.trim_start_matches(BYTE_ORDER_MARK).len());
    let mut reader = Reader::from_str(xml);
    let mut open: Vec<TreeElement> = Vec::new();
    let mut top: Vec<Node> = Vec::new();
    top.extend((!marks.is_empty()).then(|| Node::Raw(marks.to_owned())));
    let mut from = 0;
    loop {
        let event = reader.read_event().map_err(|error| damaged(&error.to_string()))?;
        let to = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX).min(xml.len());
        let source = &xml[from..to];
        from = to;
        match event {
            Event::Start(start) => {
                limits::depth(open.len())?;
                open.push(TreeElement::from_source(start.name().as_ref(), source));
            }
            Event::Empty(start) => {
                let element = TreeElement::from_source(start.name().as_ref(), source);
                add(&mut open, &mut top, Node::Element(element));
            }
            Event::End(_) => {
                let mut element = open.pop().ok_or_else(|| damaged("a tag is closed twice"))?;
                source.clone_into(&mut element.end);
                add(&mut open, &mut top, Node::Element(element));
            }
            Event::DocType(_) => return Err(damaged("it declares a document type")),
            Event::Eof if open.is_empty() => return Ok(top),
            Event::Eof => return Err(damaged("a tag is not closed")),
            _ => add(&mut open, &mut top, Node::Raw(source.to_owned())),
        }
    }
}

fn add(open: &mut [TreeElement], top: &mut Vec<Node>, node: Node) {
    open.last_mut().map_or(top, |parent| &mut parent.children).push(node);
}

/// The XML of these nodes.
pub fn write(nodes: &[Node]) -> String {
    let mut xml = String::new();
    for node in nodes {
        node.write(&mut xml);
    }
    xml
}

/// The root element.
pub fn root<'t>(part: &str, nodes: &'t mut [Node]) -> Result<&'t mut TreeElement, EditError> {
    let root = nodes.iter_mut().find_map(Node::as_element_mut);
    root.ok_or_else(|| EditError::Invalid(format!("{part} is damaged: it is empty.")))
}

impl Node {
    fn write(&self, xml: &mut String) {
        match self {
            Self::Raw(raw) => xml.push_str(raw),
            Self::Element(element) => {
                xml.push_str(&element.start);
                for child in &element.children {
                    child.write(xml);
                }
                xml.push_str(&element.end);
            }
        }
    }

    pub fn as_element(&self) -> Option<&TreeElement> {
        match self {
            Self::Element(element) => Some(element),
            Self::Raw(_) => None,
        }
    }

    pub fn as_element_mut(&mut self) -> Option<&mut TreeElement> {
        match self {
            Self::Element(element) => Some(element),
            Self::Raw(_) => None,
        }
    }

    /// Whether it is an element with this name, regardless of its prefix.
    pub fn is(&self, local: &str) -> bool {
        self.as_element().is_some_and(|element| element.local() == local)
    }
}

impl TreeElement {
    fn from_source(name: &[u8], source: &str) -> Self {
        let name = String::from_utf8_lossy(name).into_owned();
        Self { name, start: source.to_owned(), children: Vec::new(), end: String::new() }
    }

    /// A new element with these attributes.
    pub fn new(name: &str, attributes: &[(&str, &str)]) -> Self {
        let mut start = format!("<{name}");
        for (key, value) in attributes {
            let _ = write!(start, " {key}=\"{}\"", escaped(value));
        }
        start += "/>";
        Self { name: name.to_owned(), start, children: Vec::new(), end: String::new() }
    }

    #[must_use]
    pub fn with(mut self, child: TreeElement) -> Self {
        self.push(child);
        self
    }

    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        self.set_text(text);
        self
    }

    pub fn push(&mut self, child: TreeElement) {
        self.insert(self.children.len(), child);
    }

    pub fn insert(&mut self, at: usize, child: TreeElement) {
        self.open();
        self.children.insert(at, Node::Element(child));
    }

    /// Gives an element that the source closes at once a closing tag.
    pub fn open(&mut self) {
        if self.end.is_empty() {
            let start = self.start.trim_end_matches('>').trim_end_matches('/').trim_end();
            self.start = format!("{start}>");
            self.end = format!("</{}>", self.name);
        }
    }

    pub fn local(&self) -> &str {
        self.name.rsplit_once(':').map_or(&self.name, |(_, local)| local)
    }

    /// The name with the prefix of this element.
    pub fn named(&self, local: &str) -> String {
        match self.name.rsplit_once(':') {
            Some((prefix, _)) => format!("{prefix}:{local}"),
            None => local.to_owned(),
        }
    }

    /// Where the value of an attribute is in the start tag. The name has its prefix.
    fn place(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let mut at = 1 + self.name.len();
        let source = &self.start;
        loop {
            let rest = &source[at..];
            at += rest.len() - rest.trim_start().len();
            let equals = at + source[at..].find('=')?;
            let after = &source[equals + 1..];
            let open = equals + 1 + after.len() - after.trim_start().len();
            let quote = source[open..].chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let end = open + 1 + source[open + 1..].find(quote)?;
            if source[at..equals].trim_end() == name {
                return Some(open + 1..end);
            }
            at = end + 1;
        }
    }

    pub fn attribute(&self, name: &str) -> Option<String> {
        let value = &self.start[self.place(name)?];
        Some(escape::unescape(value).map_or_else(|_| value.to_owned(), Into::into))
    }

    pub fn number(&self, name: &str) -> Option<u32> {
        self.attribute(name)?.parse().ok()
    }

    pub fn set(&mut self, name: &str, value: &str) {
        let value = escaped(value);
        if let Some(place) = self.place(name) {
            self.start.replace_range(place, &value);
        } else {
            self.start.insert_str(1 + self.name.len(), &format!(" {name}=\"{value}\""));
        }
    }

    pub fn unset(&mut self, name: &str) {
        if let Some(place) = self.place(name) {
            let before = &self.start[..place.start];
            let key = before.rfind(name).unwrap_or(place.start);
            let from = self.start[..key].trim_end().len();
            self.start.replace_range(from..=place.end, "");
        }
    }

    pub fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(Node::as_element)
    }

    pub fn elements_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        self.children.iter_mut().filter_map(Node::as_element_mut)
    }

    pub fn child(&self, local: &str) -> Option<&Self> {
        self.elements().find(|child| child.local() == local)
    }

    pub fn child_mut(&mut self, local: &str) -> Option<&mut Self> {
        self.elements_mut().find(|child| child.local() == local)
    }

    /// The paths of the children with this name, and of those in content controls.
    pub fn paths(&self, local: &str) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        self.collect_paths(local, &mut Vec::new(), &mut found);
        found
    }

    fn collect_paths(&self, local: &str, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
        for (at, node) in self.children.iter().enumerate() {
            let Some(child) = node.as_element() else { continue };
            path.push(at);
            if child.local() == local {
                found.push(path.clone());
            } else if WRAPPERS.contains(&child.local()) {
                child.collect_paths(local, path, found);
            }
            path.pop();
        }
    }

    /// The children with this name, and those in content controls.
    pub fn inner(&self, local: &str) -> Vec<&Self> {
        self.paths(local).iter().map(|path| self.at(path)).collect()
    }

    /// The element at a path.
    pub fn at(&self, path: &[usize]) -> &Self {
        path.iter().fold(self, |element, at| {
            element.children[*at].as_element().expect("a path leads to elements")
        })
    }

    /// The element at a path.
    pub fn at_mut(&mut self, path: &[usize]) -> &mut Self {
        path.iter().fold(self, |element, at| {
            element.children[*at].as_element_mut().expect("a path leads to elements")
        })
    }

    /// The first child with this name, which is added at the beginning if there is none.
    pub fn first(&mut self, local: &str) -> &mut Self {
        if self.child(local).is_none() {
            let name = self.named(local);
            self.insert(0, Self::new(&name, &[]));
        }
        self.child_mut(local).expect("it was added if it was missing")
    }

    pub fn remove(&mut self, local: &str) {
        self.children.retain(|child| !child.is(local));
    }

    /// The text directly in this element.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for child in &self.children {
            if let Node::Raw(raw) = child {
                match raw.strip_prefix("<![CDATA[") {
                    Some(data) => text.push_str(data.trim_end_matches("]]>")),
                    None if raw.starts_with('<') => {}
                    None => text.push_str(&escape::unescape(raw).unwrap_or_else(|_| raw.into())),
                }
            }
        }
        text
    }

    pub fn set_text(&mut self, text: &str) {
        self.open();
        self.children = vec![Node::Raw(escaped(text))];
    }

    /// Calls `each` for this element and all below.
    pub fn each(&self, each: &mut impl FnMut(&Self)) {
        each(self);
        for child in self.elements() {
            child.each(each);
        }
    }

    pub fn each_mut(&mut self, each: &mut impl FnMut(&mut Self)) {
        each(self);
        for child in self.elements_mut() {
            child.each_mut(each);
        }
    }
}

/// Text as XML, without the characters that XML 1.0 does not allow.
pub fn escaped(text: &str) -> String {
    let allowed = |c: &char| {
        matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}')
            || *c >= '\u{10000}'
    };
    escape::escape(text.chars().filter(allowed).collect::<String>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn attributes_are_read_set_and_removed_in_place() {
        let mut nodes = parse("x", b"<a:b  x='1' y = \"&lt;2\"/>").unwrap();
        let root = root("x", &mut nodes).unwrap();
        assert_eq!(
            (root.attribute("x"), root.attribute("y")),
            (Some("1".into()), Some("<2".into()))
        );
        assert_eq!((root.local(), root.attribute("z"), root.number("x")), ("b", None, Some(1)));
        root.set("x", "3\"");
        root.set("z", "4");
        root.unset("y");
        root.push(TreeElement::new("c", &[]).with_text("<"));
        assert_eq!(write(&nodes), "<a:b z=\"4\"  x='3&quot;'><c>&lt;</c></a:b>");
    }

    #[test]
    fn a_byte_order_mark_is_kept() {
        let xml = "\u{FEFF}<?xml version=\"1.0\"?><ä x='1'>é<b y='2'/></ä>";
        let mut nodes = parse("x", xml.as_bytes()).unwrap();
        assert_eq!(write(&nodes), xml);
        let root = root("x", &mut nodes).unwrap();
        assert_eq!((root.number("x"), root.text()), (Some(1), "é".into()));
        assert_eq!(root.child("b").unwrap().number("y"), Some(2));
    }

    #[test]
    fn damaged_xml_is_rejected() {
        for xml in ["<a>", "</a>", "<a></b>", "<!DOCTYPE a><a/>", "<a><b></a>"] {
            assert!(parse("x", xml.as_bytes()).is_err(), "{xml}");
        }
        assert!(parse("x", b"\xff").is_err());
        assert!(parse("x", "<a>".repeat(300).as_bytes()).is_err());
    }

    proptest! {
        /// XML that is not changed is written as it was.
        #[test]
        fn trees_keep_their_source(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<a/>"), Just("<a x=\"1\" />"), Just("text "), Just("<!-- c -->"),
                    Just("&amp;"), Just("<![CDATA[<]]>"), Just("<b  y = '2'>z</b >"), Just("\n"),
                ],
                0..12,
            )
        ) {
            let xml = format!("<?xml version=\"1.0\"?>\n<r>{}</r>\n", parts.concat());
            prop_assert_eq!(write(&parse("x", xml.as_bytes()).unwrap()), xml);
        }
    }
}
