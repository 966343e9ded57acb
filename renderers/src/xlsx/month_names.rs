//! Dates whose month is a word: `5 March 2026`, `March 5, 2026`, `5. März 2026`, `5-Mar-26`.

use chrono::NaiveDate;

use super::cells::{self, Typed};
use super::dates;

/// The months in English, German, French and Spanish.
const MONTHS: [[&str; 4]; 12] = [
    ["january", "januar", "janvier", "enero"],
    ["february", "februar", "février", "febrero"],
    ["march", "märz", "mars", "marzo"],
    ["april", "april", "avril", "abril"],
    ["may", "mai", "mai", "mayo"],
    ["june", "juni", "juin", "junio"],
    ["july", "juli", "juillet", "julio"],
    ["august", "august", "août", "agosto"],
    ["september", "september", "septembre", "septiembre"],
    ["october", "oktober", "octobre", "octubre"],
    ["november", "november", "novembre", "noviembre"],
    ["december", "dezember", "décembre", "diciembre"],
];

/// The shortest abbreviation of a month, in letters.
const SHORTEST: usize = 3;

pub fn date(text: &str) -> Option<Typed> {
    let has_hyphens = text.matches('-').count() == 2 && !text.contains(' ');
    let mark = if has_hyphens { '-' } else { ' ' };
    let parts = text.split(mark).filter(|part| !part.is_empty() && *part != "de");
    let parts: Vec<&str> = parts.collect();
    let [first, second, last] = parts.as_slice() else { return None };
    let year = match last.len() {
        2 if has_hyphens => dates::full_year(number(last)?),
        4 => number(last)?,
        _ => return None,
    };
    let (month, day, format) = match month(first) {
        Some(month) => (month, day(second.trim_end_matches(','))?, "mmmm\\ d\\,\\ yyyy"),
        None => (month(second)?, day(first)?, "d\\ mmmm\\ yyyy"),
    };
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
    cells::serial(date.and_hms_opt(0, 0, 0)?, format)
}

/// The month of a name, or of an abbreviation that fits only one month.
fn month(name: &str) -> Option<u32> {
    let name = name.trim_end_matches('.').to_lowercase();
    if name.chars().count() < SHORTEST {
        return None;
    }
    let fits = |names: &[&str; 4]| names.iter().any(|known| known.starts_with(&name));
    let mut fitting = (1..).zip(&MONTHS).filter(|(_, names)| fits(names));
    let (number, _) = fitting.next()?;
    fitting.next().is_none().then_some(number)
}

/// `5`, `5.` or `5th`.
fn day(text: &str) -> Option<u32> {
    let ends = [".", "st", "nd", "rd", "th"];
    let bare = ends.iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
    number(bare).filter(|_| bare.len() < 3)
}

fn number(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_may_be_words() {
        for text in [
            "5 March 2026",
            "5th March 2026",
            "March 5, 2026",
            "Mar 5 2026",
            "5. März 2026",
            "5 mars 2026",
            "5 de marzo de 2026",
            "5-Mar-2026",
            "05-MAR-26",
        ] {
            let Some(Typed::Moment { serial, .. }) = date(text) else { panic!("{text}") };
            assert!((serial - 46_086.0).abs() < 1e-9, "{text}: {serial}");
        }
    }

    #[test]
    fn other_words_are_no_months() {
        for text in
            ["5 jui 2026", "5 ma 2026", "31 June 2026", "5 March 26", "5 apples 2026", "A 5"]
        {
            assert_eq!(date(text), None, "{text}");
        }
    }
}
