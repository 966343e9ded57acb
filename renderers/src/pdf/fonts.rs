//! Font selection for a document, and the characters that no font has.

use std::collections::BTreeSet;

use typst::foundations::Bytes;
use typst::text::{Font, is_default_ignorable};

use super::scripts;
use crate::Document;
use crate::document::{Block, Inline, Meta, Theme};
use crate::package::{look, vector, words};
use crate::pdf::fontset::Fonts;

/// The number of missing characters named in a warning.
const NAMED: usize = 20;
const SANS: [&str; 4] = ["Noto Sans", "Liberation Sans", "Arimo", "DejaVu Sans"];
const SERIF: [&str; 1] = ["Libertinus Serif"];
const MONO: [&str; 1] = ["DejaVu Sans Mono"];
const WEIGHTS: [&str; 4] = ["Regular", "Bold", "Italic", "BoldItalic"];

impl Fonts {
    /// Adds the fonts of another file if it has any of the characters that `document` is missing.
    pub fn help(&mut self, document: &Document, file: Vec<u8>) {
        let missing = self.missing(document);
        let added: Vec<Font> = Font::iter(Bytes::new(file)).collect();
        let helps = |font: &Font| missing.iter().any(|c| font.info().coverage.contains(*c as u32));
        if added.iter().any(helps) {
            self.add(added);
        }
    }

    /// The font families of the text, in order of preference.
    pub(super) fn body(&self, meta: &Meta) -> Vec<String> {
        let own = meta.brand.as_deref().and_then(|brand| brand.body.as_deref());
        self.text(own, meta)
    }

    pub(super) fn headings(&self, meta: &Meta) -> Vec<String> {
        let brand = meta.brand.as_deref();
        self.text(brand.and_then(|b| b.headings.as_deref().or(b.body.as_deref())), meta)
    }

    /// The template's font if available, otherwise the theme's.
    fn text(&self, own: Option<&str>, meta: &Meta) -> Vec<String> {
        let first: &[&str] = if meta.theme == Theme::Academic { &SERIF } else { &SANS };
        let alike = own.and_then(metric_twin);
        let wanted = own.into_iter().chain(alike).chain(first.iter().chain(&SERIF).copied());
        self.present(wanted, 1, meta)
    }

    pub(super) fn mono(&self, meta: &Meta) -> Vec<String> {
        self.present(MONO.iter().copied(), 1, meta)
    }

    /// The first `count` available families of `wanted`, then those for other scripts.
    fn present<'a>(
        &self,
        wanted: impl Iterator<Item = &'a str>,
        count: usize,
        meta: &Meta,
    ) -> Vec<String> {
        let is_there = |family: &&str| self.book().contains_family(&family.to_lowercase());
        let first = wanted.filter(is_there).take(count);
        let scripts = scripts::ALL.iter().map(|script| script.family);
        let rest = cjk(meta).into_iter().chain(["Noto Sans"]).chain(scripts).filter(is_there);
        let mut families: Vec<String> = Vec::new();
        for family in first.chain(rest) {
            if !families.iter().any(|known| known == family) {
                families.push(family.to_owned());
            }
        }
        families
    }

    /// The characters of `document` that no font has.
    pub fn missing(&self, document: &Document) -> BTreeSet<char> {
        let mut characters = characters(document);
        characters.retain(|&c| {
            let mut infos = self.all().iter().map(Font::info);
            !infos.any(|info| info.coverage.contains(c as u32))
        });
        characters
    }
}

/// A free font with the metrics of a proprietary one.
fn metric_twin(face: &str) -> Option<&'static str> {
    Some(match face {
        "Calibri" => "Carlito",
        "Cambria" => "Caladea",
        "Arial" | "Helvetica" => "Liberation Sans",
        "Times New Roman" => "Liberation Serif",
        _ => return None,
    })
}

/// The font files that the document needs in addition to the bundled ones, by name without
/// extension: the fonts of its theme and of the scripts in it.
pub fn wanted(document: &Document) -> Vec<String> {
    let missing = Fonts::default().missing(document);
    let is_academic = document.meta.theme == Theme::Academic;
    let mut families: BTreeSet<&str> = BTreeSet::new();
    if !is_academic {
        families.extend(&SANS[..2]);
    }
    let brand = document.meta.brand.as_deref();
    for own in brand.iter().flat_map(|b| [&b.body, &b.headings]).flatten() {
        families.extend(std::iter::once(own.as_str()).chain(metric_twin(own)));
    }
    // A code or mathematics font may support a script, but must not be used for its text.
    let letters = characters(document).into_iter().filter(|c| c.is_alphabetic());
    let lacking = missing.iter().copied().chain(letters).filter_map(scripts::of);
    families.extend(lacking.map(|script| script.family));
    if missing.iter().any(|&c| scripts::is_cjk(c)) {
        families.insert(if is_academic { "Noto Serif CJK" } else { "Noto Sans CJK" });
    }
    let files = |family: &str| {
        let family = family.replace(' ', "");
        WEIGHTS.map(|weight| format!("{family}-{weight}")).into_iter().chain([family])
    };
    families.into_iter().flat_map(files).collect()
}

