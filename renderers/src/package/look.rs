//! The appearance of the three themes: fonts and colours, the same in all four formats.

use super::measure;
use crate::Document;
use crate::document::{Alert, Brand, Color, Inline, Meta, Theme};

/// The size of small letters, as a part of that of the text around them.
pub const SMALL_SIZE: f64 = 0.85;

/// The fonts and colours (RRGGBB) of a theme, with the fonts required by the language.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look<'a> {
    pub headings: &'a str,
    pub body: &'a str,
    pub code: &'static str,
    pub east_asian: &'a str,
    pub complex: &'a str,
    pub accent: Color,
    /// The rest of the palette, for charts and alternating shapes.
    pub accents: [Color; 5],
    pub ink: Color,
    pub quiet: &'static str,
    /// The background of table headers.
    pub tint: Color,
    /// The background of code.
    pub paper: &'static str,
    pub line: &'static str,
    pub link: Color,
    /// The background of slides.
    pub background: Color,
    /// The template, for settings that only one format uses.
    pub brand: Option<&'a Brand>,
}

/// The colours of the seventh to the twelfth series of a chart.
const MORE_COLORS: [&str; 6] = ["4BA3C7", "8FA31E", "D977A8", "8B5E3C", "E3B23C", "7FC8A9"];

impl Look<'_> {
    /// The colours of a chart's series, in their order: those of the theme, then others that differ
    /// from them.
    pub fn palette(&self) -> [Color; 12] {
        let [two, three, four, five, six] = self.accents;
        let [seven, eight, nine, ten, eleven, twelve] = MORE_COLORS.map(color);
        let one = self.accent;
        [one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve]
    }

    /// Whether a template has light text on a dark background.
    pub fn is_dark(&self) -> bool {
        self.background.brightness() < 128
    }
}

/// The appearance of a document: its template's or its theme's.
pub fn look(meta: &Meta) -> Look<'_> {
    let look = themed(meta);
    let Some(brand) = meta.brand.as_deref() else { return look };
    let accent = brand.accents[0].unwrap_or(look.accent);
    let mut accents = look.accents;
    for (at, own) in accents.iter_mut().zip(&brand.accents[1..]) {
        *at = own.unwrap_or(*at);
    }
    let body = brand.body.as_deref().unwrap_or(look.body);
    Look {
        headings: brand.headings.as_deref().unwrap_or(body),
        body,
        east_asian: brand.east_asian.as_deref().unwrap_or(look.east_asian),
        complex: brand.complex.as_deref().unwrap_or(look.complex),
        accent,
        accents,
        ink: brand.ink.unwrap_or(look.ink),
        tint: accent.lightened(0.86),
        link: brand.link.unwrap_or(look.link),
        background: brand.background.unwrap_or(look.background),
        brand: Some(brand),
        ..look
    }
}

fn themed(meta: &Meta) -> Look<'static> {
    let east_asian = east_asian(language(meta));
    let base = Look {
        headings: "Arial",
        body: "Arial",
        code: "Courier New",
        east_asian,
        complex: "Arial",
        accent: color("1F4E79"),
        accents: ["2E8B7A", "C77C11", "7A4FA3", "B5413C", "5B6770"].map(color),
        ink: color("1F2328"),
        quiet: "57606A",
        tint: color("E8EEF4"),
        paper: "F6F8FA",
        line: "D0D7DE",
        link: color("0B5CAD"),
        background: color("FFFFFF"),
        brand: None,
    };
    let accent = meta.accent.unwrap_or(color("0B3D62"));
    match meta.theme {
        Theme::Neutral => base,
        Theme::Corporate => Look {
            headings: "Calibri",
            body: "Calibri",
            accent,
            accents: ["00857C", "E07B00", "6A5ACD", "A23B3B", "4F5B66"].map(color),
            tint: accent.lightened(0.86),
            ..base
        },
        Theme::Academic => Look {
            headings: "Times New Roman",
            body: "Times New Roman",
            complex: "Times New Roman",
            accent: color("222222"),
            accents: ["4A6FA5", "8C6D31", "6B4E71", "8B3A3A", "555555"].map(color),
            tint: color("EEEEEE"),
            paper: "F7F7F5",
            ..base
        },
    }
}

fn color(digits: &str) -> Color {
    Color::read(digits).expect("the colours of themes are valid")
}

