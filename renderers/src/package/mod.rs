//! The Office package (ECMA-376 part 2): parts, relationships, content types, media, one zip.
//!
//! Used for both Word and PowerPoint files. The same parts give the same bytes: parts are sorted by
//! name, every entry has the zip epoch (1980-01-01), and a picture that is used twice is stored
//! once, under the hash of its bytes.
//!
//! - `xml`: writes parts; `properties`: the properties of a file; `limits`, `warnings`
//! - `look`: fonts and colours; `words`: words in the language of the document
//! - `cell_escapes`: characters by their numbers in texts of workbooks
//! - `text`: inlines as plain text; `measure`: the width of text; `numerals`: numbers of lists
//! - `fitting`, `widths`: the size and the columns of tables; `sections`: portrait and landscape
//! - `picture`, `media`, `kind`, `upright`, `vector`: pictures; `backdrop_words`: their places on
//!   slides
//! - `omml`, `linear`: formulas as Office Math, and on one line; `highlight`: colours of code
//! - `reading`: reads parts back, for tests

use std::collections::{BTreeMap, HashMap};
use std::io::{Cursor, Write};
use std::net::Ipv6Addr;
use std::ops::Range;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

#[cfg(test)]
mod arbitrary;
pub mod backdrop_words;
pub mod cell_escapes;
pub mod fitting;
pub mod highlight;
pub mod kind;
pub mod limits;
pub mod linear;
pub mod look;
pub mod measure;
pub mod media;
pub mod numerals;
pub mod omml;
pub mod picture;
pub mod properties;
#[cfg(test)]
pub mod reading;
pub mod sections;
pub mod text;
pub mod upright;
pub mod vector;
pub mod warnings;
pub mod widths;
pub mod words;
pub mod xml;

use kind::PictureKind;
use media::MediaFile;
use xml::Xml;

/// Prefix of the relationship types of ECMA-376 (transitional).
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/";

/// A package that is being built.
#[derive(Debug, Default)]
pub struct Package {
    parts: BTreeMap<String, Vec<u8>>,
    types: BTreeMap<String, &'static str>,
    media: BTreeMap<[u8; 32], String>,
    extensions: BTreeMap<&'static str, &'static str>,
    /// The number of characters dropped because XML cannot represent them.
    pub dropped: usize,
}

impl Package {
    /// Adds an XML part; `name` has no leading slash.
    pub fn add(&mut self, name: &str, content_type: &'static str, xml: Xml) {
        self.dropped += xml.dropped;
        self.types.insert(name.to_owned(), content_type);
        self.parts.insert(name.to_owned(), xml.finish());
    }

    /// Adds a part that is a file, such as the workbook of a chart.
    pub fn embed(&mut self, name: &str, content_type: &'static str, bytes: Vec<u8>) {
        self.types.insert(name.to_owned(), content_type);
        self.parts.insert(name.to_owned(), bytes);
    }

    /// Adds a part under its name. The relationships of a part have no content type.
    pub fn place(&mut self, name: &str, content_type: Option<&'static str>, bytes: &[u8]) {
        if let Some(content_type) = content_type {
            self.types.insert(name.to_owned(), content_type);
        }
        self.parts.insert(name.to_owned(), bytes.to_vec());
    }

    /// Adds the relationships of `part` (`""` for the package itself), if it has any.
    pub fn relate(&mut self, part: &str, relations: Relations) {
        if relations.rows.is_empty() {
            return;
        }
        let (folder, file) = part.rsplit_once('/').map_or(("", part), |(f, n)| (f, n));
        let slash = if folder.is_empty() { "" } else { "/" };
        let xml = relations.write();
        self.dropped += xml.dropped;
        self.parts.insert(format!("{folder}{slash}_rels/{file}.rels"), xml.finish());
    }

    /// Stores a picture under `folder`, once per content, and returns its part name.
    pub fn store(&mut self, folder: &str, kind: PictureKind, file: &MediaFile<'_>) -> String {
        let next = self.media.len() + 1;
        let name = self.media.entry(file.hash()).or_insert_with(|| {
            self.extensions.insert(kind.extension(), kind.content_type());
            let name = format!("{folder}/image{next}.{}", kind.extension());
            self.parts.insert(name.clone(), file.bytes().to_vec());
            name
        });
        name.clone()
    }

