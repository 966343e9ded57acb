//! Paragraphs and runs of DrawingML: formatting, bullets, numbers, links, text direction.

use std::collections::HashMap;

use super::heights::{FIGURE, INDENT, SMALL, hang, size};
use super::items::{LIST_NUMBERS, Para, ParaMark, ParaVoice};
use super::markup::fill;
use super::sheet::Sheet;
use crate::document::{Align, Color, Inline, Mark as TextMark};
use crate::package::highlight;
use crate::package::look::{self, SMALL_SIZE};
use crate::package::measure::runs_rtl;
use crate::package::numerals::Numerals;
use crate::package::text::{LINK_LETTERS, directions, joint, named, plain, slug, unescape};
use crate::package::xml::Xml;

/// The least font size of DrawingML, in points.
const LEAST_SIZE: f64 = 1.0;

/// The formatting of a run.
#[expect(clippy::struct_excessive_bools, reason = "each is one attribute of a run")]
#[derive(Debug, Clone, Copy, Default)]
pub struct TextFormat {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub code: bool,
    pub raised: bool,
    pub formula: bool,
    /// Visible only in the outline and to screen readers.
    pub unseen: bool,
    pub rtl: bool,
    /// By [`TextMark`].
    pub marks: [bool; 5],
    /// RRGGBB.
    pub color: Option<Color>,
    /// In points; `None` for the placeholder's own size.
    pub size: Option<f64>,
    /// The placeholder's own size, for letters that are smaller.
    pub own_size: Option<f64>,
    /// The relationship of a link, and whether its target is a slide of this presentation.
    pub link: Option<Link>,
}

/// Index into the links of the sheet.
pub type Link = usize;

impl Sheet<'_, '_> {
    /// The paragraphs of a placeholder.
    pub fn paras(&mut self, xml: &mut Xml, paras: &[Para], scale: f64) {
        let mut starts = HashMap::new();
        let mut rtl = false;
        for (at, para) in paras.iter().enumerate() {
            if begins_list(&paras[..at], para) {
                between_lists(xml, para.level);
            }
            // Text without letters, such as a date, takes the direction of the paragraph above it.
            let text = plain(&para.content);
            let is_after_rtl = rtl;
            rtl = if text.chars().any(char::is_alphabetic) { self.runs_rtl(&text) } else { rtl };
            let mut format = TextFormat { rtl, ..self.voice(para) };
            // The placeholder can only be reduced, so larger text has its own size.
            if scale > 1.0 || self.has_own_sizes {
                format.size = format.size.or(Some(size(para, scale)));
            }
            let first = self.first_level_size.filter(|_| para.level == 0);
            format.own_size = first.or(Some(size(para, 1.0)));
            xml.open("a:p", &[]);
            properties(xml, para, &mut starts, Shift { rtl, is_after_rtl, scale: scale.max(1.0) });
            match &para.content[..] {
                [Inline::Math(source)] if para.mark == ParaMark::None => {
                    self.display_math(xml, source, format);
                }
                content => self.runs(xml, content, format),
            }
            xml.close();
        }
        if paras.is_empty() {
            xml.empty("a:p", &[]);
        }
    }

    pub fn runs_rtl(&self, text: &str) -> bool {
        runs_rtl(text, self.deck.geometry.rtl)
    }

    fn voice(&self, para: &Para) -> TextFormat {
        let look = &self.deck.look;
        let format = TextFormat::default();
        match para.voice {
            ParaVoice::Plain => format,
            ParaVoice::Figure => {
                TextFormat { bold: true, color: Some(look.accent), size: Some(FIGURE), ..format }
            }
            ParaVoice::Heading => TextFormat { bold: true, color: Some(look.accent), ..format },
            ParaVoice::Quote => {
                TextFormat { italic: true, color: Color::read(look.quiet), ..format }
            }
            ParaVoice::Alert(alert) => {
                TextFormat { bold: true, color: Color::read(look::alert(alert)), ..format }
            }
            ParaVoice::Small => {
                TextFormat { size: Some(SMALL), color: Color::read(look.quiet), ..format }
            }
        }
    }

