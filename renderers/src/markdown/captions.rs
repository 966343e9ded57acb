//! Numbered captions of figures and tables, lists of them, and references to them.
//!
//! As in Pandoc, `{#fig:name}` after a picture and `{#tbl:name}` in the caption of a table name them,
//! and `@fig:name` refers to them. The caption of a table is a paragraph `Table: …` or `: …` before or
//! after it. All captions are numbered if one of them has a name, or if headings are numbered.
//! References and the entries of lists are links to the captions.
//! `<!-- figures -->` and `<!-- tables -->` are lists of all figures and tables.

use std::collections::{BTreeMap, BTreeSet};

use crate::Document;
use crate::counted::counted;
use crate::document::{
    Block, Inline, Item, List, caption_anchor, change_contents, each_in, plain_text,
};
use crate::package::measure::is_wide;
use crate::package::text::begins_page;
use crate::package::warnings::Warnings;
use crate::package::words::{FIGURE, TABLE, caption};

/// After a longer name, even Chinese or Japanese letters must be apart from it.
const NAME_BYTES: usize = 200;

/// The maximum number of entries of all lists of captions, except for the first of each kind.
const ENTRIES: usize = 10_000;

/// The names of pictures by their URL.
pub type Names = BTreeMap<String, String>;

/// Numbers the captions of a document and resolves references to them.
pub fn number(document: &mut Document, names: &Names) {
    let language = document.meta.language.clone();
    let words = [FIGURE, TABLE].map(|kind| caption(kind, language.as_deref()));
    let is_numbered = document.meta.numbered || !names.is_empty() || has_names(document);
    let all = [Vec::new(), Vec::new()];
    let (labels, repeated, shared) = (BTreeMap::new(), BTreeSet::new(), shared_names(names));
    let mut captions = Captions { names, words, is_numbered, all, labels, repeated, shared };
    let blocks = std::mem::take(&mut document.blocks);
    document.blocks = captions.tables(blocks);
    captions.figures(&mut document.blocks);
    let left_out = captions.lists(&mut document.blocks);
    let mut unknown = Vec::new();
    if captions.is_numbered {
        change_contents(&mut document.blocks, &mut |content| {
            captions.refer(content, false, &mut unknown);
        });
        document.captions = captions.anchors();
    }
    let mut warnings = Warnings::from(&document.warnings);
    if left_out > 0 {
        let (one, several) = ("list of captions was left out", "lists of captions were left out");
        let lists = counted(left_out, one, several);
        warnings.add(format!("{lists}: together, they have more than {ENTRIES} entries."));
    }
    for name in captions.repeated {
        warnings.add(format!("Several captions are named “{name}”; references lead to the first."));
    }
    for name in unknown {
        let why = "so the reference stays as it is";
        warnings.add(format!("There is no figure or table named “{name}”, {why}."));
    }
    document.warnings = warnings.list();
}

/// The names that pictures with different URLs have.
fn shared_names(names: &Names) -> BTreeSet<&str> {
    let mut known = BTreeSet::new();
    names.values().map(String::as_str).filter(|name| !known.insert(*name)).collect()
}

/// Whether a table has a name or a list of captions is wanted.
fn has_names(document: &Document) -> bool {
    let is_list = |text: &str| matches!(text.trim(), "figures" | "tables");
    document.blocks.iter().any(|block| match block {
        Block::Comment(text) => is_list(text),
        Block::Paragraph(content) => plain_text(content).contains("{#tbl:"),
        _ => false,
    })
}

struct Captions<'n> {
    names: &'n Names,
    words: [&'static str; 2],
    is_numbered: bool,
    /// The captions of figures and of tables, with their numbers.
    all: [Vec<String>; 2],
    /// The caption of each name.
    labels: BTreeMap<String, CaptionLabel>,
    /// The names that several captions have.
    repeated: BTreeSet<String>,
    /// The names that pictures with different URLs have.
    shared: BTreeSet<&'n str>,
}

/// How a caption is referred to.
struct CaptionLabel {
    /// Such as “Figure 3”.
    text: String,
    anchor: String,
}

