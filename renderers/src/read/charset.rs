//! Bytes to text, whatever they were written in: a mark at the beginning, what is said of it, UTF-8,
//! or what it looks like.

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8};

/// Of so much of a page its charset is in the beginning.
const HEAD_BYTES: usize = 1024;

pub fn decode(bytes: &[u8]) -> String {
    text(bytes, None)
}

/// A page of the web, or another text; `said` is the charset that it came with.
pub fn decode_page(bytes: &[u8], said: Option<&str>) -> String {
    let said = said.and_then(|label| Encoding::for_label(label.as_bytes()));
    text(bytes, said.or_else(|| declared(bytes)))
}

fn text(bytes: &[u8], said: Option<&'static Encoding>) -> String {
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark_bytes..]).0.into_owned();
    }
    if let Some(encoding) = said {
        return encoding.decode_without_bom_handling(bytes).0.into_owned();
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    guess(bytes).decode_without_bom_handling(bytes).0.into_owned()
}

/// The name of the charset that a text is in; none where it is no text.
pub fn name_of(bytes: &[u8]) -> Option<&'static str> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return Some(encoding.name());
    }
    if std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0')) {
        return Some(UTF_8.name());
    }
    (!bytes.contains(&0)).then(|| guess(bytes).name())
}

/// Of bytes that are not UTF-8.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new();
    detector.feed(bytes, true);
    let guessed = detector.guess(None, true);
    if guessed == UTF_8 { encoding_rs::WINDOWS_1252 } else { guessed }
}

/// What a page says of itself, unless it is UTF-8 whatever it says.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let (_, label) = head.split_once("charset=")?;
    let label = label.trim_start_matches(['"', '\'', ' ']);
    let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c))?;
    let encoding = Encoding::for_label(&label.as_bytes()[..end])?;
    (encoding.is_ascii_compatible() && std::str::from_utf8(bytes).is_err()).then_some(encoding)
}

/// By the number of a code page.
pub fn of_page(number: usize) -> Option<&'static Encoding> {
    let label = match number {
        932 => "shift_jis",
        936 => "gbk",
        949 => "euc-kr",
        950 => "big5",
        10_000 => "macintosh",
        65_001 => "utf-8",
        number => return Encoding::for_label(format!("windows-{number}").as_bytes()),
    };
    Encoding::for_label(label.as_bytes())
}

/// By the number that Windows has for what a font holds; none where that says nothing of bytes.
pub fn of_font(number: usize) -> Option<&'static Encoding> {
    of_page(match number {
        0 => 1_252,
        77 => 10_000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1_253,
        162 => 1_254,
        163 => 1_258,
        177 => 1_255,
        178 => 1_256,
        186 => 1_257,
        204 => 1_251,
        222 => 874,
        238 => 1_250,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves MC-25.
    #[test]
    fn text_in_whatever_charset_is_text() {
        assert_eq!(decode("Größe 漢字".as_bytes()), "Größe 漢字");
        assert_eq!(decode(b"\xef\xbb\xbfa"), "a");
        assert_eq!(decode(b"\xff\xfeG\x00r\x00\xf6\x00"), "Grö");
        assert_eq!(
            decode(b"Die Gr\xf6\xdfe der Stra\xdfe ist \xfcblich"),
            "Die Größe der Straße ist üblich"
        );
        let russian =
            encoding_rs::WINDOWS_1251.encode("Привет, как дела? Сегодня хорошая погода.").0;
        assert_eq!(decode(&russian), "Привет, как дела? Сегодня хорошая погода.");
        let page = b"<meta charset='gbk'><p>\xc4\xe3\xba\xc3";
        assert!(decode_page(page, None).ends_with("<p>你好"));
        assert_eq!(decode_page(b"\xa4\xa2", Some("EUC-JP")), "あ");
        assert!(decode_page("<meta charset=gbk>你好".as_bytes(), None).ends_with("你好"));
        let japanese = encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。").0;
        assert_eq!(decode(&japanese), "これは日本語の文章です。");
    }
}
