//! Measures text without font files: Helvetica's published widths, and full width for CJK.
//!
//! The fonts named in the files have the metrics of Helvetica or are narrower, so a text that fits
//! by this measure fits in Word and PowerPoint too.

/// Widths of U+0020…U+007E in thousandths of an em (Adobe's metrics for Helvetica).
const ASCII: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// The width of a character in a monospaced font, in thousandths of an em.
const MONO: u32 = 602;

/// A type of font.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Text,
    Bold,
    Code,
}

/// The width of one character in thousandths of an em.
pub fn width_of(letter: char, face: Face) -> u32 {
    if invisible(letter) {
        return 0;
    }
    if is_wide(letter) {
        return 1000;
    }
    if face == Face::Code {
        return if letter == '\t' { MONO * 4 } else { MONO };
    }
    let plain = match letter {
        ' '..='~' => u32::from(ASCII[letter as usize - 0x20]),
        '\t' => 1112,
        _ if letter.is_uppercase() => 720,
        '\u{2000}'..='\u{2BFF}' => 800,
        '\u{0900}'..='\u{0DFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' => 750,
        _ => 580,
    };
    if face == Face::Bold { plain * 107 / 100 } else { plain }
}

/// The width of a text in thousandths of an em, on one line.
pub fn width(text: &str, face: Face) -> u32 {
    text.chars().fold(0, |sum, letter| sum.saturating_add(width_of(letter, face)))
}

/// The widest unbreakable piece, in thousandths of an em.
pub fn widest_word(text: &str, face: Face) -> u32 {
    let words = text.split(|letter: char| letter.is_whitespace() || letter == '-');
    words
        .flat_map(|word| word.split_inclusive(is_wide))
        .map(|word| width(word, face))
        .max()
        .unwrap_or(0)
}

/// The number of lines that a text takes in `room` thousandths of an em, broken as Office does.
pub fn lines(text: &str, face: Face, room: u32) -> usize {
    text.split('\n').map(|line| wrapped(line, face, room.max(1000))).sum()
}

fn wrapped(line: &str, face: Face, room: u32) -> usize {
    let (mut count, mut used, mut word) = (1, 0_u32, 0_u32);
    for letter in line.chars() {
        let wide = width_of(letter, face);
        if letter.is_whitespace() || is_wide(letter) {
            used = used.saturating_add(wide);
            word = if letter.is_whitespace() { 0 } else { wide };
            if used > room && is_wide(letter) {
                (count, used) = (count + 1, wide);
            }
            continue;
        }
        (used, word) = (used.saturating_add(wide), word.saturating_add(wide));
        if used > room {
            // The whole word moves to the next line, unless it fills a line by itself.
            (count, used) = (count + 1, if word > room { wide } else { word });
            word = used;
        }
    }
    count
}

/// Chinese, Japanese, Korean, full-width forms and emoji.
pub fn is_wide(letter: char) -> bool {
    matches!(letter,
        '\u{1100}'..='\u{115F}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE6F}' | '\u{FF00}'..='\u{FF60}'
        | '\u{FFE0}'..='\u{FFE6}' | '\u{1F000}'..='\u{1FAFF}' | '\u{20000}'..='\u{3FFFD}')
}

/// Hebrew, Arabic and the other scripts that run from right to left.
pub fn is_rtl(letter: char) -> bool {
    matches!(letter,
        '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
}

/// Whether the first letter with a direction is right-to-left (rule P2 of UAX 9).
pub fn begins_rtl(text: &str) -> bool {
    text.chars().find(|letter| letter.is_alphabetic()).is_some_and(is_rtl)
}

/// Whether a text runs from right to left in a document that mostly does (`mostly`): there, one
/// letter is enough, so that a line that begins with a foreign name stays in its direction.
pub fn runs_rtl(text: &str, mostly: bool) -> bool {
    if mostly { text.chars().any(is_rtl) } else { begins_rtl(text) }
}

fn invisible(letter: char) -> bool {
    matches!(letter,
        '\u{0300}'..='\u{036F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}'
        | '\u{E0000}'..='\u{E007F}')
        || (letter.is_control() && letter != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_the_face_and_the_script() {
        assert_eq!(width("Hi", Face::Text), 944);
        assert!(width("Hi", Face::Bold) > 944);
        assert_eq!(width("Hi", Face::Code), 1204);
        assert_eq!(width("中文", Face::Text), 2000);
        assert_eq!(width("e\u{301}", Face::Text), 556);
    }

    #[test]
    fn text_breaks_at_words_and_between_ideographs() {
        assert_eq!(lines("one two three", Face::Text, 100_000), 1);
        assert_eq!(lines("one two three", Face::Text, 3_600), 2);
        assert_eq!(lines(&"字".repeat(25), Face::Text, 10_000), 3);
        assert_eq!(lines(&"m".repeat(24), Face::Text, 8_330), 3);
        assert_eq!(lines("a\n\nb", Face::Text, 8_000), 3);
        assert_eq!(lines(&"\t".repeat(4_000_000), Face::Text, 8_000), 1);
    }

    #[test]
    fn the_first_letter_decides_the_direction() {
        assert!(begins_rtl("  (שלום) hello"));
        assert!(!begins_rtl("1. hello שלום"));
    }
}
