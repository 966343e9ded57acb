//! Bytes to text, whatever they were written in: a mark at the beginning, UTF-8, or what it looks
//! like.

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8};

pub fn decode(bytes: &[u8]) -> String {
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark_bytes..]).0.into_owned();
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut detector = EncodingDetector::new();
    detector.feed(bytes, true);
    let guessed = detector.guess(None, true);
    let encoding = if guessed == UTF_8 { encoding_rs::WINDOWS_1252 } else { guessed };
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc_25_text_in_whatever_charset_is_text() {
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
        let japanese = encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。").0;
        assert_eq!(decode(&japanese), "これは日本語の文章です。");
    }
}
