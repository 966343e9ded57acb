//! Formulas: those that can be computed here, without access to anything outside the workbook. Each
//! is parsed, checked, moved to the position of its table, and computed, so that previews without a
//! calculation engine show the right value.

mod evaluate;
mod expr;
mod functions;
mod parse;

pub use evaluate::{Grid, Value, corners};
pub use expr::{Expr, Op, Tops};
pub use parse::parse;

#[cfg(test)]
mod tests;
