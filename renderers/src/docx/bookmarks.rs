//! Bookmarks, which links, references and page numbers lead to.

use crate::package::xml::Xml;

/// Begins a bookmark. Its id is unique in the file.
pub fn begin(xml: &mut Xml, id: u32, name: &str) {
    xml.empty("w:bookmarkStart", &[("w:id", &id.to_string()), ("w:name", name)]);
}

/// Ends the bookmark with that id.
pub fn end(xml: &mut Xml, id: u32) {
    xml.empty("w:bookmarkEnd", &[("w:id", &id.to_string())]);
}
