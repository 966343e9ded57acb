//! Formulas as Office Math, which PowerPoint edits, with a line of text for programs that do not
//! know it (`m` of [MS-ODRAWXML]; `mc:AlternateContent`, ECMA-376 part 3).

use super::items::SlideItem;
use super::paragraphs::TextFormat;
use super::sheet::Sheet;
use crate::document::{Inline, each_in};
use crate::latex::{self, Formula};
use crate::package::linear::linear;
use crate::package::omml::{self, LetterStyle};
use crate::package::text::rows;
use crate::package::xml::Xml;

const COMPATIBILITY: [(&str, &str); 1] =
    [("xmlns:mc", "http://schemas.openxmlformats.org/markup-compatibility/2006")];
/// The namespace is usually called `a14`. LibreOffice takes every choice with that name, and does not
/// draw its formulas.
const OFFICE_2010: [(&str, &str); 2] =
    [("xmlns:m14", "http://schemas.microsoft.com/office/drawing/2010/main"), ("Requires", "m14")];
const MATH: [(&str, &str); 1] =
    [("xmlns:m", "http://schemas.openxmlformats.org/officeDocument/2006/math")];

/// How formulas are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FormulaForm {
    /// As a line of text.
    #[default]
    Line,
    /// As Office Math.
    Office,
}

impl Sheet<'_, '_> {
    /// Writes a shape. One with formulas is written twice: with Office Math, and with lines of text.
    pub fn with_formulas(
        &mut self,
        xml: &mut Xml,
        has_formulas: bool,
        write: impl Fn(&mut Self, &mut Xml),
    ) {
        if !has_formulas {
            return write(self, xml);
        }
        let first_id = self.last_id;
        xml.open("mc:AlternateContent", &COMPATIBILITY);
        xml.open("mc:Choice", &OFFICE_2010);
        self.formulas = FormulaForm::Office;
        write(self, xml);
        self.formulas = FormulaForm::Line;
        xml.close();
        xml.open("mc:Fallback", &[]);
        // Both are the same shape.
        self.last_id = first_id;
        write(self, xml);
        xml.close();
        xml.close();
    }

    /// A formula within a line.
    pub fn math(&mut self, xml: &mut Xml, source: &str, format: TextFormat) {
        let Some(formula) = self.formula(source) else {
            return self.run(xml, source.trim(), TextFormat { code: true, ..format });
        };
        match self.formulas {
            FormulaForm::Line => {
                self.run(xml, linear(&formula).trim(), TextFormat { formula: true, ..format });
            }
            FormulaForm::Office => {
                xml.open("m14:m", &[]);
                self.office_math(xml, &formula, format);
                xml.close();
            }
        }
    }

    /// A formula that is a paragraph of its own.
    pub fn display_math(&mut self, xml: &mut Xml, source: &str, format: TextFormat) {
        match self.formula(source).filter(|_| self.formulas == FormulaForm::Office) {
            Some(formula) => {
                xml.open("m14:m", &[]);
                xml.open("m:oMathPara", &MATH);
                xml.raw("<m:oMathParaPr><m:jc m:val=\"centerGroup\"/></m:oMathParaPr>");
                self.office_math(xml, &formula, format);
                xml.close();
                xml.close();
            }
            None => self.math(xml, source, format),
        }
    }

    fn office_math(&self, xml: &mut Xml, formula: &Formula, format: TextFormat) {
        xml.open("m:oMath", &MATH);
        omml::write(xml, formula, &|xml, style| {
            let LetterStyle { bold, italic } = style;
            let format =
                TextFormat { bold, italic, formula: true, link: None, rtl: false, ..format };
            self.marks(xml, format);
        });
        xml.close();
    }

    /// The formula of a source; `None` if it is unknown, which is reported.
    fn formula(&mut self, source: &str) -> Option<Formula> {
        let shown: String = source.trim().chars().take(60).collect();
        match latex::parse(source) {
            Ok(formula) => {
                for loss in latex::losses(source) {
                    self.deck.warnings.add(format!("In the formula {shown} {loss}."));
                }
                Some(formula)
            }
            Err(reason) => {
                let warning = format!("The formula {shown} is shown as its source: {reason}.");
                self.deck.warnings.add(warning);
                None
            }
        }
    }
}

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
