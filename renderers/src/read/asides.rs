//! Content outside the body of Office files: the text of SmartArt diagrams, and comments.

use super::{
    ReadError,
    archive::Archive,
    words::Words,
    xml::{XmlNode, walk},
};

/// Excel's prefix of threaded comments, for programs without support for threads.
const COPY: &str = "[Threaded comment]";

/// The text of all diagrams in that folder, one list each.
pub fn diagrams(archive: &mut Archive, folder: &str, words: &mut Words) -> Result<(), ReadError> {
    for part in archive.numbered(&format!("{folder}diagrams/data")) {
        let xml = archive.part(&part)?.unwrap_or_default();
        let texts = texts(&xml, &["pt"]);
        if !texts.is_empty() {
            words.heading(3, "Diagram");
        }
        for (_, text) in texts {
            words.entry(0, false, &text);
        }
    }
    Ok(())
}

/// All comments in that folder, with the cells they belong to.
pub fn comments(archive: &mut Archive, folder: &str, words: &mut Words) -> Result<(), ReadError> {
    let mut parts = archive.names();
    parts.retain(|part| {
        let name = part.rsplit_once('/').map_or("", |(_, name)| name).to_lowercase();
        let is_part = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "xml");
        part.starts_with(folder) && name.contains("comment") && is_part
    });
    parts.sort();
    let mut all = Vec::new();
    for part in parts {
        let xml = archive.part(&part)?.unwrap_or_default();
        all.extend(texts(&xml, &["comment", "threadedComment", "cm", "reply"]));
    }
    all.retain(|(_, text)| !text.starts_with(COPY));
    if !all.is_empty() {
        words.heading(2, "Comments");
    }
    for (cell, text) in all {
        words.paragraph(&cell.map_or(text.clone(), |cell| format!("{cell}: {text}")));
    }
    Ok(())
}

/// The texts of the elements with these names, and the cells they reference. A damaged part is read
/// as far as possible.
fn texts(xml: &[u8], names: &[&str]) -> Vec<(Option<String>, String)> {
    let mut texts: Vec<(Option<String>, String)> = Vec::new();
    // Replies are nested in the comment they answer, before its text.
    let (mut open, mut inside) = (Vec::new(), 0_usize);
    let _ = walk(xml, |node| {
        match node {
            XmlNode::Open(element) if names.contains(&element.name.as_str()) => {
                open.push(texts.len());
                texts.push((element.attribute("ref").map(str::to_owned), String::new()));
            }
            XmlNode::Close(name) if names.contains(&name) => drop(open.pop()),
            XmlNode::Open(element) if is_text(&element.name) => inside += 1,
            XmlNode::Close(name) if is_text(name) => inside = inside.saturating_sub(1),
            XmlNode::Close("p") => {
                open.last().into_iter().for_each(|at: &usize| texts[*at].1.push('\n'));
            }
            XmlNode::Text(text) if inside > 0 => {
                open.last().into_iter().for_each(|at| texts[*at].1.push_str(text));
            }
            _ => {}
        }
        Ok(())
    });
    for (_, text) in &mut texts {
        *text = text.trim().to_owned();
    }
    texts.retain(|(_, text)| !text.is_empty());
    texts
}

fn is_text(name: &str) -> bool {
    matches!(name, "t" | "text")
}
