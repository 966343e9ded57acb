//! Formulas that a document may carry: what can be computed here, and nothing that could reach out of
//! the workbook. Each is parsed, checked, moved to where its table stands, and computed, so that a
//! preview without a calculator shows the right value.

mod evaluate;
mod expr;
mod functions;
mod parse;

pub use evaluate::{Grid, Value, corners};
pub use expr::{Expr, Op, Tops};
pub use parse::parse;

#[cfg(test)]
mod tests;
