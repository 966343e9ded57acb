//! Formulas: those that can be computed here, without access to anything outside the workbook. Each
//! is parsed, checked, moved to the position of its table, and computed, so that previews without a
//! calculation engine show the right value.
//!
//! - `expr`: the syntax tree; `parse`: parses and checks
//! - `evaluate`: computes; `value`: values and the operations on them; `kinds`: which of them are dates
//!   or times, by their `value_kind`; `formats`: their number formats; `totals`: those below tables
//! - `functions` with `calendar`, `choice`, `criteria`, `finance`, `lookup`, `rounding`, `statistics`,
//!   `words` and `workdays`: the functions

mod calendar;
mod choice;
mod criteria;
mod evaluate;
mod expr;
mod finance;
mod formats;
mod functions;
mod kinds;
mod lookup;
mod parse;
mod rounding;
mod statistics;
mod totals;
mod value;
mod value_kind;
mod words;
mod workdays;

pub use evaluate::Grid;
pub use expr::{Cell, Expr, Tops};
pub use functions::is_volatile;
pub use parse::parse;
pub use value::Value;
pub use value_kind::ValueKind;

#[cfg(test)]
mod tests;
