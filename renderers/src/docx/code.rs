//! Code blocks: each in a separate table cell, so that adjacent blocks are not merged.

use super::blocks::{Shape, spacer};
use super::draw::{Draw, Place};
use super::inlines::letters;
use super::tables::{Frame, one_cell};
use crate::document::Color;
use crate::package::highlight::{self, CodePiece};
use crate::package::xml::Xml;

impl Draw<'_> {
    pub fn code(&mut self, xml: &mut Xml, language: Option<&str>, text: &str, place: Place) {
        let (fill, line) = (Color::read(self.look.paper), Some(self.look.line));
        one_cell(xml, place, Frame { fill, line, bar: None }, |xml| {
            for line in highlight::lines(language, text.trim_end_matches('\n')) {
                code_line(xml, &line);
            }
        });
        spacer(xml);
    }
}

fn code_line(xml: &mut Xml, pieces: &[CodePiece<'_>]) {
    xml.open("w:p", &[]);
    Shape { style: "Code", ..Shape::default() }.write(xml);
    for piece in pieces {
        xml.open("w:r", &[]);
        if let Some(color) = piece.color() {
            xml.open("w:rPr", &[]);
            xml.val("w:color", color);
            xml.close();
        }
        letters(xml, piece.text);
        xml.close();
    }
    xml.close();
}
