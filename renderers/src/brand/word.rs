//! The styles, section, header and footer of a Word file.

use super::parts::{MARGINS, edge_text, embedded, face, links};
use crate::document::{Brand, Color, Page, PageSize, Voice};
use crate::read::{
    ReadError,
    archive::Archive,
    links::within,
    xml::{XmlElement, XmlNode, walk},
};

/// The accepted text sizes, in half points.
const SIZES: std::ops::RangeInclusive<u32> = 12..=160;

pub fn read(archive: &mut Archive, brand: &mut Brand) -> Result<(), ReadError> {
    if let Some(xml) = archive.part("word/styles.xml")? {
        let mut styles = WordStyles::default();
        walk(&xml, |node| {
            styles.step(&node, brand);
            Ok(())
        })?;
    }
    let Some(xml) = archive.part("word/document.xml")? else { return Ok(()) };
    let section = section(&xml, brand)?;
    let links = links(archive, "word/document.xml")?;
    for (id, is_header) in [(section.header, true), (section.footer, false)] {
        let Some(target) = id.and_then(|id| links.get(&id).cloned()) else { continue };
        let part = within("word", &target);
        let Some(xml) = archive.part(&part)? else { continue };
        let edge = edge(&xml)?;
        let text = edge_text(&edge.text);
        *(if is_header { &mut brand.header } else { &mut brand.footer }) = text;
        if let Some(id) = edge.picture.filter(|_| is_header) {
            embedded(archive, &part, &id, brand)?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct WordStyles {
    /// The style that is being read.
    about: About,
    in_run: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum About {
    #[default]
    Nothing,
    Text,
    Title,
    Heading(usize),
}

impl WordStyles {
    fn step(&mut self, node: &XmlNode<'_>, brand: &mut Brand) {
        match node {
            XmlNode::Open(element) => match element.name.as_str() {
                "docDefaults" => self.about = About::Text,
                "name" => self.about = named(element.attribute("val").unwrap_or_default()),
                "style" => self.about = About::Nothing,
                "rPr" => self.in_run = true,
                _ if self.in_run => self.run(element, brand),
                _ => {}
            },
            XmlNode::Close("rPr") => self.in_run = false,
            XmlNode::Close("style" | "docDefaults") => self.about = About::Nothing,
            _ => {}
        }
    }

    fn run(&self, element: &XmlElement, brand: &mut Brand) {
        let mut own = Voice::default();
        let voice = match self.about {
            About::Nothing => return,
            About::Text => &mut own,
            About::Title => &mut brand.title,
            About::Heading(at) => &mut brand.levels[at],
        };
        match element.name.as_str() {
            "rFonts" => voice.face = element.attribute("ascii").and_then(face),
            "color" => voice.color = element.attribute("val").and_then(Color::read),
            "b" => voice.bold = Some(element.is_on()),
            "i" => voice.italic = Some(element.is_on()),
            "sz" => {
                let size = element.number("val").map(|size| size as u32);
                voice.half_points = size.filter(|size| SIZES.contains(size));
            }
            _ => {}
        }
        if self.about == About::Text {
            brand.body = own.face.or(brand.body.take());
            brand.half_points = own.half_points.or(brand.half_points);
            brand.ink = own.color.or(brand.ink);
        }
    }
}

fn named(name: &str) -> About {
    let name = name.to_lowercase();
    let level = name.strip_prefix("heading ").and_then(|level| level.parse::<usize>().ok());
    match (name.as_str(), level) {
        ("normal", _) => About::Text,
        ("title", _) => About::Title,
        (_, Some(level @ 1..=6)) => About::Heading(level - 1),
        _ => About::Nothing,
    }
}

/// The last section is used, because it is the one of the body.
#[derive(Default)]
struct WordSection {
    header: Option<String>,
    footer: Option<String>,
}

/// Reads the sections, without what they were before a tracked change.
fn section(xml: &[u8], brand: &mut Brand) -> Result<WordSection, ReadError> {
    let mut section = WordSection::default();
    let mut in_change = false;
    walk(xml, |node| {
        match node {
            XmlNode::Close("sectPrChange") => in_change = false,
            XmlNode::Open(element) if element.name == "sectPrChange" => in_change = true,
            XmlNode::Open(element) if !in_change => section.see(element, brand),
            _ => {}
        }
        Ok(())
    })?;
    Ok(section)
}

impl WordSection {
    fn see(&mut self, element: &XmlElement, brand: &mut Brand) {
        let usual = element.attribute("type") == Some("default");
        let id = || element.exactly("r:id").map(str::to_owned);
        match element.name.as_str() {
            "headerReference" if usual => self.header = id(),
            "footerReference" if usual => self.footer = id(),
            "pgSz" => brand.page = paper(element),
            "pgMar" => {
                let side = |name| element.attribute(name)?.parse::<i64>().ok();
                let all = ["top", "right", "bottom", "left"].map(side);
                let sane = all.iter().all(|s| s.is_some_and(|s| MARGINS.contains(&s)));
                brand.margins = sane.then(|| all.map(Option::unwrap_or_default));
            }
            _ => {}
        }
    }
}

/// The closer of the two supported paper sizes.
fn paper(element: &XmlElement) -> Option<Page> {
    let (width, height) = (element.number("w")?, element.number("h")?);
    let (short, long) = (width.min(height), width.max(height));
    let far = |size: (usize, usize)| short.abs_diff(size.0) + long.abs_diff(size.1);
    let is_letter = far((12_240, 15_840)) < far((11_906, 16_838));
    let size = if is_letter { PageSize::Letter } else { PageSize::A4 };
    Some(Page { size, landscape: width > height, two_columns: false })
}

#[derive(Default)]
struct Edge {
    text: Vec<String>,
    picture: Option<String>,
}

/// A paragraph that is being read.
#[derive(Default)]
struct OpenParagraph {
    text: String,
    has_field: bool,
}

/// Lines without fields, since the renderer writes the page number itself.
fn edge(xml: &[u8]) -> Result<Edge, ReadError> {
    let mut edge = Edge::default();
    // The paragraphs of a text box are within that of its anchor.
    let mut lines: Vec<OpenParagraph> = Vec::new();
    let (mut in_text, mut in_fallback) = (false, false);
    walk(xml, |node| {
        match node {
            XmlNode::Close("Fallback") => in_fallback = false,
            // What is for old programs is there twice.
            _ if in_fallback => {}
            XmlNode::Open(element) => match element.name.as_str() {
                "Fallback" => in_fallback = true,
                "p" => lines.push(OpenParagraph::default()),
                "t" => in_text = true,
                "tab" | "br" => add(&mut lines, " "),
                "fldChar" | "fldSimple" => {
                    if let Some(line) = lines.last_mut() {
                        line.has_field = true;
                    }
                }
                "blip" if edge.picture.is_none() => {
                    edge.picture = element.exactly("r:embed").map(str::to_owned);
                }
                _ => {}
            },
            XmlNode::Text(text) if in_text => add(&mut lines, text),
            XmlNode::Close("t") => in_text = false,
            XmlNode::Close("p") => {
                let line = lines.pop().filter(|line| !line.has_field);
                edge.text.extend(line.map(|line| line.text));
            }
            XmlNode::Text(_) | XmlNode::Close(_) => {}
        }
        Ok(())
    })?;
    Ok(edge)
}

fn add(lines: &mut [OpenParagraph], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paper_before_a_tracked_change_is_not_that_of_the_template() {
        let paper = |width: u32| format!("<pgSz w=\"{width}\" h=\"15000\"/>");
        let change = format!("<sectPrChange><sectPr>{}</sectPr></sectPrChange>", paper(12_240));
        let body = format!("<body><sectPr>{}{change}</sectPr></body>", paper(16_838));
        let mut brand = Brand::default();
        section(body.as_bytes(), &mut brand).unwrap();
        assert!(brand.page.unwrap().landscape);
    }

    #[test]
    fn text_boxes_of_a_header_are_read_once_and_beside_its_text() {
        let header = "<hdr><p><r><t>Acme</t></r><r><AlternateContent><Choice><p><r><t>Box</t></r>\
                      </p></Choice><Fallback><p><r><t>Box</t></r></p></Fallback></AlternateContent>\
                      </r><r><t> Ltd.</t></r></p></hdr>";
        assert_eq!(edge(header.as_bytes()).unwrap().text, ["Box", "Acme Ltd."]);
    }
}
