//! LaTeX formulas as a tree that every format can draw: the part of mathematics that people write in
//! chats. What is not known is an error that names the command, never a guess.

mod formula;
mod parse;
mod symbols;
mod tokens;

pub use formula::{Formula, Style};
pub use parse::parse;
