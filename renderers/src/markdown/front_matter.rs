//! The front matter between the first two `---` lines: a subset of YAML; the keys of Marp are
//! accepted.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use chrono::Datelike;

use super::clean;
use super::losses::Losses;
use crate::document::{Meta, Page, PageSize, SlideSize, Theme};

/// Keys of other tools that have no effect here and cause no warning.
const TOLERATED: [&str; 8] =
    ["marp", "math", "transition", "url", "image", "description", "tags", "layout"];

/// Marp's directives, which only slides use; with `_` before them they apply to the first slide.
const DIRECTIVES: [&str; 9] = [
    "class",
    "style",
    "color",
    "backgroundcolor",
    "backgroundimage",
    "backgroundposition",
    "backgroundrepeat",
    "backgroundsize",
    "headingdivider",
];

/// The years that the properties of files can have.
const YEARS: RangeInclusive<i32> = 1..=9_999;

/// Splits the source into the front matter and the body.
pub fn split<'a>(source: &'a str, losses: &mut Losses) -> (Meta, &'a str) {
    let Some((head, body)) = parts(source) else { return (Meta::default(), source) };
    let mut meta = Meta::default();
    for (key, value) in entries(head) {
        fill(&mut meta, &key, &value, losses);
    }
    (meta, body)
}