impl Captions<'_> {
    /// Moves the captions of tables above them.
    fn tables(&mut self, blocks: Vec<Block>) -> Vec<Block> {
        let mut moved: Vec<Block> = Vec::new();
        let mut blocks = blocks.into_iter().peekable();
        while let Some(block) = blocks.next() {
            if let Block::Columns(columns) = block {
                let columns = columns.into_iter().map(|column| self.tables(column));
                moved.push(Block::Columns(columns.collect()));
                continue;
            }
            if !matches!(block, Block::Table(_)) {
                moved.push(block);
                continue;
            }
            // Directives for the table may be between it and its caption.
            let before = moved.iter().rposition(|block| !is_directive(block));
            let above = before.and_then(|at| table_caption(&moved[at]));
            let below = blocks.peek().and_then(table_caption).filter(|_| above.is_none());
            if let (Some(at), true) = (before, above.is_some()) {
                moved.remove(at);
            } else if below.is_some() {
                blocks.next();
            }
            if let Some(caption) = above.or(below) {
                let place = moved.iter().rposition(|block| !is_directive(block));
                let caption = Block::Paragraph(self.numbered_table(caption));
                moved.insert(place.map_or(0, |at| at + 1), caption);
            }
            moved.push(block);
        }
        moved
    }

    /// The caption of a table with its number. Links and other formatting of its text are kept.
    fn numbered_table(&mut self, caption: TableCaption) -> Vec<Inline> {
        let TableCaption { mut content, name } = caption;
        let is_known = |name: &&String| self.labels.contains_key(*name);
        self.repeated.extend(name.as_ref().filter(is_known).cloned());
        let text = plain_text(&content);
        let numbered = self.numbered(TABLE, &text, name.as_deref());
        let own = label(&text).unwrap_or(&text);
        let mark = numbered.strip_suffix(own.trim_end()).unwrap_or_default();
        if let Some(Inline::Text(first)) = content.first_mut()
            && let Some(first_own) = first.get(text.len() - own.len()..)
        {
            *first = format!("{mark}{first_own}");
        }
        // References find the caption by its text.
        if plain_text(&content) == numbered { content } else { vec![Inline::Text(numbered)] }
    }

    /// The captions of pictures that are alone in their paragraph.
    fn figures(&mut self, blocks: &mut [Block]) {
        for block in blocks {
            match block {
                Block::Columns(columns) => columns.iter_mut().for_each(|c| self.figures(c)),
                Block::Paragraph(content) => {
                    let [Inline::Image { url, alt, title }] = &mut content[..] else { continue };
                    // A name is that of the first picture with its URL.
                    let name = self.names.get(url);
                    let is_shared = |name: &&String| self.shared.contains(name.as_str());
                    self.repeated.extend(name.filter(is_shared).cloned());
                    let name = name.filter(|name| !self.labels.contains_key(*name)).cloned();
                    if title.is_empty() && (name.is_some() || label(alt).is_some()) {
                        title.clone_from(alt);
                    }
                    if !title.is_empty() && (self.is_numbered || label(title).is_some()) {
                        *title = self.numbered(FIGURE, title, name.as_deref());
                    }
                }
                _ => {}
            }
        }
    }

    /// The caption with its number, which replaces one that the author wrote.
    fn numbered(&mut self, kind: usize, text: &str, name: Option<&str>) -> String {
        let text = label(text).unwrap_or(text).trim();
        if !self.is_numbered && kind == TABLE {
            return text.to_owned();
        }
        let number = self.all[kind].len() + 1;
        let label = format!("{} {number}", self.words[kind]);
        let text = format!("{label}: {text}");
        self.all[kind].push(text.clone());
        if let Some(name) = name {
            let label =
                CaptionLabel { text: label, anchor: caption_anchor(kind == FIGURE, number) };
            self.labels.entry(name.to_owned()).or_insert(label);
        }
        text
    }

    /// Writes the lists of captions. A further list of one kind has a copy of each caption, so that many
    /// of them are left out; returns their number.
    fn lists(&self, blocks: &mut [Block]) -> usize {
        let (mut entries, mut left_out) = (0, 0);
        let mut is_first = [true; 2];
        for block in blocks {
            let Block::Comment(text) = block else { continue };
            let kind = match text.trim() {
                "figures" => FIGURE,
                "tables" => TABLE,
                _ => continue,
            };
            entries += self.all[kind].len();
            if !std::mem::take(&mut is_first[kind]) && entries > ENTRIES {
                left_out += 1;
                continue;
            }
            let item = |(text, number): (&String, usize)| {
                let entry = link(&caption_anchor(kind == FIGURE, number), text);
                Item { task: None, blocks: vec![Block::Paragraph(vec![entry])] }
            };
            let items = self.all[kind].iter().zip(1..).map(item).collect();
            *block = Block::List(List { start: None, tight: true, items });
        }
        left_out
    }

    /// The anchors of all captions by their text, in which references are resolved.
    fn anchors(&self) -> BTreeMap<String, String> {
        let [figures, tables] = &self.all;
        let resolved = |text: &String| plain_text(&self.resolved(text, true, &mut Vec::new()));
        let figures = figures.iter().map(resolved).zip(1..);
        let tables = tables.iter().map(resolved).zip(1..);
        let figures = figures.map(|(text, at)| (text, caption_anchor(true, at)));
        figures.chain(tables.map(|(text, at)| (text, caption_anchor(false, at)))).collect()
    }

    /// Replaces `@fig:name` and `@tbl:name` by their labels; within a link, these are no links.
    fn refer(&self, content: &mut Vec<Inline>, is_link: bool, unknown: &mut Vec<String>) {
        for mut inline in std::mem::take(content) {
            match &mut inline {
                Inline::Text(text) if text.contains('@') => {
                    content.append(&mut self.resolved(text, is_link, unknown));
                    continue;
                }
                Inline::Strong(inner)
                | Inline::Emphasis(inner)
                | Inline::Strike(inner)
                | Inline::Marked(_, inner) => self.refer(inner, is_link, unknown),
                // Titles of pictures have no links.
                Inline::Image { title, .. } if title.contains('@') => {
                    *title = plain_text(&self.resolved(title, true, unknown));
                }
                // An entry of a list has its label already.
                Inline::Link { content: inner, .. } => self.refer(inner, true, unknown),
                _ => {}
            }
            content.push(inline);
        }
    }

    /// The longest name of a caption with which a text begins, if it is all of the text or if Chinese,
    /// Japanese or Korean letters follow; else the text.
    fn known<'t>(&self, text: &'t str) -> &'t str {
        let wide = text.char_indices().filter(|(at, c)| *at < NAME_BYTES && is_wide(*c));
        let mut ends = wide.map(|(at, _)| at).chain([text.len()]).rev().map(|end| &text[..end]);
        ends.find(|name| self.labels.contains_key(*name)).unwrap_or(text)
    }

    fn resolved(&self, text: &str, is_link: bool, unknown: &mut Vec<String>) -> Vec<Inline> {
        let (mut resolved, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = reference(rest) {
            plain.push_str(&rest[..at]);
            let name = &rest[at + 1..];
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, ':' | '-' | '_');
            let name = self.known(&name[..name.find(|c| !is_part(c)).unwrap_or(name.len())]);
            // A part of an e-mail address is no reference. In scripts without spaces, words precede one.
            let before = text[..text.len() - rest.len() + at].chars().next_back();
            let is_in_word =
                before.is_some_and(|c| c.is_ascii_alphanumeric() || "._%+-".contains(c));
            match self.labels.get(name).filter(|_| !is_in_word) {
                Some(label) if is_link => plain.push_str(&label.text),
                Some(label) => {
                    resolved.push(Inline::Text(std::mem::take(&mut plain)));
                    resolved.push(link(&label.anchor, &label.text));
                }
                None => {
                    plain.extend(["@", name]);
                    unknown.extend((!is_in_word).then(|| name.to_owned()));
                }
            }
            rest = &rest[at + 1 + name.len()..];
        }
        plain.push_str(rest);
        resolved.push(Inline::Text(plain));
        resolved.retain(|inline| !matches!(inline, Inline::Text(text) if text.is_empty()));
        resolved
    }
}

