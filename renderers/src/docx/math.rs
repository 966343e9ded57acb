//! Formulas. What cannot be set as a formula is shown as its source in the code style: LaTeX
//! inside a formula's text would not be drawn at all.

use super::blocks::{Shape, shape};
use super::inlines::{Format, run};
use super::{Draw, Place};
use crate::document::Align;
use crate::package::xml::Xml;

impl Draw<'_> {
    pub fn display_math(&mut self, xml: &mut Xml, latex: &str, place: Place) {
        xml.open("w:p", &[]);
        Shape { align: Align::Center, ..shape(place) }.write(xml);
        self.source(xml, latex, place.into());
        xml.close();
    }

    pub fn inline_math(&mut self, xml: &mut Xml, latex: &str, format: Format) {
        self.source(xml, latex, format);
    }

    fn source(&mut self, xml: &mut Xml, latex: &str, format: Format) {
        let shown: String = latex.trim().chars().take(60).collect();
        self.warnings.say(format!("The formula {shown} is shown as its source."));
        run(xml, latex.trim(), Format { code: true, ..format });
    }
}
