//! Formulas as `MathML`, which browsers draw without a script.

use renderers::latex::{Enclosure, Formula, Style, parse};
use std::fmt::{self, Write as _};

use super::escape::escape;

/// Operators whose scripts are placed below and above in a displayed formula.
const LIMITS: &str = "∑∏∐⋃⋂⨁⨂⋁⋀";

/// Longer formulas are shown as their source.
const SOURCE_CHARS: usize = 4_000;

/// Whether a formula is part of a line or has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Display {
    Inline,
    Block,
}

/// The formula, or `None` if it is not LaTeX that can be drawn.
pub fn mathml(latex: &str, display: Display) -> Option<String> {
    if latex.chars().nth(SOURCE_CHARS).is_some() {
        return None;
    }
    let formula = parse(latex).ok()?;
    let mut writer = Writer { out: String::new(), style: None };
    writer.row(|w| w.formula(&formula));
    let block = if display == Display::Block { " display=\"block\"" } else { "" };
    Some(format!("<math{block}>{}</math>", writer.out))
}

struct Writer {
    out: String,
    style: Option<Style>,
}

impl Writer {
    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Row(row) => self.row(|w| row.iter().for_each(|one| w.formula(one))),
            Formula::Symbol(symbol) => self.symbol(*symbol),
            Formula::Number(number) => self.token("mn", number),
            Formula::Text(text) => self.token("mtext", text),
            Formula::Function { name, .. } => self.upright(name),
            Formula::Space(em) => self.space(*em),
            Formula::Fraction(over, under) => self.element("mfrac", &[over, under]),
            Formula::Binomial(over, under) => {
                self.fence(Some('('), Some(')'), |w| {
                    w.out.push_str("<mfrac linethickness=\"0\">");
                    w.argument(over);
                    w.argument(under);
                    w.out.push_str("</mfrac>");
                });
            }
            Formula::Root { degree: Some(degree), body } => self.element("mroot", &[body, degree]),
            Formula::Root { degree: None, body } => self.element("msqrt", &[body]),
            Formula::Scripts { base, below, above } => {
                self.scripts(base, below.as_deref(), above.as_deref());
            }
            Formula::Stack { base, below: Some(below), above: Some(above) } => {
                self.element("munderover", &[base, below, above]);
            }
            Formula::Stack { base, below: Some(below), above: None } => {
                self.element("munder", &[base, below]);
            }
            Formula::Stack { base, below: None, above: Some(above) } => {
                self.element("mover", &[base, above]);
            }
            Formula::Stack { base, below: None, above: None } => self.formula(base),
            Formula::Enclosed { mark, body } => {
                let notation = match mark {
                    Enclosure::Box => "box",
                    Enclosure::Strike => "updiagonalstrike",
                };
                self.put(format_args!("<menclose notation=\"{notation}\">"));
                self.argument(body);
                self.out.push_str("</menclose>");
            }
            Formula::Fence { open, close, body } => {
                self.fence(*open, *close, |w| w.formula(body));
            }
            Formula::Matrix { open, close, rows } => {
                self.fence(*open, *close, |w| w.table("", rows));
            }
            Formula::Lines(rows) => self.table(" columnalign=\"left\"", rows),
            Formula::Accent { mark, body } => self.marked("mover", *mark, body),
            Formula::Line { over: true, body } => self.marked("mover", '\u{af}', body),
            Formula::Line { over: false, body } => self.marked("munder", '_', body),
            Formula::Brace { over: true, body } => self.marked("mover", '\u{23de}', body),
            Formula::Brace { over: false, body } => self.marked("munder", '\u{23df}', body),
            Formula::Styled { style, body } => {
                let outer = self.style.replace(*style);
                self.formula(body);
                self.style = outer;
            }
        }
    }

    fn put(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.out.write_fmt(text);
    }

    fn row(&mut self, inside: impl FnOnce(&mut Self)) {
        self.out.push_str("<mrow>");
        inside(self);
        self.out.push_str("</mrow>");
    }

    /// One argument of an element, which has to be one element itself.
    fn argument(&mut self, formula: &Formula) {
        self.row(|w| w.formula(formula));
    }

    fn element(&mut self, name: &str, arguments: &[&Formula]) {
        self.put(format_args!("<{name}>"));
        for argument in arguments {
            self.argument(argument);
        }
        self.put(format_args!("</{name}>"));
    }

    fn token(&mut self, name: &str, text: &str) {
        let text: String = text.chars().map(|c| styled(c, self.style)).collect();
        self.put(format_args!("<{name}>{}</{name}>", escape(&text)));
    }

    fn upright(&mut self, name: &str) {
        self.put(format_args!("<mi mathvariant=\"normal\">{}</mi>", escape(name)));
    }

    fn symbol(&mut self, symbol: char) {
        match self.style {
            Some(Style::Upright) if symbol.is_alphabetic() => self.upright(&symbol.to_string()),
            _ if symbol.is_alphabetic() => self.token("mi", &symbol.to_string()),
            _ => self.token("mo", &symbol.to_string()),
        }
    }

    fn space(&mut self, em: f32) {
        if em > 0.0 {
            self.put(format_args!("<mspace width=\"{em:.2}em\"></mspace>"));
        }
    }

    fn scripts(&mut self, base: &Formula, below: Option<&Formula>, above: Option<&Formula>) {
        let limits = match base {
            Formula::Symbol(symbol) => LIMITS.contains(*symbol),
            Formula::Function { limits, .. } => *limits,
            Formula::Brace { .. } => true,
            _ => false,
        };
        match (below, above, limits) {
            (Some(below), Some(above), true) => self.element("munderover", &[base, below, above]),
            (Some(below), Some(above), false) => self.element("msubsup", &[base, below, above]),
            (Some(below), None, true) => self.element("munder", &[base, below]),
            (Some(below), None, false) => self.element("msub", &[base, below]),
            (None, Some(above), true) => self.element("mover", &[base, above]),
            (None, Some(above), false) => self.element("msup", &[base, above]),
            (None, None, _) => self.formula(base),
        }
    }

    fn fence(&mut self, open: Option<char>, close: Option<char>, inside: impl FnOnce(&mut Self)) {
        let bracket = |w: &mut Self, bracket: Option<char>| {
            let bracket = bracket.map(String::from).unwrap_or_default();
            w.put(format_args!("<mo stretchy=\"true\">{}</mo>", escape(&bracket)));
        };
        self.row(|w| {
            if open.is_some() || close.is_some() {
                bracket(w, open);
            }
            inside(w);
            if close.is_some() {
                bracket(w, close);
            }
        });
    }

    fn table(&mut self, attributes: &str, rows: &[Vec<Formula>]) {
        self.put(format_args!("<mtable{attributes}>"));
        for row in rows {
            self.out.push_str("<mtr>");
            for cell in row {
                self.out.push_str("<mtd>");
                self.formula(cell);
                self.out.push_str("</mtd>");
            }
            self.out.push_str("</mtr>");
        }
        self.out.push_str("</mtable>");
    }

    fn marked(&mut self, name: &str, mark: char, body: &Formula) {
        self.put(format_args!("<{name}>"));
        self.argument(body);
        let mark = escape(&spacing(mark).to_string());
        self.put(format_args!("<mo stretchy=\"true\">{mark}</mo></{name}>"));
    }
}

