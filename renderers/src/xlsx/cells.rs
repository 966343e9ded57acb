//! Types the text of a cell: number, amount of money, percentage, date, boolean or text.
//!
//! Only unambiguous text becomes a value. Text that looks like an identifier stays text: leading
//! zeros, more integer digits than a spreadsheet keeps, telephone numbers, ambiguous dates and
//! commas.

use chrono::{NaiveDate, NaiveDateTime};

use super::signs::Signs;

/// The maximum length of a cell, which is Excel's limit.
pub const CELL_CHARS: usize = 32_767;
/// Spreadsheets keep fifteen digits, so a longer integer would change. Decimals are rounded.
const DIGITS: usize = 15;
/// The maximum number of decimals shown; a number with more is shown in the general format.
const DECIMALS: usize = 10;
const MINUS: [char; 2] = ['-', '−'];
/// A number with a plus and this many digits is probably a telephone number.
const TELEPHONE_DIGITS: usize = 7;

#[derive(Debug, Clone, PartialEq)]
pub enum Typed {
    Text,
    Bool(bool),
    /// A value and its number format.
    Number {
        value: f64,
        format: String,
    },
    /// Excel's serial date: days since 30 December 1899.
    Moment {
        serial: f64,
        format: &'static str,
    },
}

pub fn read(text: &str, signs: Signs) -> Typed {
    let text = text.trim();
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return Typed::Bool(text.eq_ignore_ascii_case("true"));
    }
    number(text, signs).or_else(|| moment(text)).unwrap_or(Typed::Text)
}

/// Whether a string of the source would be read as a number or boolean. Amounts of money,
/// percentages and dates have no other representation in the source.
pub fn is_bare(text: &str) -> bool {
    match read(text, Signs::English) {
        Typed::Bool(_) => true,
        Typed::Number { format, .. } => !format.contains(['"', '%']),
        Typed::Text | Typed::Moment { .. } => false,
    }
}

/// The number notation of a column, derived from its cells.
pub fn signs<'t>(usual: Signs, texts: impl Iterator<Item = &'t str>) -> Signs {
    let numbers = texts.map(str::trim).filter(|text| number(text, Signs::Either(None)).is_some());
    usual.among(numbers.map(|number| FormattedNumber::of(number).bare))
}

/// The beginning of a text that fits a cell.
pub fn fitting(text: &str) -> &str {
    within(text, CELL_CHARS)
}

/// The beginning of a text that has at most this many UTF-16 units.
pub fn within(text: &str, max_units: usize) -> &str {
    let mut units = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > max_units
    });
    beyond.map_or(text, |(at, _)| &text[..at])
}

/// A number with its affixes.
pub struct FormattedNumber<'t> {
    pub bare: &'t str,
    in_brackets: bool,
    sign: Option<NumberSign>,
    currency: Option<Currency>,
    is_percent: bool,
}

impl<'t> FormattedNumber<'t> {
    /// Takes off the affixes of `(500 €)` and `(500) €`, `-£5` and `£-5`, `1,000-` and `5.00- €`.
    pub fn of(text: &'t str) -> Self {
        let (text, outer) = in_brackets(text);
        let (text, first) = sign(text);
        let (text, currency) = currency(text);
        let (text, inner) = if outer { (text, false) } else { in_brackets(text) };
        let (text, second) = if first.is_some() { (text, None) } else { sign(text) };
        let (bare, is_percent) = match text.strip_suffix('%') {
            Some(rest) => (rest.trim_end(), true),
            None => (text, false),
        };
        Self { bare, in_brackets: outer || inner, sign: first.or(second), currency, is_percent }
    }

    /// Whether it is an amount of money or a percentage.
    pub fn is_marked(&self) -> bool {
        self.currency.is_some() || self.is_percent
    }
}

