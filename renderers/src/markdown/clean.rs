//! What no document may carry: control characters, and links that do more than lead somewhere.

use std::fmt::Write;

/// The longest link, in characters.
pub const LINK_CHARS: usize = 2_000;

/// The source without characters that no reader can see and some formats forbid, and how many went.
pub fn source(source: &str) -> (String, usize) {
    let mut removed = 0;
    let mut text = String::with_capacity(source.len());
    for c in source.strip_prefix('\u{feff}').unwrap_or(source).chars() {
        match c {
            '\u{2028}' | '\u{2029}' => text.push('\n'),
            '\n' | '\t' | '\r' => text.push(c),
            c if is_forbidden(c) => removed += 1,
            c => text.push(c),
        }
    }
    (text, removed)
}

/// A piece of text as it may stand in a document: an entity such as `&#1;` can bring in again what
/// [`source`] took out.
pub fn text(text: &str) -> String {
    text.chars().filter(|&c| matches!(c, '\n' | '\t') || !is_forbidden(c)).collect()
}

/// One line: for titles, alternative texts and names of languages.
pub fn line(line: &str) -> String {
    text(line).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// C0, C1, noncharacters, byte order marks, and the two characters that turn text around.
fn is_forbidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{feff}' | '\u{202d}' | '\u{202e}' | '\u{fdd0}'..='\u{fdef}')
        || matches!(c, '\u{2028}' | '\u{2029}')
        || (c as u32) & 0xfffe == 0xfffe
}

/// The link in ASCII, if it is one that may stand in a document.
pub fn link(url: &str) -> Option<String> {
    let url = text(url);
    let url = url.trim();
    let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let known = matches!(scheme.as_deref(), Some("https" | "http" | "mailto" | "tel"));
    if url.starts_with('#') {
        return Some(url.to_owned());
    }
    (known && url.chars().count() <= LINK_CHARS).then(|| ascii(url))
}

/// Percent-encodes what RFC 3986 does not allow; what is encoded already stays.
fn ascii(url: &str) -> String {
    let mut encoded = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0..=b' ' | 0x7f.. => {
                write!(encoded, "%{byte:02X}").expect("a string takes all text");
            }
            _ => encoded.push(char::from(byte)),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_that_lead_somewhere_are_kept() {
        for url in ["https://a.b/c", "HTTP://a", "mailto:a@b.c", "tel:+1", "#x"] {
            assert!(link(url).is_some(), "{url}");
        }
        for url in
            ["javascript:alert(1)", "data:text/html,x", "file:///etc", "../x", "\\\\h\\s", ""]
        {
            assert_eq!(link(url), None, "{url}");
        }
        assert_eq!(link(&format!("https://a/{}", "x".repeat(LINK_CHARS))), None);
    }

    #[test]
    fn links_become_ascii() {
        assert_eq!(link("https://a/ä \"x").as_deref(), Some("https://a/%C3%A4%20%22x"));
        assert_eq!(link("https://a/%20?q=1&r=2").as_deref(), Some("https://a/%20?q=1&r=2"));
    }

    #[test]
    fn control_characters_go_and_are_counted() {
        assert_eq!(source("a\u{1}b\u{85}c\u{ffff}\u{202e}\td\u{2028}"), ("abc\td\n".into(), 4));
    }
}
