//! Formulas. A formula that cannot be converted is shown as its source in the code style, because
//! Word does not display LaTeX inside a formula.

use super::blocks::{Shape, shape};
use super::draw::{Draw, Place};
use super::inlines::{RunFormat, run};
use crate::document::Align;
use crate::latex;
use crate::package::omml::{self, LetterStyle};
use crate::package::xml::Xml;

/// The font of a formula's letters; their style is part of the formula.
fn letters(xml: &mut Xml, _: LetterStyle) {
    xml.raw("<w:rPr><w:rFonts w:ascii=\"Cambria Math\" w:hAnsi=\"Cambria Math\"/></w:rPr>");
}

impl Draw<'_> {
    pub fn display_math(&mut self, xml: &mut Xml, source: &str, place: Place) {
        xml.open("w:p", &[]);
        match latex::parse(source) {
            Ok(formula) => {
                self.losses(source);
                shape(place).write(xml);
                xml.open("m:oMathPara", &[]);
                xml.open("m:oMath", &[]);
                omml::write(xml, &formula, &letters);
                xml.close();
                xml.close();
            }
            Err(reason) => {
                Shape { align: Align::Center, ..shape(place) }.write(xml);
                self.source(xml, source, &reason, place.into());
            }
        }
        xml.close();
    }

    pub fn inline_math(&mut self, xml: &mut Xml, source: &str, format: RunFormat) {
        match latex::parse(source) {
            Ok(formula) => {
                self.losses(source);
                xml.open("m:oMath", &[]);
                omml::write(xml, &formula, &letters);
                xml.close();
            }
            Err(reason) => self.source(xml, source, &reason, format),
        }
    }

    fn losses(&mut self, source: &str) {
        for loss in latex::losses(source) {
            let shown: String = source.trim().chars().take(60).collect();
            self.warnings.add(format!("In the formula {shown} {loss}."));
        }
    }

    fn source(&mut self, xml: &mut Xml, source: &str, reason: &str, format: RunFormat) {
        let shown: String = source.trim().chars().take(60).collect();
        self.warnings.add(format!("The formula {shown} is shown as its source: {reason}."));
        run(xml, source.trim(), RunFormat { code: true, ..format });
    }
}
