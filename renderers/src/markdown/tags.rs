//! HTML among inlines: tags for formatting, links and pictures are converted, other tags are
//! dropped and their text is kept, and words that only look like tags stay as they are.

use super::clean;
use super::html::Tag;
use super::pictures;
use super::reader::Reader;
use crate::budgets::NESTING;
use crate::document::{Inline, Mark, PictureWidth, each_in, plain_text};

/// Elements that separate paragraphs and have no other meaning here.
pub const APART: [&str; 24] = [
    "p",
    "div",
    "section",
    "article",
    "aside",
    "header",
    "footer",
    "main",
    "nav",
    "address",
    "center",
    "figure",
    "figcaption",
    "details",
    "summary",
    "form",
    "fieldset",
    "legend",
    "body",
    "html",
    "hgroup",
    "search",
    "dialog",
    "caption",
];

/// The inlines read so far, and the tags that are still open.
#[derive(Default)]
pub struct Open {
    done: Vec<Inline>,
    around: Vec<Around>,
}

/// An open tag and its content so far.
struct Around {
    source: String,
    name: String,
    /// Whether it is a word in angle brackets unless it is closed.
    may_be_word: bool,
    silent: bool,
    /// The target of a link and its title.
    link: Option<(String, String)>,
    content: Vec<Inline>,
}

impl Open {
    fn inside(&mut self) -> &mut Vec<Inline> {
        self.around.last_mut().map_or(&mut self.done, |around| &mut around.content)
    }

    pub fn push(&mut self, inline: Inline) {
        self.inside().push(inline);
    }

    pub fn extend(&mut self, content: Vec<Inline>) {
        self.inside().extend(content);
    }

    /// A line break, unless a line begins here.
    pub fn line(&mut self) {
        if !self.inside().last().is_none_or(is_break) {
            self.push(Inline::LineBreak);
        }
    }

    /// A space, unless there is one, so that the words of two blocks are not joined.
    pub fn space(&mut self) {
        let is_apart = |last: &Inline| match last {
            Inline::Text(text) => text.ends_with(char::is_whitespace),
            other => is_break(other),
        };
        if !self.inside().last().is_none_or(is_apart) {
            self.push(Inline::Text(" ".to_owned()));
        }
    }

    /// Text of a block; line ends become spaces.
    pub fn lines(&mut self, text: &str) {
        let last = text.split('\n').count() - 1;
        for (at, line) in text.split('\n').enumerate() {
            let begins = self.inside().last().is_none_or(is_break);
            if at > 0 && !begins {
                self.push(Inline::SoftBreak);
            }
            let words = clean::line(line);
            let space = |is: bool| if is { " " } else { "" };
            let before = space(at == 0 && !begins && line.starts_with(char::is_whitespace));
            let after = space(at == last && line.ends_with(char::is_whitespace));
            if !words.is_empty() {
                self.push(Inline::Text([before, &words, after].concat()));
            } else if !before.is_empty() {
                self.push(Inline::Text(before.to_owned()));
            }
        }
    }

