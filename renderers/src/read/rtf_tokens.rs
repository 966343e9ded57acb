//! The parts of an RTF file: groups, control words and text.

/// A part of a file.
pub enum RtfToken<'a> {
    Open,
    Close,
    Word(&'a str, Option<i32>),
    /// A backslash before a character that is not a letter.
    Sign(u8),
    /// A byte in hexadecimal.
    Byte(u8),
    Text(&'a [u8]),
}

/// The first part of a file, and the rest.
pub fn next(bytes: &[u8]) -> Option<(RtfToken<'_>, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match first {
        b'{' => Some((RtfToken::Open, rest)),
        b'}' => Some((RtfToken::Close, rest)),
        b'\\' => match rest.split_first()? {
            (b'\'', rest) => {
                let digits = std::str::from_utf8(rest.get(..2)?).ok();
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                Some((RtfToken::Byte(byte.unwrap_or(b'?')), &rest[2..]))
            }
            (letter, _) if letter.is_ascii_alphabetic() => Some(word(rest)),
            (sign, rest) => Some((RtfToken::Sign(*sign), rest)),
        },
        b'\r' | b'\n' => Some((RtfToken::Text(&[]), rest)),
        _ => {
            let is_special = |byte: &u8| matches!(byte, b'{' | b'}' | b'\\' | b'\r' | b'\n');
            let end = bytes.iter().position(is_special).unwrap_or(bytes.len());
            Some((RtfToken::Text(&bytes[..end]), &bytes[end..]))
        }
    }
}

/// A control word: letters, an optional number, and the space that ends it.
fn word(bytes: &[u8]) -> (RtfToken<'_>, &[u8]) {
    let count = |bytes: &[u8], is: fn(&u8) -> bool| bytes.iter().take_while(|b| is(b)).count();
    let (name, rest) = bytes.split_at(count(bytes, u8::is_ascii_alphabetic));
    let sign = usize::from(rest.first() == Some(&b'-'));
    let digits = count(&rest[sign..], u8::is_ascii_digit);
    let (number, rest) = rest.split_at(if digits == 0 { 0 } else { sign + digits });
    let ascii = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    let token = RtfToken::Word(ascii(name), ascii(number).parse().ok());
    (token, rest.strip_prefix(b" ").unwrap_or(rest))
}
