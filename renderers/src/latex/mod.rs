//! LaTeX formulas as a tree that every format can draw. Supports the subset of LaTeX mathematics
//! that is common in chats. An unknown command becomes its source, the rest of the formula is drawn.
//!
//! - `formula`: the syntax tree
//! - `tokens`, `macros`: splits LaTeX into commands, and expands definitions
//! - `parse`: builds the tree; `environments`: brackets, matrices and lines; `symbols`: single
//!   symbols; `extras`: commands of common packages

mod environments;
mod extras;
mod formula;
mod macros;
mod parse;
mod symbols;
mod tokens;

pub use formula::{Enclosure, Formula, Style, bracketed, symbol};
pub use parse::{losses, parse};
