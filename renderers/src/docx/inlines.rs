//! Inlines as runs: formatting, links, footnotes, line breaks, text direction.

use super::draw::{Draw, Place};
use crate::document::{Inline, Mark, leads_to_caption};
use crate::package::look::SMALL_SIZE;
use crate::package::text::{LINK_LETTERS, PictureText, directions, joint, plain};
use crate::package::xml::Xml;

/// The maximum length of a tooltip, in UTF-16 units.
const TOOLTIP_UNITS: usize = 250;

/// The formatting of a run and the width of its line.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunFormat {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub code: bool,
    pub link: bool,
    /// By [`Mark`].
    pub marks: [bool; 5],
    /// The size of small letters, in half points.
    pub small: Option<u32>,
    /// The style of the paragraph.
    pub style: &'static str,
    /// Whether the paragraph runs from right to left.
    pub rtl: bool,
    /// RRGGBB.
    pub color: Option<&'static str>,
    /// Twips.
    pub width: i64,
}

impl From<Place> for RunFormat {
    fn from(place: Place) -> Self {
        Self { style: place.style, width: place.width, ..Self::default() }
    }
}

impl Draw<'_> {
    pub fn inlines(&mut self, xml: &mut Xml, inlines: &[Inline], format: RunFormat) {
        // Neighbours of the same format are one run, so that programs find text across them.
        let mut text = String::new();
        for (at, inline) in inlines.iter().enumerate() {
            match inline {
                Inline::Text(part) => text.push_str(part),
                Inline::SoftBreak => {
                    let before = plain(&inlines[at.saturating_sub(1)..at]);
                    text.push_str(joint(&before, &inlines[at + 1..]));
                }
                other => {
                    run(xml, &std::mem::take(&mut text), format);
                    self.inline(xml, other, format);
                }
            }
        }
        run(xml, &text, format);
    }

    fn inline(&mut self, xml: &mut Xml, inline: &Inline, format: RunFormat) {
        match inline {
            Inline::Text(text) => run(xml, text, format),
            Inline::Code(text) => run(xml, text, RunFormat { code: true, ..format }),
            Inline::Strong(parts) => self.inlines(xml, parts, RunFormat { bold: true, ..format }),
            Inline::Emphasis(parts) => {
                self.inlines(xml, parts, RunFormat { italic: true, ..format });
            }
            Inline::Strike(parts) => self.inlines(xml, parts, RunFormat { strike: true, ..format }),
            Inline::Marked(mark, parts) => {
                let mut marks = format.marks;
                marks[*mark as usize] = true;
                let small = match mark {
                    Mark::Small => Some(self.smaller(format)),
                    _ => format.small,
                };
                self.inlines(xml, parts, RunFormat { marks, small, ..format });
            }
            Inline::Link { url, title, content } => {
                self.link(xml, LinkTarget { url, title }, content, format);
            }
            Inline::Image { url, alt, title } => {
                self.inline_picture(xml, PictureText { url, alt, title }, format);
            }
            Inline::Math(latex) => self.inline_math(xml, latex, format),
            Inline::Footnote(note) => self.mention(xml, *note, format),
            Inline::SoftBreak => run(xml, " ", format),
            Inline::LineBreak => {
                xml.open("w:r", &[]);
                xml.empty("w:br", &[]);
                xml.close();
            }
        }
    }

    /// The size of small letters in text of that format. Word has no relative sizes.
    fn smaller(&self, format: RunFormat) -> u32 {
        let around = format.small.unwrap_or_else(|| self.sizes.of(format.style));
        (f64::from(around) * SMALL_SIZE).round().max(2.0) as u32
    }

    fn link(
        &mut self,
        xml: &mut Xml,
        target: LinkTarget<'_>,
        content: &[Inline],
        format: RunFormat,
    ) {
        let LinkTarget { url, title } = target;
        let is_caption =
            |anchor: &&str| leads_to_caption(url) && self.caption_anchors.contains(*anchor);
        if let Some(anchor) = url.strip_prefix('#').filter(is_caption) {
            return self.reference(xml, anchor, content, format);
        }
        let target = match url.strip_prefix('#') {
            Some(anchor) => self.anchors.target(anchor).map(|name| ("w:anchor", name.to_owned())),
            None if url.len() <= LINK_LETTERS && allowed(url) => {
                Some(("r:id", self.relations.link(url)))
            }
            None => None,
        };
        let Some((key, target)) = target else {
            let shown: String = url.chars().take(80).collect();
            self.warnings.add(format!("The link to {shown} has no target and is shown as text."));
            return self.inlines(xml, content, format);
        };
        let mut attributes = vec![(key, target.as_str()), ("w:history", "1")];
        let tip = beginning(title, TOOLTIP_UNITS);
        if !tip.is_empty() {
            attributes.push(("w:tooltip", tip));
        }
        xml.open("w:hyperlink", &attributes);
        self.inlines(xml, content, RunFormat { link: true, ..format });
        xml.close();
    }
}

