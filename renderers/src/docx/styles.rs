//! `word/styles.xml`: the styles in each theme.

use std::collections::HashMap;

use super::namespaces::NAMESPACES;
use super::numbering::HEADINGS;
use crate::document::{Meta, Voice};
use crate::package::look::{self, Look};
use crate::package::xml::Xml;

/// A style as a table row: its id, the style it is based on, and its properties as XML.
struct WordStyle {
    id: &'static str,
    name: &'static str,
    base: &'static str,
    next: &'static str,
    paragraph: String,
    run: String,
}

pub fn write(look: &Look, meta: &Meta) -> Xml {
    let mut xml = Xml::new();
    xml.open("w:styles", &NAMESPACES);
    defaults(&mut xml, look, meta);
    xml.raw("<w:style w:type=\"paragraph\" w:default=\"1\" w:styleId=\"Normal\"><w:name w:val=\"Normal\"/><w:qFormat/></w:style>");
    xml.raw("<w:style w:type=\"character\" w:default=\"1\" w:styleId=\"DefaultParagraphFont\"><w:name w:val=\"Default Paragraph Font\"/><w:uiPriority w:val=\"1\"/><w:semiHidden/></w:style>");
    xml.raw("<w:style w:type=\"numbering\" w:default=\"1\" w:styleId=\"NoList\"><w:name w:val=\"No List\"/><w:semiHidden/></w:style>");
    xml.raw(TABLE_NORMAL);
    for style in &paragraph_styles(look, meta) {
        paragraph(&mut xml, style);
    }
    characters(&mut xml, look);
    table(&mut xml, look);
    xml.close();
    xml
}

fn paragraph_styles(look: &Look, meta: &Meta) -> Vec<WordStyle> {
    let all = [
        headings(look, meta.numbered),
        front(look),
        body(look),
        tables_and_code(look),
        small(look),
    ];
    all.into_iter().flatten().collect()
}

/// The sizes of letters by the style of their paragraph, in half points.
pub struct LetterSizes {
    /// Of the styles without one of their own.
    usual: u32,
    own: HashMap<&'static str, u32>,
}

impl LetterSizes {
    pub fn new(look: &Look, meta: &Meta) -> Self {
        let own = paragraph_styles(look, meta).into_iter().filter_map(|style| {
            let (_, size) = style.run.split_once("<w:sz w:val=\"")?;
            Some((style.id, size.split_once('"')?.0.parse::<u32>().ok()?))
        });
        Self { own: own.collect(), usual: usual_size(look) }
    }

    pub fn of(&self, style: &str) -> u32 {
        self.own.get(style).copied().unwrap_or(self.usual)
    }
}

fn usual_size(look: &Look) -> u32 {
    look.brand.and_then(|brand| brand.half_points).unwrap_or(22)
}

const TABLE_NORMAL: &str = "<w:style w:type=\"table\" w:default=\"1\" w:styleId=\"TableNormal\">\
    <w:name w:val=\"Normal Table\"/><w:semiHidden/><w:tblPr><w:tblInd w:w=\"0\" w:type=\"dxa\"/>\
    <w:tblCellMar><w:top w:w=\"0\" w:type=\"dxa\"/><w:left w:w=\"108\" w:type=\"dxa\"/>\
    <w:bottom w:w=\"0\" w:type=\"dxa\"/><w:right w:w=\"108\" w:type=\"dxa\"/></w:tblCellMar>\
    </w:tblPr></w:style>";

fn defaults(xml: &mut Xml, look: &Look, meta: &Meta) {
    let east = look::east_asian_language(meta);
    let language = look::language(meta);
    let bidi = if look::is_rtl(language) { language } else { "ar-SA" };
    xml.open("w:docDefaults", &[]);
    xml.open("w:rPrDefault", &[]);
    xml.open("w:rPr", &[]);
    let fonts = [
        ("w:ascii", look.body),
        ("w:hAnsi", look.body),
        ("w:eastAsia", look.east_asian),
        ("w:cs", look.complex),
    ];
    xml.empty("w:rFonts", &fonts);
    xml.val("w:color", &look.ink);
    let half_points = usual_size(look).to_string();
    xml.val("w:sz", &half_points);
    xml.val("w:szCs", &half_points);
    xml.empty("w:lang", &[("w:val", language), ("w:eastAsia", east), ("w:bidi", bidi)]);
    xml.close();
    xml.close();
    xml.raw("<w:pPrDefault/>");
    xml.close();
}

