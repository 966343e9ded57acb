//! Converts Markdown to text and formatting spans with offsets in UTF-16 units, as Telegram uses.

use comrak::{
    Arena, Options,
    nodes::{AstNode, ListType, NodeCodeBlock, NodeList, NodeValue},
    parse_document,
};
use url::Url;

use super::table;

/// Deeper nesting is shown as plain text, to bound the recursion.
const DEEPEST: usize = 48;

/// A text without markup, and its formatting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Formatted {
    /// The text without markup.
    pub text: String,
    /// Ordered by offset, outer spans before inner ones. Two spans are either disjoint or nested.
    /// Code contains no span and is inside no span except a quote. Quotes are not nested.
    pub spans: Vec<Span>,
}

/// A formatted part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// In UTF-16 code units.
    pub offset: usize,
    /// In UTF-16 code units; never 0.
    pub length: usize,
    /// Its formatting.
    pub style: Style,
}

/// A kind of formatting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Style {
    /// Bold.
    Bold,
    /// Italic.
    Italic,
    /// Struck through.
    Strike,
    /// Code within a line.
    Code,
    /// A block of code.
    Pre {
        /// The language that the block names.
        language: Option<String>,
    },
    /// A link with `http`, `https` or `mailto`. Other links are shown as text.
    Link(Url),
    /// A quotation.
    Quote,
}

/// Parses CommonMark with tables, strikethrough and task lists. Elements without a counterpart are
/// shown as text (HTML literally, images as links), so that nothing is lost.
pub fn format(markdown: &str) -> Formatted {
    let arena = Arena::new();
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.tasklist = true;
    let root = parse_document(&arena, markdown, &options);
    let mut writer = Writer::default();
    writer.children(root);
    writer.finish()
}

type Node<'a> = &'a AstNode<'a>;

#[derive(Default)]
struct Writer {
    text: String,
    units: usize,
    spans: Vec<Span>,
    /// The open spans, outermost first, with the offset at which each (last) began.
    open: Vec<(Style, usize)>,
    /// The number of line ends to write before the next text.
    gap: usize,
    /// Whether a list marker was just written, so that its item begins on the same line.
    at_marker: bool,
    lists: usize,
    depth: usize,
}

impl Writer {
    fn children(&mut self, node: Node<'_>) {
        for child in node.children() {
            self.node(child);
        }
    }

    fn node(&mut self, node: Node<'_>) {
        if self.depth >= DEEPEST {
            return self.flat(node);
        }
        self.depth += 1;
        let value = node.data().value.clone();
        if !self.block(node, &value) {
            self.inline(node, value);
        }
        self.depth -= 1;
    }

    /// Writes a block. Returns `false` if the node is not a block.
    fn block(&mut self, node: Node<'_>, value: &NodeValue) -> bool {
        match value {
            NodeValue::Paragraph => {
                self.part();
                self.children(node);
            }
            NodeValue::Heading(_) => {
                self.part();
                self.styled(node, Style::Bold);
            }
            NodeValue::BlockQuote => self.quote(node),
            NodeValue::List(list) => self.list(node, list),
            NodeValue::CodeBlock(code) => self.code_block(code),
            NodeValue::Table(table) => {
                self.part();
                let rows = rows(node);
                self.literal(
                    &table::align(&rows, &table.alignments),
                    Style::Pre { language: None },
                );
                self.links_below(node);
            }
            NodeValue::ThematicBreak => {
                self.part();
                self.push("———");
            }
            NodeValue::HtmlBlock(html) => {
                self.part();
                self.push(html.literal.trim_end());
            }
            _ => return false,
        }
        true
    }

