//! Renders highlighted code as HTML. The colours are those of the style sheet.

use renderers::highlight::{CodePart, Highlighter, TokenKind};
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use super::escape::escape;

/// How much code of a response is highlighted. Syntaxes are regular expressions, which can be slow.
pub const RESPONSE_BYTES: usize = 128_000;
const OF_RESPONSE: Allowance = Allowance { bytes: RESPONSE_BYTES, time: Duration::from_secs(2) };
/// How much of it may be in one message.
const OF_MESSAGE: Allowance = Allowance { bytes: 32_000, time: Duration::from_millis(500) };
/// A longer line is not highlighted.
const LINE_BYTES: usize = 400;

/// An amount of code, and the time that it may take.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    bytes: usize,
    time: Duration,
}

impl Allowance {
    fn admits(&self, line: &str) -> bool {
        line.len() <= self.bytes && !self.time.is_zero()
    }

    fn spend(&mut self, bytes: usize, time: Duration) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.time = self.time.saturating_sub(time);
    }
}

/// How much code may still be highlighted: in the messages of a response together, and in the
/// current one.
#[derive(Debug)]
pub struct CodeBudget {
    response: Allowance,
    message: Allowance,
}

impl Default for CodeBudget {
    fn default() -> Self {
        Self { response: OF_RESPONSE, message: OF_MESSAGE }
    }
}

impl CodeBudget {
    /// Continues with the next message of the response.
    pub fn begin_message(&mut self) {
        self.message = OF_MESSAGE;
    }

    /// The parts of a line; `None` if too much has been highlighted.
    fn line<'a>(
        &mut self,
        highlighter: &mut Highlighter,
        line: &'a str,
    ) -> Option<Vec<CodePart<'a>>> {
        let is_admitted = self.response.admits(line) && self.message.admits(line);
        if line.len() > LINE_BYTES || !is_admitted {
            return None;
        }
        let began_at = Instant::now();
        let parts = highlighter.line(line);
        let took = began_at.elapsed();
        self.response.spend(line.len(), took);
        self.message.spend(line.len(), took);
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
        let many = "let a = 1;\n".repeat(OF_MESSAGE.bytes / 5);
        let html = of("rust", &many).unwrap();
        assert!(html.contains("<span") && html.trim_end().ends_with("let a = 1;\n</code></pre>"));
        assert_eq!(html.lines().count(), many.lines().count() + 1);
    }

    #[test]
    fn the_messages_of_a_response_share_its_budget() {
        let code = "let a = 1;\n".repeat(3);
        // The first use of a syntax takes longer.
        of("rust", &code).unwrap();
        let response = Allowance { bytes: 45, time: Duration::MAX };
        let mut budget = CodeBudget { response, ..CodeBudget::default() };
        let lines = [(); 3].map(|()| {
            budget.begin_message();
            let html = highlighted("rust", &code, &mut budget).unwrap();
            assert_eq!(html.matches("let").count(), 3, "all of it is shown");
            html.lines().filter(|line| line.contains("<span")).count()
        });
        assert_eq!(lines, [3, 1, 0]);
    }
}