/// Han characters look different in each language, so the font of the document's language comes
/// first.
fn cjk(meta: &Meta) -> [&'static str; 8] {
    let language = look::language(meta);
    let (sans, serif) = match look::primary(language).as_str() {
        "ja" => ("Noto Sans CJK JP", "Noto Serif CJK JP"),
        "ko" => ("Noto Sans CJK KR", "Noto Serif CJK KR"),
        "zh" if look::is_traditional_chinese(language) => {
            if look::has_subtag(language, &["hk", "mo"]) {
                ("Noto Sans CJK HK", "Noto Serif CJK HK")
            } else {
                ("Noto Sans CJK TC", "Noto Serif CJK TC")
            }
        }
        _ => ("Noto Sans CJK SC", "Noto Serif CJK SC"),
    };
    let (first, second) = if meta.theme == Theme::Academic { (serif, sans) } else { (sans, serif) };
    [
        first,
        second,
        "Noto Sans CJK SC",
        "Noto Sans CJK JP",
        "Noto Sans CJK KR",
        "Noto Sans SC",
        "Noto Sans JP",
        "Noto Sans KR",
    ]
}

/// All visible characters of the document.
fn characters(document: &Document) -> BTreeSet<char> {
    let mut all = BTreeSet::new();
    let mut add = |text: &str| {
        all.extend(text.chars().filter(|c| !c.is_whitespace() && !is_default_ignorable(*c)));
    };
    let meta = &document.meta;
    for text in [&meta.title, &meta.subtitle, &meta.author, &meta.header, &meta.footer] {
        add(text.as_deref().unwrap_or_default());
    }
    let vectors = document.assets.values().chain(&document.logo);
    vectors.for_each(|bytes| add(&vector::text(bytes)));
    document.each_inline(&mut |inline| match inline {
        Inline::Text(text) | Inline::Code(text) | Inline::Math(text) => add(text),
        Inline::Image { alt, title, .. } => {
            add(alt);
            add(title);
        }
        _ => {}
    });
    document.each_block(&mut |block| match block {
        Block::Code { text, .. } | Block::Math(text) => add(text),
        Block::Chart(chart) => chart.words().iter().for_each(|text| add(text)),
        Block::Quote { alert: Some(alert), .. } => {
            add(words::alert(*alert, meta.language.as_deref()));
        }
        _ => {}
    });
    all
}

/// The warning about characters that no font has, with the package that would provide them.
pub fn sentence(missing: &BTreeSet<char>) -> String {
    let scripts: BTreeSet<&str> = missing.iter().map(|&c| scripts::name(c)).collect();
    let scripts: Vec<&str> = scripts.into_iter().collect();
    let named: Vec<String> = missing.iter().take(NAMED).map(char::to_string).collect();
    let more = missing.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let packages: BTreeSet<&str> = missing.iter().map(|&c| package(c)).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    format!(
        "No font has these characters ({}), so the PDF shows boxes for them and keeps to no \
         archive or accessibility standard: {}{more}. Install {} (Debian's names).",
        scripts.join(", "),
        named.join(" "),
        packages.join(", ")
    )
}

fn package(c: char) -> &'static str {
    match c as u32 {
        _ if scripts::is_cjk(c) => "fonts-noto-cjk",
        0x1f000..=0x1faff | 0x2600..=0x27bf => "fonts-noto-color-emoji",
        _ => "fonts-noto-core",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_characters_are_named_with_their_packages() {
        let document = Document {
            blocks: vec![Block::Paragraph(vec![Inline::Text("aé Ω中😀\u{200d} ภ".into())])],
            ..Document::default()
        };
        let missing = Fonts::default().missing(&document);
        assert_eq!(missing.iter().collect::<String>(), "ภ中😀");
        let sentence = sentence(&missing);
        assert!(sentence.contains("fonts-noto-cjk, fonts-noto-color-emoji, fonts-noto-core"));
        assert!(sentence.contains("(Chinese, Japanese or Korean, Emoji, Thai)"), "{sentence}");
        let wanted = wanted(&document);
        for file in
            ["NotoSans-Bold", "NotoSansThai-Regular", "NotoSansCJK-Regular", "NotoColorEmoji"]
        {
            assert!(wanted.iter().any(|name| name == file), "{file}: {wanted:?}");
        }
        assert!(!wanted.iter().any(|name| name.contains("Arabic")), "only what is needed");
    }

    #[test]
    fn the_language_chooses_the_font_of_ideographs() {
        for (language, font) in [
            ("zh-tw", "Noto Sans CJK TC"),
            ("zh-Hant-TW", "Noto Sans CJK TC"),
            ("zh-MO", "Noto Sans CJK HK"),
            ("zh-Hans-HK", "Noto Sans CJK SC"),
            ("JA", "Noto Sans CJK JP"),
            ("de", "Noto Sans CJK SC"),
        ] {
            let meta = Meta { language: Some(language.into()), ..Meta::default() };
            assert_eq!(cjk(&meta)[0], font, "{language}");
        }
    }

    /// The bundled code font has Arabic letters too, but must not be used for text.
    #[test]
    fn texts_are_set_in_faces_for_text() {
        for (text, file) in [("سلام", "NotoSansArabic-Bold"), ("שלום", "NotoSansHebrew-Regular")]
        {
            let document = crate::markdown::read(text).unwrap();
            assert!(wanted(&document).iter().any(|name| name == file), "{file}");
        }
    }
}
