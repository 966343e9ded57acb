//! Renders highlighted code as HTML. The colours are those of the style sheet.

use renderers::highlight::{CodePart, Highlighter, TokenKind};
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use super::markdown_html::escape;

/// How much of one message is highlighted. Syntaxes are regular expressions, which can be slow.
const MOST_BYTES: usize = 32_000;
const LINE_BYTES: usize = 400;
const MOST_TIME: Duration = Duration::from_millis(500);

/// How much of a message may still be highlighted.
pub struct CodeBudget {
    bytes: usize,
    time: Duration,
}

impl Default for CodeBudget {
    fn default() -> Self {
        Self { bytes: MOST_BYTES, time: MOST_TIME }
    }
}

impl CodeBudget {
    /// The parts of a line; `None` if too much has been highlighted.
    fn line<'a>(
        &mut self,
        highlighter: &mut Highlighter,
        line: &'a str,
    ) -> Option<Vec<CodePart<'a>>> {
        if line.len() > LINE_BYTES.min(self.bytes) || self.time.is_zero() {
            return None;
        }
        let began_at = Instant::now();
        let parts = highlighter.line(line);
        self.bytes -= line.len();
        self.time = self.time.saturating_sub(began_at.elapsed());
        parts
    }
}

/// A block of code with an info string such as `rust`. `None` if its language is not known. What the
/// budget does not admit is not highlighted.
pub fn highlighted(info: &str, code: &str, budget: &mut CodeBudget) -> Option<String> {
    let language = info.split([' ', '\t', ',', '{']).next().filter(|name| !name.is_empty())?;
    let mut highlighter = Some(Highlighter::of(language)?);
    let mut html = format!("<pre><code class=\"language-{}\">", escape(language));
    for line in code.lines() {
        let parts = highlighter.as_mut().and_then(|own| budget.line(own, line));
        if let Some(parts) = parts {
            for part in parts {
                push(&mut html, part);
            }
        } else {
            highlighter = None;
            html.push_str(&escape(line));
        }
        html.push('\n');
    }
    html.push_str("</code></pre>\n");
    Some(html)
}

fn push(html: &mut String, CodePart { kind, text }: CodePart<'_>) {
    let text = escape(text);
    match kind {
        Some(kind) => {
            let _ = write!(html, "<span class=\"hl-{}\">{text}</span>", class(kind));
        }
        None => html.push_str(&text),
    }
}

fn class(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::Comment => "comment",
        TokenKind::String => "string",
        TokenKind::Number => "number",
        TokenKind::Keyword => "keyword",
        TokenKind::Function => "function",
        TokenKind::Type => "type",
        TokenKind::Inserted => "inserted",
        TokenKind::Deleted => "deleted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(info: &str, code: &str) -> Option<String> {
        highlighted(info, code, &mut CodeBudget::default())
    }

    #[test]
    fn code_of_a_known_language_is_highlighted_and_escaped() {
        let html = of("rust,ignore", "let s = \"<b>\";\n").unwrap();
        assert!(html.starts_with("<pre><code class=\"language-rust\">"), "{html}");
        assert!(
            html.contains("<span class=\"hl-keyword\">let</span>")
                || html.contains("hl-type\">let"),
            "{html}"
        );
        assert!(html.contains("&lt;b&gt;") && !html.contains("<b>"), "{html}");
        assert_eq!([of("", "x"), of("text", "x"), of("nonsense", "x")], [None, None, None]);
    }

    #[test]
    fn long_code_is_shown_without_colours() {
        let long = format!("let a = \"{}\";\nlet b = 1;\n", "x".repeat(LINE_BYTES));
        let html = of("rust", &long).unwrap();
        assert!(!html.contains("<span") && html.contains("let b = 1;"), "{html}");
        let many = "let a = 1;\n".repeat(MOST_BYTES / 5);
        let html = of("rust", &many).unwrap();
        assert!(html.contains("<span") && html.trim_end().ends_with("let a = 1;\n</code></pre>"));
        assert_eq!(html.lines().count(), many.lines().count() + 1);
    }
}
