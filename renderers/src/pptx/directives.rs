//! Directives of Marp, in comments of a slide and in the front matter.

use crate::document::{Color, Meta};
use crate::package::text::{begins_page, unquoted};

/// What directives set. Those that begin with `_` apply to one slide, others until they change.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// Whether this is a title slide.
    pub is_lead: bool,
    /// Whether light and dark are exchanged.
    pub is_inverted: bool,
    pub background: Option<Color>,
    pub is_numbered: bool,
    header: Option<String>,
    footer: Option<String>,
    /// The directives that have no effect.
    pub ignored: Vec<String>,
}

impl Setting {
    /// What the front matter sets, for the first slide.
    pub fn of(meta: &Meta) -> Self {
        Self {
            is_numbered: meta.paginate,
            header: meta.header.clone(),
            footer: meta.footer.clone(),
            ..Self::default()
        }
    }

    /// Slides have only one line at their edge, so the header is included in it.
    pub fn edge(&self) -> Option<String> {
        let texts = [&self.header, &self.footer].into_iter().flatten();
        let texts: Vec<&str> = texts.map(|text| text.trim()).filter(|t| !t.is_empty()).collect();
        Some(texts.join("  ·  ")).filter(|text| !text.is_empty())
    }

    /// What remains for the next slide.
    pub fn next(&self) -> Self {
        Self { is_lead: false, ignored: Vec::new(), ..self.clone() }
    }

    fn set(&mut self, key: &str, value: &str) {
        let given = Some(value.to_owned());
        match key {
            "class" => self.class(value),
            "paginate" => self.is_numbered = value != "false",
            "header" => self.header = given,
            "footer" => self.footer = given,
            "backgroundcolor" => match named(value) {
                Some(color) => self.background = Some(color),
                None => self.ignore(key, value),
            },
            "theme" if value == "default" => {}
            key if SILENT.contains(&key) => {}
            key => self.ignore(key, value),
        }
    }

    fn class(&mut self, value: &str) {
        self.is_inverted = false;
        for class in value.split_whitespace() {
            match class {
                "lead" | "title" | "cover" => self.is_lead = true,
                "invert" => self.is_inverted = true,
                other => self.ignore("class", other),
            }
        }
    }

    fn ignore(&mut self, key: &str, value: &str) {
        let key = KEYS.iter().find(|known| known.eq_ignore_ascii_case(key)).unwrap_or(&key);
        let value: String = value.chars().take(40).collect();
        self.ignored.push(format!("The slide directive “{key}: {value}” has no effect."));
    }
}

/// Sets a directive for the slide, and for the following ones unless its name begins with `_`.
pub fn apply(key: &str, value: &str, own: &mut Setting, following: &mut Setting) {
    let (name, is_own) = key.strip_prefix('_').map_or((key, false), |name| (name, true));
    let name = name.to_ascii_lowercase();
    own.set(&name, value);
    if !is_own {
        following.set(&name, value);
    }
}

/// Directives for other formats, and those that change nothing that is visible.
const SILENT: [&str; 6] = ["total", "format", "size", "math", "title", "marp"];

const KEYS: [&str; 19] = [
    // Used only by workbooks.
    "total",
    "format",
    "class",
    "paginate",
    "footer",
    "header",
    "theme",
    "size",
    "color",
    "backgroundColor",
    "backgroundImage",
    "backgroundPosition",
    "backgroundRepeat",
    "backgroundSize",
    "style",
    "headingDivider",
    "math",
    "title",
    "marp",
];

/// The directives of a comment: every line is `key: value` with a key of Marp.
pub fn read(comment: &str) -> Option<Vec<(String, String)>> {
    let lines: Vec<&str> = comment.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let is_silent = matches!(lines[..], ["fit" | "landscape" | "portrait"]);
    if begins_page(comment) || is_silent {
        return Some(Vec::new());
    }
    let parsed = lines.iter().map(|line| {
        let (key, value) = line.split_once(':')?;
        let key = key.trim();
        let known = KEYS.contains(&key.strip_prefix('_').unwrap_or(key));
        known.then(|| (key.to_owned(), unquoted(value).to_owned()))
    });
    parsed.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

/// A colour as Marp writes it: `#0a4f8a`, `#fff` or one of the most common names of CSS.
fn named(value: &str) -> Option<Color> {
    let value = value.trim().to_ascii_lowercase();
    let digits = match value.as_str() {
        "black" => "000000",
        "white" => "ffffff",
        "gray" | "grey" => "808080",
        "navy" => "000080",
        "blue" => "0000ff",
        "teal" => "008080",
        "green" => "008000",
        "red" => "ff0000",
        "orange" => "ffa500",
        "purple" => "800080",
        other => other,
    };
    let short = digits.strip_prefix('#').filter(|short| short.len() == 3 && short.is_ascii());
    let long = short.map(|short| short.chars().flat_map(|c| [c, c]).collect::<String>());
    Color::read(long.as_deref().unwrap_or(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_have_three_forms() {
        let text = |value: &str| named(value).map(|color| color.to_string());
        assert_eq!(text("#0a4f8a").as_deref(), Some("0A4F8A"));
        assert_eq!(text("#fA0").as_deref(), Some("FFAA00"));
        assert_eq!(text("Navy").as_deref(), Some("000080"));
        assert_eq!(text("var(--x)"), None);
    }

    #[test]
    fn quotation_marks_within_a_value_stay() {
        let read = |comment: &str| super::read(comment).unwrap().remove(0).1;
        assert_eq!(read("footer: \"a: b\""), "a: b");
        assert_eq!(read("footer: Project \"Blue\""), "Project \"Blue\"");
    }

    #[test]
    fn directives_apply_to_one_slide_or_to_those_that_follow() {
        let (mut own, mut following) = (Setting::default(), Setting::default());
        apply("_class", "lead invert", &mut own, &mut following);
        apply("footer", "F", &mut own, &mut following);
        apply("style", "h1 { color: red }", &mut own, &mut following);
        assert!(own.is_lead && own.is_inverted && !following.is_inverted);
        assert_eq!((own.edge(), following.next().edge()), (Some("F".into()), Some("F".into())));
        assert_eq!(own.ignored.len(), 1);
        assert!(own.ignored[0].contains("style: h1"), "{:?}", own.ignored);
        apply("theme", "default", &mut own, &mut following);
        apply("theme", "gaia", &mut own, &mut following);
        assert_eq!(own.ignored[1..], ["The slide directive “theme: gaia” has no effect."]);
    }
}
