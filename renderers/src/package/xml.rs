//! An XML writer for Office files: attributes, text, and no characters that XML 1.0 does not allow.

use std::borrow::Cow;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

/// A part that is being written. Elements are nested with [`Xml::open`] and [`Xml::close`].
pub struct Xml {
    out: Writer<Vec<u8>>,
    open: Vec<&'static str>,
    /// The number of characters dropped because XML 1.0 cannot represent them.
    pub dropped: usize,
}

impl Default for Xml {
    fn default() -> Self {
        Self::new()
    }
}

impl Xml {
    /// A part with an XML declaration.
    pub fn new() -> Self {
        let mut xml = Self::fragment();
        xml.write(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), Some("yes"))));
        xml
    }

    /// A fragment without an XML declaration.
    pub fn fragment() -> Self {
        Self { out: Writer::new(Vec::new()), open: Vec::new(), dropped: 0 }
    }

    pub fn open(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        let start = self.start(name, attributes);
        self.write(Event::Start(start));
        self.open.push(name);
    }

    pub fn close(&mut self) {
        let name = self.open.pop().expect("every close has a matching open");
        self.write(Event::End(BytesEnd::new(name)));
    }

    pub fn empty(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        let start = self.start(name, attributes);
        self.write(Event::Empty(start));
    }

    pub fn text(&mut self, text: &str) {
        let clean = self.clean(text).into_owned();
        self.write(Event::Text(BytesText::new(&clean)));
    }

    /// Writes an element that holds only text.
    pub fn leaf(&mut self, name: &'static str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.text(text);
        self.close();
    }

    /// Writes the most common element of WordprocessingML: `<name w:val="value"/>`.
    pub fn val(&mut self, name: &'static str, value: &str) {
        self.empty(name, &[("w:val", value)]);
    }

    /// Writes constant, well-formed XML.
    pub fn raw(&mut self, constant: &str) {
        self.out.get_mut().extend_from_slice(constant.as_bytes());
    }

    pub fn finish(self) -> Vec<u8> {
        assert!(self.open.is_empty(), "elements left open: {:?}", self.open);
        self.out.into_inner()
    }

    fn start(&mut self, name: &'static str, attributes: &[(&str, &str)]) -> BytesStart<'static> {
        let mut start = BytesStart::new(name);
        for (key, value) in attributes {
            let flat = self.clean(value).replace(['\n', '\r', '\t'], " ");
            start.push_attribute((*key, flat.as_str()));
        }
        start
    }

    /// Keeps the characters that the production `Char` of XML 1.0 allows.
    fn clean<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if text.chars().all(allowed) {
            return Cow::Borrowed(text);
        }
        self.dropped += text.chars().filter(|letter| !allowed(*letter)).count();
        Cow::Owned(text.chars().filter(|letter| allowed(*letter)).collect())
    }

    fn write(&mut self, event: Event<'_>) {
        self.out.write_event(event).expect("writing into memory cannot fail");
    }
}

fn allowed(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{7E}' | '\u{85}' | '\u{A0}'..='\u{FFFD}')
        || letter >= '\u{10000}' && (letter as u32 & 0xFFFE) != 0xFFFE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_xml() {
        let mut xml = Xml::fragment();
        xml.leaf("a", &[("b", "1\u{0}\u{1b}\n\"2")], "x\u{8}\u{ffff}\u{1}<&>y");
        assert_eq!(xml.dropped, 5);
        let text = String::from_utf8(xml.finish()).unwrap();
        assert_eq!(text, "<a b=\"1 &quot;2\">x&lt;&amp;&gt;y</a>");
    }

    #[test]
    #[should_panic(expected = "left open")]
    fn an_element_left_open_is_our_mistake() {
        let mut xml = Xml::fragment();
        xml.open("a", &[]);
        xml.finish();
    }
}
