//! What several tests use.

use std::io::{Cursor, Read as _};

use renderers::Rendered;

/// The text of a part of a package.
pub fn part(rendered: &Rendered, name: &str) -> String {
    let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).expect("it is a package");
    let mut text = String::new();
    package.by_name(name).expect("it has the part").read_to_string(&mut text).expect("it is text");
    text
}
