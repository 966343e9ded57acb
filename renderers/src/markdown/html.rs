//! Raw HTML: its text, comments and tags. HTML is never interpreted.

use std::collections::BTreeSet;

use super::entities;
use crate::document::Align;

/// A piece of raw HTML.
#[derive(Debug, PartialEq, Eq)]
pub enum HtmlPiece<'a> {
    Tag(Tag<'a>),
    Comment(&'a str),
    Text(String),
}

/// A tag as written.
#[derive(Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    pub source: &'a str,
    /// In lower case.
    pub name: String,
    pub closes: bool,
}

/// The alignment of an element's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextAlign {
    Model(Align),
    /// At both edges, which no table of the model is.
    Justified,
}

impl Tag<'_> {
    /// Whether this is an element; `<name>` is a word in angle brackets.
    pub fn is_known(&self) -> bool {
        self.name.starts_with('?')
            || self.name == "!doctype"
            || self.has_attributes()
            || self.is_named()
    }

    fn is_named(&self) -> bool {
        ELEMENTS.contains(&self.name.as_str())
    }

    /// Whether it has attributes, which a word has not.
    pub fn has_attributes(&self) -> bool {
        let rest = self.source.get(1 + self.name.len()..).unwrap_or_default();
        !self.closes && rest.starts_with(char::is_whitespace) && rest.contains('=')
    }

    /// Whether it may be an element of the author's own, such as `<my-element>`, if it is closed.
    pub fn may_be_own(&self) -> bool {
        self.name.contains('-')
    }

    /// Whether it has no content: `<rect … />`.
    pub fn is_empty(&self) -> bool {
        !self.closes && self.source.ends_with("/>")
    }

    /// Whether this is a component without content, as in Slidev: `<Toc maxDepth="1" />`.
    pub fn is_component(&self) -> bool {
        let mut letters = self.source.trim_start_matches('<').chars();
        letters.next().is_some_and(|first| first.is_ascii_uppercase())
            && letters.next().is_some_and(|second| second.is_ascii_lowercase())
            && self.source.ends_with("/>")
            && !self.is_named()
    }

    /// Whether the content of the element is not text.
    pub fn is_silent(&self) -> bool {
        SILENT.contains(&self.name.as_str())
    }

    /// Whether the element needs no closing tag.
    pub fn stands_alone(&self) -> bool {
        self.name.starts_with(['!', '?']) || ALONE.contains(&self.name.as_str())
    }

    /// The alignment of its text: that of `style`, or of the attribute `align`.
    pub fn align(&self) -> Option<TextAlign> {
        let style = self.attribute("style").unwrap_or_default().to_ascii_lowercase();
        let mut settings = style.split(';').filter_map(|setting| setting.split_once(':'));
        let of_style = settings.rfind(|(name, _)| name.trim() == "text-align");
        let of_style = of_style.map(|(_, value)| value.replace("!important", ""));
        let value = of_style.or_else(|| self.attribute("align"))?;
        match value.trim().to_ascii_lowercase().as_str() {
            "left" | "start" => Some(TextAlign::Model(Align::Start)),
            "center" | "middle" => Some(TextAlign::Model(Align::Center)),
            "right" | "end" => Some(TextAlign::Model(Align::End)),
            "justify" => Some(TextAlign::Justified),
            _ => None,
        }
    }

    pub fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.source.get(1 + self.name.len()..)?;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/'))?;
            let (key, after) = rest.split_at(end);
            let (value, after) = match after.trim_start().strip_prefix('=') {
                Some(given) => value(given.trim_start()),
                None if key.is_empty() => return None,
                None => ("", after),
            };
            if key.eq_ignore_ascii_case(name) {
                return Some(entities::decode(value));
            }
            rest = after;
        }
    }
}

/// The attribute value at the start of a text, and the rest.
fn value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            return inside.split_once(quote).unwrap_or((inside, ""));
        }
    }
    text.split_at(text.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(text.len()))
}

/// Elements whose content is no text.
const SILENT: [&str; 4] = ["script", "style", "template", "noscript"];

/// Void elements, and elements with an optional closing tag.
const ALONE: [&str; 20] = [
    "br", "hr", "img", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot",
    "option", "optgroup", "colgroup", "col", "rt", "rp",
];

