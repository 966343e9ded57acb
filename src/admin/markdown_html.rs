//! Renders Markdown as safe HTML: raw HTML is shown as text, links lead to the web or to mail only,
//! and images become links, so that displaying them fetches nothing.

use anyhow::{Context as _, Result};
use comrak::{
    Arena, Node, Options, format_html,
    nodes::{AstNode, NodeMath, NodeValue},
    parse_document,
};
use regex::Regex;
use std::sync::LazyLock;

use super::{
    code_html::{self, CodeBudget},
    mathml::{Display, mathml},
};

/// The links back from footnotes, and the ids of footnotes.
static FOOTNOTE_LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(" ?<a href=\"#fnref-[^>]*>↩(<sup[^>]*>\\d+</sup>)?</a>").expect("tested")
});
static FOOTNOTE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("<li id=\"fn-[^>]*>").expect("tested"));

/// Renders the texts of a response on a thread for work that blocks, within one budget for highlighted
/// code.
pub async fn rendered<T: Send + 'static>(
    render: impl FnOnce(&mut CodeBudget) -> T + Send + 'static,
) -> Result<T> {
    let rendered = tokio::task::spawn_blocking(move || render(&mut CodeBudget::default())).await;
    rendered.context("rendering Markdown")
}

/// Renders one text of a response. What the budget does not admit is shown without colours.
pub fn from_markdown(markdown: &str, budget: &mut CodeBudget) -> String {
    let arena = Arena::new();
    let options = options();
    let root = parse_document(&arena, markdown, &options);
    budget.begin_message();
    for node in root.descendants().collect::<Vec<_>>() {
        sanitize(&arena, node);
        highlight(node, budget);
    }
    let mut html = String::new();
    format_html(root, &options, &mut html).expect("writing to a String cannot fail");
    // Similar text from a message is escaped, so only the tags of links and footnotes match.
    let html = FOOTNOTE_LINK.replace_all(&html, "");
    let html = FOOTNOTE.replace_all(&html, "<li>");
    let html = html.replace(" data-footnotes>", ">");
    html.replace("<a href=\"", "<a target=\"_blank\" rel=\"noopener noreferrer\" href=\"")
}

/// Replaces a block of code by its highlighted form, if its language is known.
fn highlight(node: Node<'_>, budget: &mut CodeBudget) {
    let mut data = node.data_mut();
    let NodeValue::CodeBlock(block) = &data.value else { return };
    if let Some(html) = code_html::highlighted(&block.info, &block.literal, budget) {
        data.value = NodeValue::Raw(html);
    }
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.math_dollars = true;
    options.render.escape = true;
    // In a chat, line breaks are kept.
    options.render.hardbreaks = true;
    options
}

fn sanitize<'a>(arena: &'a Arena<'a>, node: Node<'a>) {
    let value = node.data().value.clone();
    let link = match value {
        NodeValue::HtmlBlock(block) => return show_as_text(arena, node, &block.literal),
        NodeValue::Link(link) => link,
        NodeValue::Math(math) => {
            let display = if math.display_math { Display::Block } else { Display::Inline };
            node.data_mut().value = match mathml(math.literal.trim(), display) {
                Some(formula) => NodeValue::Raw(formula),
                None => NodeValue::Text(source(&math).into()),
            };
            return;
        }
        // The messages of a page share one name space, so a footnote leads nowhere.
        NodeValue::FootnoteReference(note) => {
            node.data_mut().value = NodeValue::Raw(format!("<sup>{}</sup>", note.ix));
            return;
        }
        NodeValue::Image(image) => {
            if node.first_child().is_none() {
                let url = NodeValue::Text(image.url.clone().into());
                node.append(arena.alloc(AstNode::from(url)));
            }
            node.data_mut().value = NodeValue::Link(image.clone());
            image
        }
        _ => return,
    };
    let within = |outer: Node<'a>| matches!(outer.data().value, NodeValue::Link(_));
    let nested = node.ancestors().skip(1).any(within);
    if nested || !leads_outside(&link.url) {
        for child in node.children().collect::<Vec<_>>() {
            node.insert_before(child);
        }
        node.detach();
    }
}

/// A formula that cannot be drawn, as it was written.
fn source(math: &NodeMath) -> String {
    let mark = if math.display_math { "$$" } else { "$" };
    format!("{mark}{}{mark}", math.literal)
}

