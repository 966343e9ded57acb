//! Formulas as Office Math, which PowerPoint edits, with a line of text for programs that do not
//! know it (`m` of [MS-ODRAWXML]; `mc:AlternateContent`, ECMA-376 part 3).

use super::paragraphs::TextFormat;
use super::sheet::{FormulaForm, Sheet};
use crate::latex::{self, Formula};
use crate::package::linear::linear;
use crate::package::omml::{self, LetterStyle};
use crate::package::xml::Xml;

const COMPATIBILITY: [(&str, &str); 1] =
    [("xmlns:mc", "http://schemas.openxmlformats.org/markup-compatibility/2006")];
/// The namespace is usually called `a14`. LibreOffice takes every choice with that name, and does not
/// draw its formulas.
const OFFICE_2010: [(&str, &str); 2] =
    [("xmlns:m14", "http://schemas.microsoft.com/office/drawing/2010/main"), ("Requires", "m14")];
const MATH: [(&str, &str); 1] =
    [("xmlns:m", "http://schemas.openxmlformats.org/officeDocument/2006/math")];

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
