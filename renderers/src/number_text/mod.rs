//! Numbers and dates as text, by the number formats of spreadsheets (ECMA-376 part 1, 18.8.31).
//!
//! - `sections`: the choice of the section for a number; `parts`: what a section consists of
//! - `digits`, `fraction`, `moment`: numbers, fractions and dates

mod digits;
mod fraction;
mod moment;
mod parts;
mod sections;

pub use moment::date_time;

use parts::FormatPart;
use sections::{ChosenSection, NumberFormat};

/// The number of characters of a number without a format, as in a cell with enough room.
const GENERAL_CHARS: i32 = 11;
/// The number of decimals of its mantissa, if it has an exponent.
const MANTISSA_DECIMALS: usize = 5;

/// Longer texts are shown as they are.
const TEXT_BYTES: usize = 4 * 32_767;
/// The length of a format, which each cell reads. Longer ones than Excel's have no effect.
const FORMAT_BYTES: usize = 1_024;

/// The separators of decimals and thousands.
#[derive(Debug, Clone, Copy)]
pub struct Separators {
    pub decimals: char,
    pub thousands: char,
}

impl Separators {
    const ENGLISH: Self = Self { decimals: '.', thousands: ',' };
}

/// The number as a cell of this format shows it, without the spaces that align it.
pub fn shown(value: f64, format: &str) -> String {
    text(value, format).trim().to_owned()
}

/// The number in this format, with the spaces that align it.
pub fn text(value: f64, format: &str) -> String {
    text_with(value, format, Separators::ENGLISH)
}

/// The number in this format with these separators.
pub fn text_with(value: f64, format: &str, separators: Separators) -> String {
    let general = |value: f64| general(value).replace('.', &separators.decimals.to_string());
    if format.trim().is_empty() || format.len() > FORMAT_BYTES {
        return general(value);
    }
    let format = NumberFormat::read(format);
    let Some(ChosenSection { parts, is_unsigned }) = format.choose(value) else {
        return general(value);
    };
    let value = if is_unsigned { value.abs() } else { value };
    let has = |is: fn(&FormatPart) -> bool| parts.iter().any(is);
    if has(|part| matches!(part, FormatPart::Date(_))) {
        return moment::moment(value, parts).unwrap_or_else(|| general(value));
    }
    if has(|part| matches!(part, FormatPart::General | FormatPart::Text)) {
        return around(&general(value.abs()), value, parts);
    }
    if !has(|part| matches!(part, FormatPart::Digit(_))) {
        return around("", 0.0, parts);
    }
    fraction::fraction(value, parts).unwrap_or_else(|| digits::number(value, parts, separators))
}

/// A text as a cell of this format shows it.
pub fn shown_text(text: &str, format: &str) -> String {
    // A format may repeat the text.
    if text.len() > TEXT_BYTES || format.len() > FORMAT_BYTES {
        return text.to_owned();
    }
    NumberFormat::read(format).text(text)
}

/// What a format shows of a date or time.
pub struct DateFormat {
    pub has_day: bool,
    pub has_time: bool,
    /// Whether the time has elapsed, as in `[h]:mm`, and may be longer than a day.
    pub is_elapsed: bool,
}

/// What a format shows of a date or time, if it is one for them.
pub fn date_format(format: &str) -> Option<DateFormat> {
    if format.len() > FORMAT_BYTES {
        return None;
    }
    let format = NumberFormat::read(format);
    let parts = &format.numbers.first()?.parts;
    let has = |signs: &[char]| {
        let is =
            |part: &FormatPart| matches!(part, FormatPart::Date(run) if run.starts_with(signs));
        parts.iter().any(is)
    };
    parts.iter().any(|part| matches!(part, FormatPart::Date(_))).then(|| DateFormat {
        has_day: has(&['y', 'd']),
        has_time: has(&['h', 's', '[']),
        is_elapsed: parts.iter().any(moment::is_elapsed),
    })
}

/// Whether a format shows dates or times.
pub fn is_date(format: &str) -> bool {
    date_format(format).is_some()
}

/// The literals of a section around a number without a format.
fn around(number: &str, value: f64, parts: &[FormatPart]) -> String {
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for part in parts {
        match part {
            FormatPart::General | FormatPart::Text => text.push_str(number),
            other => digits::push_literal(&mut text, other),
        }
    }
    text
}