    /// Text of `pre` in a cell, whose lines stay lines.
    pub fn verbatim(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 && !self.inside().is_empty() {
                self.push(Inline::LineBreak);
            }
            let line = clean::text(line);
            if !line.is_empty() {
                self.push(Inline::Text(line));
            }
        }
    }

    /// Handles a tag, which is `depth` levels deep.
    pub fn tag(&mut self, reader: &mut Reader, tag: &Tag, depth: usize) {
        let name = tag.name.as_str();
        if !tag.closes && is_apart(name) {
            self.space();
        }
        match name {
            "br" => self.push(Inline::LineBreak),
            // Where a word may break, which all formats decide themselves.
            "wbr" => {}
            "img" if !tag.closes => self.picture(reader, tag),
            _ if tag.is_component() => {
                let end = tag.source.find(|c: char| c.is_whitespace() || c == '/');
                let name = tag.source[..end.unwrap_or(tag.source.len())].trim_start_matches('<');
                reader.losses.component(name);
            }
            _ if !tag.is_known() && !self.may_be_element(tag, depth) => {
                self.push(Inline::Text(clean::text(tag.source)));
            }
            _ if tag.closes => self.close(reader, name),
            _ if tag.stands_alone() || tag.is_empty() => reader.losses.tag(name),
            _ if depth + self.around.len() >= NESTING => reader.losses.deep(),
            _ => {
                let may_be_word = !tag.has_attributes();
                let said = |name: &str| clean::line(&tag.attribute(name).unwrap_or_default());
                let link = (name == "a").then(|| (said("href"), said("title")));
                let (source, name) = (clean::text(tag.source), tag.name.clone());
                let silent = tag.is_silent();
                let content = Vec::new();
                self.around.push(Around { source, name, may_be_word, silent, link, content });
            }
        }
    }

    /// Whether a tag of no known name is, or closes, an element of the author's own.
    fn may_be_element(&self, tag: &Tag, depth: usize) -> bool {
        let is_open = || self.around.iter().any(|around| around.name == tag.name);
        let has_room = depth + self.around.len() < NESTING;
        tag.may_be_own() && if tag.closes { is_open() } else { has_room && !tag.is_empty() }
    }

    fn picture(&mut self, reader: &mut Reader, tag: &Tag) {
        let said = |name: &str| clean::line(&tag.attribute(name).unwrap_or_default());
        let (url, alt, title) = (said("src"), said("alt"), said("title"));
        if url.is_empty() {
            return self.push(Inline::Text(alt));
        }
        if let Some(width) = tag.attribute("width").and_then(|width| PictureWidth::read(&width)) {
            pictures::note(reader, &url, width);
        }
        if let Some(height) = tag.attribute("height") {
            pictures::note_height(reader, &url, &height);
        }
        self.push(Inline::Image { url, alt, title });
    }

    /// Closes the innermost tag of that name, if it is open.
    fn close(&mut self, reader: &mut Reader, name: &str) {
        let Some(at) = self.around.iter().rposition(|around| around.name == name) else {
            if !is_styled(name) {
                reader.losses.tag(name);
            }
            return;
        };
        while self.around.len() > at + 1
            && let Some(around) = self.around.pop()
        {
            if is_styled(&around.name) {
                self.drawn(reader, around);
            } else {
                self.unclosed(reader, around);
            }
        }
        if let Some(around) = self.around.pop() {
            self.drawn(reader, around);
        }
    }

    /// Converts a closed tag with its content.
    fn drawn(&mut self, reader: &mut Reader, around: Around) {
        let Around { name, content, .. } = around;
        if let Some((url, title)) = around.link {
            return self.link(reader, &url, &title, content);
        }
        if let Some(inline) = styled(&name, &content) {
            // Code has no parts.
            let notes =
                if matches!(inline, Inline::Code(_)) { notes(&content) } else { Vec::new() };
            self.push(inline);
            return self.extend(notes);
        }
        reader.losses.tag(&name);
        if !around.silent {
            self.extend(with_script(&name, content));
        }
    }

    /// A link, if its target is allowed.
    pub fn link(&mut self, reader: &mut Reader, url: &str, title: &str, content: Vec<Inline>) {
        match clean::link(url) {
            Some(url) if !content.is_empty() => {
                self.push(Inline::Link { url, title: clean::line(title), content });
            }
            Some(url) => self.push(Inline::Text(url)),
            None => {
                if !url.is_empty() {
                    reader.losses.link(&clean::line(url));
                }
                self.extend(content);
            }
        }
    }

    /// Adds an element that is not closed, or the word that it is.
    fn unclosed(&mut self, reader: &mut Reader, around: Around) {
        if around.may_be_word {
            self.push(Inline::Text(around.source));
        } else {
            reader.losses.tag(&around.name);
        }
        self.extend(around.content);
    }

    /// The inlines of a line of text; unclosed tags are ignored.
    pub fn close_all(mut self, reader: &mut Reader) -> Vec<Inline> {
        for around in std::mem::take(&mut self.around) {
            self.unclosed(reader, around);
        }
        self.done
    }

    /// The inlines of a block, whose tags may be closed further below.
    pub fn close_block(mut self, reader: &mut Reader) -> Vec<Inline> {
        for mut around in std::mem::take(&mut self.around) {
            around.may_be_word &= around.name.contains('-');
            self.unclosed(reader, around);
        }
        trimmed(self.done)
    }
}

/// The content without leading and trailing breaks and spaces.
pub fn trimmed(mut content: Vec<Inline>) -> Vec<Inline> {
    let is_blank = |inline: &Inline| match inline {
        Inline::Text(text) => text.trim_matches(' ').is_empty(),
        other => is_break(other),
    };
    while content.last().is_some_and(is_blank) {
        content.pop();
    }
    let blank = content.iter().take_while(|inline| is_blank(inline)).count();
    content.drain(..blank);
    content
}