/// The elements of HTML, MathML and SVG, and the most common deprecated ones.
#[rustfmt::skip]
const ELEMENTS: [&str; 187] = [
    "a", "abbr", "acronym", "address", "animate", "annotation", "annotation-xml", "applet", "area",
    "article", "aside", "audio", "b", "base", "basefont", "bdi", "bdo", "bgsound", "big",
    "blockquote", "body", "br", "button", "canvas", "caption", "center", "circle", "cite",
    "clippath", "code", "col", "colgroup", "data", "datalist", "dd", "defs", "del", "desc",
    "details", "dfn", "dialog", "div", "dl", "dt", "ellipse", "em", "embed", "fieldset",
    "figcaption", "figure", "filter", "font", "footer", "foreignobject", "form", "frame",
    "frameset", "g", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html",
    "i", "iframe", "img", "input", "ins", "kbd", "label", "legend", "li", "line", "lineargradient",
    "link", "maction", "main", "map", "mark", "marker", "marquee", "mask", "math", "menu", "merror",
    "meta", "metadata", "meter", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded",
    "mphantom", "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub",
    "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "nav", "nobr",
    "noembed", "noframes", "noscript", "object", "ol", "optgroup", "option", "output", "p", "param",
    "path", "pattern", "picture", "polygon", "polyline", "pre", "progress", "q", "radialgradient",
    "rb", "rect", "rp", "rt", "rtc", "ruby", "s", "samp", "script", "search", "section", "select",
    "semantics", "slot", "small", "source", "span", "stop", "strike", "strong", "style", "sub",
    "summary", "sup", "svg", "symbol", "table", "tbody", "td", "template", "text", "textarea",
    "textpath", "tfoot", "th", "thead", "time", "title", "tr", "track", "tspan", "tt", "u", "ul",
    "use", "var", "video", "wbr",
];

/// The single piece in an inline tag, comment or declaration.
pub fn piece(html: &str) -> Option<HtmlPiece<'_>> {
    Cutter::new(html).next()
}

/// Whether a block is an empty element that starts a new page.
pub fn is_page_break(html: &str) -> bool {
    let lower = html.to_ascii_lowercase();
    let styles = ["page-break-after", "page-break-before", "break-after:", "break-before:"];
    let is_blank = |piece: &HtmlPiece| match piece {
        HtmlPiece::Text(text) => text.trim().is_empty(),
        HtmlPiece::Tag(tag) => matches!(tag.name.as_str(), "div" | "p" | "span" | "br" | "hr"),
        HtmlPiece::Comment(_) => false,
    };
    styles.iter().any(|style| lower.contains(style)) && pieces(html).iter().all(is_blank)
}

/// Splits a block into tags, comments and text. An unclosed `<` is text, and so is a silent element
/// that is never closed.
pub fn pieces(html: &str) -> Vec<HtmlPiece<'_>> {
    let mut cutter = Cutter::new(html);
    let mut pieces = Vec::new();
    while let Some(piece) = cutter.next() {
        let silent = match &piece {
            HtmlPiece::Tag(tag) if tag.is_silent() && !tag.closes => Some(tag),
            _ => None,
        };
        match silent.map(|tag| (cutter.find(&format!("</{}", tag.name)), tag.source)) {
            Some((None, source)) => pieces.push(HtmlPiece::Text(source.to_owned())),
            Some((Some(end), _)) => {
                cutter.at = end;
                pieces.push(piece);
            }
            None => pieces.push(piece),
        }
    }
    pieces
}

/// HTML, consumed up to `at`.
struct Cutter<'a> {
    html: &'a str,
    /// The same in lower case.
    lower: String,
    at: usize,
    /// Strings that do not occur in the rest, so that they are not searched again.
    absent: BTreeSet<String>,
}

impl<'a> Cutter<'a> {
    fn new(html: &'a str) -> Self {
        Cutter { html, lower: html.to_ascii_lowercase(), at: 0, absent: BTreeSet::new() }
    }

    /// The next position of `end`.
    fn find(&mut self, end: &str) -> Option<usize> {
        if self.absent.contains(end) {
            return None;
        }
        let found = self.lower[self.at..].find(end).map(|from| self.at + from);
        if found.is_none() {
            self.absent.insert(end.to_owned());
        }
        found
    }

