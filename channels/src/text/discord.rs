//! Converts Markdown to Discord's dialect: no tables, three sizes of headings, one level of quotes,
//! code that cannot contain its own fence, and many characters that format or mention
//! unintentionally.

use comrak::{
    Arena, Options,
    nodes::{AstNode, ListType, NodeCodeBlock, NodeList, NodeValue, TableAlignment},
    parse_document,
};
use url::Url;

use super::table;

/// Deeper nesting is shown as plain text, to bound the recursion.
const DEEPEST: usize = 48;
/// An invisible character that separates characters that would have a meaning together.
const APART: char = '\u{200b}';

/// Parses CommonMark with tables, strikethrough and task lists. Elements without a counterpart are
/// shown as text (HTML literally, images as links), so that nothing is lost.
pub fn discord(markdown: &str) -> String {
    let arena = Arena::new();
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.tasklist = true;
    let root = parse_document(&arena, markdown, &options);
    let shown = Writer::default().blocks(root, "\n\n");
    shown.trim_matches([' ', '\n', '\t']).to_owned()
}

type Node<'a> = &'a AstNode<'a>;

#[derive(Default)]
struct Writer {
    depth: usize,
    in_quote: bool,
    in_link: bool,
}

impl Writer {
    fn blocks(&mut self, node: Node<'_>, between: &str) -> String {
        let shown = node.children().map(|child| self.block(child));
        shown.filter(|block| !block.is_empty()).collect::<Vec<_>>().join(between)
    }

    fn block(&mut self, node: Node<'_>) -> String {
        if self.depth >= DEEPEST {
            return literal(&plain(node));
        }
        self.depth += 1;
        let value = node.data().value.clone();
        let shown = match &value {
            NodeValue::Heading(heading) => self.heading(node, heading.level),
            NodeValue::BlockQuote => self.quote(node),
            NodeValue::List(list) => self.list(node, list),
            NodeValue::CodeBlock(code) => code_block(code),
            NodeValue::Table(table) => self.table(node, &table.alignments),
            NodeValue::ThematicBreak => "———".to_owned(),
            NodeValue::HtmlBlock(html) => literal(html.literal.trim_end()),
            NodeValue::Paragraph => self.paragraph(node),
            _ => self.blocks(node, "\n"),
        };
        self.depth -= 1;
        shown
    }

    fn paragraph(&mut self, node: Node<'_>) -> String {
        let shown = self.inlines(node);
        shown.split('\n').map(at_line_start).collect::<Vec<_>>().join("\n")
    }

    fn heading(&mut self, node: Node<'_>, level: u8) -> String {
        let text = self.inlines(node).replace('\n', " ");
        match level {
            _ if text.is_empty() => String::new(),
            1..=3 => format!("{} {text}", "#".repeat(usize::from(level))),
            _ => format!("**{text}**"),
        }
    }

    /// The platform shows one level of quotes only, so inner quotes are marked with `>` as in mail.
    fn quote(&mut self, node: Node<'_>) -> String {
        let outermost = !std::mem::replace(&mut self.in_quote, true);
        let shown = self.blocks(node, "\n\n");
        self.in_quote = !outermost;
        let mark = if outermost { "> " } else { "\\> " };
        shown.split('\n').map(|line| format!("{mark}{line}")).collect::<Vec<_>>().join("\n")
    }

    /// The table, and its links in order, each on a line. Code contains no links.
    fn table(&mut self, node: Node<'_>, alignments: &[TableAlignment]) -> String {
        let mut lines = vec![fenced(&table::align(&rows(node), alignments), "")];
        for link in node.descendants().filter(|node| hides_address(node)) {
            lines.push(self.inline(link));
        }
        lines.join("\n")
    }

    fn list(&mut self, node: Node<'_>, list: &NodeList) -> String {
        let mut items = Vec::new();
        for (index, item) in node.children().enumerate() {
            let marker = match (&item.data().value, list.list_type) {
                (NodeValue::TaskItem(task), _) if task.symbol.is_some() => "- ☑ ".to_owned(),
                (NodeValue::TaskItem(_), _) => "- ☐ ".to_owned(),
                (_, ListType::Bullet) => "- ".to_owned(),
                (_, ListType::Ordered) => format!("{}. ", list.start.saturating_add(index)),
            };
            let text = self.blocks(item, "\n");
            items.push(format!("{marker}{}", text.replace('\n', "\n  ")));
        }
        items.join("\n")
    }

    fn inlines(&mut self, node: Node<'_>) -> String {
        let mut shown = String::new();
        for child in node.children() {
            let next = self.inline(child);
            // Two adjacent marks would be parsed as a different mark.
            let meet = shown.chars().last().filter(|last| matches!(last, '*' | '~' | '`'));
            if meet.is_some() && next.chars().next() == meet {
                shown.push(APART);
            }
            shown.push_str(&next);
        }
        shown
    }

