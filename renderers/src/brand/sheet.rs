//! The print settings of a workbook's first sheet.

use super::parts::{MARGINS, edge_text, embedded, links};
use crate::document::{Brand, Page, PageSize};
use crate::read::{
    ReadError,
    archive::Archive,
    links::within,
    xml::{XmlElement, XmlNode, walk},
};

/// Twips per inch.
const INCH: f64 = 1_440.0;
/// Excel's default margins: top, right, bottom and left. A sheet with exactly these margins counts
/// as having none set.
const USUAL: [i64; 4] = [1_080, 1_008, 1_080, 1_008];

pub fn read(archive: &mut Archive, brand: &mut Brand) -> Result<(), ReadError> {
    let Some(part) = archive.numbered("xl/worksheets/sheet").into_iter().next() else {
        return Ok(());
    };
    let Some(xml) = archive.part(&part)? else { return Ok(()) };
    let mut print = Print::default();
    walk(&xml, |node| {
        print.step(&node, brand);
        Ok(())
    })?;
    brand.header = edge_text(&words(&print.header));
    brand.footer = edge_text(&words(&print.footer));
    match print.drawing.and_then(|id| links(archive, &part).ok()?.remove(&id)) {
        Some(target) if print.header.contains("&G") => {
            let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
            logo(archive, &within(folder, &target), brand)
        }
        _ => Ok(()),
    }
}

/// The first picture of the drawing behind the header.
fn logo(archive: &mut Archive, drawing: &str, brand: &mut Brand) -> Result<(), ReadError> {
    let Some(xml) = archive.part(drawing)? else { return Ok(()) };
    let mut picture = None;
    walk(&xml, |node| {
        if let XmlNode::Open(element) = node
            && element.name == "imagedata"
            && picture.is_none()
        {
            picture = element.attribute("relid").map(str::to_owned);
        }
        Ok(())
    })?;
    picture.map_or(Ok(()), |id| embedded(archive, drawing, &id, brand))
}

#[derive(Default)]
struct Print {
    header: String,
    footer: String,
    /// The drawing with the header's pictures.
    drawing: Option<String>,
    /// Whether the current text belongs to the header or the footer.
    inside: Option<bool>,
    /// Inside the custom views of single users (ECMA-376 part 1, 18.3.1.27).
    in_views: bool,
}

impl Print {
    fn step(&mut self, node: &XmlNode<'_>, brand: &mut Brand) {
        match node {
            XmlNode::Open(element) => match element.name.as_str() {
                "customSheetViews" => self.in_views = true,
                _ if self.in_views => {}
                "oddHeader" => self.inside = Some(true),
                "oddFooter" => self.inside = Some(false),
                "legacyDrawingHF" => self.drawing = element.exactly("r:id").map(str::to_owned),
                "pageMargins" => brand.margins = margins(element),
                "pageSetup" => brand.page = paper(element),
                _ => {}
            },
            XmlNode::Text(text) => match self.inside {
                Some(true) => self.header.push_str(text),
                Some(false) => self.footer.push_str(text),
                None => {}
            },
            XmlNode::Close("customSheetViews") => self.in_views = false,
            XmlNode::Close(_) => self.inside = None,
        }
    }
}

fn margins(element: &XmlElement) -> Option<[i64; 4]> {
    let side = |name| {
        let inches = element.attribute(name)?.parse::<f64>().ok()?;
        Some((inches * INCH).round() as i64).filter(|twips| MARGINS.contains(twips))
    };
    let [top, right, bottom, left] = ["top", "right", "bottom", "left"].map(side);
    Some([top?, right?, bottom?, left?]).filter(|margins| *margins != USUAL)
}

/// Letter or A4 by Excel's paper number, otherwise only the orientation.
fn paper(element: &XmlElement) -> Option<Page> {
    let landscape = element.attribute("orientation") == Some("landscape");
    let size = match element.attribute("paperSize") {
        Some("1") => PageSize::Letter,
        Some("9") => PageSize::A4,
        _ if landscape => PageSize::default(),
        _ => return None,
    };
    Some(Page { size, landscape, two_columns: false })
}

/// The left, centre and right sections of a header or footer (ECMA-376 part 1, 18.3.1.39), one line
/// each. Sections with a field are dropped, since the renderer writes the page number itself.
fn words(line: &str) -> Vec<String> {
    let mut parts = vec![(String::new(), false)];
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let (text, has_field) = parts.last_mut().expect("the first section exists");
        match (c, if c == '&' { rest.next() } else { None }) {
            ('&', Some('L' | 'C' | 'R')) => parts.push((String::new(), false)),
            ('&', Some('&')) => text.push('&'),
            ('&', Some('P' | 'N' | 'D' | 'T' | 'A' | 'F' | 'Z')) => *has_field = true,
            ('&', Some('"')) => while rest.next().is_some_and(|c| c != '"') {},
            ('&', Some('K')) => {
                rest.nth(5);
            }
            ('&', Some('0'..='9')) => while rest.next_if(char::is_ascii_digit).is_some() {},
            ('&', _) => {}
            (c, _) => text.push(c),
        }
    }
    parts.into_iter().filter(|(_, has_field)| !has_field).map(|(text, _)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workbook stores a view with print settings for each of its readers.
    #[test]
    fn views_of_single_persons_are_not_the_sheet() {
        let sheet = b"<s><customSheetViews><customSheetView><pageMargins top='3' right='3' bottom='3' \
            left='3'/><pageSetup paperSize='1'/><headerFooter><oddHeader>Mine</oddHeader></headerFooter>\
            </customSheetView></customSheetViews><pageMargins top='1' right='1' bottom='1' left='1'/>\
            <pageSetup paperSize='9'/><headerFooter><oddHeader>Acme</oddHeader></headerFooter>\
            <customSheetViews><customSheetView><pageSetup paperSize='77'/></customSheetView>\
            </customSheetViews></s>";
        let (mut print, mut brand) = (Print::default(), Brand::default());
        walk(sheet, |node| {
            print.step(&node, &mut brand);
            Ok(())
        })
        .unwrap();
        assert_eq!((print.header.as_str(), brand.margins), ("Acme", Some([1_440; 4])));
        assert_eq!(brand.page.map(|page| page.size), Some(PageSize::A4));
    }

    #[test]
    fn codes_are_no_words() {
        for (line, expected) in [
            ("&LAcme && Co&RPage &P of &N", "Acme & Co"),
            ("&L&\"Arial,Bold\"&12&K01+000Acme&C&G&RSecret", "Acme  ·  Secret"),
            ("plain\nlines", "plain lines"),
            ("&C&P", ""),
        ] {
            assert_eq!(edge_text(&words(line)).unwrap_or_default(), expected, "{line}");
        }
    }
}