/// Splits off the front matter, if each of its lines looks like front matter, since a text may also
/// start with a rule. Empty lines may precede it.
fn parts(source: &str) -> Option<(&str, &str)> {
    let begin = source.len() - source.trim_start().len();
    let begin = source[..begin].rfind('\n').map_or(0, |end| end + 1);
    let after = source[begin..].strip_prefix("---")?;
    let after = after.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let mut end = 0;
    for line in after.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let head = &after[..end];
            return head.lines().all(is_entry).then_some((head, &after[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

fn is_entry(line: &str) -> bool {
    let name = line.split_once(':').map(|(name, _)| name);
    line.trim().is_empty()
        || line.starts_with([' ', '\t', '#', '-'])
        || name.is_some_and(|n| n.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')))
}

/// Lower-case keys with their values; the lines of a list or block are joined by line feeds.
fn entries(head: &str) -> BTreeMap<String, Vec<String>> {
    let mut entries: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut key = None;
    for line in head.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let entry = (!line.starts_with([' ', '\t', '-'])).then(|| line.split_once(':')).flatten();
        match (entry, &key) {
            (Some((name, value)), _) => {
                let name = name.trim().to_lowercase();
                entries.insert(name.clone(), values(value.trim()));
                key = Some(name);
            }
            (None, Some(name)) => {
                let value = line.trim().trim_start_matches("- ");
                entries.entry(name.clone()).or_default().push(scalar(value));
            }
            (None, None) => {}
        }
    }
    entries
}

fn values(value: &str) -> Vec<String> {
    if matches!(value, "" | "|" | ">" | "|-" | ">-") {
        return Vec::new();
    }
    match value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
        Some(list) => list.split(',').map(|item| scalar(item.trim())).collect(),
        None => vec![scalar(value)],
    }
}

fn scalar(value: &str) -> String {
    if let Some(quoted) = value.strip_prefix('"')
        && let Some(end) = quoted.rfind('"')
    {
        return clean::line(&quoted[..end].replace("\\\"", "\"").replace("\\\\", "\\"));
    }
    if let Some(quoted) = value.strip_prefix('\'')
        && let Some(end) = quoted.rfind('\'')
    {
        return clean::line(&quoted[..end].replace("''", "'"));
    }
    clean::line(value.split(" #").next().unwrap_or(value))
}

fn fill(meta: &mut Meta, key: &str, values: &[String], losses: &mut Losses) {
    let text = values.join(" ");
    let given = (!text.is_empty()).then(|| text.clone());
    match key {
        "title" => meta.title = given,
        "subtitle" => meta.subtitle = given,
        "author" | "authors" => meta.author = (!values.is_empty()).then(|| values.join(", ")),
        "date" => date(meta, &text, losses),
        "language" | "lang" => language(meta, &text, losses),
        "keywords" => meta.keywords = values.iter().flat_map(|v| words(v)).collect(),
        "cover" => meta.cover = is_on(&text),
        "toc" | "contents" => meta.contents = is_on(&text),
        "numbered" => meta.numbered = is_on(&text),
        "paginate" => meta.paginate = is_on(&text),
        "template" => meta.template = given,
        "header" => meta.header = given,
        "footer" => meta.footer = given,
        "landscape" => meta.page.landscape = is_on(&text),
        "orientation" => meta.page.landscape = text.eq_ignore_ascii_case("landscape"),
        "columns" => columns(meta, &text, losses),
        "page" | "size" | "paper" => size(meta, key, &text, losses),
        "theme" => theme(meta, &text, losses),
        key if TOLERATED.contains(&key) => {}
        key if is_directive(key) => {
            meta.directives.insert(key.to_owned(), text);
        }
        key => {
            losses.other(format!("The front matter key “{key}” is unknown and was ignored."));
        }
    }
}

fn is_directive(key: &str) -> bool {
    let name = key.strip_prefix('_');
    let of_first = name.is_some_and(|name| matches!(name, "paginate" | "header" | "footer"));
    of_first || DIRECTIVES.contains(&name.unwrap_or(key))
}

fn words(value: &str) -> Vec<String> {
    value.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

fn is_on(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "true" | "yes" | "on" | "1")
}

fn date(meta: &mut Meta, value: &str, losses: &mut Losses) {
    let day = value.get(..10).unwrap_or(value);
    let parsed = ["%Y-%m-%d", "%Y/%m/%d"]
        .iter()
        .find_map(|form| chrono::NaiveDate::parse_from_str(day.trim(), form).ok())
        .filter(|day| YEARS.contains(&day.year()));
    meta.date = parsed;
    if parsed.is_none() && !value.is_empty() {
        losses.other(format!("The date “{value}” is invalid; use the form 2026-03-31."));
    }
}

fn language(meta: &mut Meta, value: &str, losses: &mut Losses) {
    let mut parts = value.split('-');
    let first = parts.next().unwrap_or_default();
    let is_tag = matches!(first.len(), 2 | 3)
        && first.chars().all(|c| c.is_ascii_alphabetic())
        && parts
            .all(|p| (1..=8).contains(&p.len()) && p.chars().all(|c| c.is_ascii_alphanumeric()));
    if is_tag {
        meta.language = Some(value.to_owned());
        if !is_language(first) {
            losses
                .other(format!("The language “{value}” is unknown; use a code such as en or zh."));
        }
    } else {
        losses.other(format!("“{value}” is not a language tag such as en, zh-CN or ar."));
    }
}

/// Whether a code is one of ISO 639-1, or may be one of the thousands of three letters.
fn is_language(code: &str) -> bool {
    const CODES: &str = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch \
        co cr cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv \
        ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko \
        kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng \
        nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk \
        sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve \
        vi vo wa wo xh yi yo za zh zu";
    let code = code.to_ascii_lowercase();
    code.len() != 2 || CODES.split(' ').any(|known| known == code)
}

fn size(meta: &mut Meta, key: &str, value: &str, losses: &mut Losses) {
    for word in value.split_whitespace() {
        match word.to_lowercase().as_str() {
            "a4" => meta.page = Page { size: PageSize::A4, ..meta.page },
            "letter" => meta.page = Page { size: PageSize::Letter, ..meta.page },
            "landscape" => meta.page.landscape = true,
            "portrait" => meta.page.landscape = false,
            "16:9" => meta.slides = SlideSize::Wide,
            "4:3" => meta.slides = SlideSize::Standard,
            _ => losses.other(format!(
                "“{word}” is unknown as {key}; pages are A4 or Letter, slides 16:9 or 4:3."
            )),
        }
    }
}

fn columns(meta: &mut Meta, value: &str, losses: &mut Losses) {
    meta.page.two_columns = value == "2";
    if !matches!(value, "" | "1" | "2") {
        losses.other(format!("Pages have 1 or 2 columns, not “{value}”."));
    }
}

fn theme(meta: &mut Meta, value: &str, losses: &mut Losses) {
    meta.theme = match value.to_lowercase().as_str() {
        "neutral" | "default" | "" => Theme::Neutral,
        name @ ("gaia" | "uncover") => {
            losses
                .other(format!("The theme “{name}” is not available; the theme neutral is used."));
            Theme::Neutral
        }
        "corporate" => Theme::Corporate,
        "academic" => Theme::Academic,
        other => {
            losses.other(format!(
                "The theme “{other}” is unknown; use neutral, corporate or academic."
            ));
            Theme::Neutral
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> (Meta, String, Vec<String>) {
        let mut losses = Losses::default();
        let (meta, body) = split(source, &mut losses);
        (meta, body.to_owned(), losses.warnings().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn front_matter_fills_the_meta() {
        let (meta, body, losses) = read(
            "---\ntitle: \"A: \\\"b\\\"\"\nauthors:\n  - Ann\n  - 'B''s'\ndate: 2026-03-31T10:00\n\
             lang: zh-CN # yes\nkeywords: [a, b]\ntoc: true\nsize: letter landscape\ncolumns: 2\ntheme: academic\n\
             marp: true\npaginate: true\n---\nText\n",
        );
        assert_eq!(meta.title.as_deref(), Some("A: \"b\""));
        assert_eq!(meta.author.as_deref(), Some("Ann, B's"));
        assert_eq!(meta.date, chrono::NaiveDate::from_ymd_opt(2026, 3, 31));
        assert_eq!(meta.language.as_deref(), Some("zh-CN"));
        assert_eq!(meta.keywords, ["a", "b"]);
        assert!(meta.contents && meta.paginate && meta.page.landscape);
        assert!(meta.page.two_columns);
        assert_eq!((meta.page.size, meta.theme), (PageSize::Letter, Theme::Academic));
        assert_eq!((body.as_str(), losses), ("Text\n", vec![]));
    }

    #[test]
    fn a_text_that_begins_with_a_rule_has_no_front_matter() {
        for source in ["---\n\nJust a sentence.\n\n---\nmore", "---\ntitle: x\n", "--- \nx", "---"]
        {
            assert_eq!(read(source), (Meta::default(), source.to_owned(), vec![]), "{source}");
        }
    }

    #[test]
    fn empty_lines_may_stand_above() {
        for source in ["\n---\ntitle: x\n---\nText\n", " \r\n\r\n---\r\ntitle: x\r\n---\r\nText\n"]
        {
            let (meta, body, _) = read(source);
            assert_eq!((meta.title.as_deref(), body.as_str()), (Some("x"), "Text\n"));
        }
        assert_eq!(read("\n---\n\nA sentence.\n\n---\n").1, "\n---\n\nA sentence.\n\n---\n");
    }

    #[test]
    fn unknown_keys_are_reported() {
        let (_, _, losses) =
            read("---\ndate: soon\nlang: !\nfoo: 1\ntheme: x\npage: A9\ncolumns: 9\n---\n");
        assert_eq!(losses.len(), 6, "{losses:?}");
        for date in ["+12345-1-1", "-001-01-01", "0000-01-01"] {
            let (meta, _, losses) = read(&format!("---\ndate: {date}\n---\n"));
            assert_eq!((meta.date, losses.len()), (None, 1), "{date}");
        }
        let (_, _, losses) = read("---\npage: A5\nlang: xx-old\n---\n");
        let wanted = [
            "The language “xx-old” is unknown; use a code such as en or zh.",
            "“A5” is unknown as page; pages are A4 or Letter, slides 16:9 or 4:3.",
        ];
        assert_eq!(losses, wanted);
        for language in ["de", "zh-CN", "FIL", "gsw"] {
            assert_eq!(read(&format!("---\nlang: {language}\n---\n")).2, Vec::<String>::new());
        }
    }
}
