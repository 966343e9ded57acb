//! The numbers of list items: digits, letters and Roman numerals in turn, the same in all formats.

/// The deepest level that has a style of its own; deeper lists have the style of this one.
const DEEPEST: usize = 8;

/// How the numbers of a list are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numerals {
    /// `1.`
    Digits,
    /// `a.`
    Letters,
    /// `i.`
    Roman,
}

impl Numerals {
    /// The style of a list in `level` other lists.
    pub fn of(level: usize) -> Self {
        [Self::Digits, Self::Letters, Self::Roman][level.min(DEEPEST) % 3]
    }

    /// The number as text. Letters and Roman numerals have no zero, and Roman ones end at 3,999.
    pub fn write(self, number: u64) -> String {
        match self {
            Self::Letters if number > 0 => letters(number),
            Self::Roman if (1..4_000).contains(&number) => roman(number),
            _ => number.to_string(),
        }
    }
}

/// `a` to `z`, then `aa`, `ab`, ….
fn letters(number: u64) -> String {
    let mut letters = Vec::new();
    let mut rest = number;
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

fn roman(number: u64) -> String {
    const SIGNS: [(u64, &str); 13] = [
        (1_000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    let mut rest = number;
    let mut text = String::new();
    for (value, sign) in SIGNS {
        while rest >= value {
            text.push_str(sign);
            rest -= value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_of_numbers_alternate_by_level() {
        let shown = |level: usize, number: u64| Numerals::of(level).write(number);
        assert_eq!([0, 1, 2, 3].map(|level| shown(level, 4)), ["4", "d", "iv", "4"]);
        assert_eq!([1, 26, 27, 702].map(|number| shown(1, number)), ["a", "z", "aa", "zz"]);
        assert_eq!([9, 40, 1_994].map(|number| shown(2, number)), ["ix", "xl", "mcmxciv"]);
        assert_eq!([shown(1, 0), shown(2, 4_000)], ["0", "4000"]);
        assert_eq!(Numerals::of(8), Numerals::of(20));
    }
}