    fn inline(&mut self, node: Node<'_>, value: NodeValue) {
        match value {
            NodeValue::Text(text) => self.push(&text),
            NodeValue::SoftBreak | NodeValue::LineBreak => self.push("\n"),
            // Platforms combine code with no link, and the address must not be lost.
            NodeValue::Code(code) if self.is_in_link() => self.push(&code.literal),
            NodeValue::Code(code) => self.literal(&code.literal, Style::Code),
            NodeValue::HtmlInline(html) => self.push(&html),
            NodeValue::Emph => self.styled(node, Style::Italic),
            NodeValue::Strong => self.styled(node, Style::Bold),
            NodeValue::Strikethrough => self.styled(node, Style::Strike),
            NodeValue::Link(link) | NodeValue::Image(link) => self.link(node, &link.url),
            _ => self.children(node),
        }
    }

    fn list(&mut self, node: Node<'_>, list: &NodeList) {
        self.part();
        self.lists += 1;
        for (index, item) in node.children().enumerate() {
            self.line();
            let indent = "  ".repeat(self.lists - 1);
            let marker = match (&item.data().value, list.list_type) {
                (NodeValue::TaskItem(task), _) if task.symbol.is_some() => "☑ ".to_owned(),
                (NodeValue::TaskItem(_), _) => "☐ ".to_owned(),
                (_, ListType::Bullet) => "• ".to_owned(),
                (_, ListType::Ordered) => format!("{}. ", list.start.saturating_add(index)),
            };
            self.push(&format!("{indent}{marker}"));
            self.at_marker = true;
            self.children(item);
            self.at_marker = false;
        }
        self.lists -= 1;
    }

    /// Platforms do not support nested quotes, so inner quotes are marked with `>` as in mail.
    fn quote(&mut self, node: Node<'_>) {
        self.part();
        if self.open.iter().any(|(style, _)| *style == Style::Quote) {
            self.push("> ");
            self.at_marker = true;
            self.children(node);
            self.at_marker = false;
        } else {
            self.begin(Style::Quote);
            self.at_marker = true;
            self.children(node);
            self.end();
        }
    }

    fn code_block(&mut self, code: &NodeCodeBlock) {
        self.part();
        let language = code.info.split_whitespace().next().map(str::to_owned);
        let literal = code.literal.strip_suffix('\n').unwrap_or(&code.literal);
        self.literal(literal, Style::Pre { language });
    }

    fn link(&mut self, node: Node<'_>, url: &str) {
        let shown: String = node.children().map(plain).collect();
        let parsed = Url::parse(url).ok();
        let known = parsed.filter(|u| matches!(u.scheme(), "http" | "https" | "mailto"));
        let nested = self.is_in_link();
        match known {
            Some(target) if !nested && shown.trim().is_empty() => {
                self.begin(Style::Link(target));
                self.push(url);
                self.end();
            }
            Some(target) if !nested => {
                let mail = target.scheme() == "mailto" && !shown.contains(target.path());
                let address = target.path().to_owned();
                self.styled(node, Style::Link(target));
                if mail {
                    self.push(&format!(" ({address})"));
                }
            }
            _ => {
                self.children(node);
                if !url.is_empty() && url != shown {
                    self.push(&format!(" ({url})"));
                }
            }
        }
    }

    fn is_in_link(&self) -> bool {
        self.open.iter().any(|(style, _)| matches!(style, Style::Link(_)))
    }

    /// The links of a table, in order, each on a line. Code contains no links.
    fn links_below(&mut self, table: Node<'_>) {
        for link in table.descendants().filter(|node| hides_address(node)) {
            self.line();
            self.node(link);
        }
    }

    fn styled(&mut self, node: Node<'_>, style: Style) {
        if self.open.iter().any(|(open, _)| *open == style) {
            return self.children(node);
        }
        self.begin(style);
        self.children(node);
        self.end();
    }

    /// Writes code. Closes open spans before it and reopens them after it, except for a quote.
    fn literal(&mut self, text: &str, style: Style) {
        let around = self.open.len();
        let quote = self.open.iter().position(|(open, _)| *open == Style::Quote);
        let keep = quote.map_or(0, |position| position + 1);
        let mut suspended = Vec::new();
        while self.open.len() > keep {
            suspended.push(self.end());
        }
        self.begin(style);
        self.push(text);
        self.end();
        while let Some(style) = suspended.pop() {
            self.open.push((style, self.units));
        }
        debug_assert_eq!(around, self.open.len(), "closed spans were reopened");
    }

