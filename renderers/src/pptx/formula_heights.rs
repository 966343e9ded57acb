//! The formulas of a text that can be written as Office Math, and their heights.

use super::items::SlideItem;
use crate::document::{Inline, each_in};
use crate::latex::{self, Formula};
use crate::package::text::rows;

/// Whether a text has a formula that can be written as Office Math.
pub fn has_formulas(item: &SlideItem<'_>) -> bool {
    match item {
        SlideItem::Text(paras) | SlideItem::Alert(_, paras) => {
            paras.iter().any(|para| formulas(&para.content).next().is_some())
        }
        SlideItem::Table(table) => {
            rows(table).flatten().any(|cell| formulas(cell).next().is_some())
        }
        SlideItem::Code { .. } | SlideItem::Picture { .. } | SlideItem::Chart(_) => false,
    }
}

/// The height of the tallest formula, in lines.
pub fn lines(content: &[Inline]) -> f64 {
    formulas(content).map(|formula| height(&formula)).fold(1.0, f64::max)
}

/// The formulas of a text that can be written as Office Math.
fn formulas(content: &[Inline]) -> impl Iterator<Item = Formula> {
    let mut sources = Vec::new();
    each_in(content, &mut |inline| {
        if let Inline::Math(source) = inline {
            sources.push(source.as_str());
        }
    });
    sources.into_iter().filter_map(|source| latex::parse(source).ok())
}

/// The height of a formula, in lines.
fn height(formula: &Formula) -> f64 {
    let script = |part: Option<&Formula>, share: f64| part.map_or(0.0, |part| height(part) * share);
    match formula {
        Formula::Row(parts) => parts.iter().map(height).fold(1.0, f64::max),
        Formula::Fraction(over, under) | Formula::Binomial(over, under) => {
            height(over) + height(under)
        }
        Formula::Root { body, .. } => height(body) + 0.2,
        Formula::Scripts { base, below, above } => {
            // The limits of sums are below and above them.
            let is_large = matches!(**base, Formula::Symbol('∑' | '∏' | '⋃' | '⋂'));
            let share = if is_large { 0.7 } else { 0.3 };
            height(base) + script(below.as_deref(), share) + script(above.as_deref(), share)
        }
        Formula::Stack { base, below, above } => {
            height(base) + script(below.as_deref(), 0.7) + script(above.as_deref(), 0.7)
        }
        Formula::Matrix { rows, .. } | Formula::Lines(rows) => {
            rows.iter().map(|row| row.iter().map(height).fold(1.2, f64::max)).sum()
        }
        Formula::Enclosed { body, .. }
        | Formula::Fence { body, .. }
        | Formula::Accent { body, .. }
        | Formula::Line { body, .. }
        | Formula::Styled { body, .. } => height(body),
        Formula::Brace { body, .. } => height(body) + 0.5,
        Formula::Symbol(_)
        | Formula::Number(_)
        | Formula::Text(_)
        | Formula::Function { .. }
        | Formula::Space(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tall_formulas_take_more_lines() {
        let high = |source: &str| lines(&[Inline::Math(source.into())]);
        assert!((high("x + y_1") - 1.3).abs() < 0.01);
        assert!(high(r"\frac{a}{\frac{b}{c}}") > 2.9);
        assert!(high(r"\begin{pmatrix} 1 \\ 2 \\ 3 \end{pmatrix}") > 3.5);
        assert!((lines(&[Inline::Text("x".into())]) - 1.0).abs() < 0.01);
    }
}
