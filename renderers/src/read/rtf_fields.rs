//! The instructions of fields in RTF.

use super::{links::escaped, symbol_fonts};

/// The target of a hyperlink, such as `HYPERLINK "https://example.org" \o "Tip"`.
pub fn hyperlink(instruction: &str) -> Option<String> {
    let url = argument(instruction.trim_start().strip_prefix("HYPERLINK")?)?.trim();
    let is_web = ["https://", "http://", "mailto:"].iter().any(|start| url.starts_with(start));
    is_web.then(|| escaped(url))
}

/// The character of a field such as `SYMBOL 252 \f "Wingdings"`, if it is known.
pub fn symbol(instruction: &str) -> Option<char> {
    let rest = instruction.trim_start().strip_prefix("SYMBOL")?;
    let code = rest.split_whitespace().next()?;
    let code = match code.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => code.parse().ok()?,
    };
    let font = argument(rest.split_once("\\f")?.1)?;
    symbol_fonts::character(font, char::from_u32(code)?).filter(|_| symbol_fonts::is_known(font))
}

/// The first word, or the text between quotation marks.
fn argument(text: &str) -> Option<&str> {
    let text = text.trim_start();
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => text.split_whitespace().next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_hyperlink_is_found() {
        for (instruction, url) in [
            (" HYPERLINK \"https://a.b/c d\" \\o \"Tip\"", Some("https://a.b/c%20d")),
            ("HYPERLINK mailto:a@b.c ", Some("mailto:a@b.c")),
            ("HYPERLINK \\l \"_Toc1\"", None),
            ("HYPERLINK \"file:///etc\"", None),
            ("PAGE", None),
            ("", None),
        ] {
            assert_eq!(hyperlink(instruction).as_deref(), url, "{instruction}");
        }
    }

    #[test]
    fn the_character_of_a_symbol_is_found() {
        for (instruction, wanted) in [
            (" SYMBOL 252 \\f \"Wingdings\" \\s 10", Some('✔')),
            ("SYMBOL 0xE0 \\f Wingdings", Some('→')),
            ("SYMBOL 97 \\f Symbol \\h", Some('α')),
            ("SYMBOL 97 \\f \"Wingdings 3\"", None),
            ("SYMBOL 97 \\f Arial", None),
            ("SYMBOL 97", None),
            ("SYMBOLS", None),
        ] {
            assert_eq!(symbol(instruction), wanted, "{instruction}");
        }
    }
}