fn is_break(inline: &Inline) -> bool {
    matches!(inline, Inline::SoftBreak | Inline::LineBreak)
}

fn styled(tag: &str, content: &[Inline]) -> Option<Inline> {
    let text = || plain_text(content);
    let marked = |mark| Some(Inline::Marked(mark, content.to_vec()));
    match tag {
        "b" | "strong" => Some(Inline::Strong(content.to_vec())),
        "i" | "em" => Some(Inline::Emphasis(content.to_vec())),
        "s" | "del" | "strike" => Some(Inline::Strike(content.to_vec())),
        "code" | "kbd" | "samp" | "tt" => Some(Inline::Code(text())),
        "sub" => marked(Mark::Lowered),
        "sup" => marked(Mark::Raised),
        "u" | "ins" => marked(Mark::Underlined),
        "mark" => marked(Mark::Highlighted),
        "small" => marked(Mark::Small),
        _ => None,
    }
}

/// The footnotes in some content.
fn notes(content: &[Inline]) -> Vec<Inline> {
    let mut notes = Vec::new();
    each_in(content, &mut |inline| {
        if let Inline::Footnote(note) = inline {
            notes.push(Inline::Footnote(*note));
        }
    });
    notes
}

/// The content of an element of MathML, whose last part may be an exponent or an index: without its
/// mark, x² would be x2.
fn with_script(tag: &str, mut content: Vec<Inline>) -> Vec<Inline> {
    let mark = match tag {
        "msup" => Mark::Raised,
        "msub" => Mark::Lowered,
        _ => return content,
    };
    if content.len() > 1
        && let Some(last) = content.pop()
    {
        content.push(Inline::Marked(mark, vec![last]));
    }
    content
}

fn is_styled(tag: &str) -> bool {
    styled(tag, &[]).is_some()
}

/// Whether the text before and after the tag belongs to different blocks or cells.
pub fn is_apart(name: &str) -> bool {
    APART.contains(&name)
        || heading_level(name).is_some()
        || matches!(name, "li" | "dt" | "dd" | "tr" | "td" | "th" | "blockquote" | "pre" | "hr")
        || matches!(name, "ul" | "ol" | "dl" | "table")
}

/// The level of a heading element.
pub fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Block;
    use crate::markdown;

    fn read(source: &str) -> (String, Vec<String>) {
        let document = markdown::read(source).unwrap();
        let text = match &document.blocks[..] {
            [Block::Paragraph(content), ..] => plain_text(content),
            _ => String::new(),
        };
        (text, document.warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn elements_that_have_no_form_here_are_their_text() {
        for [source, text, names] in [
            ["long<wbr>word", "longword", ""],
            ["a <video src=y>fallback</video> b", "a fallback b", "video"],
            ["a <video><source src=x>no</video>", "a no", "source, video"],
            ["a <my-part>own</my-part> b", "a own b", "my-part"],
            [
                "a <svg width=9><circle r=3 /><text>label</text></svg>",
                "a label",
                "circle, svg, text",
            ],
            ["<math><mi>x</mi><mo>=</mo><mn>1</mn></math> end", "x=1 end", "math, mi, mn, mo"],
            ["a <part x=1>b", "a b", "part"],
            ["Enter <your-name> here", "Enter <your-name> here", ""],
            ["copy <source> <target> </your-name>", "copy <source> <target> </your-name>", ""],
        ] {
            let said = format!("HTML is not supported; only its text was kept: {names}.");
            let warnings = if names.is_empty() { vec![] } else { vec![said] };
            let wanted = (text.to_owned(), warnings);
            assert_eq!(read(source), wanted, "{source}");
            if !names.is_empty() {
                let block = format!("<p>{source}</p>");
                assert_eq!(read(&block).0, text, "{block}");
            }
        }
    }

    #[test]
    fn exponents_of_mathml_are_raised() {
        let source = "<math><msup><mi>x</mi><mn>2</mn></msup></math>";
        let document = markdown::read(source).unwrap();
        let raised = Inline::Marked(Mark::Raised, vec![Inline::Text("2".into())]);
        let found = document.blocks.iter().any(|block| match block {
            Block::Paragraph(content) => content.contains(&raised),
            _ => false,
        });
        assert!(found, "{document:?}");
    }
}