/// A paragraph with the lines of a block of raw HTML.
fn show_as_text<'a>(arena: &'a Arena<'a>, node: Node<'a>, literal: &str) {
    node.data_mut().value = NodeValue::Paragraph;
    for (index, line) in literal.trim_end().lines().enumerate() {
        if index > 0 {
            node.append(arena.alloc(AstNode::from(NodeValue::LineBreak)));
        }
        node.append(arena.alloc(AstNode::from(NodeValue::Text(line.to_owned().into()))));
    }
}

fn leads_outside(url: &str) -> bool {
    let parsed = url::Url::parse(url.trim());
    parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https" | "mailto"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html_of(markdown: &str) -> String {
        from_markdown(markdown, &mut CodeBudget::default())
    }

    /// Proves S1, S10.
    #[test]
    fn markdown_cannot_contain_active_content() {
        let attacks = [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](&#106;avascript:alert(1))",
            "[a]( java\nscript:alert(1))",
            "[a](data:text/html;base64,PHNjcmlwdD4=)",
            "[a](vbscript:x)",
            "[a](//evil.example)",
            "[a](/sign-out)",
            "![a](javascript:alert(1))",
            "![pixel](https://evil.example/p.png)",
            "<javascript:alert(1)>",
            "[a](https://x.example/\"onmouseover=alert(1)//)",
            "[a](https://x.example \"t\\\" onmouseover=alert(1) x=\")",
            "```\"><script>alert(1)</script>\nx\n```",
            "```html \"><script>\n<script>alert(1)</script><b a='\"'>\n```",
            "```js\nlet a = `</code></pre><script>alert(1)</script>`;\n```",
            "| a |\n| - |\n| <svg onload=alert(1)> |",
            "$\\text{<script>alert(1)</script>}$ and $<img src=x onerror=alert(1)>$",
            "$$\n\\href{javascript:alert(1)}{x}\n$$",
            "a[^\"><script>]\n\n[^\"><script>]: <svg onload=alert(1)>",
            "a[^1] b[^1]\n\n[^1]: [x](javascript:alert(1))",
        ];
        for attack in attacks {
            let html = html_of(attack);
            assert!(acts(&html).is_none(), "{attack} became {html}");
        }
    }

    /// The first tag that this renderer never writes, or that has an unexpected attribute.
    fn acts(html: &str) -> Option<String> {
        let tag = regex::Regex::new("<[^>]*>").unwrap();
        let harmless = regex::Regex::new(
            "^</?(p|em|strong|del|code|pre|ul|ol|li|br|hr|blockquote|h[1-6]|table|thead|tbody|tr|td|th)( /)?>$\
             |^<code class=\"language-[^\"<>]*\">$|^<span class=\"hl-[a-z]+\">$|^</(a|span)>$|^<section class=\"footnotes\">$|^</?(section|sup)>$\
             |^</?m(ath|row|i|n|o|text|frac|sqrt|root|sub|sup|subsup|under|over|underover|table|tr|td|space)( (display|linethickness|mathvariant|stretchy|columnalign|width)=\"[a-z0-9.]+\")?>$\
             |^<a target=\"_blank\" rel=\"noopener noreferrer\" href=\"(https?://|mailto:)[^\"<>]*\"( title=\"[^\"<>]*\")?>$",
        )
        .unwrap();
        tag.find_iter(html).map(|m| m.as_str().to_owned()).find(|m| !harmless.is_match(m))
    }

    #[test]
    fn links_open_elsewhere_and_images_are_links() {
        assert_eq!(
            html_of("![](https://a.example/p.png)"),
            "<p><a target=\"_blank\" rel=\"noopener noreferrer\" href=\"https://a.example/p.png\">\
             https://a.example/p.png</a></p>\n"
        );
        assert_eq!(
            html_of("[![alt](https://a.example/p.png)](https://b.example)"),
            "<p><a target=\"_blank\" rel=\"noopener noreferrer\" href=\"https://b.example\">\
             alt</a></p>\n"
        );
        assert_eq!(html_of("[a](file:///etc/passwd)"), "<p>a</p>\n");
    }

    #[test]
    fn formulas_and_footnotes_are_drawn() {
        let html = html_of("It costs $5 or $x^2$.[^1] Not $\\nosuch{x}$.\n\n[^1]: A note.");
        assert!(html.contains("<msup>") && html.contains("$5 or"), "{html}");
        assert!(html.contains("<sup>1</sup>"), "{html}");
        assert!(html.contains("<mtext>\\nosuch{x}</mtext>"), "an unknown command is its source");
        assert!(
            html.contains("<section class=\"footnotes\">\n<ol>\n<li>\n<p>A note.</p>"),
            "{html}"
        );
        assert!(!html.contains("id=") && !html.contains("href="), "{html}");
    }
}
