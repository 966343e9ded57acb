//! How the cells of one column are written, which is decided from all of them.

use super::cells::{self, FormattedNumber, Typed};
use super::dates::{self, DateRules, TimeForm, UntypedDates};
use super::month_names;
use super::runs::{Runs, formula_source};
use super::signs::Signs;
use crate::{
    document::{Inline, Table},
    number_text::Separators,
};

/// The notation of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notation {
    /// Decimal and thousands separators.
    pub signs: Signs,
    dates: DateRules,
    /// What all cells with digits count, if they are times.
    times: Option<TimeForm>,
    /// Whether spaces separate thousands.
    has_spaces: bool,
    /// The separators, if thousands are separated by spaces or apostrophes.
    spacing: Option<Spacing>,
    /// Whether no number shows how thousands are separated.
    is_open: bool,
    /// Whether there are other cells than formulas.
    has_texts: bool,
}

/// The separators of numbers with spaces or apostrophes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spacing {
    thousands: char,
    /// That of decimals, if a number has any.
    decimals: Option<char>,
}

/// A number with spaces or apostrophes.
struct SpacedNumber {
    typed: Typed,
    spacing: Spacing,
}

/// Languages that separate thousands by spaces.
const SPACES: [&str; 14] =
    ["fr", "ru", "pl", "cs", "sk", "sv", "nb", "nn", "no", "fi", "uk", "bg", "hu", "et"];
/// Separators of thousands other than the ordinary space.
const MARKS: [char; 4] = ['\u{a0}', '\u{202f}', '\'', '’'];

impl From<Signs> for Notation {
    fn from(signs: Signs) -> Self {
        Self {
            signs,
            dates: DateRules::default(),
            times: None,
            has_spaces: false,
            spacing: None,
            is_open: true,
            has_texts: false,
        }
    }
}

impl Spacing {
    /// The separators of a column.
    fn among(numbers: impl Iterator<Item = SpacedNumber>) -> Option<Self> {
        let mut found: Option<Self> = None;
        for SpacedNumber { spacing, .. } in numbers {
            let first = found.get_or_insert(spacing);
            first.decimals = first.decimals.or(spacing.decimals);
        }
        found
    }

    /// Those of a language that separates thousands by spaces.
    fn usual(language: Option<&str>) -> Option<Self> {
        is_spaced_language(language).then_some(Self { thousands: '\u{a0}', decimals: None })
    }
}

impl Notation {
    /// The notation of numbers in a language (BCP 47).
    pub fn of_language(language: Option<&str>) -> Self {
        let spacing = Spacing::usual(language);
        Self { spacing, ..Self::from(Signs::of(language, false)) }
    }

    /// The notation of a column with these cells.
    pub fn of<'t>(
        usual: Signs,
        language: Option<&str>,
        texts: impl Iterator<Item = &'t str> + Clone,
    ) -> Self {
        let texts = texts.map(str::trim).filter(|text| !text.is_empty());
        let signs =
            if usual == Signs::English { usual } else { cells::signs(usual, texts.clone()) };
        let dates = DateRules::of(language, texts.clone());
        let has_digits = |text: &&str| text.contains(|c: char| c.is_ascii_digit());
        let times = TimeForm::of(signs, texts.clone().filter(has_digits));
        let has_spaces = has_spaces(language, texts.clone());
        let numbers = texts.clone().filter(|text| text.contains(is_space_or_mark));
        let spacing = Spacing::among(numbers.filter_map(|text| spaced(text, has_spaces)));
        let thousands = if signs == Signs::Either(Some(',')) { '.' } else { ',' };
        let is_grouped = |text: &str| {
            let is_number = || matches!(cells::read(text, signs), Typed::Number { .. });
            text.contains(thousands) && is_number()
        };
        let is_open = spacing.is_none() && !texts.clone().any(is_grouped);
        let has_texts = texts.clone().next().is_some();
        Self { signs, dates, times, has_spaces, spacing, is_open, has_texts }
    }

    /// A number in English notation with the separators of the column.
    pub fn written(self, english: &str) -> String {
        let Separators { decimals, thousands } = self.separators();
        let written = english.chars().map(|c| match c {
            '.' => decimals,
            ',' => thousands,
            c => c,
        });
        written.collect()
    }

    /// The separators of the column, or those of its language.
    pub fn separators(self) -> Separators {
        let usual = if self.signs == Signs::Either(Some(',')) { ',' } else { '.' };
        let decimals = self.spacing.and_then(|spacing| spacing.decimals).unwrap_or(usual);
        let other = if decimals == ',' { '.' } else { ',' };
        let thousands = self.spacing.map_or(other, |spacing| spacing.thousands);
        Separators { decimals, thousands }
    }

    /// A time whose seconds have decimals, with the separator of the column.
    pub fn written_lap(self, english: &str) -> String {
        let sign = match self.times {
            Some(TimeForm::Laps(sign)) => sign,
            _ if self.signs == Signs::Either(Some(',')) => ',',
            _ => '.',
        };
        english.replace('.', &sign.to_string())
    }

    /// The warning about dates of a column that stay text.
    pub fn report(self, column: &str) -> Option<String> {
        self.dates.untyped.map(|why| match why {
            UntypedDates::Order => format!(
                "The dates in the column “{column}” stay text: it is unclear which number is the \
                 day, the month or the year. Write them as 2026-03-31, or set the language."
            ),
            UntypedDates::Offset => format!(
                "The times in the column “{column}” stay text, because they have an offset from \
                 UTC. Write them in UTC, as 2026-03-31T08:00:00Z, or without an offset."
            ),
        })
    }

    /// The type of a cell.
    pub fn read(self, text: &str) -> Typed {
        let text = text.trim();
        match cells::read(text, self.signs) {
            Typed::Text => {}
            typed => return typed,
        }
        if !text.contains(|c: char| c.is_ascii_digit()) {
            return Typed::Text;
        }
        dates::date(text, self.dates)
            .or_else(|| month_names::date(text))
            .or_else(|| dates::timestamp(text))
            .or_else(|| self.times?.read(text))
            .or_else(|| spaced(text, self.has_spaces).map(|number| number.typed))
            .or_else(|| marked(text))
            .unwrap_or(Typed::Text)
    }
}

