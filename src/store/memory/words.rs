//! Splits text into words for the search of memories, in the same way for both databases.

use unicode_segmentation::UnicodeSegmentation as _;

/// Longer words are cut.
const WORD_CHARS: usize = 64;

/// Splits into lower-case words of letters and digits, which have no special meaning in a query.
pub(in crate::store) fn words(text: &str) -> Vec<String> {
    let lower: String = text.to_lowercase().chars().flat_map(split_katakana).collect();
    let cut = lower.unicode_words().flat_map(|word| word.split(|c: char| !c.is_alphanumeric()));
    let words = cut.filter(|word| !word.is_empty());
    words.map(|word| word.chars().take(WORD_CHARS).collect()).collect()
}

/// Katakana are written without spaces, but Unicode treats a run of them as one word.
fn split_katakana(c: char) -> impl Iterator<Item = char> {
    let space = matches!(c, '\u{30a1}'..='\u{30fa}' | '\u{30fc}').then_some(' ');
    std::iter::once(c).chain(space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_the_same_for_both_databases() {
        assert_eq!(words("Ann's bees, 3.5 kg!"), ["ann", "s", "bees", "3", "5", "kg"]);
        assert_eq!(words("我喜欢蜂蜜 ok"), ["我", "喜", "欢", "蜂", "蜜", "ok"]);
        assert_eq!(words("カタ"), ["カ", "タ"]);
        assert!(words("'\"*:() <-> NEAR(\\").iter().all(|word| word == "near"));
    }
}