    fn begin(&mut self, style: Style) {
        self.fill_gap();
        self.open.push((style, self.units));
    }

    fn end(&mut self) -> Style {
        let (style, offset) = self.open.pop().expect("every end has its begin");
        if self.units > offset {
            self.spans.push(Span { offset, length: self.units - offset, style: style.clone() });
        }
        style
    }

    /// Begins a block: after an empty line or, in a list, on a line of its own.
    fn part(&mut self) {
        self.gap_of(if self.lists > 0 { 1 } else { 2 });
    }

    fn line(&mut self) {
        self.gap_of(1);
    }

    fn gap_of(&mut self, lines: usize) {
        if !self.text.is_empty() && !self.at_marker {
            self.gap = self.gap.max(lines);
        }
    }

    fn fill_gap(&mut self) {
        for _ in 0..std::mem::take(&mut self.gap) {
            self.text.push('\n');
            self.units += 1;
        }
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.fill_gap();
        self.at_marker = false;
        self.units += text.encode_utf16().count();
        self.text.push_str(text);
    }

    /// Text that is nested too deeply, without formatting.
    fn flat(&mut self, node: Node<'_>) {
        self.line();
        self.push(&plain(node));
    }

    /// Trims the text, because platforms do so as well and the spans must stay correct.
    fn finish(mut self) -> Formatted {
        let kept = self.text.trim_end().len();
        self.text.truncate(kept);
        let end = self.text.encode_utf16().count();
        let start = self.text.len() - self.text.trim_start().len();
        let lead = self.text[..start].encode_utf16().count();
        self.text.drain(..start);
        let clip = |span: Span| {
            let from = span.offset.max(lead);
            let to = (span.offset + span.length).min(end);
            (to > from).then(|| Span { offset: from - lead, length: to - from, ..span })
        };
        let mut spans: Vec<Span> = self.spans.into_iter().filter_map(clip).collect();
        // An inner span ends first and is therefore added first. Reversing and then sorting stably
        // puts the outer span first.
        spans.reverse();
        spans.sort_by(|a, b| a.offset.cmp(&b.offset).then(b.length.cmp(&a.length)));
        Formatted { text: self.text, spans }
    }
}

/// The text below a node, without markup.
fn plain(node: Node<'_>) -> String {
    let mut text = String::new();
    for below in node.descendants() {
        match &below.data().value {
            NodeValue::Text(part) => text.push_str(part),
            NodeValue::Code(code) => text.push_str(&code.literal),
            NodeValue::CodeBlock(code) => text.push_str(&code.literal),
            NodeValue::HtmlInline(html) => text.push_str(html),
            NodeValue::HtmlBlock(html) => text.push_str(&html.literal),
            NodeValue::Link(link) | NodeValue::Image(link) if link.url.contains(':') => {
                text.push_str(&link.url);
                text.push(' ');
            }
            NodeValue::SoftBreak | NodeValue::LineBreak => text.push(' '),
            _ => {}
        }
    }
    text
}

fn rows(table: Node<'_>) -> Vec<Vec<String>> {
    table.children().map(|row| row.children().map(cell).collect()).collect()
}

