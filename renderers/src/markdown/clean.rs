//! Removes content that no document may contain: control characters and unsafe links.

use std::fmt::Write;

/// The maximum length of a link, in ASCII characters.
pub const LINK_CHARS: usize = 2_000;

/// Normalizes line ends to line feeds and removes characters that are invisible or invalid in some
/// formats. Also returns the number of removed characters.
pub fn source(source: &str) -> (String, usize) {
    let mut removed = 0;
    let mut text = String::with_capacity(source.len());
    let mut letters = source.strip_prefix('\u{feff}').unwrap_or(source).chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' | '\u{2028}' | '\u{2029}' => text.push('\n'),
            '\n' | '\t' => text.push(c),
            c if is_forbidden(c) => removed += 1,
            c => text.push(c),
        }
    }
    (text, removed)
}

/// Cleans a piece of text: an entity such as `&#1;` can restore a character that [`source`]
/// removed.
pub fn text(text: &str) -> String {
    text.chars().filter(|&c| matches!(c, '\n' | '\t') || !is_forbidden(c)).collect()
}

/// Text on one line: for titles, alternative texts and language names.
pub fn line(line: &str) -> String {
    text(line).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// C0, C1, noncharacters, byte order marks, and the two characters that override the text
/// direction.
fn is_forbidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{feff}' | '\u{202d}' | '\u{202e}' | '\u{fdd0}'..='\u{fdef}')
        || matches!(c, '\u{2028}' | '\u{2029}')
        || (c as u32) & 0xfffe == 0xfffe
}

/// The link in ASCII, its scheme in lower case, if documents may contain it.
pub fn link(url: &str) -> Option<String> {
    let url = text(url);
    let url = url.trim();
    if url.starts_with('#') {
        return Some(url.to_owned());
    }
    let (scheme, rest) = url.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    let leads_somewhere = match scheme.as_str() {
        "https" | "http" => rest.strip_prefix("//").is_some_and(|rest| !rest.is_empty()),
        "mailto" | "tel" => !rest.is_empty(),
        _ => false,
    };
    let link = format!("{scheme}:{}", ascii(rest));
    (leads_somewhere && link.len() <= LINK_CHARS).then_some(link)
}

/// The length of a bare URL in the text: without a space, it ends before a full-width character or
/// before an ideograph that follows a letter or a digit.
pub fn bare_link(text: &str) -> usize {
    let mut before = ' ';
    let end = text.char_indices().find(|(_, c)| {
        let is_mark = matches!(c, '\u{2018}'..='\u{201f}' | '\u{3000}'..='\u{303f}')
            || matches!(c, '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
            || matches!(c, '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}');
        let is_ideograph = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
            || matches!(c, '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}');
        let ends = is_mark || is_ideograph && before.is_ascii_alphanumeric();
        before = *c;
        ends
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// Percent-encodes characters that RFC 3986 does not allow; existing encoding is kept.
fn ascii(url: &str) -> String {
    let mut encoded = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0..=b' ' | 0x7f.. => {
                write!(encoded, "%{byte:02X}").expect("writing to a string succeeds");
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
        for url in [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc",
            "../x",
            "\\\\h\\s",
            "",
            "https:/a.b",
        ] {
            assert_eq!(link(url), None, "{url}");
        }
        assert_eq!(link(&format!("https://a/{}", "x".repeat(LINK_CHARS))), None);
        assert_eq!(link(&format!("https://a/{}", "长".repeat(LINK_CHARS / 9 + 1))), None);
        assert_eq!(link("Mailto:A@b.c").as_deref(), Some("mailto:A@b.c"));
    }

    #[test]
    fn a_bare_link_ends_where_the_sentence_goes_on() {
        for (text, link) in [
            ("https://a.b/c", "https://a.b/c"),
            ("https://a.b/c，然后", "https://a.b/c"),
            ("https://a.b/c然后", "https://a.b/c"),
            ("https://a.b。", "https://a.b"),
            ("https://a.b/wiki/中文", "https://a.b/wiki/中文"),
            ("https://a.b/ä", "https://a.b/ä"),
        ] {
            assert_eq!(&text[..bare_link(text)], link);
        }
    }

    #[test]
    fn links_become_ascii() {
        assert_eq!(link("https://a/ä \"x").as_deref(), Some("https://a/%C3%A4%20%22x"));
        assert_eq!(link("https://a/%20?q=1&r=2").as_deref(), Some("https://a/%20?q=1&r=2"));
    }

    #[test]
    fn control_characters_go_and_are_counted() {
        assert_eq!(source("a\u{1}b\u{85}c\u{ffff}\u{202e}\td\u{2028}"), ("abc\td\n".into(), 4));
        assert_eq!(source("a\r\n\rb\r"), ("a\n\nb\n".into(), 0));
    }
}
