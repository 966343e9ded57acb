//! Characters that the texts of a workbook spell by their number, such as `_x000D_` (ECMA-376
//! part 1, 22.9.2.19).

/// The length of the escape of a character.
const ESCAPE_LEN: usize = 7;

/// The text with the characters themselves. Control characters are left out.
pub fn unescaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(character) = character(rest) {
            if !character.is_control() || matches!(character, '\n' | '\t') {
                shown.push(character);
            }
            rest = &rest[ESCAPE_LEN..];
        } else {
            shown.push_str("_x");
            rest = &rest["_x".len()..];
        }
    }
    shown + rest
}

/// The character whose escape a text begins with.
fn character(text: &str) -> Option<char> {
    let digits = text.get(..ESCAPE_LEN)?.strip_prefix("_x")?.strip_suffix('_')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_their_characters() {
        for (text, shown) in [
            ("a_x000D_\nb", "a\nb"),
            ("_x005F_x0041_", "_x0041_"),
            ("_x0041__x00e9_", "Aé"),
            ("_x00", "_x00"),
            ("_xzzzz_ _x", "_xzzzz_ _x"),
            ("_xD800_", "_xD800_"),
            ("_xää_", "_xää_"),
        ] {
            assert_eq!(unescaped(text), shown, "{text}");
        }
    }
}