    fn inline(&mut self, node: Node<'_>) -> String {
        if self.depth >= DEEPEST {
            return literal(&plain(node));
        }
        self.depth += 1;
        let value = node.data().value.clone();
        let shown = match value {
            NodeValue::Text(text) => literal(&text),
            NodeValue::SoftBreak | NodeValue::LineBreak => "\n".to_owned(),
            NodeValue::Code(code) => inline_code(&code.literal),
            NodeValue::HtmlInline(html) => literal(&html),
            NodeValue::Emph => self.marked(node, "*"),
            NodeValue::Strong => self.marked(node, "**"),
            NodeValue::Strikethrough => self.marked(node, "~~"),
            NodeValue::Link(link) | NodeValue::Image(link) => self.link(node, &link.url),
            _ => self.inlines(node),
        };
        self.depth -= 1;
        shown
    }

    fn marked(&mut self, node: Node<'_>, mark: &str) -> String {
        let text = self.inlines(node);
        if text.trim().is_empty() { text } else { format!("{mark}{text}{mark}") }
    }

    /// The platform supports link texts for web addresses only, and not if the text looks like a
    /// different address.
    fn link(&mut self, node: Node<'_>, url: &str) -> String {
        let outer = !std::mem::replace(&mut self.in_link, true);
        let text = self.inlines(node);
        self.in_link = !outer;
        let shown = plain(node);
        let web = Url::parse(url).ok().filter(|u| matches!(u.scheme(), "http" | "https"));
        match web {
            Some(url) if outer && !shown.trim().is_empty() && !looks_like_address(&shown) => {
                format!("[{}]({})", text.replace('\n', " "), masked(&url))
            }
            Some(address) if shown.trim().is_empty() || shown == url => bare(address.as_str()),
            _ if url.is_empty() || url == shown => text,
            _ => format!("{text} ({})", literal(url)),
        }
    }
}

fn looks_like_address(text: &str) -> bool {
    text.contains("://") || text.contains("www.")
}

/// The URL without characters that would end the link.
fn masked(url: &Url) -> String {
    url.as_str().replace('(', "%28").replace(')', "%29").replace('*', "%2A").replace('_', "%5F")
}

/// A URL that the platform turns into a link by itself.
fn bare(url: &str) -> String {
    url.replace('<', "%3C").replace('>', "%3E").replace('*', "%2A").replace('|', "%7C")
}

fn code_block(code: &NodeCodeBlock) -> String {
    let language = code.info.split_whitespace().next().unwrap_or_default();
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '.' | '_');
    let language = if language.chars().all(known) { language } else { "" };
    fenced(code.literal.strip_suffix('\n').unwrap_or(&code.literal), language)
}

/// A fence cannot have more than three backticks, so one within the code is broken up.
fn fenced(code: &str, language: &str) -> String {
    let mut code = code.replace("``", &format!("`{APART}`"));
    if code.ends_with('`') {
        code.push(APART);
    }
    if code.trim().is_empty() {
        code.push(APART);
    }
    format!("```{language}\n{code}\n```")
}

fn inline_code(code: &str) -> String {
    let code = code.replace('\n', " ").replace("``", &format!("`{APART}`"));
    if code.trim().is_empty() {
        return code;
    }
    if !code.contains('`') {
        return format!("`{code}`");
    }
    let (before, after) =
        (if code.starts_with('`') { " " } else { "" }, if code.ends_with('`') { " " } else { "" });
    format!("``{before}{code}{after}``")
}

/// Escapes text, except for URLs.
fn literal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + text.len() / 8);
    for word in text.split_inclusive([' ', '\n']) {
        if is_address(word.trim_end()) {
            shown.push_str(word);
        } else {
            escape(word, &mut shown);
        }
    }
    shown
}

/// Whether it is a URL in which nothing formats or mentions.
fn is_address(word: &str) -> bool {
    let rest = word.strip_prefix("https://").or_else(|| word.strip_prefix("http://"));
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#&=%+,;!$".contains(c);
    rest.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphanumeric()) && rest.chars().all(harmless)
    })
}

fn escape(word: &str, shown: &mut String) {
    for c in word.chars() {
        if matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '<' | '[' | ']') {
            shown.push('\\');
        }
        shown.push(c);
        if c == '@' {
            shown.push(APART);
        }
    }
}

/// Escapes characters that have a meaning only at the beginning of a line.
fn at_line_start(line: &str) -> String {
    let body = line.trim_start_matches(' ');
    let indent = &line[..line.len() - body.len()];
    if body.starts_with(['#', '>', '-', '+']) {
        return format!("{indent}\\{body}");
    }
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match body[digits..].strip_prefix('.') {
        Some(rest) if digits > 0 => format!("{indent}{}\\.{rest}", &body[..digits]),
        _ => line.to_owned(),
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
            NodeValue::SoftBreak | NodeValue::LineBreak => text.push(' '),
            _ => {}
        }
    }
    text
}

