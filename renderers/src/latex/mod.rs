//! LaTeX formulas as a tree that every format can draw. Supports the subset of LaTeX mathematics
//! that is common in chats. An unknown command is an error that names it.

mod formula;
mod parse;
mod symbols;
mod tokens;

pub use formula::{Formula, Style};
pub use parse::parse;