/// A number without a format, as a cell with enough room shows it: decimals up to eleven
/// characters, but whole numbers with all of their digits, of which Excel rounds those after the
/// eleventh.
pub fn general(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let exponent = size.log10().floor() as i32;
    let trimmed = |text: String| {
        if !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if size < 1e15 && exponent >= -4 {
        let decimals = (GENERAL_CHARS - 2 - exponent.max(0)).max(0) as usize;
        return trimmed(format!("{value:.decimals$}"));
    }
    let short = trimmed(format!("{size:.12}"));
    if size < 1.0 && exponent >= -9 && short.len() <= GENERAL_CHARS as usize {
        return trimmed(format!("{value:.12}"));
    }
    let scientific = format!("{value:.MANTISSA_DECIMALS$E}");
    let (mantissa, exponent) = scientific.split_once('E').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}E{sign}{:02}", trimmed(mantissa.to_owned()), exponent.abs())
}

/// A number with the fifteen digits that spreadsheet programs keep, so that 0.1 + 0.2 is 0.3, as
/// JSON writes it.
pub fn exact(value: f64) -> String {
    let rounded: f64 = format!("{value:.14E}").parse().unwrap_or(value);
    let text = serde_json::json!(rounded).to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_a_spreadsheet() {
        for (value, format, text) in [
            (0.1, "0%", "10%"),
            (0.5, "0.000000000000000000", "0.500000000000000"),
            (0.125, "0.0%", "12.5%"),
            (1234.5, "#,##0.00\" €\"", "1,234.50 €"),
            (-1234.5, "#,##0.00", "-1,234.50"),
            (-99.0, "\"$\"#,##0.00;(\"$\"#,##0.00)", "($99.00)"),
            (1234.5, "#,##0.00 [$€-407]", "1,234.50 €"),
            (1234.5, "[$$-409]#,##0.00", "$1,234.50"),
            (5.0, "+0;-0;0", "+5"),
            (0.0, "+0;-0;0", "0"),
            (1_234_567.0, "#,##0,", "1,235"),
            (1e-9, "0E+00", "1E-09"),
            (12345.0, "0.00E+00", "1.23E+04"),
            (2.675, "0.00", "2.68"),
            (7.0, "000", "007"),
            (0.5, "#.##", ".5"),
            (3.0, "General", "3"),
            (0.1 + 0.2, "General", "0.3"),
            (1234.0, "_-* #,##0_-", "1,234"),
            (12.0, "0\" pcs\"", "12 pcs"),
            (-0.001, "0.00", "0.00"),
        ] {
            assert_eq!(shown(value, format), text, "{value} {format}");
        }
    }

    #[test]
    fn only_the_separators_of_the_number_depend_on_the_language() {
        let german = Separators { decimals: ',', thousands: '.' };
        for (value, format, text) in [
            (1234.5, "#,##0.00\" €\"", "1.234,50 €"),
            (0.5, "\"No. \"#.0", "No. ,5"),
            (12.0, "0\" pcs.\"", "12 pcs."),
            (12_345_678_901.0, "000\".\"000\".\"000\"-\"00", "123.456.789-01"),
            (1234.5, "[$S/.-280A]#,##0.00", "S/.1.234,50"),
            (7.0, "0,000", "0.007"),
            (1.5, "General\" v. 2.0\"", "1,5 v. 2.0"),
            (1.5, "", "1,5"),
        ] {
            assert_eq!(text_with(value, format, german), text, "{value} {format}");
        }
    }

    #[test]
    fn numbers_have_fifteen_digits() {
        for (value, text) in [
            (0.1 + 0.2, "0.3"),
            (0.1 * 3.0 * 10.0, "3"),
            (-1234.56, "-1234.56"),
            (1_234_567_890.123, "1234567890.123"),
            (4_006_381_333_931.0, "4006381333931"),
            (1e20, "1e+20"),
            (0.0, "0"),
        ] {
            assert_eq!(exact(value), text);
        }
    }

    /// The texts are those of LibreOffice.
    #[test]
    fn a_section_is_chosen_by_its_condition() {
        for (value, format, text) in [
            (75.0, "[>=60]\"pass\";\"fail\"", "pass"),
            (40.0, "[>=60]\"pass\";\"fail\"", "fail"),
            (40.0, "[>=60]\"pass\"", "40"),
            (-5.0, "[>=60]\"pass\";\"fail\";\"x\"", "fail"),
            (40.0, "[>=60]\"pass\";\"fail\";\"x\"", "x"),
            (1.0, "[=1]\"one\";[=0]\"no\";0", "one"),
            (0.0, "[=1]\"one\";[=0]\"no\";0", "no"),
            (3.0, "[=1]\"one\";[=0]\"no\";0", "3"),
            (7.0, "[=1]0\" item\";[=0]\"no items\";0\" items\"", "7 items"),
            (500.0, "[>=1000]0.0,\"k\";0", "500"),
            (1_500.0, "[>=1000]0.0,\"k\";0", "1.5k"),
            (1_234_567.0, "[>=1000000]0.0,,\"M\";[>=1000]0.0,\"k\";0", "1.2M"),
            (-3.0, "[<0](0);0", "(3)"),
            (-3.0, "[<=0]\"neg\"0;0", "neg3"),
            (-3.0, "[>5]0;0;\"c\"0", "3"),
            (-3.0, "0;;0", ""),
            (0.0, "0;;0", "0"),
            (-3.0, "0;", ""),
            (12.0, ";;;", ""),
            (0.0, "0 \"x\";;\"null\"", "null"),
            (-3.0, "General;(General)", "(3)"),
            (-3.0, "\"a\"General\"b\"", "-a3b"),
            (-5.0, "\"Mr. \"@", "-5"),
            (-5.0, "0;\"t\"@", "-5"),
            (5.0, "", "5"),
        ] {
            assert_eq!(shown(value, format), text, "{value} {format}");
        }
        for (text, format, shown) in [
            ("Smith", "\"Mr. \"@", "Mr. Smith"),
            ("Smith", "0;0;0;\"t \"@", "t Smith"),
            ("Smith", "0;0;0;", ""),
            ("Smith", "0;-0;0", "Smith"),
            ("Smith", "@@", "SmithSmith"),
        ] {
            assert_eq!(shown_text(text, format), shown, "{text} {format}");
        }
    }

    #[test]
    fn a_format_longer_than_those_of_excel_has_no_effect() {
        let format = |length: usize| format!("0\"{}\"", "x".repeat(length - 3));
        let (long, longer) = (format(FORMAT_BYTES), format(FORMAT_BYTES + 1));
        assert!(shown(5.0, &long).starts_with("5xx"));
        assert_eq!(shown(5.0, &longer), "5");
        assert_eq!(shown_text("a", &longer.replace('0', "@")), "a");
    }

    /// The texts are those of LibreOffice.
    #[test]
    fn literals_between_digits_keep_their_place() {
        for (value, format, text) in [
            (5_551_234_567.0, "(000) 000-0000", "(555) 123-4567"),
            (5.0, "(000) 000-0000", "(000) 000-0005"),
            (123_456_789.0, "000-00-0000", "123-45-6789"),
            (5_551_234_567.0, "000-00-0000", "5551-23-4567"),
            (20_260_305.0, "0000\"-\"00\"-\"00", "2026-03-05"),
            (5_551_234.0, "[<=9999999]###-####;(###) ###-####", "555-1234"),
            (5_551_234_567.0, "[<=9999999]###-####;(###) ###-####", "(555) 123-4567"),
            (5.0, "0-0.0-0", "0-5.0-0"),
            (1234.0, "#\\ ##0.00", "1 234.00"),
            (5.0, "#\\ ##0.00", "5.00"),
            (1_234_567.0, "#,##0.0,", "1,234.6"),
            (7.0, "0,000", "0,007"),
            (12.0, "0.0?", "12.0"),
            (1.5, "0.#0", "1.50"),
            (12_345.0, "##0.0E+0", "12.3E+3"),
            (0.000_12, "##0.0E+0", "120.0E-6"),
            (999_999.0, "0.00E+00", "1.00E+06"),
            (9.996, "0.00E+00", "1.00E+01"),
            (12_345.0, "0.0E-0", "1.2E4"),
            (12.0, "0 %", "1200 %"),
            (12.0, "%0", "%1200"),
            (12.0, "$ #,##0", "$ 12"),
        ] {
            assert_eq!(shown(value, format), text, "{value} {format}");
        }
        for (value, format, shown) in [
            (12.0, "??0", " 12"),
            (1.5, "0.???", "1.5  "),
            (12.0, "0_)", "12 "),
            (5.0, "#\\ ##0.00", " 5.00"),
        ] {
            assert_eq!(text(value, format), shown, "{value} {format}");
        }
    }

    /// The texts are those of LibreOffice.
    #[test]
    fn numbers_may_be_fractions() {
        for (value, format, shown) in [
            (0.5, "?/?", "1/2"),
            (2.5, "?/?", "5/2"),
            (0.5, "# ?/?", " 1/2"),
            (2.5, "# ?/?", "2 1/2"),
            (-2.5, "# ?/?", "-2 1/2"),
            (3.0, "# ?/?", "3    "),
            (0.0, "# ?/?", "0    "),
            (0.99, "# ?/?", "1    "),
            (2.125, "# ??/??", "2  1/8 "),
            (std::f64::consts::PI, "# ??/??", "3 14/99"),
            (std::f64::consts::PI, "# ???/???", "3  16/113"),
            (-0.001, "# ???/???", "-   1/999"),
            (12.7, "# ??/??", "12  7/10"),
            (0.5, "0 ?/2", "0 1/2"),
            (0.5, "# ?/10", " 5/10"),
            (3.0, "# 0/0", "3 0/1"),
            (1.25, "#,##0 ?/?", "1 1/4"),
        ] {
            assert_eq!(text(value, format), shown, "{value} {format}");
        }
        assert_eq!(shown(0.5, "# ?/?"), "1/2");
    }

    /// The texts are those of Excel, except for the twelfth and further digits of whole numbers.
    #[test]
    fn a_number_without_a_format_has_eleven_characters() {
        for (value, text) in [
            (2.0 / 3.0, "0.666666667"),
            (-2.0 / 3.0, "-0.666666667"),
            (100.0 / 3.0, "33.33333333"),
            (123_456_789.123, "123456789.1"),
            (4_006_381_333_931.0, "4006381333931"),
            (1e15, "1E+15"),
            (1e21, "1E+21"),
            (0.000_012, "0.000012"),
            (0.000_012_345_678_9, "1.23457E-05"),
            (1e-10, "1E-10"),
            (9.999_999_999_9, "10"),
            (0.1 + 0.2, "0.3"),
            (-0.0, "0"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn dates_and_times_look_as_in_a_spreadsheet() {
        for (value, format, text) in [
            (46112.0, "yyyy\\-mm\\-dd", "2026-03-31"),
            (46112.0, "dd.mm.yyyy", "31.03.2026"),
            (46112.0, "m/d/yy", "3/31/26"),
            (46112.5, "yyyy-mm-dd hh:mm", "2026-03-31 12:00"),
            (46112.75, "d mmm yyyy h:mm AM/PM", "31 Mar 2026 6:00 PM"),
            (1.5, "[h]:mm:ss", "36:00:00"),
            (0.5, "hh:mm", "12:00"),
            (0.0625, "mm:ss", "30:00"),
            (46_086.000_012, "h:mm:ss.000", "0:00:01.037"),
            (0.75, "hh:mm A/P", "06:00 p"),
            (46_086.0, "[$-409]d\\-mmm\\-yy;@", "5-Mar-26"),
        ] {
            assert_eq!(shown(value, format), text, "{value} {format}");
        }
        let long = format!("yyyy{}", "[Red]".repeat(FORMAT_BYTES / 4));
        assert!(!is_date(&long) && is_date(&long[..FORMAT_BYTES]));
        assert!(is_date("dd.mm.yyyy") && !is_date("#,##0.00\" days\"") && !is_date("[Red]0"));
        assert!(!shown(1e300, "yyyy-mm-dd").is_empty());
    }

    #[test]
    fn elapsed_times_count_all_hours_minutes_or_seconds() {
        const SECOND: f64 = 1.0 / 86_400.0;
        for (value, format, text) in [
            (0.999_999_9, "[h]:mm:ss", "24:00:00"),
            (3_599.6 * SECOND, "[h]:mm", "1:00"),
            (3_599.4 * SECOND, "[h]:mm:ss", "0:59:59"),
            (-900.0 * SECOND, "[h]:mm", "-0:15"),
            (-900.0 * SECOND, "[h]:mm;([h]:mm)", "(0:15)"),
            (-0.01 * SECOND, "[h]:mm", "0:00"),
            (119.7 * SECOND, "[mm]:ss.0", "01:59.7"),
            (119.7 * SECOND, "[mm]:ss", "02:00"),
            (1.5, "[mm]:ss", "2160:00"),
            (1.5, "[s]", "129600"),
            (0.25, "[hh]:mm", "06:00"),
        ] {
            assert_eq!(shown(value, format), text, "{value} {format}");
        }
        let is_elapsed = |format| date_format(format).is_some_and(|format| format.is_elapsed);
        assert!(is_elapsed("[mm]:ss") && is_elapsed("[Red][s]") && !is_elapsed("[Magenta]h:mm"));
    }
}
