//! Parses and checks formulas. The grammar has no other files, defined names or unknown functions.
//! References to other sheets are checked later, when all sheets are known.

use super::expr::{Cell, Expr, Op};
use super::functions;

/// The maximum length of a formula, in characters.
const CHARS: usize = 1_000;
/// The maximum nesting of parentheses.
const DEPTH: usize = 32;

/// Parses the formula. The error is a sentence fragment with the reason.
pub fn parse(source: &str) -> Result<Expr, String> {
    if source.chars().count() > CHARS {
        return Err(format!("it has more than {CHARS} characters"));
    }
    let body = source.strip_prefix('=').unwrap_or(source);
    let mut parser = FormulaParser { rest: body.trim(), depth: 0 };
    let expr = parser.compare()?;
    if parser.rest.is_empty() { Ok(expr) } else { Err(parser.odd()) }
}

struct FormulaParser<'a> {
    rest: &'a str,
    depth: usize,
}

/// Longer signs first.
pub(super) const COMPARISONS: [(&str, Op); 6] = [
    ("<>", Op::NotEqual),
    ("<=", Op::LessOrEqual),
    (">=", Op::GreaterOrEqual),
    ("=", Op::Equal),
    ("<", Op::Less),
    (">", Op::Greater),
];

impl FormulaParser<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn odd(&self) -> String {
        match self.rest.chars().next() {
            Some(c) => format!("“{c}” is unexpected"),
            None => "it is incomplete".to_owned(),
        }
    }

    fn left_to_right(
        &mut self,
        ops: &[(&str, Op)],
        next: fn(&mut Self) -> Result<Expr, String>,
    ) -> Result<Expr, String> {
        let mut left = next(self)?;
        while let Some(&(_, op)) = ops.iter().find(|(sign, _)| self.take(sign)) {
            left = Expr::Binary(Box::new(left), op, Box::new(next(self)?));
        }
        Ok(left)
    }

    fn compare(&mut self) -> Result<Expr, String> {
        self.left_to_right(&COMPARISONS, Self::join)
    }

    fn join(&mut self) -> Result<Expr, String> {
        self.left_to_right(&[("&", Op::Join)], Self::add)
    }

    fn add(&mut self) -> Result<Expr, String> {
        self.left_to_right(&[("+", Op::Add), ("-", Op::Subtract)], Self::multiply)
    }

    fn multiply(&mut self) -> Result<Expr, String> {
        self.left_to_right(&[("*", Op::Multiply), ("/", Op::Divide)], Self::power)
    }

    fn power(&mut self) -> Result<Expr, String> {
        self.left_to_right(&[("^", Op::Power)], Self::signed)
    }

    fn signed(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("it is nested deeper than {DEPTH} levels"));
        }
        let expr = if self.take("-") {
            Expr::Negate(Box::new(self.signed()?))
        } else {
            let mut expr = self.atom()?;
            while self.take("%") {
                expr = Expr::Percent(Box::new(expr));
            }
            expr
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn atom(&mut self) -> Result<Expr, String> {
        if self.take("(") {
            let inner = self.compare()?;
            return if self.take(")") { Ok(Expr::Group(Box::new(inner))) } else { Err(self.odd()) };
        }
        match self.rest.chars().next() {
            Some('"') => self.text(),
            Some('0'..='9' | '.') => self.number(),
            Some('\'') => self.quoted_sheet(),
            Some('A'..='Z' | 'a'..='z' | '$') => self.word(),
            // Sheet names may be in any script; functions and cells may not.
            Some(c) if c.is_alphabetic() => self.sheet(),
            _ => Err(self.odd()),
        }
    }

    fn text(&mut self) -> Result<Expr, String> {
        let mut text = String::new();
        let mut rest = &self.rest[1..];
        loop {
            let end = rest.find('"').ok_or("a quotation mark is missing")?;
            text.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            if !rest.starts_with('"') {
                break;
            }
            text.push('"');
            rest = &rest[1..];
        }
        self.rest = rest.trim_start();
        Ok(Expr::Text(text))
    }

    fn number(&mut self) -> Result<Expr, String> {
        let mantissa = digits(self.rest, |c| c.is_ascii_digit() || c == '.');
        let end = mantissa + exponent(&self.rest[mantissa..]);
        let (number, rest) = self.rest.split_at(end);
        let value = number.parse().ok().filter(|value: &f64| value.is_finite());
        self.rest = rest.trim_start();
        value.map(Expr::Number).ok_or_else(|| format!("“{number}” is not a number"))
    }

    /// `'Sheet name'!A1`, in which an apostrophe is doubled.
    fn quoted_sheet(&mut self) -> Result<Expr, String> {
        let mut name = String::new();
        let mut rest = &self.rest[1..];
        loop {
            let end = rest.find('\'').ok_or("an apostrophe is missing")?;
            name.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            if !rest.starts_with('\'') {
                break;
            }
            name.push('\'');
            rest = &rest[1..];
        }
        self.rest = rest;
        self.elsewhere(name)
    }

    /// `Sheet!A1`
    fn sheet(&mut self) -> Result<Expr, String> {
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let name = name.to_owned();
        self.rest = rest;
        self.elsewhere(name)
    }

    fn elsewhere(&mut self, name: String) -> Result<Expr, String> {
        if name.contains(['[', ']']) {
            return Err("it references another file".to_owned());
        }
        if !self.rest.starts_with('!') {
            return Err(format!("“{name}” is neither a cell nor a function"));
        }
        self.rest = &self.rest[1..];
        match self.word()? {
            inner @ (Expr::Cell(_) | Expr::Range(..) | Expr::Columns(..)) => {
                Ok(Expr::Elsewhere(name, Box::new(inner)))
            }
            _ => Err(format!("“{name}!” is not followed by a cell")),
        }
    }

    fn word(&mut self) -> Result<Expr, String> {
        let name = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(0);
        if self.rest[name..].starts_with('!') && name > 0 {
            return self.sheet();
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '$' || c == '.'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let upper = word.to_ascii_uppercase();
        self.rest = rest.trim_start();
        if self.take("(") {
            let name = functions::known(&upper).ok_or(format!("{upper} is not allowed"))?;
            return self.arguments(name);
        }
        if upper == "TRUE" || upper == "FALSE" {
            return Ok(Expr::Bool(upper == "TRUE"));
        }
        if let Some(from) = column(&upper).filter(|_| self.rest.starts_with(':')) {
            return self.columns(from);
        }
        let from = cell(&upper).ok_or(format!("“{word}” is neither a cell nor a function"))?;
        if !self.take(":") {
            return Ok(Expr::Cell(from));
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '$'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let to = cell(&word.to_ascii_uppercase()).ok_or("a range has no end")?;
        self.rest = rest.trim_start();
        Ok(Expr::Range(from, to))
    }

    /// The end of `B:D`.
    fn columns(&mut self, from: Cell) -> Result<Expr, String> {
        self.take(":");
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '$'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let to = column(&word.to_ascii_uppercase()).ok_or("a range has no end")?;
        self.rest = rest.trim_start();
        Ok(Expr::Columns(from, to))
    }

    fn arguments(&mut self, name: &'static str) -> Result<Expr, String> {
        let mut arguments = Vec::new();
        if !self.take(")") {
            loop {
                let is_missing = self.rest.starts_with([',', ')']);
                arguments.push(if is_missing { Expr::Missing } else { self.compare()? });
                if self.take(")") {
                    break;
                }
                if !self.take(",") {
                    return Err(self.odd());
                }
            }
        }
        functions::check(name, arguments.len())?;
        Ok(Expr::Call(name, arguments))
    }
}

/// The length of the digits at the start of a text.
fn digits(text: &str, is_digit: fn(char) -> bool) -> usize {
    text.find(|c: char| !is_digit(c)).unwrap_or(text.len())
}

/// The length of the exponent at the start of a text, such as `E3` or `e-10`; zero if there is none.
fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return 0 };
    let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    match digits(unsigned, |c| c.is_ascii_digit()) {
        0 => 0,
        length => text.len() - unsigned.len() + length,
    }
}