/// The position of the first reference.
fn reference(text: &str) -> Option<usize> {
    let mut signs = text.match_indices('@').map(|(at, _)| at);
    signs.find(|at| ["fig:", "tbl:"].iter().any(|mark| text[at + 1..].starts_with(mark)))
}

fn link(anchor: &str, text: &str) -> Inline {
    let content = vec![Inline::Text(text.to_owned())];
    Inline::Link { url: format!("#{anchor}"), title: String::new(), content }
}

/// Whether a block is a comment about the table that follows, and not a page break.
fn is_directive(block: &Block) -> bool {
    let Block::Comment(text) = block else { return false };
    let others = ["landscape", "portrait", "figures", "tables"];
    !begins_page(text) && !others.contains(&text.trim())
}

/// A caption without its mark, such as `Table:`.
struct TableCaption {
    content: Vec<Inline>,
    name: Option<String>,
}

/// The caption in a paragraph such as `Table: …` or `: …`.
fn table_caption(block: &Block) -> Option<TableCaption> {
    let Block::Paragraph(content) = block else { return None };
    let mut has_picture = false;
    each_in(content, &mut |inline| has_picture |= matches!(inline, Inline::Image { .. }));
    let text = plain_text(content);
    let begins = ["Table:", "Tabelle:", "Tabla:", "表:", "表：", ": "];
    let begin = begins.iter().find(|begin| text.starts_with(**begin)).filter(|_| !has_picture)?;
    let mut content = on_one_line(content);
    match content.first_mut() {
        Some(Inline::Text(first)) if first.starts_with(begin) => {
            *first = first[begin.len()..].trim_start().to_owned();
        }
        // The mark is formatted.
        _ => content = vec![Inline::Text(text[begin.len()..].trim_start().to_owned())],
    }
    let name = content.iter_mut().find_map(|inline| {
        let Inline::Text(text) = inline else { return None };
        let (rest, name) = named(text);
        *text = rest;
        name
    });
    if let Some(Inline::Text(last)) = content.last_mut() {
        last.truncate(last.trim_end().len());
    }
    Some(TableCaption { content, name })
}