/// The document's language, English by default.
pub fn language(meta: &Meta) -> &str {
    let named = meta.language.as_deref().map_or("", str::trim);
    let plain = named.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    match named {
        "" | "en" => "en-US",
        _ if !plain || named.len() > 30 => "en-US",
        "zh" => "zh-CN",
        "ja" => "ja-JP",
        "ko" => "ko-KR",
        _ => named,
    }
}

/// The languages that are written from right to left.
const RTL: [&str; 11] = ["ar", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ug", "ur", "yi"];

/// Whether the language is written from right to left.
pub fn is_rtl(language: &str) -> bool {
    RTL.contains(&primary(language).as_str())
}

/// The first part of a tag, such as `zh` of `zh-Hant-TW`. Upper and lower case mean the same.
pub fn primary(language: &str) -> String {
    language.split('-').next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether a document mostly runs from right to left: by its language, or by most of its letters.
pub fn is_mostly_rtl(document: &Document) -> bool {
    if document.meta.language.is_some() {
        return is_rtl(language(&document.meta));
    }
    let (mut all, mut rtl) = (0_usize, 0_usize);
    document.each_inline(&mut |inline| {
        if let Inline::Text(text) = inline {
            let letters = text.chars().filter(|letter| letter.is_alphabetic());
            letters.for_each(|letter| {
                all += 1;
                rtl += usize::from(measure::is_rtl(letter));
            });
        }
    });
    rtl * 2 > all
}

/// The language of the ideographs: the document's own if it uses them, otherwise Chinese.
pub fn east_asian_language(meta: &Meta) -> &str {
    let language = language(meta);
    if ["zh", "ja", "ko"].contains(&primary(language).as_str()) { language } else { "zh-CN" }
}

/// Whether a tag has one of these parts after the first one. Upper and lower case mean the same.
pub fn has_subtag(language: &str, subtags: &[&str]) -> bool {
    let mut parts = language.split('-').skip(1);
    parts.any(|part| subtags.iter().any(|subtag| part.eq_ignore_ascii_case(subtag)))
}

/// Whether the language is Chinese in traditional characters.
pub fn is_traditional_chinese(language: &str) -> bool {
    primary(language) == "zh"
        && !has_subtag(language, &["hans"])
        && has_subtag(language, &["hant", "tw", "hk", "mo"])
}

fn east_asian(language: &str) -> &'static str {
    match primary(language).as_str() {
        "ja" => "Yu Gothic",
        "ko" => "Malgun Gothic",
        "zh" if is_traditional_chinese(language) => "Microsoft JhengHei",
        _ => "Microsoft YaHei",
    }
}

/// The colour of an alert (RRGGBB), as on GitHub.
pub fn alert(alert: Alert) -> &'static str {
    match alert {
        Alert::Note => "0969DA",
        Alert::Tip => "1A7F37",
        Alert::Important => "8250DF",
        Alert::Warning => "9A6700",
        Alert::Caution => "CF222E",
    }
}

/// The background of an alert.
pub fn alert_fill(kind: Alert) -> Color {
    color(alert(kind)).lightened(0.92)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twelve_colours_of_charts_differ() {
        for theme in [Theme::Neutral, Theme::Corporate, Theme::Academic] {
            let palette = look(&Meta { theme, ..Meta::default() }).palette();
            let colors: std::collections::HashSet<String> =
                palette.iter().map(ToString::to_string).collect();
            assert_eq!(colors.len(), 12);
        }
    }

    #[test]
    fn the_language_chooses_the_ideographs() {
        let meta = |language: &str| Meta { language: Some(language.into()), ..Meta::default() };
        assert_eq!(look(&meta("ja")).east_asian, "Yu Gothic");
        for traditional in ["zh-TW", "zh-tw", "zh-Hant-TW", "zh-MO"] {
            assert_eq!(look(&meta(traditional)).east_asian, "Microsoft JhengHei");
        }
        assert_eq!(look(&meta("zh-Hans-HK")).east_asian, "Microsoft YaHei");
        assert!(is_rtl("AR-EG") && is_rtl("yi") && !is_rtl("en"));
        assert_eq!(east_asian_language(&meta("JA")), "JA");
        assert_eq!(language(&meta("en\"><x")), "en-US");
        assert_eq!(east_asian_language(&meta("de")), "zh-CN");
    }
}
