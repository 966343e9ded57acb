//! The front matter of a file: title or cover, and the table of contents.

use super::anchors::LEVELS;
use super::blocks::Shape;
use super::draw::Draw;
use super::inlines::{RunFormat, run};
use super::{length, paper, sections};
use crate::package::look;
use crate::package::measure::begins_rtl;
use crate::package::xml::Xml;

/// The length of the line above the title of a cover, in twips.
const COVER_RULE: i64 = 1_984;
/// Only Word knows the pages.
pub const ENTRY_WARNING: &str = "The page numbers in the table of contents and in lists of figures \
                                 are estimates until Word updates them (F9).";

impl Draw<'_> {
    /// Writes the front and returns whether there was a title.
    pub fn front(&mut self, xml: &mut Xml) -> bool {
        let meta = &self.document.meta;
        let titled = meta.title.as_deref().is_some_and(|title| !title.trim().is_empty());
        if meta.cover {
            let right = (paper::page_width(self.document) - COVER_RULE).max(0).to_string();
            xml.open("w:p", &[]);
            xml.open("w:pPr", &[]);
            xml.val("w:pStyle", "CoverRule");
            if meta.title.as_deref().is_some_and(begins_rtl) {
                xml.empty("w:bidi", &[]);
            }
            xml.empty("w:ind", &[("w:right", &right)]);
            xml.close();
            xml.close();
            self.title(xml, ["CoverTitle", "CoverSubtitle", "CoverLine"]);
            sections::cover_section(xml, self.document);
        } else if titled {
            self.title(xml, ["Title", "Subtitle", "Byline"]);
            if meta.page.two_columns {
                self.title_section(xml);
            }
        }
        if meta.contents {
            self.contents(xml);
        }
        titled
    }

    fn title(&self, xml: &mut Xml, styles: [&'static str; 3]) {
        let meta = &self.document.meta;
        let date = meta.date.map(|date| date.format("%Y-%m-%d").to_string());
        let [title, subtitle, byline] = styles;
        // The whole block follows the direction of the title.
        let bidi = meta.title.as_deref().is_some_and(begins_rtl);
        let lines = [
            (title, meta.title.as_ref()),
            (subtitle, meta.subtitle.as_ref()),
            (byline, meta.author.as_ref()),
            (byline, date.as_ref()),
        ];
        for (style, text) in lines {
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                line(xml, style, text, bidi);
            }
        }
    }

    /// A field that Word can update, filled with the current headings. Only Word knows their page
    /// numbers, so these are estimates until the field is updated.
    fn contents(&mut self, xml: &mut Xml) {
        let all = self.anchors.all.iter().zip(length::pages_of_headings(self.document));
        let entries: Vec<_> = all.filter(|(anchor, _)| anchor.level <= LEVELS).collect();
        if entries.is_empty() {
            return;
        }
        self.warnings.add(ENTRY_WARNING);
        xml.open("w:sdt", &[]);
        xml.raw("<w:sdtPr><w:docPartObj><w:docPartGallery w:val=\"Table of Contents\"/>");
        xml.raw("<w:docPartUnique/></w:docPartObj></w:sdtPr>");
        xml.open("w:sdtContent", &[]);
        let title = contents_title(look::language(&self.document.meta));
        line(xml, "TOCHeading", title, begins_rtl(title));
        let width = paper::text_width(self.document).to_string();
        for (at, (entry, page)) in entries.iter().enumerate() {
            let style = ["TOC1", "TOC2", "TOC3"][usize::from(entry.level) - 1];
            xml.open("w:p", &[]);
            let bidi = begins_rtl(&entry.text);
            entry_form(xml, style, &width, bidi);
            if at == 0 {
                field(xml, "begin");
                instruction(xml, &format!(" TOC \\o \"1-{LEVELS}\" \\h \\z \\u "));
                field(xml, "separate");
            }
            xml.open("w:hyperlink", &[("w:anchor", &entry.bookmark), ("w:history", "1")]);
            if self.document.meta.numbered {
                run(xml, &format!("{} ", entry.number), RunFormat::default());
            }
            run(xml, &entry.text, RunFormat { rtl: bidi, ..RunFormat::default() });
            page_number(xml, &entry.bookmark, *page);
            xml.close();
            xml.close();
        }
        xml.open("w:p", &[]);
        Shape { style: "Spacer", ..Shape::default() }.write(xml);
        field(xml, "end");
        for _ in 0..3 {
            xml.close();
        }
        if length::contents_end_page(self.document) {
            xml.raw("<w:p><w:pPr><w:pStyle w:val=\"Spacer\"/></w:pPr><w:r><w:br w:type=\"page\"/></w:r></w:p>");
        }
    }
}

/// The properties of an entry, whose page number is at the right edge of its column.
pub fn entry_form(xml: &mut Xml, style: &str, width: &str, bidi: bool) {
    xml.open("w:pPr", &[]);
    xml.val("w:pStyle", style);
    xml.open("w:tabs", &[]);
    xml.empty("w:tab", &[("w:val", "right"), ("w:leader", "dot"), ("w:pos", width)]);
    xml.close();
    if bidi {
        xml.empty("w:bidi", &[]);
    }
    xml.close();
}

/// The number of the page of a bookmark, as a field that Word updates.
pub fn page_number(xml: &mut Xml, bookmark: &str, page: usize) {
    xml.raw("<w:r><w:tab/></w:r>");
    field(xml, "begin");
    instruction(xml, &format!(" PAGEREF {bookmark} \\h "));
    field(xml, "separate");
    run(xml, &page.to_string(), RunFormat::default());
    field(xml, "end");
}

/// What a field shows, as Word writes it.
pub fn instruction(xml: &mut Xml, text: &str) {
    xml.open("w:r", &[]);
    xml.leaf("w:instrText", &[("xml:space", "preserve")], text);
    xml.close();
}

/// The beginning, the middle or the end of a field.
pub fn field(xml: &mut Xml, kind: &str) {
    xml.open("w:r", &[]);
    xml.empty("w:fldChar", &[("w:fldCharType", kind)]);
    xml.close();
}

fn line(xml: &mut Xml, style: &'static str, text: &str, bidi: bool) {
    xml.open("w:p", &[]);
    Shape { style, bidi, ..Shape::default() }.write(xml);
    run(xml, text, RunFormat { rtl: begins_rtl(text), ..RunFormat::default() });
    xml.close();
}

fn contents_title(language: &str) -> &'static str {
    match look::primary(language).as_str() {
        "zh" if look::is_traditional_chinese(language) => "目錄",
        "zh" => "目录",
        "ja" => "目次",
        "ko" => "목차",
        "de" => "Inhalt",
        "fr" => "Table des matières",
        "es" => "Contenido",
        "pt" => "Sumário",
        "it" => "Indice",
        "nl" => "Inhoud",
        "ru" => "Содержание",
        "ar" => "المحتويات",
        "he" => "תוכן עניינים",
        _ => "Contents",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_chooses_the_title() {
        for (language, title) in
            [("zh-hant-TW", "目錄"), ("zh-Hans-HK", "目录"), ("DE", "Inhalt"), ("eo", "Contents")]
        {
            assert_eq!(contents_title(language), title, "{language}");
        }
    }
}
