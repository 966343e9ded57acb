//! Truncates long results: head and tail for the model, the whole result in a file.

use crate::tools::{Context, workspace};

/// The maximum length of a result in the prompt.
pub const LIMIT_CHARS: usize = 16_000;

/// Characters reserved for the sentence between head and tail. Two thirds of the rest are head.
const SENTENCE_CHARS: usize = 500;

/// Returns a short text unchanged, and otherwise its head and tail with the path of the full text.
/// NUL characters are removed, because PostgreSQL does not accept them.
pub async fn shorten(text: String, context: &Context) -> String {
    shorten_to(LIMIT_CHARS, text, context).await
}

/// Like [`shorten`], with a given limit in characters.
pub async fn shorten_to(limit: usize, text: String, context: &Context) -> String {
    let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    // There are at least as many bytes as characters, so most results need not be counted.
    if text.len() <= limit {
        return text;
    }
    let chars = text.chars().count();
    if chars <= limit {
        return text;
    }
    let tail_chars = (limit - SENTENCE_CHARS) * 10 / 31;
    let head_chars = limit - SENTENCE_CHARS - tail_chars;
    let head = &text[..nth(&text, head_chars)];
    let tail = &text[nth(&text, chars - tail_chars)..];
    let left_out = chars - head_chars - tail_chars;
    let whole = match keep(".txt", text.clone().into_bytes(), context).await {
        Some(path) => format!("The whole result is in {path}: page through it with read_file"),
        None => "The whole result could not be kept: ask for less at a time".to_owned(),
    };
    format!("{head}\n\n[… {left_out} characters are left out here. {whole} …]\n\n{tail}")
}

/// Stores the whole result in a file whose name ends in `suffix`, and returns its path.
pub async fn keep(suffix: &str, bytes: Vec<u8>, context: &Context) -> Option<String> {
    let call: String =
        context.call.as_str().chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    let path = format!(".countersign/results/{call}{suffix}");
    let kept = path.clone();
    workspace::beneath(context, move |workspace, cancelled| {
        workspace.replace(&path, &bytes, cancelled)
    })
    .await
    .inspect_err(
        |error| tracing::warn!(%error, call = %context.call, "could not store a long result"),
    )
    .is_ok()
    .then_some(kept)
}

/// The byte offset of the `n`th character.
fn nth(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;

    /// Proves T8.
    #[tokio::test]
    async fn a_long_result_keeps_head_and_tail_and_the_whole_is_in_a_file() {
        let place = ToolFixture::new();
        let text = format!("HEAD{}TAIL", "ü".repeat(40_000));
        let short = shorten(text.clone(), &place.context).await;
        assert!(short.chars().count() <= LIMIT_CHARS);
        assert!(short.starts_with("HEADü") && short.ends_with("üTAIL"));
        assert!(short.contains("24508 characters are left out"), "{}", &short[21_000..21_200]);
        assert_eq!(short.matches('ü').count() + 24_508, 40_000, "what is told is what is missing");
        assert!(short.contains(".countersign/results/call1.txt"));
        assert_eq!(place.content(".countersign/results/call1.txt"), text);
    }

    /// Proves MC-50.
    #[tokio::test]
    async fn a_result_at_the_limit_stays_whole() {
        let place = ToolFixture::new();
        let text = "ü".repeat(LIMIT_CHARS);
        assert_eq!(shorten(text.clone(), &place.context).await, text);
        assert!(!place.path(".countersign").exists());
        let more = shorten("ü".repeat(LIMIT_CHARS + 1), &place.context).await;
        assert!(more.contains("501 characters are left out"));
    }

    #[tokio::test]
    async fn a_result_that_cannot_be_kept_says_so() {
        let place = ToolFixture::new();
        place.has(".countersign", "a file in the way");
        let short = shorten("x".repeat(20_000), &place.context).await;
        assert!(short.contains("could not be kept"));
    }

    #[tokio::test]
    async fn nul_is_taken_out() {
        assert_eq!(shorten("a\0b".into(), &ToolFixture::new().context).await, "a\u{fffd}b");
    }
}