fn paragraph(xml: &mut Xml, style: &WordStyle) {
    xml.open("w:style", &[("w:type", "paragraph"), ("w:styleId", style.id)]);
    xml.val("w:name", style.name);
    xml.val("w:basedOn", style.base);
    xml.val("w:next", style.next);
    xml.raw("<w:qFormat/>");
    xml.raw(&format!("<w:pPr>{}</w:pPr><w:rPr>{}</w:rPr>", style.paragraph, style.run));
    xml.close();
}

fn style(id: &'static str, name: &'static str, paragraph: &str, run: &str) -> WordStyle {
    let (paragraph, run) = (paragraph.to_owned(), run.to_owned());
    WordStyle { id, name, base: "Normal", next: id, paragraph, run }
}

/// Size in half points for Latin and complex scripts.
fn size(half_points: u32) -> String {
    format!("<w:sz w:val=\"{half_points}\"/><w:szCs w:val=\"{half_points}\"/>")
}

fn fonts(face: &str, look: &Look) -> String {
    let (east, complex) = (look.east_asian, look.complex);
    format!(
        "<w:rFonts w:ascii=\"{face}\" w:hAnsi=\"{face}\" w:eastAsia=\"{east}\" w:cs=\"{complex}\"/>"
    )
}

/// Twips before and after, and the line height in 240ths.
fn spacing(before: u32, after: u32, line: u32) -> String {
    format!(
        "<w:spacing w:before=\"{before}\" w:after=\"{after}\" w:line=\"{line}\" w:lineRule=\"auto\"/>"
    )
}

const BOLD: &str = "<w:b/><w:bCs/>";

fn headings(look: &Look, numbered: bool) -> Vec<WordStyle> {
    let names = [
        ("Heading1", "heading 1"),
        ("Heading2", "heading 2"),
        ("Heading3", "heading 3"),
        ("Heading4", "heading 4"),
        ("Heading5", "heading 5"),
        ("Heading6", "heading 6"),
    ];
    let sizes = [
        (40, 400, 140),
        (32, 320, 120),
        (26, 280, 100),
        (23, 240, 80),
        (22, 220, 80),
        (22, 200, 80),
    ];
    let rows = names.into_iter().zip(sizes).enumerate();
    rows.map(|(at, ((id, name), (half_points, before, after)))| {
        let color = if at < 3 { look.accent } else { look.ink };
        let usual = Voice {
            color: Some(color),
            half_points: Some(half_points),
            bold: Some(at != 5),
            italic: Some(at == 5),
            face: None,
        };
        let run = voice(look, look.brand.map(|brand| &brand.levels[at]), usual);
        let spacing = spacing(before, after, 252);
        let number = if numbered {
            format!("<w:numPr><w:ilvl w:val=\"{at}\"/><w:numId w:val=\"{HEADINGS}\"/></w:numPr>")
        } else {
            String::new()
        };
        let paragraph =
            format!("<w:keepNext/><w:keepLines/>{number}{spacing}<w:outlineLvl w:val=\"{at}\"/>");
        WordStyle { next: "BodyText", ..style(id, name, &paragraph, &run) }
    })
    .collect()
}

/// The style of a heading: the template's, or the default.
fn voice(look: &Look, own: Option<&Voice>, usual: Voice) -> String {
    let own = own.cloned().unwrap_or_default();
    let is_bold = own.bold.or(usual.bold).unwrap_or_default();
    let is_italic = own.italic.or(usual.italic).unwrap_or_default();
    let color = own.color.or(usual.color).unwrap_or(look.accent);
    format!(
        "{}{}{}<w:color w:val=\"{color}\"/>{}",
        fonts(own.face.as_deref().unwrap_or(look.headings), look),
        if is_bold { BOLD } else { "" },
        if is_italic { "<w:i/><w:iCs/>" } else { "" },
        size(own.half_points.or(usual.half_points).unwrap_or(22))
    )
}