/// `A` or `$B`
fn column(word: &str) -> Option<Cell> {
    let letters = word.strip_prefix('$').unwrap_or(word);
    let is_name = letters.bytes().all(|byte| byte.is_ascii_uppercase()) && !letters.is_empty();
    is_name.then(|| cell(&format!("{word}1"))).flatten()
}

/// `A1`, `$B$2`, up to `XFD1048576`.
fn cell(word: &str) -> Option<Cell> {
    let column_is_fixed = word.starts_with('$');
    let word = word.strip_prefix('$').unwrap_or(word);
    let split = word.find(|c: char| !c.is_ascii_uppercase())?;
    let (letters, row) = word.split_at(split);
    let row_is_fixed = row.starts_with('$');
    let row = row.strip_prefix('$').unwrap_or(row);
    let is_row = row.bytes().all(|b| b.is_ascii_digit()) && !row.starts_with('0');
    if !(1..=3).contains(&letters.len()) || !is_row {
        return None;
    }
    let column = letters.bytes().fold(0_u32, |sum, b| sum * 26 + u32::from(b - b'A') + 1);
    let row: u32 = row.parse().ok().filter(|row| *row <= 1_048_576)?;
    let column = u16::try_from(column - 1).ok().filter(|column| *column < 16_384)?;
    Some(Cell { row: row - 1, column, row_is_fixed, column_is_fixed })
}