fn number(text: &str, signs: Signs) -> Option<Typed> {
    let FormattedNumber { bare, in_brackets, sign, currency, is_percent } =
        FormattedNumber::of(text);
    let text = signs.english(bare)?;
    let shape = shape(&text)?;
    let is_marked = currency.is_some() || is_percent;
    let has_plus = sign == Some(NumberSign::Plus);
    let is_telephone = has_plus && shape.digits >= TELEPHONE_DIGITS && !shape.is_grouped;
    let odd_brackets = in_brackets && (sign.is_some() || !is_marked && !shape.is_grouped);
    if odd_brackets || (shape.is_scientific && is_marked) || (currency.is_some() && is_percent) {
        return None;
    }
    if is_telephone && !is_marked && shape.decimals == 0 {
        return None;
    }
    // `5-` is rather a grade or the start of a range.
    let is_amount = shape.is_grouped || shape.decimals > 0 || currency.is_some();
    if sign == Some(NumberSign::MinusBehind) && !is_amount {
        return None;
    }
    let mut value: f64 = text.replace(',', "").parse().ok().filter(|v: &f64| v.is_finite())?;
    if is_percent {
        value /= 100.0;
    }
    if in_brackets || (sign.is_some() && !has_plus) {
        value = -value;
    }
    let format = format(&shape, currency, is_percent, in_brackets, has_plus);
    Some(Typed::Number { value, format })
}

fn in_brackets(text: &str) -> (&str, bool) {
    match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(inside) => (inside, true),
        None => (text, false),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NumberSign {
    Plus,
    Minus,
    MinusBehind,
}

fn sign(text: &str) -> (&str, Option<NumberSign>) {
    if let Some(number) = text.strip_prefix('+') {
        return (number, Some(NumberSign::Plus));
    }
    if let Some(number) = text.strip_prefix(MINUS) {
        return (number, Some(NumberSign::Minus));
    }
    match text.strip_suffix(MINUS) {
        Some(number) => (number, Some(NumberSign::MinusBehind)),
        None => (text, None),
    }
}

/// The currency sign, before or after the number.
#[derive(Clone, Copy)]
enum Currency {
    Before(&'static str),
    Behind(&'static str),
}

/// Signs and codes of currencies; the longer of two that begin alike comes first.
const CURRENCIES: [&str; 35] = [
    "US$", "R$", "$", "€", "£", "¥", "₹", "₩", "₽", "₺", "₫", "zł", "kr", "Kč", "Ft", "EUR", "USD",
    "GBP", "CHF", "JPY", "CNY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "INR", "AUD", "CAD",
    "BRL", "TRY", "KRW", "MXN", "ZAR",
];

fn currency(text: &str) -> (&str, Option<Currency>) {
    let before = CURRENCIES.iter().find_map(|sign| Some((*sign, text.strip_prefix(sign)?)));
    if let Some((sign, number)) = before {
        return (number.trim_start(), Some(Currency::Before(sign)));
    }
    match CURRENCIES.iter().find_map(|sign| Some((*sign, text.strip_suffix(sign)?))) {
        Some((sign, number)) => (number.trim_end(), Some(Currency::Behind(sign))),
        None => (text, None),
    }
}

/// Codes of currencies, and the signs for the same currency. `¥` is that of two.
const CODES: [[&str; 2]; 11] = [
    ["US$", "$"],
    ["USD", "$"],
    ["EUR", "€"],
    ["GBP", "£"],
    ["INR", "₹"],
    ["KRW", "₩"],
    ["TRY", "₺"],
    ["PLN", "zł"],
    ["CZK", "Kč"],
    ["HUF", "Ft"],
    ["BRL", "R$"],
];

/// The currency of a number format that was made here: its sign if it has one.
pub fn currency_of(format: &str) -> Option<&'static str> {
    let written = format.split('"').nth(1)?.trim();
    let known = CURRENCIES.iter().find(|known| **known == written)?;
    let sign = CODES.iter().find(|[code, _]| code == known).map(|[_, sign]| *sign);
    Some(sign.unwrap_or(known))
}

struct NumberShape {
    digits: usize,
    decimals: usize,
    is_grouped: bool,
    is_scientific: bool,
}

/// `1`, `1.5`, `1,234.5`, `1.5e-9`; anything else is not a number.
fn shape(text: &str) -> Option<NumberShape> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, decimals) = match mantissa.split_once('.') {
        Some((_, "")) => return None,
        Some((whole, decimals)) => (whole, decimals),
        None => (mantissa, ""),
    };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let is_grouped = whole.contains(',');
    let fits = all_digits(first)
        && (!is_grouped || first.len() <= 3)
        && groups.all(|group| group.len() == 3 && all_digits(group))
        && (decimals.is_empty() || all_digits(decimals));
    let leading_zero = first.len() > 1 && first.starts_with('0') || (is_grouped && first == "0");
    let digits = whole.bytes().filter(u8::is_ascii_digit).count();
    if !fits || leading_zero || digits > DIGITS {
        return None;
    }
    if let Some(exponent) = exponent {
        // "12E4" may be a part number; with a decimal point or a sign it is certainly a number.
        let bare = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let certain = bare.len() < exponent.len() || !decimals.is_empty();
        if is_grouped || !all_digits(bare) || bare.len() > 3 || !certain {
            return None;
        }
    }
    Some(NumberShape {
        digits,
        decimals: decimals.len(),
        is_grouped,
        is_scientific: exponent.is_some(),
    })
}