fn front(look: &Look) -> Vec<WordStyle> {
    let quiet = look.quiet;
    let big = |half: u32| {
        let usual = Voice { bold: Some(true), half_points: Some(half), ..Voice::default() };
        // The template's size is not used: it applies to the title.
        let title = look.brand.map(|brand| Voice {
            half_points: brand.title.half_points.filter(|_| half == 52),
            ..brand.title.clone()
        });
        voice(look, title.as_ref(), usual)
    };
    let calm = |half: u32| format!("<w:color w:val=\"{quiet}\"/>{}", size(half));
    // The short line above the title, as in a PDF. The paragraph ends 3.5 cm after its beginning.
    let rule = format!(
        "<w:pBdr><w:bottom w:val=\"single\" w:sz=\"16\" w:space=\"1\" w:color=\"{}\"/></w:pBdr>{}",
        look.accent,
        spacing(4200, 0, 240)
    );
    let keep = "<w:keepNext/><w:keepLines/>";
    vec![
        style("Title", "Title", &format!("{keep}{}", spacing(0, 120, 252)), &big(52)),
        style("Subtitle", "Subtitle", &spacing(0, 160, 252), &calm(28)),
        style("Byline", "Author", &spacing(0, 60, 252), &calm(21)),
        style("CoverRule", "Cover Rule", &rule, &size(12)),
        style("CoverTitle", "Cover Title", &spacing(240, 240, 264), &big(64)),
        style("CoverSubtitle", "Cover Subtitle", &spacing(0, 900, 264), &calm(34)),
        style("CoverLine", "Cover Line", &spacing(0, 120, 264), &calm(26)),
        style("TOCHeading", "TOC Heading", &format!("{keep}{}", spacing(360, 120, 252)), &big(32)),
        style("TOC1", "toc 1", &spacing(80, 40, 252), BOLD),
        style("TOC2", "toc 2", &format!("{}<w:ind w:left=\"284\"/>", spacing(0, 40, 252)), ""),
        style(
            "TOC3",
            "toc 3",
            &format!("{}<w:ind w:left=\"568\"/>", spacing(0, 40, 252)),
            &calm(21),
        ),
    ]
}

fn body(look: &Look) -> Vec<WordStyle> {
    let (line, quiet) = (look.line, look.quiet);
    let bar = |side: &str| {
        format!(
            "<w:pBdr><w:{side} w:val=\"single\" w:sz=\"24\" w:space=\"10\" w:color=\"{line}\"/></w:pBdr>"
        )
    };
    let quote = |side: &str| format!("{}{}", bar(side), spacing(0, 140, 264));
    let under = format!(
        "<w:pBdr><w:bottom w:val=\"single\" w:sz=\"6\" w:space=\"1\" w:color=\"{line}\"/></w:pBdr>"
    );
    let calm = format!("<w:color w:val=\"{quiet}\"/>");
    vec![
        style("BodyText", "Body Text", &spacing(0, 140, 276), ""),
        style("ListParagraph", "List Paragraph", &spacing(0, 100, 264), ""),
        style("Quote", "Quote", &quote("left"), &calm),
        // The sides of borders are those of the page, not those of the text.
        style("QuoteRtl", "Quote Right-to-Left", &quote("right"), &calm),
        style("QuoteText", "Quote Text", &spacing(40, 80, 264), &calm),
        style("AlertTitle", "Alert Title", &format!("<w:keepNext/>{}", spacing(20, 60, 252)), BOLD),
        style(
            "DefinitionTerm",
            "Definition Term",
            &format!("<w:keepNext/>{}", spacing(0, 40, 264)),
            BOLD,
        ),
        style("Rule", "Rule", &format!("{under}{}", spacing(120, 240, 240)), &size(12)),
        style("Figure", "Figure", &spacing(120, 120, 240), ""),
    ]
}

