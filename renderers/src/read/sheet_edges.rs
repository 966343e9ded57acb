//! The headers and footers of workbooks.

use super::xml::{XmlNode, walk};

/// The start of the headers and footers in a sheet part.
const EDGES: &[u8] = b"<headerFooter";

/// The number of characters of a colour.
const COLOR: usize = 6;

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

/// Between the number of a page and that of all pages.
const BETWEEN: [&str; 6] = ["/", "of", "von", "de", "sur", "из"];

/// Whether a header or footer is only the number of the page, such as “Page # of #”, which is no
/// content.
pub fn is_page_number(text: &str) -> bool {
    let is_part = |word: &str| word == "#" || BETWEEN.contains(&word) || PAGE.contains(&word);
    text.contains('#') && text.replace('/', " / ").split_whitespace().all(is_part)
}

/// Headers and footers of a sheet part, except those that every sheet of LibreOffice has.
pub fn edges(sheet: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    // They follow the cells, which need not be parsed for them.
    let Some(from) = sheet.windows(EDGES.len()).rposition(|bytes| bytes == EDGES) else {
        return texts;
    };
    let mut codes = None;
    let _ = walk(&sheet[from..], |node| {
        match node {
            XmlNode::Open(element) => {
                let name = element.name.as_str();
                let is_edge = name.ends_with("Header") || name.ends_with("Footer");
                codes = is_edge.then(String::new);
            }
            XmlNode::Text(text) => codes.iter_mut().for_each(|codes| codes.push_str(text)),
            XmlNode::Close(_) => {
                let text = codes.take().map(|codes| edge(&codes)).unwrap_or_default();
                texts.extend((!is_page_number(&text)).then_some(text));
            }
        }
        Ok(())
    });
    texts
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
            // A colour: `&KFF0000`, or `&K01+000` for one of the theme.
            Some('K') => {
                let is_color = |c: &char| c.is_ascii_hexdigit() || matches!(c, '+' | '-');
                let color = code[1..].chars().take(COLOR).filter(is_color).count();
                if color == COLOR { &code[1 + COLOR..] } else { &code[1..] }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_their_text_without_codes() {
        for (codes, text) in [
            ("&L&\"Arial,Bold\"&12Report&RPage &P", "Report Page #"),
            ("&KFF0000Report", "Report"),
            ("&C&K01+000Report&K02-024 2026", "Report 2026"),
            ("&KReport", "Report"),
            ("A && B", "A & B"),
        ] {
            assert_eq!(edge(codes), text, "{codes}");
        }
    }

    #[test]
    fn a_page_number_alone_is_no_content() {
        for codes in ["&P", "&R&P / &N", "&CPage &P", "&CSeite &P von &N", "&P/&N"] {
            assert!(is_page_number(&edge(codes)), "{codes}");
        }
        for codes in ["&LConfidential&R&P / &N", "Page", "of", "", "Part &P"] {
            assert!(!is_page_number(&edge(codes)), "{codes}");
        }
    }
}
