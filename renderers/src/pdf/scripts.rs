//! Fonts by script: the Noto families, as packaged by Linux distributions.

use std::ops::RangeInclusive;

/// A script that the bundled fonts do not support.
pub struct Script {
    pub family: &'static str,
    name: &'static str,
    ranges: &'static [RangeInclusive<u32>],
}

const fn script(
    family: &'static str,
    name: &'static str,
    ranges: &'static [RangeInclusive<u32>],
) -> Script {
    Script { family, name, ranges }
}

/// In the order in which they are tried.
pub const ALL: &[Script] = &[
    script(
        "Noto Sans Arabic",
        "Arabic",
        &[0x600..=0x6ff, 0x750..=0x77f, 0x8a0..=0x8ff, 0xfb50..=0xfdff, 0xfe70..=0xfeff],
    ),
    script("Noto Sans Hebrew", "Hebrew", &[0x590..=0x5ff, 0xfb1d..=0xfb4f]),
    script("Noto Sans Armenian", "Armenian", &[0x530..=0x58f]),
    script("Noto Sans Georgian", "Georgian", &[0x10a0..=0x10ff, 0x1c90..=0x1cbf]),
    script("Noto Sans Devanagari", "Devanagari", &[0x900..=0x97f]),
    script("Noto Sans Bengali", "Bengali", &[0x980..=0x9ff]),
    script("Noto Sans Gurmukhi", "Gurmukhi", &[0xa00..=0xa7f]),
    script("Noto Sans Gujarati", "Gujarati", &[0xa80..=0xaff]),
    script("Noto Sans Oriya", "Oriya", &[0xb00..=0xb7f]),
    script("Noto Sans Tamil", "Tamil", &[0xb80..=0xbff]),
    script("Noto Sans Telugu", "Telugu", &[0xc00..=0xc7f]),
    script("Noto Sans Kannada", "Kannada", &[0xc80..=0xcff]),
    script("Noto Sans Malayalam", "Malayalam", &[0xd00..=0xd7f]),
    script("Noto Sans Sinhala", "Sinhala", &[0xd80..=0xdff]),
    script("Noto Sans Thai", "Thai", &[0xe00..=0xe7f]),
    script("Noto Sans Lao", "Lao", &[0xe80..=0xeff]),
    script("Noto Serif Tibetan", "Tibetan", &[0xf00..=0xfff]),
    script("Noto Sans Myanmar", "Myanmar", &[0x1000..=0x109f]),
    script("Noto Sans Ethiopic", "Ethiopic", &[0x1200..=0x139f]),
    script("Noto Sans Khmer", "Khmer", &[0x1780..=0x17ff]),
    script("Noto Sans Mongolian", "Mongolian", &[0x1800..=0x18af]),
    script("Noto Sans Math", "Mathematics", &[0x2200..=0x22ff, 0x1d400..=0x1d7ff]),
    script("Noto Sans Symbols", "Symbols", &[0x2190..=0x25ff, 0x2700..=0x2bff]),
    script("Noto Sans Symbols2", "Symbols", &[0x2190..=0x25ff, 0x2700..=0x2bff]),
    script("Noto Color Emoji", "Emoji", &[0x2600..=0x27bf, 0x1f000..=0x1faff]),
];

pub fn of(c: char) -> Option<&'static Script> {
    ALL.iter().rev().find(|script| script.has(c))
}

/// The common name of a character's script.
pub fn name(c: char) -> &'static str {
    let cjk = is_cjk(c).then_some("Chinese, Japanese or Korean");
    cjk.or_else(|| of(c).map(|script| script.name)).unwrap_or("other characters")
}

pub fn is_cjk(c: char) -> bool {
    matches!(c as u32,
        0x1100..=0x11ff | 0x2e80..=0xa4cf | 0xac00..=0xd7ff | 0xf900..=0xfaff
        | 0xfe30..=0xfe4f | 0xff00..=0xffef | 0x20000..=0x3ffff)
}

impl Script {
    fn has(&self, c: char) -> bool {
        self.ranges.iter().any(|range| range.contains(&(c as u32)))
    }
}
