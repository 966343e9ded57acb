//! Commands of common LaTeX packages: marks above and below, boxes, spaces, units and chemistry.

use super::environments::sized;
use super::formula::{Enclosure, Formula};
use super::parse::Parser;
use super::symbols;
use super::tokens::Token;

impl Parser {
    /// The formula of a command; `None` if the command is unknown.
    pub fn extra(&mut self, name: &str) -> Result<Option<Formula>, String> {
        Ok(Some(match name {
            "overset" | "stackrel" => {
                let above = self.boxed()?;
                Formula::Stack { base: self.boxed()?, below: None, above: Some(above) }
            }
            "underset" => {
                let below = self.boxed()?;
                Formula::Stack { base: self.boxed()?, below: Some(below), above: None }
            }
            "xrightarrow" | "xleftarrow" | "xleftrightarrow" => self.long_arrow(name)?,
            "mathop" => Formula::Stack { base: self.boxed()?, below: None, above: None },
            "substack" => self.substack()?,
            "sideset" => {
                let (left, right) = (self.argument()?, self.argument()?);
                Formula::Row(vec![left, self.argument()?, right])
            }
            "boxed" | "fbox" => self.enclosed(Enclosure::Box)?,
            "cancel" | "bcancel" | "xcancel" => self.enclosed(Enclosure::Strike)?,
            "smash" | "mathstrut" | "mathclap" | "mathrlap" | "mathllap" => self.argument()?,
            "phantom" | "hphantom" | "vphantom" => {
                self.argument()?;
                Formula::Space(if name == "vphantom" { 0.0 } else { 1.0 })
            }
            "tag" => {
                let words = self.words()?;
                Formula::Row(vec![Formula::Space(2.0), Formula::Text(format!("({words})"))])
            }
            "label" => {
                self.words()?;
                Formula::Row(Vec::new())
            }
            "notag" | "limits" | "nolimits" | "scriptstyle" | "scriptscriptstyle" => {
                Formula::Row(Vec::new())
            }
            "hspace" | "hskip" | "mspace" | "vspace" => Formula::Space(self.length()?),
            "color" | "textcolor" | "colorbox" => self.colored(name)?,
            "unicode" | "char" => self.code_point()?,
            "LaTeX" | "TeX" | "KaTeX" => Formula::Text(name.to_owned()),
            "ce" => chemistry(&self.source_of_group()?),
            "num" => Formula::Number(self.words()?),
            "si" | "unit" => Formula::Text(unit(&self.source_of_group()?)),
            "SI" | "qty" => {
                let number = Formula::Number(self.words()?);
                let unit = Formula::Text(unit(&self.source_of_group()?));
                Formula::Row(vec![number, Formula::Space(1.0 / 6.0), unit])
            }
            _ => return Ok(None),
        }))
    }

    fn enclosed(&mut self, mark: Enclosure) -> Result<Formula, String> {
        Ok(Formula::Enclosed { mark, body: self.boxed()? })
    }

    /// An arrow with a text above, and optionally one below.
    fn long_arrow(&mut self, name: &str) -> Result<Formula, String> {
        let arrow = match name {
            "xleftarrow" => '⟵',
            "xleftrightarrow" => '⟷',
            _ => '⟶',
        };
        let below = self.optional()?;
        let above = Some(self.boxed()?);
        Ok(Formula::Stack { base: Box::new(Formula::Symbol(arrow)), below, above })
    }

    /// Lines below each other.
    fn substack(&mut self) -> Result<Formula, String> {
        self.skip_spaces();
        if !self.is('{') {
            return Err("\\substack must be followed by braces".to_owned());
        }
        self.at += 1;
        let mut rows = vec![vec![self.row(&[])?]];
        while self.is_command(&["\\"]) {
            self.at += 1;
            rows.push(vec![self.row(&[])?]);
        }
        if !self.is('}') {
            return Err("a brace is not closed".to_owned());
        }
        self.at += 1;
        Ok(Formula::Matrix { open: None, close: None, rows: sized(rows)? })
    }

    /// `{1.5em}` or ` 1.5em`, in em.
    fn length(&mut self) -> Result<f32, String> {
        let is_star = self.is('*');
        self.at += usize::from(is_star);
        let text = if self.is('{') { self.words()? } else { self.plain_length() };
        let text = text.trim();
        let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(unit);
        let number: f32 = number.trim().parse().map_err(|_| format!("{text} is not a length"))?;
        let em = match unit.trim() {
            "mu" => 1.0 / 18.0,
            "pt" => 0.1,
            "mm" => 0.28,
            "cm" => 2.8,
            "in" => 7.2,
            "ex" => 0.45,
            _ => 1.0,
        };
        Ok((number * em).clamp(-10.0, 40.0))
    }

