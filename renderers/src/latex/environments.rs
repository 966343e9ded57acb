//! Brackets of variable height, matrices and aligned lines.

use super::formula::Formula;
use super::parse::Parser;
use super::symbols;
use super::tokens::Token;

/// The maximum number of rows and columns of a matrix, by the schema of Office Math.
const ROWS: usize = 256;
const COLUMNS: usize = 64;

impl Parser {
    pub fn fence(&mut self) -> Result<Formula, String> {
        let open = self.delimiter()?;
        let mut row = vec![self.row(&["middle"])?];
        while self.is_command(&["middle"]) {
            self.at += 1;
            row.extend(self.delimiter()?.map(Formula::Symbol));
            row.push(self.row(&["middle"])?);
        }
        if !self.is_command(&["right"]) {
            return Err("\\left has no \\right".to_owned());
        }
        self.at += 1;
        let close = self.delimiter()?;
        let body = if row.len() == 1 { row.remove(0) } else { Formula::Row(row) };
        Ok(Formula::Fence { open, close, body: Box::new(body) })
    }

    fn delimiter(&mut self) -> Result<Option<char>, String> {
        self.skip_spaces();
        let token = self.peek().cloned().ok_or("it ends without a bracket")?;
        self.at += 1;
        match &token {
            Token::Char('.') => Ok(None),
            Token::Char('<') => Ok(Some('⟨')),
            Token::Char('>') => Ok(Some('⟩')),
            Token::Char(c @ ('(' | ')' | '[' | ']' | '|' | '/')) => Ok(Some(*c)),
            Token::Command(name) => match symbols::symbol(name) {
                Some(c) if "{}⟨⟩⌊⌋⌈⌉|‖[]↑↓\\".contains(c) => Ok(Some(c)),
                _ => Err(format!("\\{name} is not a bracket")),
            },
            Token::Char(c) => Err(format!("{c} is not a bracket")),
        }
    }

    pub fn environment(&mut self) -> Result<Formula, String> {
        let name = self.words()?;
        let name = name.trim_end_matches('*');
        if name == "array" {
            self.words()?;
        }
        let rows = self.rows()?;
        if self.words()?.trim_end_matches('*') != name {
            return Err(format!("\\begin{{{name}}} has no end"));
        }
        let (open, close) = match name {
            "matrix" | "array" | "smallmatrix" => (None, None),
            "pmatrix" => (Some('('), Some(')')),
            "bmatrix" => (Some('['), Some(']')),
            "Bmatrix" => (Some('{'), Some('}')),
            "vmatrix" => (Some('|'), Some('|')),
            "Vmatrix" => (Some('‖'), Some('‖')),
            "cases" => (Some('{'), None),
            "aligned" | "align" | "gather" | "gathered" | "split" | "equation" => {
                return Ok(Formula::Lines(rows));
            }
            other => return Err(format!("\\begin{{{other}}} is not supported")),
        };
        Ok(Formula::Matrix { open, close, rows })
    }

    /// Parses rows and cells up to and including `\end`.
    fn rows(&mut self) -> Result<Vec<Vec<Formula>>, String> {
        let mut rows = vec![Vec::new()];
        loop {
            let cell = self.row(&["hline"])?;
            if self.is_command(&["hline"]) {
                self.at += 1;
                continue;
            }
            rows.last_mut().expect("there is always a row").push(cell);
            if self.is('&') {
                self.at += 1;
            } else if self.is_command(&["\\"]) {
                self.at += 1;
                self.skip_row_space();
                rows.push(Vec::new());
            } else if self.is_command(&["end"]) {
                self.at += 1;
                break;
            } else {
                return Err("\\begin has no \\end".to_owned());
            }
        }
        rows.retain(|row| !matches!(row.as_slice(), [Formula::Row(cell)] if cell.is_empty()));
        sized(rows)
    }

    /// Skips the space below a row, as in `\\[2pt]`.
    fn skip_row_space(&mut self) {
        self.at += usize::from(self.is('*'));
        let begin = self.at;
        if self.is('[') {
            self.at += 1;
            let length = self.plain_length();
            let has_number = length.starts_with(|c: char| !c.is_ascii_lowercase());
            let has_unit = length.ends_with(|c: char| c.is_ascii_lowercase());
            if has_number && has_unit && self.is(']') {
                self.at += 1;
                return;
            }
        }
        self.at = begin;
    }
}

/// The rows of a matrix, which has at least one, if they are not too many.
pub fn sized(mut rows: Vec<Vec<Formula>>) -> Result<Vec<Vec<Formula>>, String> {
    if rows.is_empty() {
        rows.push(vec![Formula::Row(Vec::new())]);
    }
    if rows.len() > ROWS || rows.iter().any(|row| row.len() > COLUMNS) {
        return Err(format!("a matrix has more than {ROWS} rows or {COLUMNS} columns"));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latex::parse;

    #[test]
    fn a_matrix_has_rows_and_columns_within_the_schema() {
        let matrix = |inside: &str| parse(&format!(r"\begin{{matrix}}{inside}\end{{matrix}}"));
        let Formula::Matrix { rows, .. } = matrix("").unwrap() else { panic!("no matrix") };
        assert_eq!(rows.len(), 1);
        assert!(matrix(&"a&".repeat(COLUMNS - 1)).is_ok());
        assert!(matrix(&r"a\\".repeat(ROWS)).is_ok());
        assert!(matrix(&"a&".repeat(COLUMNS)).unwrap_err().contains("64 columns"));
        assert!(matrix(&r"a\\".repeat(ROWS + 1)).unwrap_err().contains("256 rows"));
        let lines = format!(r"\substack{{{}}}", r"a\\".repeat(ROWS));
        assert!(parse(&lines).unwrap_err().contains("256 rows"));
    }

    #[test]
    fn the_space_below_a_row_is_not_shown() {
        let rows = |inside: &str| {
            let source = format!(r"\begin{{aligned}}{inside}\end{{aligned}}");
            let Formula::Lines(rows) = parse(&source).unwrap() else { panic!("no lines") };
            rows
        };
        let plain = rows(r"a\\b");
        for inside in [r"a\\[2pt]b", r"a\\[-0.5em] b", r"a\\*[1ex]b", r"a\\*b"] {
            assert_eq!(rows(inside), plain, "{inside}");
        }
        for inside in [r"a\\[x]b", r"a\\[0,1]b", r"a\\[1]b"] {
            assert_ne!(rows(inside), plain, "{inside}");
        }
    }
}
