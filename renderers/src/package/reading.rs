//! Reads parts back, for tests.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::Event;

/// The parts of a file. Every XML part has been parsed completely.
pub struct Parts(BTreeMap<String, Vec<u8>>);

/// An element: its name, its attributes, and its direct text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadElement {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    pub text: String,
    /// The names of the enclosing elements, starting with the root.
    pub path: Vec<String>,
}

impl ReadElement {
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    pub fn is_in(&self, name: &str) -> bool {
        self.path.iter().any(|outer| outer == name)
    }
}

impl Parts {
    pub fn of(bytes: &[u8]) -> Self {
        let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let mut parts = BTreeMap::new();
        for at in 0..zip.len() {
            let mut file = zip.by_index(at).unwrap();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            parts.insert(file.name().to_owned(), bytes);
        }
        let parts = Self(parts);
        let names = parts.names();
        names.iter().filter(|n| is_of(n, "xml") || is_of(n, "rels")).for_each(|name| {
            parts.elements(name);
        });
        parts
    }

    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    pub fn bytes(&self, name: &str) -> &[u8] {
        self.0.get(name).unwrap_or_else(|| panic!("{name} is missing from {:?}", self.names()))
    }

    pub fn xml(&self, name: &str) -> &str {
        std::str::from_utf8(self.bytes(name)).unwrap()
    }

    /// All elements of a part, in document order.
    pub fn elements(&self, name: &str) -> Vec<ReadElement> {
        let mut reader = Reader::from_str(self.xml(name));
        reader.config_mut().check_end_names = true;
        let (mut all, mut open): (Vec<ReadElement>, Vec<usize>) = (Vec::new(), Vec::new());
        loop {
            let event = reader.read_event().unwrap_or_else(|e| panic!("{name}: {e}"));
            match event {
                Event::Start(ref start) | Event::Empty(ref start) => {
                    let path = open.iter().map(|at| all[*at].name.clone()).collect();
                    let attribute = |a: quick_xml::events::attributes::Attribute<'_>| {
                        let value =
                            quick_xml::escape::unescape(std::str::from_utf8(&a.value).unwrap());
                        (String::from_utf8(a.key.0.to_vec()).unwrap(), value.unwrap().into_owned())
                    };
                    let attributes = start.attributes().map(|a| attribute(a.unwrap())).collect();
                    let name = String::from_utf8(start.name().0.to_vec()).unwrap();
                    all.push(ReadElement { name, attributes, text: String::new(), path });
                    if matches!(event, Event::Start(_)) {
                        open.push(all.len() - 1);
                    }
                }
                Event::End(_) => {
                    open.pop();
                }
                Event::Text(text) => {
                    if let Some(at) = open.last() {
                        all[*at].text.push_str(&text.decode().unwrap());
                    }
                }
                Event::GeneralRef(entity) => {
                    let name = entity.decode().unwrap();
                    let text =
                        quick_xml::escape::unescape(&format!("&{name};")).unwrap().into_owned();
                    all[*open.last().unwrap()].text.push_str(&text);
                }
                Event::Eof => break,
                _ => {}
            }
        }
        assert!(open.is_empty(), "{name} ends too early");
        all
    }

    /// The elements with that name in a part.
    pub fn all(&self, part: &str, name: &str) -> Vec<ReadElement> {
        self.elements(part).into_iter().filter(|element| element.name == name).collect()
    }

    /// The concatenated text of all elements with that name.
    pub fn text(&self, part: &str, name: &str) -> String {
        self.all(part, name).iter().map(|element| element.text.as_str()).collect()
    }

    /// Asserts that every relationship has a target in this file, and every part a content type.
    pub fn check_links(&self) {
        let types = self.elements("[Content_Types].xml");
        for name in self.names() {
            let known = name.starts_with('[')
                || types.iter().any(|t| t.attribute("PartName") == format!("/{name}"))
                || types.iter().any(|t| {
                    let extension = t.attribute("Extension");
                    !extension.is_empty()
                        && extension != "xml"
                        && name.ends_with(&format!(".{extension}"))
                });
            assert!(known, "{name} has no content type");
        }
        for rels in self.names().iter().filter(|name| is_of(name, "rels")) {
            let folder = rels.split("_rels/").next().unwrap();
            for relation in self.all(rels, "Relationship") {
                if relation.attribute("TargetMode") == "External" {
                    continue;
                }
                let mut path: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
                for step in relation.attribute("Target").split('/') {
                    if step == ".." { path.pop().map(|_| ()).unwrap() } else { path.push(step) }
                }
                self.bytes(&path.join("/"));
            }
        }
    }
}

/// Whether a part's name has this extension. Office writes extensions in lower case.
fn is_of(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end == extension)
}
