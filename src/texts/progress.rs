//! The progress of a running call, in the language of its tool.

use channels::text;

/// The maximum length of a tool's progress message.
const MESSAGE_CHARS: usize = 200;

/// Formats progress, for example `⏳ files_copy 3/10 · the third`. Nothing in the message acts as
/// Markdown.
pub fn progress(tool: &str, done: f64, of: Option<f64>, message: Option<&str>) -> String {
    let count = match of {
        Some(of) => format!(" {done}/{of}"),
        None => format!(" {done}"),
    };
    let message: String = message.unwrap_or_default().chars().take(MESSAGE_CHARS).collect();
    let message = text::escape(&text::neutralise(message.trim()).replace('\n', " "));
    let message = if message.is_empty() { message } else { format!(" · {message}") };
    format!("⏳ `{tool}`{count}{message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Progress messages show no link and hide nothing.
    /// Proves S18.
    #[test]
    fn progress_messages_are_escaped_and_truncated() {
        assert_eq!(progress("a_b", 2.0, Some(5.0), None), "⏳ `a_b` 2/5");
        assert_eq!(progress("a_b", 0.5, None, Some(" the half\n")), "⏳ `a_b` 0.5 · the half");
        let shown = progress("a_b", 1.0, None, Some("[x](https://evil.example)\u{202e}"));
        assert_eq!(shown, "⏳ `a_b` 1 · \\[x\\]\\(https\\:\\/\\/evil\\.example\\)‹U\\+202E›");
        assert!(progress("a_b", 1.0, None, Some(&"x".repeat(9_000))).len() < 300);
    }
}
