//! The headers and footers of workbooks.

use super::{
    archive::Archive,
    reading::ReadError,
    words::EdgeTexts,
    xml::{XmlNode, walk},
};

/// The start of the headers and footers in a sheet part.
const EDGES: &[u8] = b"<headerFooter";

/// “Page” in the languages of LibreOffice. Each of its sheets has this word and the number of the page
/// as a footer, unless somebody has changed it, and the name of the sheet as a header.
const PAGE: [&str; 40] = [
    "Page",
    "Seite",
    "Página",
    "Pàgina",
    "Páxina",
    "Pagina",
    "Pagină",
    "Sida",
    "Side",
    "Síða",
    "Sivu",
    "Lehekülg",
    "Lappuse",
    "Puslapis",
    "Strona",
    "Stránka",
    "Strana",
    "Stran",
    "Stranica",
    "Страница",
    "Старонка",
    "Сторінка",
    "Страна",
    "Oldal",
    "Orria",
    "Faqe",
    "Sayfa",
    "Səhifə",
    "Σελίδα",
    "עמוד",
    "صفحة",
    "صفحه",
    "पृष्ठ",
    "หน้า",
    "Trang",
    "Halaman",
    "页",
    "頁",
    "ページ",
    "페이지",
];

/// Whether a footer is that of LibreOffice, which is no content.
pub fn is_default(text: &str) -> bool {
    text.strip_suffix(" #").is_some_and(|word| PAGE.contains(&word))
}

/// Headers and footers of the sheets, each once, except those that every sheet of LibreOffice has.
pub fn edges(archive: &mut Archive) -> Result<EdgeTexts, ReadError> {
    let mut texts = EdgeTexts::default();
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
                    if !is_default(&text) {
                        texts.add(text);
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