/// Whether spaces between digits separate thousands: in the language, or because the numbers have
/// different lengths. Telephone numbers and codes are equally long.
fn has_spaces<'t>(language: Option<&str>, texts: impl Iterator<Item = &'t str> + Clone) -> bool {
    let is_spaced = |text: &str| text.contains(' ');
    if !texts.clone().any(is_spaced) {
        return false;
    }
    let is_number = |text: &str| {
        spaced(text, true).is_some() || cells::read(text, Signs::Either(None)) != Typed::Text
    };
    let is_usual = is_spaced_language(language);
    let mut lengths = texts.clone().map(str::len);
    let first = lengths.next();
    texts.clone().all(is_number) && (is_usual || lengths.any(|length| Some(length) != first))
}

fn is_spaced_language(language: Option<&str>) -> bool {
    let language = language.unwrap_or_default().split(['-', '_']).next().unwrap_or_default();
    SPACES.iter().any(|known| language.eq_ignore_ascii_case(known))
}

fn is_space_or_mark(c: char) -> bool {
    c == ' ' || MARKS.contains(&c)
}

/// A number with spaces or apostrophes between its thousands.
fn spaced(text: &str, has_spaces: bool) -> Option<SpacedNumber> {
    let number = FormattedNumber::of(text);
    let bare = number.bare;
    let mark = bare.chars().find(|c| is_space_or_mark(*c))?;
    let point = bare.rfind(['.', ',']);
    let (whole, decimals) = match point {
        Some(at) => (&bare[..at], Some(&bare[at + 1..])),
        None => (bare, None),
    };
    let groups: Vec<&str> = whole.split(mark).collect();
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=3).contains(&groups[0].len())
        && groups.iter().all(|group| all_digits(group))
        && groups[1..].iter().all(|group| group.len() == 3)
        && decimals.is_none_or(|decimals| !decimals.is_empty() && all_digits(decimals));
    let is_certain = mark != ' ' || has_spaces || decimals.is_some() || number.is_marked();
    if !fits || !is_certain {
        return None;
    }
    let end = decimals.map(|decimals| format!(".{decimals}")).unwrap_or_default();
    let english = text.replace(bare, &format!("{}{end}", groups.join(",")));
    let decimals = point.and_then(|at| bare[at..].chars().next());
    let typed = cells::read(&english, Signs::English);
    let spacing = Spacing { thousands: mark, decimals };
    (typed != Typed::Text).then_some(SpacedNumber { typed, spacing })
}

/// An amount or a percentage whose decimal separator is certain, such as `€5,00`.
fn marked(text: &str) -> Option<Typed> {
    let is_marked = FormattedNumber::of(text).is_marked();
    let typed = cells::read(text, Signs::Either(None));
    (is_marked && typed != Typed::Text).then_some(typed)
}

