//! Documents of other formats inside a Word file (`altChunk`, ECMA-376 part 1, 17.17.2.1). Some programs
//! write nothing but a web page into a Word file, which Word converts when it opens the file.

use std::collections::HashMap;

use super::{
    archive::Archive,
    charset, email, html, links,
    reading::{Kind, ReadError},
    rtf,
    words::Words,
};

/// The text of the embedded documents that can be read, by the ids of their relationships.
pub fn chunks(archive: &mut Archive, links: &HashMap<String, String>) -> HashMap<String, String> {
    let mut chunks = HashMap::new();
    for (id, target) in links {
        let part = links::within("word", target);
        let Some(kind) = kind(&part) else { continue };
        // The target of a hyperlink is no part.
        if let Ok(Some(bytes)) = archive.part(&part)
            && let Ok(text) = text(kind, &bytes)
        {
            chunks.insert(id.clone(), text);
        }
    }
    chunks
}

/// The format of a part, if it is one that is embedded in this way.
fn kind(part: &str) -> Option<Kind> {
    let (_, ending) = part.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" | "xhtml" => Some(Kind::Html),
        "mht" | "mhtml" => Some(Kind::Email),
        "rtf" => Some(Kind::Rtf),
        "txt" => Some(Kind::Text),
        _ => None,
    }
}

fn text(kind: Kind, bytes: &[u8]) -> Result<String, ReadError> {
    match kind {
        Kind::Html => Ok(html::to_markdown(&charset::decode_page(bytes, None))?.markdown),
        Kind::Email => email::body(bytes),
        Kind::Rtf => Ok(rtf::read(bytes)?.markdown),
        _ => {
            let mut words = Words::default();
            words.text(charset::decode(bytes).trim());
            Ok(words.finish())
        }
    }
}
