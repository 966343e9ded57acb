//! Brackets of variable height, matrices and aligned lines.

use super::formula::Formula;
use super::parse::Parser;
use super::symbols;
use super::tokens::Token;

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
                rows.push(Vec::new());
            } else if self.is_command(&["end"]) {
                self.at += 1;
                break;
            } else {
                return Err("\\begin has no \\end".to_owned());
            }
        }
        rows.retain(|row| !matches!(row.as_slice(), [Formula::Row(cell)] if cell.is_empty()));
        Ok(rows)
    }
}