    /// One line of text in a table cell or title.
    pub fn line(&mut self, xml: &mut Xml, content: &[Inline], align: Align, format: TextFormat) {
        let rtl = self.runs_rtl(&plain(content));
        let align = match (align, rtl) {
            (Align::Center, _) => Some("ctr"),
            (Align::End, false) | (Align::Start, true) => Some("r"),
            _ => None,
        };
        let mut attributes = Vec::new();
        attributes.extend(align.map(|align| ("algn", align)));
        attributes.extend(rtl.then_some(("rtl", "1")));
        xml.open("a:p", &[]);
        xml.empty("a:pPr", &attributes);
        self.runs(xml, content, TextFormat { rtl, ..format });
        // An empty line needs an explicit size, otherwise it takes the master's.
        if let (true, Some(points)) = (content.is_empty(), format.size) {
            xml.empty("a:endParaRPr", &[("sz", &((points * 100.0).round() as i64).to_string())]);
        }
        xml.close();
    }

    pub fn runs(&mut self, xml: &mut Xml, content: &[Inline], format: TextFormat) {
        for (at, inline) in content.iter().enumerate() {
            match inline {
                Inline::Text(text) => self.run(xml, text, format),
                Inline::Code(text) => self.run(xml, text, TextFormat { code: true, ..format }),
                Inline::Strong(parts) => self.runs(xml, parts, TextFormat { bold: true, ..format }),
                Inline::Emphasis(parts) => {
                    self.runs(xml, parts, TextFormat { italic: !format.italic, ..format });
                }
                Inline::Strike(parts) => {
                    self.runs(xml, parts, TextFormat { strike: true, ..format });
                }
                Inline::Marked(mark, parts) => {
                    let mut marks = format.marks;
                    marks[*mark as usize] = true;
                    let size = match mark {
                        TextMark::Small => {
                            let around = format.size.or(format.own_size);
                            around.map(|size| (size * SMALL_SIZE).max(LEAST_SIZE))
                        }
                        _ => format.size,
                    };
                    self.runs(xml, parts, TextFormat { marks, size, ..format });
                }
                Inline::Link { url, title, content } => {
                    let link = self.link(url, title);
                    self.runs(xml, content, TextFormat { link: link.or(format.link), ..format });
                }
                Inline::Image { url, alt, title } => {
                    let name = named(url, alt, title);
                    let warning = "A picture in a title or table cell is shown as its text.";
                    self.deck.warnings.add(warning);
                    self.run(xml, &format!("[{name}]"), TextFormat { italic: true, ..format });
                }
                Inline::Math(latex) => self.math(xml, latex, format),
                Inline::Footnote(note) => {
                    self.run(xml, &(note + 1).to_string(), TextFormat { raised: true, ..format });
                }
                Inline::SoftBreak => {
                    let before = plain(&content[at.saturating_sub(1)..at]);
                    self.run(xml, joint(&before, &content[at + 1..]), format);
                }
                Inline::LineBreak => xml.empty("a:br", &[]),
            }
        }
    }

    fn link(&mut self, url: &str, title: &str) -> Option<Link> {
        let target = match url.strip_prefix('#') {
            Some(anchor) => self.slide_of(anchor).map(|slide| {
                let target = format!("slide{slide}.xml");
                (self.relations.part("slide", &target), Some("ppaction://hlinksldjump"))
            }),
            None => (url.len() <= LINK_LETTERS && url.contains(':'))
                .then(|| (self.relations.link(url), None)),
        };
        let Some((relation, action)) = target else {
            let shown: String = url.chars().take(80).collect();
            let warning = format!("The link to {shown} has no target and is shown as text.");
            self.deck.warnings.add(warning);
            return None;
        };
        self.links.push((relation, action, title.chars().take(250).collect()));
        Some(self.links.len() - 1)
    }