    /// The letters, digits and signs that follow.
    pub fn plain_length(&mut self) -> String {
        let mut text = String::new();
        while let Some(Token::Char(c)) = self.peek()
            && (c.is_ascii_digit() || matches!(c, '.' | '-') || c.is_ascii_lowercase())
        {
            text.push(*c);
            self.at += 1;
        }
        text
    }

    /// Colours have no effect, which is reported.
    fn colored(&mut self, name: &str) -> Result<Formula, String> {
        self.optional()?;
        self.words()?;
        self.notes.push(format!("\\{name} has no effect"));
        if name == "color" { Ok(Formula::Row(Vec::new())) } else { self.argument() }
    }

    /// `{x2211}`, `{"2211}` or `{8721}`
    fn code_point(&mut self) -> Result<Formula, String> {
        let text = self.words()?;
        let number = match text.trim().strip_prefix(['x', 'X', '"', 'U']) {
            Some(hex) => u32::from_str_radix(hex.trim_start_matches('+'), 16).ok(),
            None => text.trim().parse().ok(),
        };
        let symbol = number.and_then(char::from_u32).filter(|c| !c.is_control());
        symbol.map(Formula::Symbol).ok_or_else(|| format!("{text} is not a character"))
    }

    /// An argument in square brackets.
    fn optional(&mut self) -> Result<Option<Box<Formula>>, String> {
        self.skip_spaces();
        if !self.is('[') {
            return Ok(None);
        }
        self.at += 1;
        let body = self.row(&["]"])?;
        if !self.is(']') {
            return Err("a bracket is not closed".to_owned());
        }
        self.at += 1;
        Ok(Some(Box::new(body)))
    }
}

/// A chemical equation: digits after letters are subscripts, `^` begins a charge.
fn chemistry(source: &str) -> Formula {
    let arrows = source.replace("<=>", "⇌").replace("<->", "↔").replace("->", "→");
    let mut parts: Vec<Formula> = Vec::new();
    let mut chars = arrows.chars().peekable();
    let mut last = ' ';
    while let Some(c) = chars.next() {
        let mut more = |first: String, is: fn(char) -> bool| {
            let mut text = first;
            while let Some(next) = chars.next_if(|next| is(*next)) {
                text.push(next);
            }
            text
        };
        match c {
            '0'..='9' if last.is_alphabetic() || matches!(last, ')' | ']') => {
                let text = more(c.to_string(), |c| c.is_ascii_digit());
                script(&mut parts, Formula::Number(text), false);
            }
            '^' | '_' => {
                let text = more(String::new(), |c| c.is_alphanumeric() || "{}+-".contains(c));
                let text = text.replace(['{', '}'], "").replace('-', "−");
                script(&mut parts, Formula::Text(text), c == '^');
            }
            '+' | '-' if last.is_alphanumeric() && chars.peek().is_none_or(|c| *c == ' ') => {
                let sign = if c == '+' { '+' } else { '−' };
                script(&mut parts, Formula::Symbol(sign), true);
            }
            '→' | '⇌' | '↔' | '+' | '-' => parts.push(Formula::Symbol(c)),
            ' ' => {}
            c => parts.push(Formula::Text(c.to_string())),
        }
        last = c;
    }
    Formula::Row(parts)
}

/// Adds a subscript or superscript to the last part.
fn script(parts: &mut Vec<Formula>, script: Formula, is_above: bool) {
    let script = Some(Box::new(script));
    match parts.pop().unwrap_or(Formula::Row(Vec::new())) {
        Formula::Scripts { base, below, above: None } if is_above => {
            parts.push(Formula::Scripts { base, below, above: script });
        }
        base => {
            let (below, above) = if is_above { (None, script) } else { (script, None) };
            parts.push(Formula::Scripts { base: Box::new(base), below, above });
        }
    }
}

/// The symbols of a unit: `\kilo\metre\per\hour` is `km/h`.
fn unit(source: &str) -> String {
    let mut text = String::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        if let Some(command) = rest.strip_prefix('\\') {
            let end = command.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(command.len());
            text.push_str(symbols::unit(&command[..end]).unwrap_or(&command[..end]));
            rest = command[end..].trim_start();
        } else {
            text.push(match c {
                '.' | '~' => '⋅',
                c => c,
            });
            rest = &rest[c.len_utf8()..];
        }
    }
    text.replace(['{', '}'], "").replace("^2", "²").replace("^3", "³").replace("^-1", "⁻¹")
}
