//! The parts of a number format.

use std::iter::Peekable;
use std::str::Chars;

/// The maximum number of digits of an exponent.
const EXPONENT_DIGITS: usize = 5;

#[derive(Debug, PartialEq)]
pub enum FormatPart {
    Literal(String),
    /// `0`, `#` or `?`
    Digit(char),
    Point,
    Comma,
    Percent,
    /// The line of a fraction, and its denominator if the format has one.
    Over(Option<u32>),
    /// The number of digits of the exponent, and whether a positive one has a sign.
    Exponent {
        digits: usize,
        has_plus: bool,
    },
    /// A run of `y`, `m`, `d`, `h` or `s`, `[h]`, `AM/PM` or `A/P`.
    Date(String),
    /// The number without a format.
    General,
    /// The place of a text.
    Text,
    /// Brackets with a condition, a colour or the like.
    Bracket(String),
    /// The end of a section.
    End,
}

/// The parts of a format, one after the other.
pub struct FormatTokens<'f> {
    chars: Peekable<Chars<'f>>,
}

impl<'f> FormatTokens<'f> {
    pub fn of(format: &'f str) -> Self {
        Self { chars: format.chars().peekable() }
    }

    /// Takes a word in any case.
    fn take_word(&mut self, word: &str) -> bool {
        let length = word.chars().count();
        let ahead: String = self.chars.clone().take(length).collect();
        let is_word = ahead.eq_ignore_ascii_case(word);
        if is_word {
            self.chars.by_ref().take(length).for_each(drop);
        }
        is_word
    }

    fn until(&mut self, end: char) -> String {
        self.chars.by_ref().take_while(|c| *c != end).collect()
    }

    fn exponent(&mut self) -> FormatPart {
        let has_plus = self.chars.next() == Some('+');
        let mut digits = 0;
        while self.chars.next_if(|c| matches!(c, '0' | '#' | '?')).is_some() {
            digits += 1;
        }
        FormatPart::Exponent { digits: digits.min(EXPONENT_DIGITS), has_plus }
    }

    fn over(&mut self) -> FormatPart {
        let mut denominator = String::new();
        while let Some(digit) =
            self.chars.next_if(|c| c.is_ascii_digit() && (*c != '0' || !denominator.is_empty()))
        {
            denominator.push(digit);
        }
        FormatPart::Over(denominator.parse().ok())
    }

    fn bracket(&mut self) -> FormatPart {
        let inside = self.until(']');
        let is_time = !inside.is_empty()
            && inside.chars().all(|c| matches!(c.to_ascii_lowercase(), 'h' | 'm' | 's'));
        if let Some(currency) = inside.strip_prefix('$') {
            return FormatPart::Literal(currency.split('-').next().unwrap_or_default().to_owned());
        }
        if is_time {
            return FormatPart::Date(format!("[{}]", inside.to_ascii_lowercase()));
        }
        FormatPart::Bracket(inside)
    }
}

impl Iterator for FormatTokens<'_> {
    type Item = FormatPart;

    fn next(&mut self) -> Option<FormatPart> {
        let c = self.chars.next()?;
        let lower = c.to_ascii_lowercase();
        Some(match c {
            ';' => FormatPart::End,
            '"' => FormatPart::Literal(self.until('"')),
            '\\' => FormatPart::Literal(self.chars.next().into_iter().collect()),
            '_' => {
                self.chars.next();
                FormatPart::Literal(" ".to_owned())
            }
            // Repeats the next character over the width of the cell.
            '*' => {
                self.chars.next();
                FormatPart::Literal(String::new())
            }
            '0' | '#' | '?' => FormatPart::Digit(c),
            '.' => FormatPart::Point,
            ',' => FormatPart::Comma,
            '%' => FormatPart::Percent,
            '/' => self.over(),
            '@' => FormatPart::Text,
            '[' => self.bracket(),
            'E' | 'e' if matches!(self.chars.peek(), Some('+' | '-')) => self.exponent(),
            'G' | 'g' if self.take_word("eneral") => FormatPart::General,
            'A' | 'a' if self.take_word("m/pm") => FormatPart::Date("am/pm".to_owned()),
            'A' | 'a' if self.take_word("/p") => FormatPart::Date("a/p".to_owned()),
            _ if matches!(lower, 'y' | 'm' | 'd' | 'h' | 's') => {
                let mut run = lower.to_string();
                while self.chars.next_if(|next| next.to_ascii_lowercase() == lower).is_some() {
                    run.push(lower);
                }
                FormatPart::Date(run)
            }
            c => FormatPart::Literal(c.to_string()),
        })
    }
}