/// The notation of each column. One that does not show how thousands are separated follows the first
/// one that does, or the language. One of formulas writes decimals of seconds as the first one that
/// has some.
pub fn notations(table: &Table, language: Option<&str>) -> Vec<Notation> {
    let usual = Signs::of(language, table.given.as_ref().is_some_and(|given| given.commas));
    let of_column = |at: usize| {
        let body = table.rows.iter().skip(table.header_rows() - 1);
        // A formula has the notation of its result.
        let is_text = |cell: &&Vec<Inline>| table.given.is_some() || formula_source(cell).is_none();
        let cells = body.filter_map(|row| row.get(at)).filter(is_text);
        let texts: Vec<String> = cells.map(|cell| Runs::read(cell).text()).collect();
        Notation::of(usual, language, texts.iter().map(String::as_str))
    };
    let mut notations: Vec<Notation> = (0..table.header.len()).map(of_column).collect();
    let shown = notations.iter().find(|notation| !notation.is_open);
    let found = shown.map_or_else(|| Spacing::usual(language), |notation| notation.spacing);
    for notation in notations.iter_mut().filter(|notation| notation.is_open) {
        let own = |spacing: Spacing| Spacing { decimals: None, ..spacing };
        notation.spacing = if notation.has_texts { found.map(own) } else { found };
    }
    let is_of_laps = |times: &TimeForm| matches!(times, TimeForm::Laps(_));
    let laps = notations.iter().find_map(|notation| notation.times.filter(is_of_laps));
    for notation in notations.iter_mut().filter(|notation| !notation.has_texts) {
        notation.times = laps;
    }
    notations
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number formats of a column, or the text.
    fn column(language: Option<&str>, texts: &[&str]) -> Vec<String> {
        let notation = Notation::of(Signs::of(language, false), language, texts.iter().copied());
        let shown = |text: &&str| match notation.read(text) {
            Typed::Number { value, format } => format!("{value} {format}"),
            Typed::Moment { serial, format } => format!("{serial:.4} {format}"),
            Typed::Bool(truth) => truth.to_string(),
            Typed::Text => (*text).to_owned(),
        };
        texts.iter().map(shown).collect()
    }

    #[test]
    fn the_order_of_days_is_that_of_the_column() {
        assert_eq!(column(None, &["01.03.2026"]), ["46082.0000 dd\\.mm\\.yyyy"]);
        let days = column(None, &["03/04/2026", "25/03/2026"]);
        assert_eq!(days, ["46115.0000 dd\\/mm\\/yyyy", "46106.0000 dd\\/mm\\/yyyy"]);
        let days = column(None, &["03/04/2026", "03/25/2026"]);
        assert_eq!(days[0], "46085.0000 mm\\/dd\\/yyyy");
        assert_eq!(column(None, &["03/04/2026"]), ["03/04/2026"]);
        assert_eq!(column(None, &["25/03/2026", "03/25/2026"]), ["25/03/2026", "03/25/2026"]);
        assert_eq!(column(Some("de"), &["03/04/2026"]), ["46115.0000 dd\\/mm\\/yyyy"]);
        assert_eq!(
            column(Some("en-US"), &["3/4/2026 14:30"])[0],
            "46085.6042 mm\\/dd\\/yyyy\\ hh:mm"
        );
        assert!(report(&["3/4/2026"]).is_some_and(|why| why.contains("the day, the month")));
        assert_eq!(report(&["1/2", "a"]), None);
    }

    #[test]
    fn times_of_dates_are_shown_as_they_are_written() {
        for (text, shown) in [
            ("25-03-2026 10:30", "46106.4375 dd\\-mm\\-yyyy\\ hh:mm"),
            ("03-25-2026 10:30", "46106.4375 mm\\-dd\\-yyyy\\ hh:mm"),
            ("25-03-2026", "46106.0000 dd\\-mm\\-yyyy"),
            ("25/03/2026 10:30:45", "46106.4380 dd\\/mm\\/yyyy\\ hh:mm:ss"),
            ("03/25/2026 10:30:45", "46106.4380 mm\\/dd\\/yyyy\\ hh:mm:ss"),
            ("25.03.2026, 10:30:45", "46106.4380 dd\\.mm\\.yyyy\\ hh:mm:ss"),
        ] {
            assert_eq!(column(None, &[text]), [shown]);
        }
    }

    /// The warning about a column without a language.
    fn report(texts: &[&str]) -> Option<String> {
        Notation::of(Signs::English, None, texts.iter().copied()).report("x")
    }

    #[test]
    fn years_may_have_two_digits_in_a_column_of_dates() {
        let typed = "46086.0000 dd\\.mm\\.yyyy";
        assert_eq!(column(Some("de"), &["05.03.26", "5.3.26", "–"]), [typed, typed, "–"]);
        assert_eq!(column(None, &["05.03.26", "25.03.26"])[0], typed);
        assert_eq!(column(Some("de"), &["01.02.70"]), ["25600.0000 dd\\.mm\\.yyyy"]);
        assert_eq!(column(None, &["03/25/26"]), ["46106.0000 mm\\/dd\\/yyyy"]);
        assert_eq!(column(None, &["05.03.26"]), ["05.03.26"]);
        assert!(report(&["05.03.26"]).is_some() && report(&["03/04/26"]).is_some());
        assert_eq!(column(Some("de"), &["05.03.26", "week 4"]), ["05.03.26", "week 4"]);
        assert_eq!(report(&["10.11.12", "10.11.2"]), None);
        assert_eq!(column(None, &["5 March 2026"]), ["46086.0000 d\\ mmmm\\ yyyy"]);
    }

    #[test]
    fn times_and_timestamps_are_typed() {
        assert_eq!(column(None, &["09:30", "12:00"])[1], "0.5000 hh:mm");
        assert_eq!(column(None, &["1:30:00", "36:00:00"])[1], "1.5000 [h]:mm:ss");
        assert_eq!(column(None, &["09:30", "a 3:16"]), ["09:30", "a 3:16"]);
        assert_eq!(column(None, &["–", "12:00", "off"]), ["–", "0.5000 hh:mm", "off"]);
        let utc = ["2026-03-31T12:00:00Z", "2026-03-31T12:00:00.125Z", "2026-03-31T12:00+00:00"];
        assert_eq!(column(None, &utc), ["46112.5000 yyyy\\-mm\\-dd\\ hh:mm:ss"; 3]);
        for local in ["2026-03-31T12:00:00+02:00", "2026-03-31 12:00-0530"] {
            assert_eq!(column(None, &[local]), [local]);
            assert!(report(&[local]).is_some_and(|why| why.contains("offset from UTC")), "{local}");
        }
        assert_eq!(report(&utc), None);
    }

    #[test]
    fn decimals_of_seconds_show_that_a_column_has_minutes_and_seconds() {
        assert_eq!(
            column(None, &["1:02", "1:02.5", "–", "72:00.125", "1:01:02.25"]),
            ["0.0007 [m]:ss", "0.0007 [m]:ss.0", "–", "0.0500 [m]:ss.000", "0.0424 [h]:mm:ss.00"]
        );
        assert_eq!(column(None, &["1:02", "0:58"])[0], "0.0431 hh:mm");
        assert_eq!(
            column(Some("de"), &["1:02", "1:02,5", "1:01:02,25"]),
            ["0.0007 [m]:ss", "0.0007 [m]:ss.0", "0.0424 [h]:mm:ss.00"]
        );
        assert_eq!(column(Some("de"), &["1:02.5"]), ["0.0007 [m]:ss.0"]);
        assert_eq!(column(Some("de"), &["1:02.5", "1:02,5"]), ["1:02.5", "1:02,5"]);
        for texts in [
            &["1:02.5", "1:72"][..],
            &["1:02.5", "lap 2"],
            &["1:02,5"],
            &["1:02."],
            &["1:02.1234"],
            &["1:02.5.1"],
            &["59:30"],
        ] {
            assert_eq!(column(None, texts), texts);
        }
    }

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!(
            column(None, &["€5,00", "1.234,50 €"]),
            ["5 \"€\"#,##0.00", "1234.5 #,##0.00\" €\""]
        );
        assert_eq!(column(None, &["12,5 %", "EUR 3.50"]), ["0.125 0.0%", "3.5 \"EUR \"#,##0.00"]);
        assert_eq!(column(None, &["CHF 1'234.50"]), ["1234.5 \"CHF \"#,##0.00"]);
        assert_eq!(column(None, &["1 234 567", "12 345"])[0], "1234567 #,##0");
        assert_eq!(column(Some("fr"), &["12 345,5 €"]), ["12345.5 #,##0.0\" €\""]);
    }

    #[test]
    fn codes_stay_text() {
        for codes in [
            &["612 345 678", "655 123 456"][..],
            &["4111 1111 1111 1111"],
            &["DE89 3704 0044 0532 0130 00"],
            &["1/2", "1.2.3", "10.11.12"],
            &["1,23", "007", "12E4"],
            &["16:9", "4:3"],
            &["32.13.2026", "2026-13-01"],
        ] {
            assert_eq!(column(None, codes), codes);
        }
    }
}
