//! The syntax tree of a formula and its serialization.

use std::collections::BTreeMap;

/// Functions that are newer than the file format and need a prefix there.
const FUTURE: [&str; 17] = [
    "DAYS",
    "XLOOKUP",
    "MAXIFS",
    "MINIFS",
    "IFNA",
    "IFS",
    "SWITCH",
    "CONCAT",
    "TEXTJOIN",
    "STDEV.S",
    "STDEV.P",
    "VAR.S",
    "VAR.P",
    "RANK.EQ",
    "PERCENTILE.INC",
    "QUARTILE.INC",
    "MODE.SNGL",
];

/// The last row of a sheet.
const LAST_ROW: u32 = (1 << 20) - 1;
/// The maximum length of a text in a formula, in UTF-16 units.
const TEXT_UNITS: usize = 255;

/// A checked formula. Cells are counted from zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Number(f64),
    Text(String),
    Bool(bool),
    /// An argument that is left out, as the second of `IF(A1,,2)`.
    Missing,
    Cell(Cell),
    Range(Cell, Cell),
    /// Whole columns; the rows of the cells have no meaning.
    Columns(Cell, Cell),
    /// A cell or a range of the first table of another sheet of this workbook.
    Elsewhere(String, Box<Expr>),
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
    /// An argument of a function that has another value than zero if it is left out.
    pub fn given(arguments: &[Expr], at: usize) -> Option<&Expr> {
        arguments.get(at).filter(|argument| **argument != Expr::Missing)
    }

    /// Whether subtotals of the cell's range leave the cell out.
    pub fn has_subtotal(&self) -> bool {
        self.calls(&["SUBTOTAL"])
    }

    /// Whether the formula refers to whole columns.
    pub fn has_columns(&self) -> bool {
        match self {
            Expr::Columns(..) => true,
            Expr::Elsewhere(_, inner)
            | Expr::Negate(inner)
            | Expr::Percent(inner)
            | Expr::Group(inner) => inner.has_columns(),
            Expr::Binary(left, _, right) => left.has_columns() || right.has_columns(),
            Expr::Call(_, arguments) => arguments.iter().any(Expr::has_columns),
            _ => false,
        }
    }

    /// Whether the formula calls one of these functions.
    pub fn calls(&self, names: &[&str]) -> bool {
        match self {
            Expr::Call(name, arguments) => {
                names.contains(name) || arguments.iter().any(|argument| argument.calls(names))
            }
            Expr::Negate(inner) | Expr::Percent(inner) | Expr::Group(inner) => inner.calls(names),
            Expr::Binary(left, _, right) => left.calls(names) || right.calls(names),
            _ => false,
        }
    }

    /// The formula in workbook coordinates: authors count rows from the header of a table,
    /// workbooks from the top of a sheet.
    pub fn write(&self, tops: &Tops) -> String {
        let rows = tops.here;
        match self {
            Expr::Elsewhere(name, inner) => {
                let (name, here) = tops.sheet(name).unwrap_or((name, 0));
                let inner = inner.write(&Tops { here, ..Tops::default() });
                format!("'{}'!{inner}", name.replace('\'', "''"))
            }
            // Excel reads at most 255 characters of a number.
            Expr::Number(number) if !(1e-9..1e15).contains(number) && *number != 0.0 => {
                format!("{number:E}")
            }
            Expr::Number(number) => number.to_string(),
            Expr::Text(text) => quoted(text),
            Expr::Missing => String::new(),
            Expr::Bool(truth) => if *truth { "TRUE" } else { "FALSE" }.to_owned(),
            Expr::Cell(cell) => cell.write(rows),
            Expr::Range(from, to) => format!("{}:{}", from.write(rows), to.write(rows)),
            Expr::Columns(from, to) => format!("{}:{}", from.column_name(), to.column_name()),
            Expr::Negate(inner) => format!("-{}", inner.write(tops)),
            Expr::Percent(inner) => format!("{}%", inner.write(tops)),
            Expr::Group(inner) => format!("({})", inner.write(tops)),
            Expr::Binary(left, op, right) => {
                format!("{}{}{}", left.write(tops), op.sign(), right.write(tops))
            }
            Expr::Call(name, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(|a| a.write(tops)).collect();
                let prefix = if FUTURE.contains(name) { "_xlfn." } else { "" };
                format!("{prefix}{name}({})", arguments.join(","))
            }
        }
    }
}

/// A text as it is written in a formula: a longer one than Excel reads is joined from its parts.
fn quoted(text: &str) -> String {
    let (mut parts, mut units) = (vec![String::new()], 0);
    for c in text.chars() {
        units += c.len_utf16();
        if units > TEXT_UNITS {
            parts.push(String::new());
            units = c.len_utf16();
        }
        parts.last_mut().expect("there is a part").push(c);
    }
    let mut quoted = parts.iter().map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
    if parts.len() > 1 {
        return format!("({})", quoted.collect::<Vec<_>>().join("&"));
    }
    quoted.next().unwrap_or_default()
}

/// The row, counted from zero, of each table's header: that of the formula's own table, and those
/// of the first table of each sheet, by the sheet name in lower case, with the original name.
#[derive(Debug, Clone, Default)]
pub struct Tops {
    pub here: u32,
    pub sheets: BTreeMap<String, (String, u32)>,
}

impl Tops {
    pub fn sheet(&self, name: &str) -> Option<(&str, u32)> {
        self.sheets.get(&name.to_lowercase()).map(|(name, top)| (name.as_str(), *top))
    }
}

impl Cell {
    fn write(self, rows: u32) -> String {
        let row = if self.row_is_fixed { "$" } else { "" };
        // A range down to the end of the sheet stays within it.
        format!("{}{row}{}", self.column_name(), (self.row + rows).min(LAST_ROW) + 1)
    }

    fn column_name(self) -> String {
        let mut letters = Vec::new();
        let mut column = u32::from(self.column) + 1;
        while column > 0 {
            letters.push(char::from(b'A' + ((column - 1) % 26) as u8));
            column = (column - 1) / 26;
        }
        let letters: String = letters.into_iter().rev().collect();
        if self.column_is_fixed { format!("${letters}") } else { letters }
    }
}