    /// The slide of an anchor.
    fn slide_of(&self, anchor: &str) -> Option<usize> {
        if let Some(slide) = self.deck.anchors.get(anchor) {
            return Some(*slide);
        }
        let anchor = unescape(anchor).to_lowercase();
        let slides = &self.deck.anchors;
        let slide = slides.get(&anchor).or_else(|| slides.get(&slug(&anchor, &mut HashMap::new())));
        slide.copied()
    }

    pub fn run(&mut self, xml: &mut Xml, text: &str, format: TextFormat) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                xml.empty("a:br", &[]);
            }
            for (piece, rtl) in directions(line, format.rtl) {
                xml.open("a:r", &[]);
                self.marks(xml, TextFormat { rtl, ..format });
                xml.leaf("a:t", &[], piece);
                xml.close();
            }
        }
    }

    /// The properties of a run.
    pub fn marks(&self, xml: &mut Xml, format: TextFormat) {
        let look = &self.deck.look;
        let language = look::language(&self.deck.document.meta);
        let size = format.size.map(|points| ((points * 100.0).round() as i64).to_string());
        let mut attributes = vec![("lang", language)];
        attributes.extend(size.as_deref().map(|size| ("sz", size)));
        attributes.extend(format.bold.then_some(("b", "1")));
        attributes.extend(format.italic.then_some(("i", "1")));
        let has = |mark: TextMark| format.marks[mark as usize];
        attributes.extend(has(TextMark::Underlined).then_some(("u", "sng")));
        attributes.extend(format.strike.then_some(("strike", "sngStrike")));
        let is_raised = format.raised || has(TextMark::Raised);
        attributes.extend(is_raised.then_some(("baseline", "30000")));
        let is_lowered = has(TextMark::Lowered) && !is_raised;
        attributes.extend(is_lowered.then_some(("baseline", "-25000")));
        xml.open("a:rPr", &attributes);
        if format.unseen {
            xml.raw("<a:solidFill><a:srgbClr val=\"FFFFFF\"><a:alpha val=\"0\"/></a:srgbClr></a:solidFill>");
        } else if let Some(color) = self.ink.or(format.color) {
            fill(xml, &color);
        }
        if has(TextMark::Highlighted) {
            xml.raw("<a:highlight><a:srgbClr val=\"FFF2A8\"/></a:highlight>");
        }
        if format.formula {
            xml.empty("a:latin", &[("typeface", "Cambria Math")]);
        }
        if format.code {
            let code = [("typeface", look.code)];
            xml.empty("a:latin", &code);
            xml.empty("a:ea", &[("typeface", look.east_asian)]);
            xml.empty("a:cs", &code);
        }
        if let Some((relation, action, title)) = format.link.map(|link| &self.links[link]) {
            let mut attributes = vec![("r:id", relation.as_str())];
            attributes.extend(action.map(|action| ("action", action)));
            if !title.is_empty() {
                attributes.push(("tooltip", title));
            }
            xml.empty("a:hlinkClick", &attributes);
        }
        if format.rtl {
            xml.empty("a:rtl", &[]);
        }
        xml.close();
    }

    /// Highlighted lines of code.
    pub fn code(&mut self, xml: &mut Xml, language: Option<&str>, text: &str, size: f64) {
        for line in highlight::lines(language, text) {
            xml.open("a:p", &[]);
            xml.open("a:pPr", &[("marL", "0"), ("indent", "0")]);
            xml.raw("<a:spcBef><a:spcPts val=\"0\"/></a:spcBef><a:buNone/>");
            xml.close();
            for piece in &line {
                // The colours are made for a light background.
                let color = piece.color().filter(|_| !self.deck.look.is_dark());
                let color = color.and_then(Color::read);
                let format =
                    TextFormat { code: true, color, size: Some(size), ..TextFormat::default() };
                self.run(xml, piece.text, format);
            }
            if line.is_empty() {
                xml.empty("a:endParaRPr", &[("sz", &((size * 100.0) as i64).to_string())]);
            }
            xml.close();
        }
    }
}