/// Whether it is a link whose address is not part of its text.
fn hides_address(node: Node<'_>) -> bool {
    let data = node.data();
    let (NodeValue::Link(link) | NodeValue::Image(link)) = &data.value else { return false };
    !link.url.is_empty() && !plain(node).contains(&link.url)
}

fn rows(table: Node<'_>) -> Vec<Vec<String>> {
    let cells = |row: Node<'_>| row.children().map(plain).collect();
    table.children().map(cells).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn our_markdown_becomes_theirs() {
        let markdown = "# One\n\n#### Four\n\n**b** *i* ~~s~~ `c` [l](https://x.y/a_(b)) \
                        ![p](https://x.y/p.png)\n\n> quote\n> > inner\n\n1. one\n2. two\n   - deep\n\n\
                        - [x] done\n\n```rust\nfn x() {}\n```\n\n| a | n |\n|---|--:|\n| x | 10 |\n\n---";
        insta::assert_snapshot!(discord(markdown), @r"
        # One

        **Four**

        **b** *i* ~~s~~ `c` [l](https://x.y/a%5F%28b%29) [p](https://x.y/p.png)

        > quote
        > 
        > \> inner

        1. one
        2. two
          - deep

        - ☑ done

        ```rust
        fn x() {}
        ```

        ```
        a |  n
        --+---
        x | 10
        ```

        ———
        ");
    }

    /// Proves S18.
    #[test]
    fn plain_text_is_escaped() {
        assert_eq!(discord("@everyone and <@1>"), "@\u{200b}everyone and \\<@\u{200b}1>");
        assert_eq!(
            discord("snake_case_name 2 * 3 * 4 ||x||"),
            r"snake\_case\_name 2 \* 3 \* 4 \|\|x\|\|"
        );
        assert_eq!(discord(r"\# no \- list 1\. x"), "\\# no - list 1. x");
        assert_eq!(discord("a\n\\> b\n2\\) c"), "a\n\\> b\n2) c");
        assert_eq!(discord("see https://x.y/a_b_c now"), "see https://x.y/a_b_c now");
        assert_eq!(discord("https://x.y/*a*|b"), "https://x.y/*a*\\|b");
    }

    #[test]
    fn an_address_is_never_hidden_under_another() {
        assert_eq!(
            discord("[https://good.example](https://bad.example)"),
            "https://good.example (https://bad.example)"
        );
        assert_eq!(discord("<https://x.y/z>"), "https://x.y/z");
        assert_eq!(discord("[m](mailto:a@b.c)"), "m (mailto:a@\u{200b}b.c)");
        assert_eq!(discord("[j](javascript:x)"), "j (javascript:x)");
    }

    #[test]
    fn the_links_of_a_table_follow_it() {
        let markdown = "| a | b |\n|---|---|\n| [one](https://x.y/1) | <https://x.y/2> |\n\
                        | [m](mailto:a@b.c) | ![](https://x.y/3) |";
        let below = "```\n[one](https://x.y/1)\nm (mailto:a@\u{200b}b.c)\nhttps://x.y/3";
        let shown = discord(markdown);
        assert!(shown.ends_with(below), "{shown}");
        assert!(shown.contains("one | https://x.y/2"), "{shown}");
    }

    /// Proves M5.
    #[test]
    fn code_cannot_leave_its_fence() {
        assert_eq!(discord("````\na ``` b\n````"), "```\na `\u{200b}`` b\n```");
        assert_eq!(discord("`` a`b ``"), "``a`b``");
        assert_eq!(discord("*a***b**"), "*a*\u{200b}**b**");
    }

    #[test]
    fn deep_nesting_is_flattened() {
        let markdown = format!("{}deep *text*", ">".repeat(20_000));
        assert!(discord(&markdown).contains("deep"));
    }

    /// A simple reader of Discord's Markdown that removes escapes and our separators.
    fn read(shown: &str) -> String {
        let mut text = String::new();
        let mut chars = shown.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => text.extend(chars.next()),
                APART => {}
                c => text.push(c),
            }
        }
        text
    }

    proptest! {
        /// Proves S18.
        #[test]
        fn whatever_is_escaped_reads_as_it_was(text in "[ -~é你👍]{0,200}") {
            let shown = read(&discord(&super::super::escape(&text)));
            let solid = |t: &str| t.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(solid(&shown), solid(&text));
        }

        /// Proves M5.
        #[test]
        fn parts_fit_once_they_are_shown(
            text in "([a-z_*`|@é👍你]{1,12}[ \n]|\n\n```\n[a-z`]{1,9}\n```\n\n|\\[a\\]\\(https://x.y/[a-z_]{3,30}\\) ){1,60}",
            limit in 60_usize..200,
        ) {
            for part in super::super::split(&text, limit, crate::Unit::Discord) {
                prop_assert!(discord(&part).chars().count() <= limit, "{part:?}");
            }
        }
    }
}