    /// Writes the zip, with the content types first as readers expect.
    pub fn finish(self) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        entry(&mut zip, "[Content_Types].xml", &self.content_types());
        for (name, bytes) in &self.parts {
            entry(&mut zip, name, bytes);
        }
        zip.finish().expect("writing into memory cannot fail").into_inner()
    }

    fn content_types(&self) -> Vec<u8> {
        let mut xml = Xml::new();
        let ns = "http://schemas.openxmlformats.org/package/2006/content-types";
        xml.open("Types", &[("xmlns", ns)]);
        let rels = "application/vnd.openxmlformats-package.relationships+xml";
        let fixed = [("rels", rels), ("xml", "application/xml")];
        for (extension, content_type) in
            fixed.into_iter().chain(self.extensions.iter().map(|(e, t)| (*e, *t)))
        {
            xml.empty("Default", &[("Extension", extension), ("ContentType", content_type)]);
        }
        for (name, content_type) in &self.types {
            let part = format!("/{name}");
            xml.empty("Override", &[("PartName", &part), ("ContentType", content_type)]);
        }
        xml.close();
        xml.finish()
    }
}

/// Writes one entry. Pictures are already compressed, so they are stored uncompressed.
fn entry(zip: &mut ZipWriter<Cursor<Vec<u8>>>, name: &str, bytes: &[u8]) {
    let packed =
        name.contains("/media/") && !matches!(name.rsplit_once('.'), Some((_, "bmp" | "svg")));
    let method = if packed { CompressionMethod::Stored } else { CompressionMethod::Deflated };
    let options = SimpleFileOptions::default()
        .compression_method(method)
        .last_modified_time(zip::DateTime::default())
        .unix_permissions(0o644);
    zip.start_file(name, options).expect("names are ASCII and each is used once");
    zip.write_all(bytes).expect("writing into memory cannot fail");
}

/// The path of a part relative to another one. Both are in a folder of the same folder.
pub fn reference(from: &str, to: &str) -> String {
    let root = from.split_once('/').map_or("", |(root, _)| root);
    let to = to.strip_prefix(root).unwrap_or(to);
    format!("..{to}")
}

/// The outgoing relationships of one part, numbered `rId1`, `rId2`, … unless they have names.
#[derive(Debug, Default)]
pub struct Relations {
    rows: Vec<Relation>,
    /// The rows without a name, and their numbers.
    known: HashMap<Relation, usize>,
}

/// A relationship to a part or to something outside the package.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Relation {
    /// `None` for the number of its row.
    id: Option<String>,
    kind: String,
    target: String,
    is_external: bool,
}

impl Relations {
    /// Adds a relationship to another part, by a path relative to this one; `kind` is the last
    /// segment of the relationship type.
    pub fn part(&mut self, kind: &str, target: &str) -> String {
        let kind = if kind.contains(':') { kind.to_owned() } else { format!("{OFFICE}{kind}") };
        self.relate(kind, target, false)
    }

    /// Adds a relationship to a URL outside the package.
    pub fn link(&mut self, url: &str) -> String {
        self.relate(format!("{OFFICE}hyperlink"), &address(url), true)
    }

    /// Adds a relationship with an id of its own.
    pub fn named(&mut self, id: &str, kind: &str, target: &str) {
        self.rows.push(Relation {
            id: Some(id.to_owned()),
            kind: format!("{OFFICE}{kind}"),
            target: target.to_owned(),
            is_external: false,
        });
    }

    fn relate(&mut self, kind: String, target: &str, is_external: bool) -> String {
        let row = Relation { id: None, kind, target: target.to_owned(), is_external };
        let number = *self.known.entry(row).or_insert_with_key(|row| {
            self.rows.push(row.clone());
            self.rows.len()
        });
        format!("rId{number}")
    }

