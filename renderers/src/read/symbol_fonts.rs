//! The Unicode characters of fonts that draw symbols in the place of letters.

use std::collections::BTreeSet;

/// The number of fonts that a warning names.
const NAMED: usize = 5;

/// Whether the characters of a font are known.
pub fn is_known(font: &str) -> bool {
    matches!(
        font.to_ascii_lowercase().as_str(),
        "wingdings" | "wingdings 2" | "wingdings 3" | "symbol"
    )
}

/// The warning about fonts with symbols that are not known.
pub fn warning(fonts: &BTreeSet<String>) -> Option<String> {
    let named: Vec<&str> = fonts.iter().take(NAMED).map(String::as_str).collect();
    let named = named.join(", ");
    let warning = || format!("Symbols without a Unicode character are shown as \u{fffd}: {named}.");
    (!fonts.is_empty()).then(warning)
}

/// Whether a character is the code of a symbol, to which Office adds 0xF000.
pub fn is_code(c: char) -> bool {
    matches!(c, '\u{f020}'..='\u{f0ff}')
}

/// The character that a font draws for a code; `None` if it is not known. Other fonts draw the
/// character itself.
pub fn character(font: &str, code: char) -> Option<char> {
    let low = if is_code(code) { u32::from(code) - 0xf000 } else { u32::from(code) };
    let find = |table: &[(u32, char)]| {
        table.iter().find(|(known, _)| *known == low).map(|(_, sign)| *sign)
    };
    match font.to_ascii_lowercase().as_str() {
        "wingdings" => find(&WINGDINGS).or_else(|| circled(low)),
        "wingdings 2" => find(&WINGDINGS_2),
        "wingdings 3" => find(&WINGDINGS_3),
        "symbol" => find(&SYMBOL).or_else(|| greek(low)),
        _ => Some(code).filter(|c| !matches!(c, '\u{e000}'..='\u{f8ff}')),
    }
}

/// The numbers from 1 to 10 in circles.
fn circled(code: u32) -> Option<char> {
    match code {
        0x81..=0x8a => char::from_u32(0x2460 + code - 0x81),
        0x8c..=0x95 => char::from_u32(0x2776 + code - 0x8c),
        _ => None,
    }
}

/// The letters of the font Symbol, in the place of Latin ones. Digits and most signs are those of
/// ASCII.
fn greek(code: u32) -> Option<char> {
    const LETTERS: [&str; 2] = ["ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"];
    let letter = |table: usize, first: u32| LETTERS[table].chars().nth((code - first) as usize);
    match code {
        0x41..=0x5a => letter(0, 0x41),
        0x61..=0x7a => letter(1, 0x61),
        0x20..=0x7e => char::from_u32(code),
        _ => None,
    }
}

#[rustfmt::skip]
const WINGDINGS: [(u32, char); 58] = [
    (0x20, ' '), (0x21, '✏'), (0x22, '✂'), (0x28, '☎'), (0x2a, '✉'), (0x36, '⌛'), (0x37, '⌨'),
    (0x41, '✌'), (0x43, '👍'), (0x44, '👎'), (0x45, '☜'), (0x46, '☞'), (0x47, '☝'), (0x48, '☟'),
    (0x4a, '☺'), (0x4b, '😐'), (0x4c, '☹'), (0x4e, '☠'), (0x54, '❄'), (0x6c, '●'), (0x6e, '■'),
    (0x6f, '□'), (0x71, '❑'), (0x72, '❒'), (0x74, '⧫'), (0x75, '◆'), (0x76, '❖'), (0x9f, '•'),
    (0xa1, '○'), (0xa7, '▪'), (0xa8, '☐'), (0xab, '★'), (0xaf, '✶'), (0xb5, '✪'), (0xd5, '⌫'),
    (0xd8, '➢'), (0xdc, '➲'), (0xdf, '←'), (0xe0, '→'), (0xe1, '↑'), (0xe2, '↓'), (0xe3, '↖'),
    (0xe4, '↗'), (0xe5, '↙'), (0xe6, '↘'), (0xe8, '➔'), (0xef, '⇦'), (0xf0, '⇨'), (0xf1, '⇧'),
    (0xf2, '⇩'), (0xf3, '⬄'), (0xf4, '⇳'), (0xfb, '✘'), (0xfc, '✔'), (0xfd, '☒'), (0xfe, '☑'),
    (0x80, '⓪'), (0x8b, '⓿'),
];

