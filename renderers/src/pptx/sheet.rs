//! A slide that is being written.

use super::deck::Deck;
use crate::document::Color;
use crate::package::Relations;

/// The state of the slide that is being written, without its XML.
pub struct Sheet<'a, 'd> {
    pub deck: &'a mut Deck<'d>,
    pub relations: Relations,
    /// Relationship, action and tooltip of each link.
    pub links: Vec<(String, Option<&'static str>, String)>,
    pub last_id: u32,
    /// The colour of text that does not stand on the master's background.
    pub ink: Option<Color>,
    pub formulas: FormulaForm,
    /// Whether all text has a font size of its own, instead of the layout's.
    pub has_own_sizes: bool,
    /// The font size of the first level of text in the layout, in points.
    pub first_level_size: Option<f64>,
}

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
    pub fn next_id(&mut self) -> String {
        self.last_id += 1;
        self.last_id.to_string()
    }
}