fn format(
    shape: &NumberShape,
    currency: Option<Currency>,
    is_percent: bool,
    in_brackets: bool,
    has_plus: bool,
) -> String {
    let is_formatted = shape.is_grouped || shape.is_scientific || currency.is_some();
    if shape.decimals > DECIMALS && !(is_formatted || is_percent || in_brackets || has_plus) {
        return "General".to_owned();
    }
    let mut format = if shape.is_grouped || currency.is_some() { "#,##0" } else { "0" }.to_owned();
    if shape.decimals > 0 {
        format.push('.');
        format.push_str(&"0".repeat(shape.decimals.min(DECIMALS)));
    }
    if shape.is_scientific {
        format.push_str("E+00");
    }
    if is_percent {
        format.push('%');
    }
    match currency {
        Some(Currency::Before(sign)) if sign.ends_with(char::is_alphabetic) => {
            format = format!("\"{sign} \"{format}");
        }
        Some(Currency::Before(sign)) => format = format!("\"{sign}\"{format}"),
        Some(Currency::Behind(sign)) => format = format!("{format}\" {sign}\""),
        None => {}
    }
    if in_brackets {
        format = format!("{format};({format})");
    } else if has_plus {
        format = format!("+{format};-{format};{format}");
    }
    format
}

/// Only the unambiguous year-first order.
fn moment(text: &str) -> Option<Typed> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.is_ascii() {
        return None;
    }
    let (day, time) = match text.split_once([' ', 'T']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let date = ["%Y-%m-%d", "%Y/%m/%d"]
        .iter()
        .find_map(|form| NaiveDate::parse_from_str(day, form).ok())
        .filter(|_| day.find(['-', '/']) == Some(4))?;
    let Some(time) = time else {
        return serial(date.and_hms_opt(0, 0, 0)?, "yyyy\\-mm\\-dd");
    };
    let (form, shown) = match time.matches(':').count() {
        1 => ("%H:%M", "yyyy\\-mm\\-dd\\ hh:mm"),
        _ => ("%H:%M:%S", "yyyy\\-mm\\-dd\\ hh:mm:ss"),
    };
    let time = chrono::NaiveTime::parse_from_str(time, form).ok()?;
    serial(date.and_time(time), shown)
}