fn tables_and_code(look: &Look) -> Vec<WordStyle> {
    let code = look.code;
    let face = format!(
        "<w:rFonts w:ascii=\"{code}\" w:hAnsi=\"{code}\" w:eastAsia=\"{}\" w:cs=\"{code}\"/><w:noProof/>",
        look.east_asian
    );
    let cell = spacing(30, 30, 252);
    let head = format!("<w:keepNext/>{cell}");
    vec![
        style("TableText", "Table Text", &cell, &size(20)),
        style("TableTextSmall", "Table Text Small", &cell, &size(18)),
        style("TableTextTiny", "Table Text Tiny", &cell, &size(15)),
        style("TableTextLeast", "Table Text Least", &cell, &size(13)),
        style("TableHead", "Table Head", &head, &format!("{BOLD}{}", size(20))),
        style("TableHeadSmall", "Table Head Small", &head, &format!("{BOLD}{}", size(17))),
        style("TableHeadTiny", "Table Head Tiny", &head, &format!("{BOLD}{}", size(15))),
        style("TableHeadLeast", "Table Head Least", &head, &format!("{BOLD}{}", size(13))),
        style("Code", "Source Code", &spacing(0, 0, 252), &format!("{face}{}", size(18))),
        style(
            "Spacer",
            "Spacer",
            "<w:spacing w:before=\"0\" w:after=\"0\" w:line=\"200\" w:lineRule=\"exact\"/>",
            &size(12),
        ),
    ]
}

fn small(look: &Look) -> Vec<WordStyle> {
    let calm = |half: u32| format!("<w:color w:val=\"{}\"/>{}", look.quiet, size(half));
    vec![
        style("Caption", "caption", &spacing(0, 200, 252), &format!("<w:i/><w:iCs/>{}", calm(19))),
        style("TableofFigures", "table of figures", &spacing(0, 40, 252), ""),
        style("FootnoteText", "footnote text", &spacing(0, 40, 240), &size(18)),
        style("Header", "header", &spacing(0, 0, 240), &calm(18)),
        style("Footer", "footer", &spacing(0, 0, 240), &calm(18)),
    ]
}

fn characters(xml: &mut Xml, look: &Look) {
    let code = format!(
        "<w:rFonts w:ascii=\"{0}\" w:hAnsi=\"{0}\" w:cs=\"{0}\"/><w:noProof/><w:shd w:val=\"clear\" w:color=\"auto\" w:fill=\"{1}\"/>",
        look.code, look.paper
    );
    let link = format!("<w:color w:val=\"{}\"/><w:u w:val=\"single\"/>", look.link);
    let mark = "<w:vertAlign w:val=\"superscript\"/>".to_owned();
    for (id, name, run) in [
        ("CodeText", "Verbatim Char", code),
        ("Hyperlink", "Hyperlink", link),
        ("FootnoteReference", "footnote reference", mark),
    ] {
        xml.open("w:style", &[("w:type", "character"), ("w:styleId", id)]);
        xml.val("w:name", name);
        xml.val("w:basedOn", "DefaultParagraphFont");
        xml.raw(&format!("<w:rPr>{run}</w:rPr>"));
        xml.close();
    }
}

fn table(xml: &mut Xml, look: &Look) {
    xml.open("w:style", &[("w:type", "table"), ("w:styleId", "Table")]);
    xml.val("w:name", "Countersign Table");
    xml.val("w:basedOn", "TableNormal");
    xml.raw("<w:tblPr><w:tblBorders>");
    for name in ["w:top", "w:left", "w:bottom", "w:right", "w:insideH", "w:insideV"] {
        let line = [("w:val", "single"), ("w:sz", "4"), ("w:space", "0"), ("w:color", look.line)];
        xml.empty(name, &line);
    }
    xml.raw("</w:tblBorders></w:tblPr>");
    xml.raw(&format!(
        "<w:tblStylePr w:type=\"firstRow\"><w:rPr><w:b/><w:bCs/></w:rPr><w:tcPr><w:shd w:val=\"clear\" w:color=\"auto\" w:fill=\"{}\"/></w:tcPr></w:tblStylePr>",
        look.tint
    ));
    xml.close();
}
