//! Formulas on one line of text, for places that have no formulas: `E = mc²`, `(a)/(b)`, `√(x)`.

use crate::latex::{Enclosure, Formula};

/// The formula as text, with Unicode superscripts and subscripts where possible.
pub fn linear(formula: &Formula) -> String {
    match formula {
        Formula::Row(row) => row.iter().map(spaced).collect(),
        Formula::Symbol(symbol) => symbol.to_string(),
        Formula::Number(text) | Formula::Text(text) => text.clone(),
        Formula::Function { name, .. } => format!("{name}\u{2009}"),
        Formula::Space(em) => if *em > 0.0 { " " } else { "" }.to_owned(),
        Formula::Fraction(over, under) => format!("{}/{}", group(over), group(under)),
        Formula::Binomial(over, under) => format!("C({}, {})", linear(over), linear(under)),
        Formula::Root { degree, body } => {
            let degree = degree.as_ref().map(|degree| script(&linear(degree), true));
            format!("{}√{}", degree.unwrap_or_default(), group(body))
        }
        Formula::Scripts { base, below, above } | Formula::Stack { base, below, above } => {
            let below = below.as_ref().map(|below| script(&linear(below), false));
            let above = above.as_ref().map(|above| script(&linear(above), true));
            format!("{}{}{}", linear(base), below.unwrap_or_default(), above.unwrap_or_default())
        }
        Formula::Enclosed { mark: Enclosure::Box, body } => format!("[{}]", linear(body)),
        Formula::Enclosed { mark: Enclosure::Strike, body } => {
            linear(body).chars().flat_map(|letter| [letter, '\u{338}']).collect()
        }
        Formula::Fence { open, close, body } => fenced(*open, *close, &linear(body)),
        Formula::Matrix { open, close, rows } => fenced(*open, *close, &lines(rows, ", ")),
        Formula::Lines(rows) => lines(rows, " "),
        Formula::Accent { mark, body } => format!("{}{mark}", linear(body)),
        Formula::Brace { body, .. } | Formula::Styled { body, .. } => linear(body),
        Formula::Line { over, body } => {
            let mark = if *over { '\u{305}' } else { '\u{332}' };
            linear(body).chars().flat_map(|letter| [letter, mark]).collect()
        }
    }
}

/// Adds spaces around relations and sums.
fn spaced(formula: &Formula) -> String {
    match formula {
        Formula::Symbol(
            c @ ('=' | '+' | '−' | '≤' | '≥' | '≠' | '≈' | '→' | '⇒' | '∈' | '<' | '>'),
        ) => {
            format!(" {c} ")
        }
        other => linear(other),
    }
}

fn group(formula: &Formula) -> String {
    let text = linear(formula);
    if text.chars().count() > 1 && !text.chars().all(char::is_alphanumeric) {
        return format!("({})", text.trim());
    }
    text
}

fn fenced(open: Option<char>, close: Option<char>, body: &str) -> String {
    let sign = |sign: Option<char>| sign.map(String::from).unwrap_or_default();
    format!("{}{}{}", sign(open), body.trim(), sign(close))
}

fn lines(rows: &[Vec<Formula>], between: &str) -> String {
    let row = |row: &Vec<Formula>| row.iter().map(linear).collect::<Vec<_>>().join(between);
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}

/// Unicode superscripts or subscripts if all characters exist, otherwise `^(…)` or `_(…)`.
fn script(text: &str, above: bool) -> String {
    const PLAIN: &str = "0123456789+−=()ni";
    const ABOVE: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ";
    const BELOW: &str = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙᵢ";
    let signs = if above { ABOVE } else { BELOW };
    let text = text.trim().replace(' ', "");
    let raised = |letter: char| {
        PLAIN.chars().position(|plain| plain == letter).and_then(|at| signs.chars().nth(at))
    };
    if text == "′" {
        return text;
    }
    if let Some(script) = text.chars().map(raised).collect::<Option<String>>() {
        return script;
    }
    let sign = if above { '^' } else { '_' };
    if text.chars().count() == 1 { format!("{sign}{text}") } else { format!("{sign}({text})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latex::parse;

    #[test]
    fn formulas_can_be_read_on_one_line() {
        let text = |latex: &str| linear(&parse(latex).unwrap());
        assert_eq!(text("E = mc^2"), "E = mc²");
        assert_eq!(text(r"\frac{a+b}{2} \neq \sqrt{x}"), "(a + b)/2 ≠ √x");
        assert_eq!(text(r"\sum_{i=1}^{n} x_i^k"), "∑ᵢ₌₁ⁿxᵢ^k");
    }
}
