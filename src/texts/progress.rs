//! How far a call is, in no language but its tool's.

use channels::text;

/// So much of what a tool says about it is shown.
const MESSAGE_CHARS: usize = 200;

/// As in ⏳ `files_copy` 3/10 · the third: with its words as they are, acting as nothing.
pub fn progress(tool: &str, (done, of): (f64, Option<f64>), message: Option<&str>) -> String {
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

    /// Nor does it show a link, or hide anything.
    /// Proves S18.
    #[test]
    fn what_a_server_says_of_its_progress_acts_as_nothing() {
        assert_eq!(progress("a_b", (2.0, Some(5.0)), None), "⏳ `a_b` 2/5");
        assert_eq!(progress("a_b", (0.5, None), Some(" the half\n")), "⏳ `a_b` 0.5 · the half");
        let shown = progress("a_b", (1.0, None), Some("[x](https://evil.example)\u{202e}"));
        assert_eq!(shown, "⏳ `a_b` 1 · \\[x\\]\\(https\\:\\/\\/evil\\.example\\)‹U\\+202E›");
        assert!(progress("a_b", (1.0, None), Some(&"x".repeat(9_000))).len() < 300);
    }
}