/// The mark that stands alone, for a combining one.
fn spacing(mark: char) -> char {
    match mark {
        '\u{300}' => '`',
        '\u{301}' => '\u{b4}',
        '\u{302}' => '^',
        '\u{303}' => '~',
        '\u{304}' | '\u{305}' => '\u{af}',
        '\u{306}' => '\u{2d8}',
        '\u{307}' => '\u{2d9}',
        '\u{308}' => '\u{a8}',
        '\u{30a}' => '\u{2da}',
        '\u{30c}' => '\u{2c7}',
        '\u{20d7}' => '\u{2192}',
        other => other,
    }
}

/// A letter in the style, from Unicode's mathematical alphabets.
fn styled(letter: char, style: Option<Style>) -> char {
    let [upper, lower] = match style {
        Some(Style::Bold) => [0x1d400, 0x1d41a],
        Some(Style::Blackboard) => match letter {
            'C' => return 'ℂ',
            'H' => return 'ℍ',
            'N' => return 'ℕ',
            'P' => return 'ℙ',
            'Q' => return 'ℚ',
            'R' => return 'ℝ',
            'Z' => return 'ℤ',
            _ => [0x1d538, 0x1d552],
        },
        Some(Style::Calligraphic) => [0x1d4d0, 0x1d4ea],
        Some(Style::Fraktur) => [0x1d56c, 0x1d586],
        Some(Style::Sans) => [0x1d5a0, 0x1d5ba],
        Some(Style::Mono) => [0x1d670, 0x1d68a],
        Some(Style::Upright) | None => return letter,
    };
    let (base, first) = match letter {
        'A'..='Z' => (upper, 'A'),
        'a'..='z' => (lower, 'a'),
        _ => return letter,
    };
    char::from_u32(base + (u32::from(letter) - u32::from(first))).unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn inline(latex: &str) -> String {
        mathml(latex, Display::Inline).unwrap()
    }

    #[test]
    fn a_formula_becomes_elements() {
        assert_snapshot!(inline(r"\frac{a}{2} \le \sqrt{x^2}"), @"<math><mrow><mrow><mfrac><mrow><mi>a</mi></mrow><mrow><mn>2</mn></mrow></mfrac><mo>≤</mo><msqrt><mrow><msup><mrow><mi>x</mi></mrow><mrow><mn>2</mn></mrow></msup></mrow></msqrt></mrow></mrow></math>");
        let sum = mathml(r"\sum_{i=1}^n i", Display::Block).unwrap();
        assert!(
            sum.starts_with("<math display=\"block\">") && sum.contains("<munderover>"),
            "{sum}"
        );
        assert!(inline(r"\mathbb{R}").contains('ℝ'));
    }

    /// Proves S10.
    #[test]
    fn formulas_cannot_contain_active_content() {
        for source in [r"\text{<script>alert(1)</script>}", r"a < b > c & d", "\\text{\"onclick=1}"]
        {
            if let Some(drawn) = mathml(source, Display::Inline) {
                assert!(!drawn.contains("<script") && !drawn.contains("\"onclick"), "{drawn}");
            }
        }
        let unknown = mathml(r"\nosuchcommand{<b>}", Display::Inline).unwrap();
        assert_eq!(unknown, r"<math><mrow><mtext>\nosuchcommand{&lt;b&gt;}</mtext></mrow></math>");
        assert_eq!(mathml(&"x".repeat(4_001), Display::Inline), None);
    }
}