    pub fn write(&self) -> Xml {
        let mut xml = Xml::new();
        let ns = "http://schemas.openxmlformats.org/package/2006/relationships";
        xml.open("Relationships", &[("xmlns", ns)]);
        for (at, Relation { id, kind, target, is_external }) in self.rows.iter().enumerate() {
            let id = id.clone().unwrap_or_else(|| format!("rId{}", at + 1));
            let mut row = vec![("Id", id.as_str()), ("Type", kind), ("Target", target)];
            if *is_external {
                row.push(("TargetMode", "External"));
            }
            xml.empty("Relationship", &row);
        }
        xml.close();
        xml
    }
}

/// The URL as ASCII: characters not allowed in a URI are percent-encoded; existing encoding is
/// kept.
pub fn address(url: &str) -> String {
    let url = url.trim();
    let mut safe = String::with_capacity(url.len());
    let literal = ip_literal(url).unwrap_or_default();
    for (at, byte) in url.bytes().enumerate() {
        match byte {
            _ if literal.contains(&at) => safe.push(byte as char),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => safe.push(byte as char),
            _ if b"-._~:/?#@!$&'()*+,;=%".contains(&byte) => safe.push(byte as char),
            _ => {
                use std::fmt::Write as _;
                write!(safe, "%{byte:02X}").expect("writing into a string cannot fail");
            }
        }
    }
    mend_percents(&safe)
}

/// The place of an IPv6 address as a host, which has brackets.
fn ip_literal(url: &str) -> Option<Range<usize>> {
    let from = url.find("//")? + 2;
    let end = url[from..].find(['/', '?', '#']).map_or(url.len(), |at| from + at);
    let open = from + url[from..end].find('[')?;
    let close = open + url[open..end].find(']')?;
    url[open + 1..close].parse::<Ipv6Addr>().ok()?;
    Some(open..close + 1)
}

/// Encodes each `%` that does not begin an escape, because Word rejects such a package.
fn mend_percents(url: &str) -> String {
    let mut mended = String::with_capacity(url.len());
    for (at, letter) in url.char_indices() {
        mended.push(letter);
        let escape = url.as_bytes().get(at + 1..at + 3);
        if letter == '%' && !escape.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit)) {
            mended.push_str("25");
        }
    }
    mended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_used_twice_is_stored_once() {
        let mut package = Package::default();
        let mut store = |bytes: &[u8]| {
            package.store("word/media", PictureKind::Png, &MediaFile::of(bytes.into()))
        };
        let first = store(b"one");
        assert_eq!(store(b"one"), first);
        assert_ne!(store(b"two"), first);
    }

    #[test]
    fn addresses_become_ascii_and_keep_their_escapes() {
        assert_eq!(address("https://e.org/ä?b=1&c=%20"), "https://e.org/%C3%A4?b=1&c=%20");
        assert_eq!(address("https://e.org/100%"), "https://e.org/100%25");
        assert_eq!(address("https://e.org/a b|c\u{1}"), "https://e.org/a%20b%7Cc%01");
        assert_eq!(address(" http://[::1]:80/[a]"), "http://[::1]:80/%5Ba%5D");
        assert_eq!(address("http://[a]/"), "http://%5Ba%5D/");
    }

    #[test]
    fn equal_relationships_share_an_id() {
        let mut relations = Relations::default();
        let first = relations.link("https://e.org");
        assert_eq!(relations.link("https://e.org"), first);
        assert_ne!(relations.link("https://f.org"), first);
        relations.named("rIdStyles", "styles", "styles.xml");
        assert_eq!(relations.link("https://g.org"), "rId4");
        assert_eq!(relations.link("https://e.org"), first);
    }

    /// If each relationship were compared with each other one, this would take many minutes instead of
    /// seconds.
    #[test]
    fn a_relationship_is_not_compared_with_each_other_one() {
        const COUNT: usize = 200_000;
        let mut relations = Relations::default();
        for number in 1..=COUNT {
            relations.link(&format!("https://e.org/{number}"));
        }
        assert_eq!(relations.link(&format!("https://e.org/{COUNT}")), format!("rId{COUNT}"));
    }

    #[test]
    fn the_same_parts_give_the_same_bytes() {
        let file = || {
            let mut package = Package::default();
            package.add("b.xml", "text/xml", Xml::new());
            package.add("a.xml", "text/xml", Xml::new());
            package.finish()
        };
        assert_eq!(file(), file());
    }
}
