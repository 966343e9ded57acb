//! The sections of a number format, and the choice among them.

use super::parts::{FormatPart, FormatTokens};

/// A number format with one to three sections for numbers, and one for text.
pub struct NumberFormat {
    pub numbers: Vec<FormatSection>,
    text: Option<Vec<FormatPart>>,
}

/// A part of a number format, for the numbers that meet its condition.
#[derive(Default)]
pub struct FormatSection {
    pub parts: Vec<FormatPart>,
    condition: Option<FormatCondition>,
}

/// The section for a number.
pub struct ChosenSection<'f> {
    pub parts: &'f [FormatPart],
    /// Whether the section is only for negative numbers, so that they have no minus there.
    pub is_unsigned: bool,
}

type Comparison = fn(&f64, &f64) -> bool;

/// `[>=1000]`
#[derive(Clone, Copy)]
struct FormatCondition {
    is_met: Comparison,
    limit: f64,
    /// Whether only negative numbers meet it, or all of them and zero.
    is_negative: bool,
}

impl FormatCondition {
    const POSITIVE: Self = Self { is_met: f64::gt, limit: 0.0, is_negative: false };
    const NOT_NEGATIVE: Self = Self { is_met: f64::ge, limit: 0.0, is_negative: false };
    const NEGATIVE: Self = Self { is_met: f64::lt, limit: 0.0, is_negative: true };

    fn read(text: &str) -> Option<Self> {
        let signs: [(&str, Comparison); 6] = [
            ("<>", f64::ne),
            ("<=", f64::le),
            (">=", f64::ge),
            ("<", f64::lt),
            (">", f64::gt),
            ("=", f64::eq),
        ];
        let mut found = signs.iter().filter_map(|(sign, is_met)| {
            let limit: f64 = text.strip_prefix(sign)?.trim().parse().ok()?;
            let is_negative = limit == 0.0 && matches!(*sign, "<" | "<=");
            Some(Self { is_met: *is_met, limit, is_negative })
        });
        found.next()
    }

    fn holds(self, value: f64) -> bool {
        (self.is_met)(&value, &self.limit)
    }

    fn is_sign(self) -> bool {
        self.limit == 0.0 && !self.is_negative && self.holds(1.0) && !self.holds(-1.0)
    }
}

impl NumberFormat {
    pub fn read(format: &str) -> Self {
        let mut sections = vec![FormatSection::default()];
        for token in FormatTokens::of(format) {
            let section = sections.last_mut().expect("there is always a section");
            match token {
                FormatPart::End => sections.push(FormatSection::default()),
                FormatPart::Bracket(text) => {
                    section.condition = FormatCondition::read(&text).or(section.condition);
                }
                part => section.parts.push(part),
            }
        }
        let has_text = |section: &mut FormatSection| section.parts.contains(&FormatPart::Text);
        sections.truncate(4);
        let text = if sections.len() == 4 { sections.pop() } else { sections.pop_if(has_text) };
        Self { numbers: sections, text: text.map(|section| section.parts) }
    }

    /// The section for a number; `None` if there is none, so that the number has no format.
    pub fn choose(&self, value: f64) -> Option<ChosenSection<'_>> {
        let count = self.numbers.len();
        let condition = |at: usize| self.numbers.get(at).and_then(|section| section.condition);
        let usual = match count {
            0 | 1 => None,
            2 => Some(FormatCondition::NOT_NEGATIVE),
            _ => Some(FormatCondition::POSITIVE),
        };
        let first = condition(0).or(usual);
        let second = condition(1).or((count > 2).then_some(FormatCondition::NEGATIVE));
        let section = |at: usize, is_unsigned| {
            let parts = &self.numbers.get(at)?.parts;
            Some(ChosenSection { parts, is_unsigned })
        };
        if first.is_none_or(|first| first.holds(value)) {
            return section(0, first.is_some_and(|first| first.is_negative));
        }
        match second {
            None => section(1, first.is_some_and(FormatCondition::is_sign)),
            Some(second) if second.holds(value) => section(1, second.is_negative),
            Some(_) => section(2, false),
        }
    }

    /// A text in its section, if it has one.
    pub fn text(&self, text: &str) -> String {
        let Some(parts) = &self.text else { return text.to_owned() };
        let shown = parts.iter().map(|part| match part {
            FormatPart::Text | FormatPart::General => text,
            FormatPart::Literal(literal) => literal,
            _ => "",
        });
        shown.collect()
    }
}
