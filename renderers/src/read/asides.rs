//! Content outside the body of Office files: the text of SmartArt diagrams, of shapes over sheets, and
//! comments.

use std::collections::{HashMap, HashSet};

use super::{
    ReadError,
    archive::Archive,
    limits, links,
    words::Words,
    xml::{XmlNode, walk},
};

/// Excel's prefix of threaded comments, for programs without support for threads.
const COPY: &str = "[Threaded comment]";

/// The text of all diagrams in that folder, one list each.
pub fn diagrams(archive: &mut Archive, folder: &str, words: &mut Words) -> Result<(), ReadError> {
    for part in archive.numbered(&format!("{folder}diagrams/data")) {
        let xml = archive.part(&part)?.unwrap_or_default();
        let points = elements(&xml, &["pt"]);
        if !points.is_empty() {
            words.heading(3, "Diagram");
        }
        for point in points {
            words.bullet(0, &point.text);
        }
    }
    Ok(())
}

/// The texts of shapes in these drawings, which are over the cells of a sheet.
pub fn shapes(archive: &mut Archive, drawings: &str, words: &mut Words) -> Result<(), ReadError> {
    let mut has_title = false;
    for part in archive.numbered(drawings) {
        let xml = archive.part(&part)?.unwrap_or_default();
        for shape in elements(&xml, &["txBody"]) {
            if !std::mem::replace(&mut has_title, true) {
                words.heading(2, "Text boxes");
            }
            words.text(&shape.text);
        }
    }
    Ok(())
}

/// The names of the people who write comments, by their ids.
pub type Authors = HashMap<String, String>;

/// A comment of a slide or a sheet.
pub struct AsideComment {
    pub cell: Option<String>,
    pub author: String,
    pub text: String,
}

impl AsideComment {
    /// The comment after its author, unless the text begins with the name, as in Excel.
    pub fn with_author(&self) -> String {
        let AsideComment { author, text, .. } = self;
        if author.is_empty() || text.starts_with(&format!("{author}:")) {
            return text.clone();
        }
        format!("{author}: {text}")
    }
}

/// The comments of a package, by the parts that refer to them.
#[derive(Default)]
pub struct Comments {
    authors: Authors,
    /// The parts that have been read.
    read: HashSet<String>,
}

impl Comments {
    /// Comments whose authors are in these parts.
    pub fn of(archive: &mut Archive, parts: &[String]) -> Result<Self, ReadError> {
        let mut authors = Authors::new();
        for part in parts {
            let xml = archive.part(part)?.unwrap_or_default();
            // Without their authors, comments are still read.
            let _ = walk(&xml, |node| {
                if let XmlNode::Open(element) = node
                    && let Some(id) = element.attribute("id")
                    && let Some(name) =
                        element.attribute("displayName").or_else(|| element.attribute("name"))
                {
                    authors.insert(id.to_owned(), limits::name(name));
                }
                Ok(())
            });
        }
        Ok(Self { authors, read: HashSet::new() })
    }

    /// The comments to which a slide or sheet refers.
    pub fn of_part(
        &mut self,
        archive: &mut Archive,
        part: &str,
    ) -> Result<Vec<AsideComment>, ReadError> {
        let Some((folder, name)) = part.rsplit_once('/') else { return Ok(Vec::new()) };
        let targets = links::links(archive, &format!("{folder}/_rels/{name}.rels"))?;
        let mut parts: Vec<_> =
            targets.values().map(|target| links::within(folder, target)).collect();
        parts.retain(|part| is_comments(part));
        self.all(archive, parts)
    }

    /// The comments to which nothing refers.
    pub fn others(
        &mut self,
        archive: &mut Archive,
        folder: &str,
    ) -> Result<Vec<AsideComment>, ReadError> {
        let mut parts = archive.names();
        parts.retain(|part| part.starts_with(folder) && is_comments(part));
        self.all(archive, parts)
    }

    /// The comments of these parts. A part is read once, whatever refers to it.
    fn all(
        &mut self,
        archive: &mut Archive,
        mut parts: Vec<String>,
    ) -> Result<Vec<AsideComment>, ReadError> {
        parts.sort();
        let mut all = Vec::new();
        for part in parts {
            if self.read.insert(part.clone()) {
                let xml = archive.part(&part)?.unwrap_or_default();
                all.extend(comments(&xml, &self.authors));
            }
        }
        all.retain(|comment| !comment.text.starts_with(COPY));
        Ok(all)
    }
}

fn is_comments(part: &str) -> bool {
    let name = part.rsplit_once('/').map_or("", |(_, name)| name).to_lowercase();
    let is_xml = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "xml");
    // The other parts name the authors.
    name.contains("comment") && is_xml && !name.starts_with("commentauthors")
}

/// The comments of a part. Legacy comments of a workbook name their authors at its beginning.
fn comments(xml: &[u8], authors: &Authors) -> Vec<AsideComment> {
    let own = elements(xml, &["author"]).into_iter().map(|author| limits::name(&author.text));
    let own: Vec<String> = own.collect();
    let author = |id: &str| {
        let own = id.parse().ok().and_then(|at: usize| own.get(at)).cloned();
        own.or_else(|| authors.get(id).cloned()).unwrap_or_default()
    };
    let found = elements(xml, &["comment", "threadedComment", "cm", "reply"]).into_iter();
    let comments = found.map(|AsideElement { cell, author: id, text }| AsideComment {
        cell,
        author: id.map(|id| author(&id)).unwrap_or_default(),
        text,
    });
    comments.collect()
}

/// An element with text.
struct AsideElement {
    /// The cell that it refers to.
    cell: Option<String>,
    /// The id of its author.
    author: Option<String>,
    text: String,
}

/// The elements with these names that have text. A damaged part is read as far as possible.
fn elements(xml: &[u8], names: &[&str]) -> Vec<AsideElement> {
    let mut all: Vec<AsideElement> = Vec::new();
    // Replies are nested in the comment they answer, before its text.
    let (mut open, mut inside) = (Vec::new(), 0_usize);
    let _ = walk(xml, |node| {
        match node {
            XmlNode::Open(element) if names.contains(&element.name.as_str()) => {
                open.push(all.len());
                let attribute = |name| element.attribute(name).map(str::to_owned);
                let author = attribute("authorId").or_else(|| attribute("personId"));
                all.push(AsideElement { cell: attribute("ref"), author, text: String::new() });
                inside += usize::from(element.name == "author");
            }
            XmlNode::Close(name) if names.contains(&name) => {
                open.pop();
                inside = inside.saturating_sub(usize::from(name == "author"));
            }
            XmlNode::Open(element) if is_text(&element.name) => inside += 1,
            XmlNode::Close(name) if is_text(name) => inside = inside.saturating_sub(1),
            XmlNode::Close("p") => {
                open.last().into_iter().for_each(|at: &usize| all[*at].text.push('\n'));
            }
            XmlNode::Text(text) if inside > 0 => {
                open.last().into_iter().for_each(|at| all[*at].text.push_str(text));
            }
            _ => {}
        }
        Ok(())
    });
    for element in &mut all {
        element.text = element.text.trim().to_owned();
    }
    if names != ["author"] {
        // Authors are counted, so that one without a name has a place, too.
        all.retain(|element| !element.text.is_empty());
    }
    all
}

fn is_text(name: &str) -> bool {
    matches!(name, "t" | "text")
}
