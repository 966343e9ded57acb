//! Formulas that a document may carry: what can be computed here, and nothing that could reach out of
//! the workbook. Each is parsed, checked, moved to where its table stands, and computed, so that a
//! preview without a calculator shows the right value.

mod evaluate;
mod functions;
mod parse;

pub use evaluate::{Grid, Value};
pub use parse::parse;

/// The longest formula, in characters.
pub const CHARS: usize = 1_000;
/// The most brackets inside each other.
pub const DEPTH: usize = 32;

/// A checked formula. Cells count from zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Number(f64),
    Text(String),
    Bool(bool),
    Cell(Cell),
    Range(Cell, Cell),
    Negate(Box<Expr>),
    Percent(Box<Expr>),
    Group(Box<Expr>),
    Binary(Box<Expr>, Op, Box<Expr>),
    Call(&'static str, Vec<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    pub row: u32,
    pub column: u16,
    pub row_is_fixed: bool,
    pub column_is_fixed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Join,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Op {
    pub fn sign(self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Subtract => "-",
            Op::Multiply => "*",
            Op::Divide => "/",
            Op::Power => "^",
            Op::Join => "&",
            Op::Equal => "=",
            Op::NotEqual => "<>",
            Op::Less => "<",
            Op::LessOrEqual => "<=",
            Op::Greater => ">",
            Op::GreaterOrEqual => ">=",
        }
    }
}

impl Expr {
    /// The formula as a workbook writes it, for a table whose header stands `rows` below the top:
    /// authors count from the header of their table.
    pub fn write(&self, rows: u32) -> String {
        match self {
            Expr::Number(number) => number.to_string(),
            Expr::Text(text) => format!("\"{}\"", text.replace('"', "\"\"")),
            Expr::Bool(truth) => if *truth { "TRUE" } else { "FALSE" }.to_owned(),
            Expr::Cell(cell) => cell.write(rows),
            Expr::Range(from, to) => format!("{}:{}", from.write(rows), to.write(rows)),
            Expr::Negate(inner) => format!("-{}", inner.write(rows)),
            Expr::Percent(inner) => format!("{}%", inner.write(rows)),
            Expr::Group(inner) => format!("({})", inner.write(rows)),
            Expr::Binary(left, op, right) => {
                format!("{}{}{}", left.write(rows), op.sign(), right.write(rows))
            }
            Expr::Call(name, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(|a| a.write(rows)).collect();
                format!("{name}({})", arguments.join(","))
            }
        }
    }
}

impl Cell {
    fn write(self, rows: u32) -> String {
        let mut letters = Vec::new();
        let mut column = u32::from(self.column) + 1;
        while column > 0 {
            letters.push(char::from(b'A' + ((column - 1) % 26) as u8));
            column = (column - 1) / 26;
        }
        let letters: String = letters.into_iter().rev().collect();
        let dollar = |fixed: bool| if fixed { "$" } else { "" };
        let (column, row) = (dollar(self.column_is_fixed), dollar(self.row_is_fixed));
        format!("{column}{letters}{row}{}", self.row + rows + 1)
    }
}

#[cfg(test)]
mod tests;