/// Whether a paragraph begins a numbered list right after another one, which PowerPoint and LibreOffice
/// would count on.
fn begins_list(before: &[Para], para: &Para) -> bool {
    let ParaMark::Number { list, .. } = para.mark else { return false };
    let last = before.iter().rev().find(|last| last.level <= para.level);
    last.is_some_and(|last| match last.mark {
        ParaMark::Number { list: other, .. } => last.level == para.level && other != list,
        _ => false,
    })
}

/// A paragraph that ends a list and shows nothing. LibreOffice counts on over paragraphs without a
/// bullet or without text.
fn between_lists(xml: &mut Xml, level: usize) {
    xml.open("a:p", &[]);
    xml.open("a:pPr", &[("marL", "0"), ("lvl", &level.min(8).to_string()), ("indent", "0")]);
    xml.raw(
        "<a:lnSpc><a:spcPct val=\"10000\"/></a:lnSpc><a:spcBef><a:spcPts val=\"0\"/></a:spcBef>",
    );
    xml.raw("<a:spcAft><a:spcPts val=\"0\"/></a:spcAft><a:buChar char=\"\u{200b}\"/>");
    xml.close();
    xml.open("a:r", &[]);
    xml.empty("a:rPr", &[("sz", "100")]);
    xml.leaf("a:t", &[], "\u{200b}");
    xml.close();
    xml.close();
}

/// What changes the indents of a paragraph.
#[derive(Clone, Copy)]
struct Shift {
    rtl: bool,
    /// Whether the paragraph above is right-to-left, which LibreOffice would continue.
    is_after_rtl: bool,
    scale: f64,
}

/// Level, indent and bullet. `starts` has the first number of each list in this placeholder, from
/// which PowerPoint counts on.
fn properties(xml: &mut Xml, para: &Para, starts: &mut HashMap<usize, u64>, shift: Shift) {
    let emu = |points: f64| super::geometry::emu(points).to_string();
    let level = para.level.min(8);
    let quoted = if para.voice == ParaVoice::Quote { 16.0 } else { 0.0 };
    let hang = hang(para.mark) * shift.scale;
    let left = emu(INDENT * level as f64 * shift.scale + hang + quoted);
    let (hanging, level) = (emu(-hang), level.to_string());
    // `marL` is the margin before the text, which is on the right in right-to-left paragraphs.
    let mut attributes = vec![("marL", left.as_str()), ("lvl", &level), ("indent", &hanging)];
    if shift.rtl {
        attributes.extend([("algn", "r"), ("rtl", "1")]);
    } else if shift.is_after_rtl {
        attributes.push(("rtl", "0"));
    }
    xml.open("a:pPr", &attributes);
    match para.mark {
        ParaMark::None => xml.empty("a:buNone", &[]),
        ParaMark::Bullet => xml.empty("a:buChar", &[("char", ["•", "–", "▪"][para.level % 3])]),
        ParaMark::Task(done) => {
            xml.empty("a:buFont", &[("typeface", "Segoe UI Symbol")]);
            xml.empty("a:buChar", &[("char", if done { "☒" } else { "☐" })]);
        }
        ParaMark::Number { list, value, .. } => {
            let value = value.clamp(*LIST_NUMBERS.start(), *LIST_NUMBERS.end());
            let start = starts.entry(list).or_insert(value).to_string();
            let kind = match Numerals::of(para.level) {
                Numerals::Digits => "arabicPeriod",
                Numerals::Letters => "alphaLcPeriod",
                Numerals::Roman => "romanLcPeriod",
            };
            xml.empty("a:buAutoNum", &[("type", kind), ("startAt", &start)]);
        }
    }
    xml.close();
}