/// Excel treats 1900 as a leap year, so earlier dates stay text.
pub fn serial(moment: NaiveDateTime, format: &'static str) -> Option<Typed> {
    let epoch = NaiveDate::from_ymd_opt(1899, 12, 30)?.and_hms_opt(0, 0, 0)?;
    let seconds = (moment - epoch).num_seconds() as f64;
    let serial = seconds / 86_400.0;
    (61.0..2_958_466.0).contains(&serial).then_some(Typed::Moment { serial, format })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(text: &str) -> (f64, String) {
        match read(text, Signs::English) {
            Typed::Number { value, format } => (value, format),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers_keep_their_value_and_their_look() {
        for (text, value, format) in [
            ("1", 1.0, "0"),
            ("-7", -7.0, "0"),
            ("−7", -7.0, "0"),
            ("22.50", 22.5, "0.00"),
            ("1,234,567", 1_234_567.0, "#,##0"),
            ("1e-9", 1e-9, "0E+00"),
            ("12.5%", 0.125, "0.0%"),
            ("-3%", -0.03, "0%"),
            ("+51%", 0.51, "+0%;-0%;0%"),
            ("$1,234.50", 1234.5, "\"$\"#,##0.00"),
            ("($99.00)", -99.0, "\"$\"#,##0.00;(\"$\"#,##0.00)"),
            ("¥88.00", 88.0, "\"¥\"#,##0.00"),
            ("-£5", -5.0, "\"£\"#,##0"),
            ("1,234.50 €", 1234.5, "#,##0.00\" €\""),
            ("(500) €", -500.0, "#,##0\" €\";(#,##0\" €\")"),
            ("(500 €)", -500.0, "#,##0\" €\";(#,##0\" €\")"),
            ("(12.5%)", -0.125, "0.0%;(0.0%)"),
            ("$(500)", -500.0, "\"$\"#,##0;(\"$\"#,##0)"),
            ("£-5", -5.0, "\"£\"#,##0"),
            ("USD -5", -5.0, "\"USD \"#,##0"),
            ("€ −5", -5.0, "\"€\"#,##0"),
            ("1,000-", -1000.0, "#,##0"),
            ("5.00- €", -5.0, "#,##0.00\" €\""),
            ("5 €-", -5.0, "#,##0\" €\""),
            ("+5", 5.0, "+0;-0;0"),
            ("0.0", 0.0, "0.0"),
            ("0.30000000000000004", 0.300_000_000_000_000_04, "General"),
            ("33.333333333333336%", 0.333_333_333_333_333_36, "0.0000000000%"),
            ("1.2345678901234567e-5", 1.234_567_890_123_456_7e-5, "0.0000000000E+00"),
        ] {
            assert_eq!(number_of(text), (value, format.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_comma_parts_decimals_where_it_is_usual() {
        let usual = Signs::Either(Some(','));
        for (text, value, format) in [
            ("1.234", 1234.0, "#,##0"),
            ("4,125", 4.125, "0.000"),
            ("-1.234,50 €", -1234.5, "#,##0.00\" €\""),
            ("12,5 %", 0.125, "0.0%"),
        ] {
            let format = format.to_owned();
            assert_eq!(read(text, usual), Typed::Number { value, format }, "{text}");
        }
        for text in ["31.03.2026", "1.2.3", "01.234", "12.34.567", "1.234,"] {
            assert_eq!(read(text, usual), Typed::Text, "{text}");
        }
        let column = ["€1.234", "5,5 %", "a,b"];
        assert_eq!(signs(Signs::Either(None), column.into_iter()), usual);
    }

    #[test]
    fn numbers_that_may_be_identifiers_stay_text() {
        for text in [
            "00123",
            "+86 138 0000 0000",
            "+8613800000000",
            "1234567890123456789",
            "3-4",
            "€5,00",
            "12E4",
            "1.2.3",
            "1,23",
            "12,34,567",
            "",
            "-",
            "+1+cmd",
            "-2+3",
            "(5)",
            "5-",
            "-1,000-",
            "-($5)",
            "$(-5)",
            "($(5))",
            "$5%",
            "1.",
            ".5",
            "0,123",
            "2026-13-01",
            "1899-01-01",
            "26-03-31",
            "03/04/2026",
            "NaN",
            "inf",
            "1e999",
            "2026-03-31 25:00",
            "①",
        ] {
            assert_eq!(read(text, Signs::English), Typed::Text, "{text}");
        }
    }

    #[test]
    fn dates_and_truth_are_typed() {
        let read = |text: &str| read(text, Signs::English);
        assert_eq!(read("2026-03-31"), Typed::Moment { serial: 46112.0, format: "yyyy\\-mm\\-dd" });
        assert_eq!(read("2026/4/1"), Typed::Moment { serial: 46113.0, format: "yyyy\\-mm\\-dd" });
        let Typed::Moment { serial, .. } = read("1999-12-31T12:00:00") else { panic!() };
        assert!((serial - 36525.5).abs() < 1e-9);
        assert_eq!((read("TRUE"), read("false")), (Typed::Bool(true), Typed::Bool(false)));
    }
}