/// Whether it is a link to a web page whose address is not part of its text.
fn hides_address(node: Node<'_>) -> bool {
    let data = node.data();
    let (NodeValue::Link(link) | NodeValue::Image(link)) = &data.value else { return false };
    let is_web = Url::parse(&link.url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    let shown: String = node.children().map(plain).collect();
    is_web && !shown.trim().is_empty() && !shown.contains(&link.url)
}

fn cell(node: Node<'_>) -> String {
    let mut writer = Writer { depth: DEEPEST / 2, ..Writer::default() };
    writer.children(node);
    writer.finish().text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(markdown: &str) -> String {
        let Formatted { text, spans } = format(markdown);
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut lines = vec![text.clone()];
        for span in spans {
            let part = String::from_utf16_lossy(&units[span.offset..span.offset + span.length]);
            lines.push(format!("{:?}: {part:?}", span.style));
        }
        lines.join("\n")
    }

    #[test]
    fn inline_formatting_becomes_spans() {
        insta::assert_snapshot!(shown("👍 **b *bi* b** ~~s~~ `c` [l](https://x.y/z)"), @r#"
        👍 b bi b s c l
        Bold: "b bi b"
        Italic: "bi"
        Strike: "s"
        Code: "c"
        Link(Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("x.y")), port: None, path: "/z", query: None, fragment: None }): "l"
        "#);
    }

    #[test]
    fn code_stands_in_nothing_but_a_quote() {
        insta::assert_snapshot!(shown("**a `c` b**\n\n> q **x** `y`\n> > inner"), @r#"
        a c b

        q x y

        > inner
        Bold: "a "
        Code: "c"
        Bold: " b"
        Quote: "q x y\n\n> inner"
        Bold: "x"
        Code: "y"
        "#);
    }

    #[test]
    fn blocks_are_laid_out_for_a_chat() {
        let markdown = "# Head\n\ntext\nnext\n\n3. one\n4. two\n   - deep\n   - [x] no\n\n- [x] done\n\n\
                        ```rust\nfn x() {}\n```\n\n---\n<b>raw</b>";
        insta::assert_snapshot!(shown(markdown), @r#"
        Head

        text
        next

        3. one
        4. two
          • deep
          ☑ no

        ☑ done

        fn x() {}

        ———

        <b>raw</b>
        Bold: "Head"
        Pre { language: Some("rust") }: "fn x() {}"
        "#);
    }

    #[test]
    fn a_table_is_aligned_and_monospaced() {
        insta::assert_snapshot!(shown("| a | num |\n|---|--:|\n| long **cell** | 1 |"), @r#"
        a         | num
        ----------+----
        long cell |   1
        Pre { language: None }: "a         | num\n----------+----\nlong cell |   1"
        "#);
    }

    #[test]
    fn the_links_of_a_table_follow_it() {
        let shown = format(
            "| a | b |\n|---|---|\n| [one](https://x.y/1) | <https://x.y/2> |\n\
             | [m](mailto:a@b.c) | ![three](https://x.y/3) |\n\nend",
        );
        let below = "m (a@b.c) | three\none\nthree\n\nend";
        assert!(shown.text.ends_with(below), "{}", shown.text);
        let styles = shown.spans.iter().map(|span| &span.style);
        let links = styles.filter_map(|style| match style {
            Style::Link(url) => Some(url.as_str()),
            _ => None,
        });
        assert_eq!(links.collect::<Vec<_>>(), ["https://x.y/1", "https://x.y/3"]);
    }

    #[test]
    fn only_web_and_mail_are_links_and_no_address_is_lost() {
        let shown =
            format("[a](javascript:x) ![img](https://i.j) [m](mailto:a@b.c) ![](https://k.l)");
        assert_eq!(shown.text, "a (javascript:x) img m (a@b.c) https://k.l");
        assert_eq!(shown.spans.len(), 3);
    }

    /// Such as a function that links to its documentation.
    #[test]
    fn code_in_a_link_is_part_of_the_link() {
        let shown = format("**[see `a` or `b`](https://x.y/z)** [`f()`](https://x.y/f) `c`");
        assert_eq!(shown.text, "see a or b f() c");
        let is_link = |span: &&Span| matches!(span.style, Style::Link(_));
        let links: Vec<&Span> = shown.spans.iter().filter(is_link).collect();
        assert_eq!(links.len(), 2, "{links:?}");
        assert_eq!((links[0].offset, links[0].length), (0, 10));
        assert_eq!((links[1].offset, links[1].length), (11, 3));
        let code = shown.spans.iter().filter(|span| span.style == Style::Code);
        assert_eq!(code.count(), 1, "{:?}", shown.spans);
    }

    #[test]
    fn deep_nesting_is_flattened() {
        let markdown = format!("{}deep *text*", ">".repeat(20_000));
        assert!(format(&markdown).text.contains("deep text"));
    }
}