#[rustfmt::skip]
const WINGDINGS_2: [(u32, char); 10] = [
    (0x20, ' '), (0x4f, '✗'), (0x50, '✓'), (0x51, '☒'), (0x52, '☑'), (0x53, '☒'), (0x54, '☒'),
    (0x97, '●'), (0xa2, '■'), (0xa3, '□'),
];

#[rustfmt::skip]
const WINGDINGS_3: [(u32, char); 13] = [
    (0x20, ' '), (0x66, '←'), (0x67, '→'), (0x68, '↑'), (0x69, '↓'), (0x6a, '↖'), (0x6b, '↗'),
    (0x70, '▲'), (0x71, '▼'), (0x74, '◀'), (0x75, '▶'), (0x7c, '◀'), (0x7d, '▶'),
];

/// The characters of the font Symbol that are neither ASCII nor Greek letters.
#[rustfmt::skip]
const SYMBOL: [(u32, char); 73] = [
    (0x22, '∀'), (0x24, '∃'), (0x27, '∋'), (0x2a, '∗'), (0x2d, '−'), (0x40, '≅'), (0x5c, '∴'),
    (0x5e, '⊥'), (0x7e, '∼'), (0xa0, '€'), (0xa2, '′'), (0xa3, '≤'), (0xa4, '⁄'), (0xa5, '∞'),
    (0xa6, 'ƒ'), (0xa7, '♣'), (0xa8, '♦'), (0xa9, '♥'), (0xaa, '♠'), (0xab, '↔'), (0xac, '←'),
    (0xad, '↑'), (0xae, '→'), (0xaf, '↓'), (0xb0, '°'), (0xb1, '±'), (0xb2, '″'), (0xb3, '≥'),
    (0xb4, '×'), (0xb5, '∝'), (0xb6, '∂'), (0xb7, '•'), (0xb8, '÷'), (0xb9, '≠'), (0xba, '≡'),
    (0xbb, '≈'), (0xbc, '…'), (0xc0, 'ℵ'), (0xc4, '⊗'), (0xc5, '⊕'), (0xc6, '∅'), (0xc7, '∩'),
    (0xc8, '∪'), (0xc9, '⊃'), (0xca, '⊇'), (0xcb, '⊄'), (0xcc, '⊂'), (0xcd, '⊆'), (0xce, '∈'),
    (0xcf, '∉'), (0xd0, '∠'), (0xd1, '∇'), (0xd2, '®'), (0xd3, '©'), (0xd4, '™'), (0xd5, '∏'),
    (0xd6, '√'), (0xd7, '⋅'), (0xd8, '¬'), (0xd9, '∧'), (0xda, '∨'), (0xdb, '⇔'), (0xdc, '⇐'),
    (0xdd, '⇑'), (0xde, '⇒'), (0xdf, '⇓'), (0xe0, '◊'), (0xe2, '®'), (0xe3, '©'), (0xe4, '™'),
    (0xe5, '∑'), (0xf2, '∫'), (0xa1, 'ϒ'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_have_the_characters_that_are_drawn() {
        for (font, code, wanted) in [
            ("Wingdings", '\u{f0fc}', Some('✔')),
            ("Wingdings", '\u{fb}', Some('✘')),
            ("Wingdings", '\u{f082}', Some('②')),
            ("Wingdings", '\u{f001}', None),
            ("Wingdings 2", '\u{f050}', Some('✓')),
            ("Symbol", '\u{f061}', Some('α')),
            ("Symbol", '\u{f0a3}', Some('≤')),
            ("Symbol", '\u{f035}', Some('5')),
            ("Webdings", '\u{f061}', None),
            ("Arial", 'é', Some('é')),
        ] {
            assert_eq!(character(font, code), wanted, "{font} {code:?}");
        }
    }
}
