//! Character references of HTML: named ones such as `&euro;`, and numeric ones.

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

/// The length of the longest name, with its semicolon.
const LONGEST: usize = 33;

/// Decodes all character references that end with a semicolon; other text is kept as written.
pub fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        let reference = &rest[at + 1..];
        let end = reference.bytes().take(LONGEST).position(|byte| byte == b';');
        let letters = end.and_then(|end| Some((end, letters(&reference[..=end])?)));
        let Some((end, letters)) = letters else {
            decoded.push('&');
            rest = reference;
            continue;
        };
        decoded.extend(letters.into_iter().flatten());
        rest = &reference[end + 1..];
    }
    decoded.push_str(rest);
    decoded
}

/// The one or two characters of a reference such as `euro;` or `#8364;`.
fn letters(reference: &str) -> Option<[Option<char>; 2]> {
    if let Some(number) = reference.strip_prefix('#') {
        let number = number.strip_suffix(';')?;
        let is_hex = number.starts_with(['x', 'X']);
        let digits = if is_hex { &number[1..] } else { number };
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let code = u32::from_str_radix(digits, if is_hex { 16 } else { 10 }).ok()?;
        return Some([Some(numbered(code)), None]);
    }
    let (first, second) = *NAMED_ENTITIES.get(reference)?;
    let letter = |code: u32| char::from_u32(code).filter(|letter| *letter != '\0');
    letter(first).map(|first| [Some(first), letter(second)])
}

/// The character of a numeric reference. As in browsers, 128 to 159 are those of Windows-1252.
fn numbered(code: u32) -> char {
    let at = code.checked_sub(0x80).and_then(|at| usize::try_from(at).ok());
    let replaced = at.and_then(|at| C1_REPLACEMENTS.get(at).copied().flatten());
    let letter = replaced.or_else(|| char::from_u32(code)).filter(|letter| *letter != '\0');
    letter.unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_references_of_html_are_decoded() {
        for (written, expected) in [
            ("5 &euro; &ndash; &uuml;&Auml;", "5 € – üÄ"),
            ("&#8364; &#x20AC; &#X20ac;", "€ € €"),
            ("&amp;lt; &lt;b&gt; &quot;x&quot; &#39;", "&lt; <b> \"x\" '"),
            ("&nbsp;|&NotEqualTilde;|&CounterClockwiseContourIntegral;", "\u{a0}|≂̸|∳"),
            ("&#150; &#0; &#xD800; &#1114112;", "– \u{fffd} \u{fffd} \u{fffd}"),
        ] {
            assert_eq!(decode(written), expected, "{written}");
        }
    }

    #[test]
    fn other_ampersands_stay() {
        for text in [
            "R&D",
            "a & b; c",
            "?a&copy=1",
            "&unknown;",
            "&#;",
            "&#x;",
            "&#+1;",
            "&",
            "é&é;",
            "&amp",
        ] {
            assert_eq!(decode(text), text);
        }
    }
}
