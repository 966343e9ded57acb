//! LaTeX formulas as a tree that every format can draw. Supports the subset of LaTeX mathematics
//! that is common in chats. An unknown command becomes its source, the rest of the formula is drawn.

mod environments;
mod extras;
mod formula;
mod macros;
mod parse;
mod symbols;
mod tokens;

pub use formula::{Enclosure, Formula, Style};
pub use parse::{losses, parse};
