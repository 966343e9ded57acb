//! Decodes bytes to text by byte order mark, declared charset, UTF-8, or detection.

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8};

/// The prefix of a page in which its charset must be declared.
const HEAD_BYTES: usize = 1024;

/// Decodes a text without a declared charset.
pub fn decode(bytes: &[u8]) -> String {
    text(bytes, None)
}

/// Decodes a web page or another text; `said` is the charset of the response.
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

/// The name of a text's charset; `None` for binary data.
pub fn name_of(bytes: &[u8]) -> Option<&'static str> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return Some(encoding.name());
    }
    if std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0')) {
        return Some(UTF_8.name());
    }
    (!bytes.contains(&0)).then(|| guess(bytes).name())
}

/// Detects the charset of bytes that are not UTF-8.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new();
    detector.feed(bytes, true);
    let guessed = detector.guess(None, true);
    if guessed == UTF_8 { encoding_rs::WINDOWS_1252 } else { guessed }
}

/// The charset declared in a page; UTF-8 is detected first and takes precedence.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let (_, label) = head.split_once("charset=")?;
    let label = label.trim_start_matches(['"', '\'', ' ']);
    let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c))?;
    let encoding = Encoding::for_label(&label.as_bytes()[..end])?;
    (encoding.is_ascii_compatible() && std::str::from_utf8(bytes).is_err()).then_some(encoding)
}

/// The encoding of a code page number.
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

/// The encoding of a Windows font charset number; `None` if the number implies no encoding.
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