/// Where a link leads. Its title is shown as a tooltip.
struct LinkTarget<'a> {
    url: &'a str,
    title: &'a str,
}

/// The beginning of a text, with at most that many UTF-16 units, which Word counts.
pub fn beginning(text: &str, max_units: usize) -> &str {
    let mut units = 0;
    let end = text.char_indices().find(|(_, letter)| {
        units += letter.len_utf16();
        units > max_units
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// The URL schemes that links may use.
pub fn allowed(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    url.contains(':') && ["https", "http", "mailto", "tel"].contains(&scheme.as_str())
}

/// Writes formatted text, split where the direction changes, with line breaks.
pub fn run(xml: &mut Xml, text: &str, format: RunFormat) {
    for (piece, rtl) in directions(text, format.rtl) {
        xml.open("w:r", &[]);
        marks(xml, format, rtl);
        letters(xml, piece);
        xml.close();
    }
}

/// Writes the characters of a run. Tabs and line ends become separate elements.
pub fn letters(xml: &mut Xml, text: &str) {
    let preserve = [("xml:space", "preserve")];
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            xml.empty("w:br", &[]);
        }
        for (at, part) in line.split('\t').enumerate() {
            if at > 0 {
                xml.empty("w:tab", &[]);
            }
            if !part.is_empty() {
                xml.leaf("w:t", &preserve, part);
            }
        }
    }
}

/// The run's properties, in the order of the schema.
fn marks(xml: &mut Xml, format: RunFormat, rtl: bool) {
    let is_bold = format.bold || format.italic || format.strike;
    let is_marked = format.marks.contains(&true);
    if !(is_bold || is_marked || format.code || format.link || rtl || format.color.is_some()) {
        return;
    }
    xml.open("w:rPr", &[]);
    if format.code {
        xml.val("w:rStyle", "CodeText");
    } else if format.link {
        xml.val("w:rStyle", "Hyperlink");
    }
    let both = [(format.bold, ["w:b", "w:bCs"]), (format.italic, ["w:i", "w:iCs"])];
    for name in both.into_iter().filter(|(on, _)| *on).flat_map(|(_, names)| names) {
        xml.empty(name, &[]);
    }
    if format.strike {
        xml.empty("w:strike", &[]);
    }
    if let Some(color) = format.color {
        xml.val("w:color", color);
    }
    let has = |mark: Mark| format.marks[mark as usize];
    if let Some(half_points) = format.small.map(|small| small.to_string()) {
        xml.val("w:sz", &half_points);
        xml.val("w:szCs", &half_points);
    }
    if has(Mark::Highlighted) {
        xml.val("w:highlight", "yellow");
    }
    if has(Mark::Underlined) {
        xml.val("w:u", "single");
    }
    if has(Mark::Raised) || has(Mark::Lowered) {
        let place = if has(Mark::Raised) { "superscript" } else { "subscript" };
        xml.val("w:vertAlign", place);
    }
    if rtl {
        xml.empty("w:rtl", &[]);
    }
    xml.close();
}