    /// The text between `begin`, if the rest starts with it, and the next `end`.
    fn between(&mut self, begin: &str, end: &str) -> Option<&'a str> {
        let from = self.at + self.html[self.at..].strip_prefix(begin).map(|_| begin.len())?;
        let to = self.find(end).filter(|to| *to >= from)?;
        self.at = to + end.len();
        Some(&self.html[from..to])
    }

    fn next(&mut self) -> Option<HtmlPiece<'a>> {
        if self.at == self.html.len() {
            return None;
        }
        if let Some(comment) = self.between("<!--", "-->") {
            return Some(HtmlPiece::Comment(comment.trim()));
        }
        if let Some(text) = self.between("<![CDATA[", "]]>") {
            return Some(HtmlPiece::Text(text.to_owned()));
        }
        let rest = &self.html[self.at..];
        if let Some(tag) = tag(rest) {
            self.at += tag.source.len();
            return Some(HtmlPiece::Tag(tag));
        }
        let end = rest.char_indices().skip(1).find(|(_, c)| *c == '<');
        let end = end.map_or(rest.len(), |(at, _)| at);
        self.at += end;
        Some(HtmlPiece::Text(entities::decode(&rest[..end])))
    }
}

/// The tag at the start of the HTML.
fn tag(html: &str) -> Option<Tag<'_>> {
    let inside = html.strip_prefix('<')?;
    let (closes, named) = match inside.strip_prefix('/') {
        Some(named) => (true, named),
        None => (false, inside),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '!' | '?');
    let name = &named[..named.find(|c| !is_name(c))?];
    if name.is_empty() || name.starts_with("!-") {
        return None;
    }
    let source = &html[..end_of(html)?];
    Some(Tag { source, name: name.to_ascii_lowercase(), closes })
}

/// The end of a tag, ignoring quoted text.
fn end_of(tag: &str) -> Option<usize> {
    let (mut quote, mut last) = (None, '<');
    for (at, c) in tag.char_indices().skip(1) {
        match quote {
            Some(open) => quote = quote.filter(|_| c != open),
            None if c == '>' && (last == '?' || !tag.starts_with("<?")) => return Some(at + 1),
            None if c == '<' => return None,
            None if matches!(c, '"' | '\'') && last == '=' => quote = Some(c),
            None => {}
        }
        if !c.is_whitespace() {
            last = c;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_falls_into_tags_comments_and_text() {
        let html = "<div a=\"b\">x &amp; é</div><!-- note --><SCRIPT>a<b>c</script> 1 < 2";
        let mut text = String::new();
        let mut names = Vec::new();
        for piece in pieces(html) {
            match piece {
                HtmlPiece::Text(t) => text.push_str(&t),
                HtmlPiece::Comment(comment) => assert_eq!(comment, "note"),
                HtmlPiece::Tag(tag) => names.push((tag.name, tag.closes)),
            }
        }
        assert_eq!(text, "x & é 1 < 2");
        assert_eq!(names.len(), 4);
    }

    #[test]
    fn attributes_are_quoted_or_not() {
        let Some(HtmlPiece::Tag(tag)) = piece("<img alt = \"a > b\" src=x.png hidden TITLE='c'/>")
        else {
            panic!("no tag")
        };
        let expected = [("alt", Some("a > b")), ("src", Some("x.png")), ("hidden", Some(""))];
        for (name, value) in expected.into_iter().chain([("title", Some("c")), ("x", None)]) {
            assert_eq!(tag.attribute(name).as_deref(), value, "{name}");
        }
    }

    #[test]
    fn broken_html_ends() {
        for html in ["<", "<é", "é<", "<!--", "<script>x", "</", "<>", "a<b", "<a =", "<a ==>"] {
            let _ = pieces(html);
            let _ = tag(html).map(|tag| tag.attribute("x"));
        }
        assert_eq!(pieces("<é"), [HtmlPiece::Text("<é".into())]);
        let many = "<div><!-- <script> <a =' ".repeat(100_000);
        assert!(pieces(&many).len() > 100_000);
    }
}
