//! Texts of cells as a workbook stores them: `_x0041_` is a character by its number (ECMA-376
//! part 1, 22.9.2.19).

/// The length of the escape of a character.
const ESCAPE_LEN: usize = 7;

/// The text that spreadsheet programs show. Control characters are left out, as when it is read.
pub fn shown(stored: &str) -> String {
    let mut shown = String::with_capacity(stored.len());
    let mut rest = stored;
    while let Some(at) = rest.find("_x") {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(character) = number(rest).and_then(char::from_u32) {
            let is_shown = !character.is_control() || matches!(character, '\n' | '\t');
            shown.extend(is_shown.then_some(character));
            rest = &rest[ESCAPE_LEN..];
        } else {
            shown.push_str("_x");
            rest = &rest["_x".len()..];
        }
    }
    shown + rest
}

/// The text as it is stored, so that it is shown as it is: what looks like an escape is escaped.
pub fn stored(shown: &str) -> String {
    let mut stored = String::with_capacity(shown.len());
    let mut copied = 0;
    for (at, _) in shown.match_indices("_x") {
        if number(&shown[at..]).is_some() {
            stored.push_str(&shown[copied..at]);
            stored.push_str("_x005F");
            copied = at;
        }
    }
    stored + &shown[copied..]
}

/// The number in the escape that a text begins with.
fn number(text: &str) -> Option<u32> {
    let digits = text.get(..ESCAPE_LEN)?.strip_prefix("_x")?.strip_suffix('_')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_texts_are_shown_as_they_were() {
        for (text, in_file) in [
            ("_x0041_", "_x005F_x0041_"),
            ("a_x0041_x0042_", "a_x005F_x0041_x005F_x0042_"),
            ("_xD800_", "_x005F_xD800_"),
            ("_x004", "_x004"),
            ("_xää_ _x", "_xää_ _x"),
            ("a\nb", "a\nb"),
        ] {
            assert_eq!(stored(text), in_file);
            assert_eq!(shown(in_file), text);
        }
        assert_eq!(shown("a_x000D_\nb_x0041__x00e9_"), "a\nbAé");
        for text in ["_x00", "_xzzzz_ _x", "_xD800_", "_xää_"] {
            assert_eq!(shown(text), text);
        }
    }
}
