//! The state in which text of a PDF page is drawn (ISO 32000-1, 9.3 and 9.4.2).

use std::rc::Rc;

use lopdf::Object;

use super::{
    fonts::Font,
    transform::{Matrix, SAME, matrix, number, within},
};

/// The rendering mode of letters that are not drawn (9.3.6).
const INVISIBLE: i64 = 3;

/// The font, the position and the spacing of text.
#[derive(Clone)]
pub struct TextState<'a> {
    /// From the place of the text to the page.
    pub space: Matrix,
    pub font: Option<Rc<Font<'a>>>,
    pub size: f32,
    leading: f32,
    /// How far letters are above the line.
    rise: f32,
    /// The gap after each letter, and the one that is added after each space.
    letter_gap: f32,
    word_gap: f32,
    /// The width of letters, as a part of the usual one.
    scale: f32,
    /// Whether letters are not drawn.
    pub is_invisible: bool,
    line: Matrix,
    text: Matrix,
}

impl TextState<'_> {
    pub fn of(space: Matrix) -> Self {
        Self {
            space,
            font: None,
            size: 1.0,
            leading: 0.0,
            rise: 0.0,
            letter_gap: 0.0,
            word_gap: 0.0,
            scale: 1.0,
            is_invisible: false,
            line: SAME,
            text: SAME,
        }
    }

    /// Applies an operator that sets the state or moves the position, also before text is shown.
    pub fn apply(&mut self, operator: &str, operands: &[Object]) {
        let operand = |at: usize| number(operands, at);
        match operator {
            "BT" => (self.line, self.text) = (SAME, SAME),
            "Tm" => (self.line, self.text) = (matrix(operands), matrix(operands)),
            "Td" => self.move_line(operand(0), operand(1)),
            "TD" => {
                self.leading = -operand(1);
                self.move_line(operand(0), operand(1));
            }
            "TL" => self.leading = operand(0),
            "Ts" => self.rise = operand(0),
            "Tc" => self.letter_gap = operand(0),
            "Tw" => self.word_gap = operand(0),
            "Tz" => self.scale = operand(0) / 100.0,
            "Tr" => self.is_invisible = operand(0) as i64 == INVISIBLE,
            "T*" | "'" => self.move_line(0.0, -self.leading),
            "\"" => {
                (self.word_gap, self.letter_gap) = (operand(0), operand(1));
                self.move_line(0.0, -self.leading);
            }
            _ => {}
        }
    }

    fn move_line(&mut self, x: f32, y: f32) {
        self.line = within([1.0, 0.0, 0.0, 1.0, x, y], self.line);
        self.text = self.line;
    }

    /// The position of the next letter on the page.
    pub fn place(&self) -> Matrix {
        let raised = within([1.0, 0.0, 0.0, 1.0, 0.0, self.rise], self.text);
        within(raised, self.space)
    }

    /// Moves behind text with these codes.
    pub fn show(&mut self, font: &Font, codes: &[u8]) {
        let gaps = self.letter_gap * font.letters(codes) as f32
            + self.word_gap * font.spaces(codes) as f32;
        self.advance(font.width(codes) * self.size + gaps);
    }

    /// Moves back by a number of thousandths of the font size.
    pub fn move_back(&mut self, by: f32) {
        self.advance(-by / 1000.0 * self.size);
    }

    fn advance(&mut self, by: f32) {
        self.text = within([1.0, 0.0, 0.0, 1.0, by * self.scale, 0.0], self.text);
    }
}
