//! Colours of code in Word and PowerPoint.

use crate::highlight::{CodePart, Highlighter, TokenKind};

/// A part of a line in one colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodePiece<'t> {
    pub text: &'t str,
    kind: Option<TokenKind>,
}

impl CodePiece<'_> {
    /// RRGGBB, dark enough to be read on the background of code (contrast above 4.5:1).
    pub fn color(self) -> Option<&'static str> {
        self.kind.map(|kind| match kind {
            TokenKind::Comment => "57606A",
            TokenKind::String => "0A5A2A",
            TokenKind::Number => "0550AE",
            TokenKind::Keyword => "A31550",
            TokenKind::Function => "6639BA",
            TokenKind::Type => "953800",
            TokenKind::Inserted => "116329",
            TokenKind::Deleted => "82071E",
        })
    }
}

/// Longer code is not highlighted. Syntaxes are regular expressions, which can be slow.
const MAX_BYTES: usize = 100_000;
/// Code is not highlighted from the first longer line on.
const LINE_BYTES: usize = 1_000;

/// The lines of `code`, each cut into coloured pieces, of which none is empty.
pub fn lines<'t>(language: Option<&str>, code: &'t str) -> Vec<Vec<CodePiece<'t>>> {
    let name = language.unwrap_or_default().split([' ', ',', '{']).next().unwrap_or_default();
    let mut highlighter = Highlighter::of(name).filter(|_| code.len() <= MAX_BYTES);
    code.split('\n').map(|line| pieces(&mut highlighter, line)).collect()
}

fn pieces<'t>(highlighter: &mut Option<Highlighter>, line: &'t str) -> Vec<CodePiece<'t>> {
    let own = highlighter.as_mut().filter(|_| line.len() <= LINE_BYTES);
    let parts = own.and_then(|own| own.line(line)).unwrap_or_else(|| {
        *highlighter = None;
        vec![CodePart { kind: None, text: line }]
    });
    let parts = parts.into_iter().filter(|part| !part.text.is_empty());
    parts.map(|CodePart { kind, text }| CodePiece { text, kind }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the pieces of this kind.
    fn of_kind(kind: TokenKind, language: &str, code: &str) -> Vec<String> {
        let lines = lines(Some(language), code);
        let pieces = lines.into_iter().flatten().filter(|piece| piece.kind == Some(kind));
        pieces.map(|piece| piece.text.to_owned()).collect()
    }

    #[test]
    fn comments_strings_numbers_and_words_are_distinguished() {
        let code = "pub fn f<'a>() -> u8 { 10 } // 中文\nlet s = \"a\\\"b\";";
        assert_eq!(of_kind(TokenKind::Comment, "rust", code), ["// 中文"]);
        assert_eq!(of_kind(TokenKind::String, "rust", code).concat(), "\"a\\\"b\"");
        assert_eq!(of_kind(TokenKind::Number, "rust,ignore", code), ["10"]);
        assert_eq!(of_kind(TokenKind::Function, "rust", code), ["f"]);
        assert_eq!(of_kind(TokenKind::Comment, "c", "/* a\nb */ x"), ["/* a", "b */"]);
    }

    #[test]
    fn long_code_and_unknown_languages_stay_plain() {
        let line = "let a = 1; ".repeat(LINE_BYTES / 11);
        let is_plain = |language, code: &str| {
            lines(language, code).iter().flatten().all(|piece| piece.color().is_none())
        };
        assert!(!is_plain(Some("rust"), &line) && is_plain(Some("rust"), &(line.repeat(2))));
        assert!(is_plain(Some("rust"), &format!("{line}\n").repeat(MAX_BYTES / line.len() + 1)));
        assert!(is_plain(Some("brainfuck"), "if 1") && is_plain(None, "if 1"));
    }

    #[test]
    fn no_letter_is_lost() {
        let long = "x".repeat(LINE_BYTES + 1);
        let code = format!("x = 'unclosed\n\ty = `b\n\n\u{1F600} \"\"\"open\n{long}\n# ende");
        for language in ["rust", "python", "js", "html", "sql", ""] {
            let whole: Vec<String> = lines(Some(language), &code)
                .iter()
                .map(|line| line.iter().map(|piece| piece.text).collect())
                .collect();
            assert_eq!(whole.join("\n"), code, "{language}");
        }
    }
}
