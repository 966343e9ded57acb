//! The number format of a result, derived from those of the numbers it is computed from.

use super::cells;

/// The maximum number of decimals of a result that has more than its inputs; money has two.
const DECIMALS: usize = 4;
const MONEY_DECIMALS: usize = 2;

/// The formats of the referenced numbers: for each type the one with the most decimals.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    money: Option<String>,
    plain: Option<String>,
    share: Option<String>,
    /// The currencies of the amounts, as they are written.
    currencies: Vec<&'static str>,
    /// The code of the currency that `¥` is in the language of the document.
    yen: Option<&'static str>,
    /// The decimals of numbers written in the formula itself.
    written: usize,
    is_scientific: bool,
    /// Whether some numbers have no format.
    is_general: bool,
}

/// What a sum of numbers with several formats is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    Money,
    /// Numbers without a format.
    General,
    Plain,
    Share,
}

/// The code of the currency that `¥` is in a language.
pub fn yen_of(language: Option<&str>) -> Option<&'static str> {
    match language?.split(['-', '_']).next()?.to_lowercase().as_str() {
        "zh" => Some("CNY"),
        "ja" => Some("JPY"),
        _ => None,
    }
}

impl Counted {
    pub fn with_yen(yen: Option<&'static str>) -> Self {
        Self { yen, ..Self::default() }
    }

    pub fn see(&mut self, format: &str) {
        let kept = match format {
            "General" => return self.is_general = true,
            format if format.contains("E+") => return self.is_scientific = true,
            format if format.contains('%') => &mut self.share,
            format if format.contains('"') => &mut self.money,
            _ => &mut self.plain,
        };
        if let Some(currency) = cells::currency_of(format)
            && !self.currencies.contains(&currency)
        {
            self.currencies.push(currency);
        }
        if kept.as_deref().is_none_or(|kept| decimals(kept) < decimals(format)) {
            *kept = Some(format.to_owned());
        }
    }

    /// A number without a format.
    pub fn see_general(&mut self) {
        self.is_general = true;
    }

    /// A number that is written in the formula itself.
    pub fn see_literal(&mut self, number: f64) {
        self.written = self.written.max(needed(number));
    }

    /// An amount or a percentage that is divided by a plain number remains one. Another quotient has
    /// no format.
    pub fn see_quotient(&mut self, dividend: Self, divisor: &Self) {
        let divisor = divisor.number_type();
        let is_kept = match dividend.number_type() {
            Some(NumberType::Money) => divisor != Some(NumberType::Money),
            Some(NumberType::Share) => {
                !matches!(divisor, Some(NumberType::Money | NumberType::Share))
            }
            _ => false,
        };
        if is_kept {
            self.merge(dividend);
        } else {
            self.see_general();
        }
    }

    /// A power has no format. `None` for one of an amount.
    pub fn see_power(&mut self, base: &Self) -> Option<()> {
        self.see_general();
        base.money.is_none().then_some(())
    }

    /// Adds other numbers to these.
    pub fn merge(&mut self, other: Self) {
        for format in [other.money, other.plain, other.share].into_iter().flatten() {
            self.see(&format);
        }
        for currency in other.currencies {
            if !self.currencies.contains(&currency) {
                self.currencies.push(currency);
            }
        }
        self.written = self.written.max(other.written);
        self.is_scientific |= other.is_scientific;
        self.is_general |= other.is_general;
    }

    /// `None` if there are only numbers that are written in the formula.
    pub fn number_type(&self) -> Option<NumberType> {
        if self.money.is_some() {
            Some(NumberType::Money)
        } else if self.is_general || self.is_scientific {
            Some(NumberType::General)
        } else if self.plain.is_some() {
            Some(NumberType::Plain)
        } else {
            self.share.is_some().then_some(NumberType::Share)
        }
    }

    /// Whether there are no amounts, percentages, plain numbers and numbers without a format among each
    /// other.
    pub fn is_of_one_type(&self) -> bool {
        let formats = [&self.money, &self.plain, &self.share].map(Option::is_some);
        let has_others = self.is_general || self.is_scientific;
        formats.into_iter().chain([has_others]).filter(|is_seen| *is_seen).count() <= 1
    }

    /// The different currencies. `¥` is that of the language, or else the only one of yen and renminbi
    /// that also has amounts with its code.
    pub fn currencies(&self) -> Vec<&'static str> {
        let has = |code| self.currencies.contains(&code);
        let only = match (has("JPY"), has("CNY")) {
            (true, false) => Some("JPY"),
            (false, true) => Some("CNY"),
            _ => None,
        };
        let is_named_twice = self.yen.or(only).is_some_and(has);
        let different = self.currencies.iter().filter(|known| **known != "¥" || !is_named_twice);
        different.copied().collect()
    }

    /// Whether some of the numbers are percentages and others are not.
    pub fn has_some_percentages(&self) -> bool {
        self.share.is_some() && (self.plain.is_some() || self.money.is_some() || self.is_general)
    }

    /// Money takes precedence, unless it is in several currencies; a percentage needs only
    /// percentages.
    pub fn format(self, result: f64) -> Option<String> {
        let is_general = self.is_general && self.money.is_none();
        if is_general || self.is_scientific || self.currencies().len() > 1 {
            return None;
        }
        Some(match (self.money, self.plain, self.share) {
            (Some(money), ..) if needed(result) <= decimals(&money) => money,
            (Some(money), ..) => raised(&money, MONEY_DECIMALS),
            (None, Some(plain), _) => raised(&plain, self.written.max(needed(result))),
            (None, None, share) => raised(&share?, needed(result * 100.0)),
        })
    }
}

/// The number of decimals of a format's first section; all sections have the same.
fn decimals(format: &str) -> usize {
    let (_, decimals) = format.split_once('.').unwrap_or_default();
    decimals.chars().take_while(|c| *c == '0').count()
}

/// The number of decimals of a number, up to the maximum shown.
fn needed(number: f64) -> usize {
    let text = format!("{number:.DECIMALS$}");
    let (_, decimals) = text.split_once('.').unwrap_or_default();
    decimals.trim_end_matches('0').len()
}

/// The format with at least `wanted` decimals.
fn raised(format: &str, wanted: usize) -> String {
    let zeros = |decimals: usize| match decimals {
        0 => "0".to_owned(),
        decimals => format!("0.{}", "0".repeat(decimals)),
    };
    let shown = decimals(format);
    if wanted <= shown { format.to_owned() } else { format.replace(&zeros(shown), &zeros(wanted)) }
}