/// The inlines with line ends as spaces, and with neighbouring texts as one.
fn on_one_line(content: &[Inline]) -> Vec<Inline> {
    let mut joined: Vec<Inline> = Vec::new();
    for inline in content {
        let text = match inline {
            Inline::Text(text) => text,
            Inline::SoftBreak => " ",
            other => {
                joined.push(other.clone());
                continue;
            }
        };
        match joined.last_mut() {
            Some(Inline::Text(before)) => before.push_str(text),
            _ => joined.push(Inline::Text(text.to_owned())),
        }
    }
    joined
}

/// The text of a caption and its name.
fn named(text: &str) -> (String, Option<String>) {
    let Some((before, rest)) = text.split_once("{#") else { return (text.to_owned(), None) };
    let Some((name, after)) = rest.split_once('}') else { return (text.to_owned(), None) };
    (format!("{}{after}", before.trim_end()), Some(name.trim().to_owned()))
}

/// The text after a label such as `Figure 1:`.
fn label(text: &str) -> Option<&str> {
    const WORDS: [&str; 8] =
        ["Figure ", "Fig. ", "Table ", "Abbildung ", "Tabelle ", "Figura ", "Tabla ", "图"];
    let rest = WORDS.iter().find_map(|word| text.strip_prefix(word))?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    rest.strip_prefix([':', '：']).map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown;
    use crate::package::text::flat;

    fn lines(source: &str) -> Vec<String> {
        let document = markdown::read(source).unwrap();
        let mut lines = flat(&document.blocks);
        document.each_inline(&mut |inline| {
            if let Inline::Image { title, .. } = inline {
                lines.push(format!("({title})"));
            }
        });
        lines
    }

    #[test]
    fn captions_are_numbered_and_can_be_referred_to() {
        let source = "See @fig:b and @tbl:t.\n\n![A](a.png \"One\")\n\n![Two](b.png){#fig:b}\n\n\
                      |x|\n|-|\n|1|\n\nTable: Results {#tbl:t}\n\n<!-- figures -->";
        let between = lines("Table: One {#tbl:t}\n\n<!-- total: sum -->\n\n|x|\n|-|\n|1|");
        assert!(between.contains(&"Table 1: One".to_owned()), "{between:?}");
        let twice = lines("![A](a.png){#fig:a} \n\n![B](a.png \"Again\")\n\n@fig:a");
        assert!(twice.contains(&"Figure 1".to_owned()), "{twice:?}");
        let expected = [
            "See Figure 2 and Table 1.",
            "A",
            "Two",
            "Table 1: Results",
            "x",
            "1",
            "Figure 1: One",
            "Figure 2: Two",
            "(Figure 1: One)",
            "(Figure 2: Two)",
        ];
        assert_eq!(lines(source), expected);
        let compared = lines("![A](a.png){#fig:a}\n\n![B](b.png \"As @fig:a\"){#fig:b}\n\n@fig:b");
        assert!(compared.contains(&"(Figure 2: As Figure 1)".to_owned()), "{compared:?}");
        let german = "---\nlang: de\nnumbered: true\n---\n![A](a.png \"Eins\")";
        assert_eq!(lines(german)[1], "(Abbildung 1: Eins)");
    }

    #[test]
    fn captions_of_tables_keep_their_links() {
        let caption = |caption: &str| {
            let source = format!("Table: {caption}\n\n|x|\n|-|\n|1|");
            let document = markdown::read(&source).unwrap();
            let Block::Paragraph(content) = &document.blocks[0] else { panic!("{document:?}") };
            let mut urls = Vec::new();
            each_in(content, &mut |inline| {
                if let Inline::Link { url, .. } = inline {
                    urls.push(url.clone());
                }
            });
            (plain_text(content), urls)
        };
        let url = vec!["https://a.example".to_owned()];
        let unnumbered = caption("Data from [here](https://a.example)");
        assert_eq!(unnumbered, ("Data from here".to_owned(), url.clone()));
        for source in [
            "Data from [here](https://a.example) {#tbl:a}",
            "Data from [here](https://a.example){#tbl:a}",
            "Table 7: Data from [here](https://a.example) {#tbl:a}",
            "Data\nfrom [here](https://a.example)\n{#tbl:a}",
        ] {
            assert_eq!(caption(source), ("Table 1: Data from here".to_owned(), url.clone()));
        }
        let first = caption("[Here](https://a.example) {#tbl:a}");
        assert_eq!(first, ("Table 1: Here".to_owned(), url));
        assert_eq!(caption("See **@tbl:a** {#tbl:a}").0, "Table 1: See Table 1");
    }

    #[test]
    fn repeated_names_are_reported_and_addresses_are_no_references() {
        let table = |caption: &str| format!("Table: {caption}\n\n|x|\n|-|\n|1|\n\n");
        let source = format!(
            "@tbl:a, mail a@tbl:a.\n\n{}{}![A](a.png){{#fig:c}}\n\n![B](b.png){{#fig:c}}",
            table("One {#tbl:a}"),
            table("Two {#tbl:a}")
        );
        let document = markdown::read(&source).unwrap();
        assert_eq!(flat(&document.blocks)[0], "Table 1, mail a@tbl:a.");
        let said = |name: &str| {
            format!("Several captions are named “{name}”; references lead to the first.")
        };
        let warnings: Vec<String> = document.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, [said("fig:c"), said("tbl:a")]);
    }

    #[test]
    fn references_stand_between_letters_of_chinese_and_japanese() {
        for (text, shown) in [
            ("见@fig:a。", "见图 1。"),
            ("如@fig:a所示。", "如图 1所示。"),
            ("図@fig:aを参照", "図图 1を参照"),
            ("见@fig:图一所示", "见图 2所示"),
            ("见a@fig:a", "见a@fig:a"),
            ("@fig:ab", "@fig:ab"),
        ] {
            let source = format!(
                "---\nlang: zh\n---\n{text}\n\n![A](a.png){{#fig:a}}\n\n![B](b.png){{#fig:图一}}"
            );
            assert_eq!(lines(&source)[0], shown, "{text}");
        }
    }

    /// If each figure were compared with each other one, this would take many minutes instead of
    /// seconds.
    #[test]
    fn a_figure_is_not_compared_with_each_other_one() {
        const COUNT: usize = 200_000;
        let url = |at: usize| format!("{at}.png");
        let names: Names = (0..COUNT).map(|at| (url(at), format!("fig:{at}"))).collect();
        let picture = |at| Inline::Image { url: url(at), alt: "A".into(), title: "A".into() };
        let blocks = (0..COUNT).map(|at| Block::Paragraph(vec![picture(at)])).collect();
        let mut document = Document { blocks, ..Document::default() };
        number(&mut document, &names);
        assert_eq!(document.captions.len(), COUNT);
        assert!(document.warnings.is_empty());
    }

    /// If the rest of a text were searched for each reference, this would take many minutes instead of
    /// seconds.
    #[test]
    fn a_text_with_many_references_is_read_once() {
        const COUNT: usize = 500_000;
        let text = "@fig:a ".repeat(COUNT);
        let blocks = vec![Block::Paragraph(vec![Inline::Text(text.clone())])];
        let mut document = Document { blocks, ..Document::default() };
        document.meta.numbered = true;
        number(&mut document, &Names::new());
        assert_eq!(flat(&document.blocks), [text]);
    }

    #[test]
    fn many_lists_of_captions_are_left_out() {
        let figures: Vec<_> = (0..50).map(|at| format!("![A](a.png \"{at}\")\n\n")).collect();
        let source = figures.concat() + &"<!-- figures -->\n\n".repeat(205);
        let document = markdown::read(&source).unwrap();
        let is_list = |block: &&Block| matches!(block, Block::List(_));
        assert_eq!(document.blocks.iter().filter(is_list).count(), 200);
        let said =
            "5 lists of captions were left out: together, they have more than 10000 entries.";
        assert_eq!(document.warnings, [said]);
    }

    #[test]
    fn captions_without_a_name_stay_as_they_are() {
        assert_eq!(lines("![A](a.png \"One\")")[1], "(One)");
        assert_eq!(lines("![Figure 1: One](a.png)")[1], "(Figure 1: One)");
        assert_eq!(lines("mail me @fig:x")[0], "mail me @fig:x");
        let document = markdown::read("![A](a.png){#fig:a} @fig:x").unwrap();
        assert!(document.warnings[0].to_string().contains("fig:x"), "{:?}", document.warnings);
    }
}
