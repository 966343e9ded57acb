//! Decimal and thousands separators.

use std::borrow::Cow;

/// The number notation of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signs {
    /// English: the point is the decimal separator, even for ambiguous numbers.
    English,
    /// Unambiguous numbers are read as such; for the others this is the decimal separator, if
    /// known.
    Either(Option<char>),
}

/// Languages with a decimal comma.
const COMMA: [&str; 44] = [
    "az", "be", "bg", "bs", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fr", "gl", "hr",
    "hu", "hy", "id", "is", "it", "ka", "kk", "lb", "lt", "lv", "mk", "nb", "nl", "nn", "no", "pl",
    "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv", "tr", "uk", "uz", "vi",
];
/// Regions of those languages with a decimal point.
const POINT: [&str; 12] = ["CH", "LI", "MX", "US", "GT", "HN", "NI", "SV", "PR", "DO", "PA", "419"];

impl Signs {
    /// The notation of the document's language (BCP 47); `commas` allows decimal commas in any
    /// language.
    pub fn of(language: Option<&str>, commas: bool) -> Self {
        let by_language = Self::by_language(language);
        if commas && by_language == Self::English { Self::Either(None) } else { by_language }
    }

    fn by_language(language: Option<&str>) -> Self {
        let mut parts = language.unwrap_or("en").trim().split(['-', '_']);
        let language = parts.next().unwrap_or_default().to_ascii_lowercase();
        if !COMMA.contains(&language.as_str()) {
            return Self::English;
        }
        let has_point =
            parts.any(|part| POINT.iter().any(|region| part.eq_ignore_ascii_case(region)));
        Self::Either(Some(if has_point { '.' } else { ',' }))
    }

    /// Narrows the notation by the unambiguous numbers of a column.
    pub fn among<'t>(self, numbers: impl Iterator<Item = &'t str>) -> Self {
        let Self::Either(_) = self else { return self };
        let (mut points, mut commas) = (false, false);
        for number in numbers {
            match reading(number) {
                CommaReading::Sure('.') => points = true,
                CommaReading::Sure(_) => commas = true,
                CommaReading::Whole | CommaReading::Open => {}
            }
        }
        match (points, commas) {
            (true, false) => Self::Either(Some('.')),
            (false, true) => Self::Either(Some(',')),
            _ => self,
        }
    }

    /// The number in English notation; `None` if it is ambiguous.
    pub fn english(self, number: &str) -> Option<Cow<'_, str>> {
        let sign = match (self, reading(number)) {
            (Self::English, _) | (_, CommaReading::Whole) => '.',
            (_, CommaReading::Sure(sign)) => sign,
            (Self::Either(usual), CommaReading::Open) => usual?,
        };
        if sign == '.' {
            return Some(number.into());
        }
        let turned = number.chars().map(|c| match c {
            '.' => ',',
            ',' => '.',
            c => c,
        });
        Some(turned.collect::<String>().into())
    }
}

/// What a single number shows about its notation.
enum CommaReading {
    /// It has no separator.
    Whole,
    /// This is the decimal separator, if it is a number.
    Sure(char),
    /// `1.234` and `1,234`
    Open,
}

fn reading(number: &str) -> CommaReading {
    let (mantissa, is_scientific) = match number.split_once(['e', 'E']) {
        Some((mantissa, _)) => (mantissa, true),
        None => (number, false),
    };
    let is_sign = |(_, c): &(usize, char)| matches!(c, '.' | ',');
    let signs: Vec<(usize, char)> = mantissa.char_indices().filter(is_sign).collect();
    match signs[..] {
        [] => CommaReading::Whole,
        [(at, sign)] => {
            let (whole, rest) = (&mantissa[..at], &mantissa[at + 1..]);
            let groups =
                (1..=3).contains(&whole.len()) && !whole.starts_with('0') && rest.len() == 3;
            if groups && !is_scientific { CommaReading::Open } else { CommaReading::Sure(sign) }
        }
        [(_, first), .., (_, last)] if first != last => CommaReading::Sure(last),
        // A repeated separator is the thousands separator.
        [(_, '.'), ..] => CommaReading::Sure(','),
        _ => CommaReading::Sure('.'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unambiguous_numbers_are_read_in_every_language() {
        for usual in [None, Some('.'), Some(',')] {
            for (number, english) in [
                ("12", "12"),
                ("1.5", "1.5"),
                ("1,5", "1.5"),
                ("0.125", "0.125"),
                ("0,125", "0.125"),
                ("1234.567", "1234.567"),
                ("1.234,5", "1,234.5"),
                ("1,234.5", "1,234.5"),
                ("1.234.567", "1,234,567"),
                ("1,234,567", "1,234,567"),
                ("1.234e-5", "1.234e-5"),
            ] {
                assert_eq!(Signs::Either(usual).english(number).as_deref(), Some(english));
            }
        }
        assert_eq!(Signs::Either(None).english("1.234"), None);
        assert_eq!(Signs::Either(Some(',')).english("1.234").as_deref(), Some("1,234"));
        assert_eq!(Signs::Either(Some('.')).english("1,234").as_deref(), Some("1,234"));
        assert_eq!(Signs::English.english("1,5").as_deref(), Some("1,5"));
    }

    #[test]
    fn ambiguous_numbers_follow_the_column_or_the_language() {
        for (language, signs) in [
            (None, Signs::English),
            (Some("en-GB"), Signs::English),
            (Some("zh-CN"), Signs::English),
            (Some("de"), Signs::Either(Some(','))),
            (Some("pt-BR"), Signs::Either(Some(','))),
            (Some("de-CH"), Signs::Either(Some('.'))),
            (Some("es-419"), Signs::Either(Some('.'))),
        ] {
            assert_eq!(Signs::of(language, false), signs, "{language:?}");
        }
        assert_eq!(Signs::of(None, true), Signs::Either(None));
        let german = Signs::of(Some("de"), true);
        assert_eq!(german.among(["1.234", "0.5"].into_iter()), Signs::Either(Some('.')));
        assert_eq!(german.among(["1.5", "0,5"].into_iter()), german, "the column is ambiguous");
    }
}
