//! The headers and footers of workbooks.

use super::{
    archive::Archive,
    reading::ReadError,
    xml::{XmlNode, walk},
};

/// The start of the headers and footers in a sheet part.
const EDGES: &[u8] = b"<headerFooter";

/// Headers and footers of the sheets, each once.
pub fn edges(archive: &mut Archive) -> Result<Vec<String>, ReadError> {
    let mut texts = Vec::new();
    for part in archive.numbered("xl/worksheets/sheet") {
        let xml = archive.part(&part)?.unwrap_or_default();
        // They follow the cells, which need not be parsed again.
        let Some(from) = xml.windows(EDGES.len()).rposition(|bytes| bytes == EDGES) else {
            continue;
        };
        let mut codes = None;
        let _ = walk(&xml[from..], |node| {
            match node {
                XmlNode::Open(element) => {
                    let name = element.name.as_str();
                    let is_edge = name.ends_with("Header") || name.ends_with("Footer");
                    codes = is_edge.then(String::new);
                }
                XmlNode::Text(text) => codes.iter_mut().for_each(|codes| codes.push_str(text)),
                XmlNode::Close(_) => {
                    let text = codes.take().map(|codes| edge(&codes)).unwrap_or_default();
                    if !text.is_empty() && !texts.contains(&text) {
                        texts.push(text);
                    }
                }
            }
            Ok(())
        });
    }
    Ok(texts)
}

/// Removes the formatting codes: `&L&"Arial,Bold"&12Report&RPage &P` becomes “Report Page #”.
fn edge(codes: &str) -> String {
    let mut text = String::new();
    let mut rest = codes;
    while let Some((before, code)) = rest.split_once('&') {
        text.push_str(before);
        let letter = code.chars().next();
        rest = match letter {
            Some('&') => {
                text.push('&');
                &code[1..]
            }
            Some('"') => code[1..].split_once('"').map_or("", |(_, rest)| rest),
            Some('L' | 'C' | 'R') => {
                text.push(' ');
                &code[1..]
            }
            Some('P' | 'N') => {
                text.push('#');
                &code[1..]
            }
            Some(digit) if digit.is_ascii_digit() => {
                code.trim_start_matches(|c: char| c.is_ascii_digit())
            }
            Some(letter) => &code[letter.len_utf8()..],
            None => "",
        };
    }
    text.push_str(rest);
    text.trim().to_owned()
}
