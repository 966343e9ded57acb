//! Parses LaTeX into a [`Formula`].

use super::formula::{Formula, Style};
use super::macros;
use super::symbols;
use super::tokens::{Token, tokens};

/// The maximum length of a formula, in bytes.
const FORMULA_BYTES: usize = 4 * 1024;
/// The maximum nesting of groups and of arguments without braces.
const DEPTH: usize = 64;

/// Parses the formula. An unknown command becomes its source; the error is a sentence fragment that
/// names what else is not supported.
pub fn parse(latex: &str) -> Result<Formula, String> {
    read(latex).map(|(formula, _)| formula)
}

/// What is lost in a formula that can be parsed: ends of sentences, each once.
pub fn losses(latex: &str) -> Vec<String> {
    read(latex).map(|(_, notes)| notes).unwrap_or_default()
}

fn read(latex: &str) -> Result<(Formula, Vec<String>), String> {
    if latex.len() > FORMULA_BYTES {
        return Err(format!("it is longer than {FORMULA_BYTES} bytes"));
    }
    let tokens = macros::expand(tokens(latex))?;
    let mut parser = Parser { tokens, at: 0, depth: 0, notes: Vec::new() };
    let row = parser.row(&[])?;
    match parser.peek() {
        None => {
            let mut notes = parser.notes;
            notes.sort();
            notes.dedup();
            Ok((row, notes))
        }
        Some(token) => Err(format!("“{}” has no beginning", token.text())),
    }
}

pub struct Parser {
    tokens: Vec<Token>,
    pub at: usize,
    depth: usize,
    /// What is lost.
    pub notes: Vec<String>,
}

impl Parser {
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub fn is(&self, c: char) -> bool {
        self.peek() == Some(&Token::Char(c))
    }

    pub fn is_command(&self, names: &[&str]) -> bool {
        matches!(self.peek(), Some(Token::Command(name)) if names.contains(&name.as_str()))
    }

    pub fn skip_spaces(&mut self) {
        while self.is(' ') {
            self.at += 1;
        }
    }

    /// Parses atoms up to a closing brace, `&`, `\\`, or one of `ends`, which is not consumed.
    pub fn row(&mut self, ends: &[&str]) -> Result<Formula, String> {
        self.nested(|parser| parser.atoms(ends))
    }

    /// Parses one level deeper, unless that is too deep.
    fn nested(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<Formula, String>,
    ) -> Result<Formula, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("it is nested deeper than {DEPTH} levels"));
        }
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    fn atoms(&mut self, ends: &[&str]) -> Result<Formula, String> {
        let mut row = Vec::new();
        loop {
            self.skip_spaces();
            let at_end = self.peek().is_none()
                || self.is('}')
                || self.is('&')
                || self.is_command(&["\\", "end", "right"])
                || self.is_command(ends)
                || (ends.contains(&"]") && self.is(']'));
            if at_end {
                break;
            }
            if let Some(style) = self.switch() {
                row.push(Formula::Styled { style, body: Box::new(self.row(ends)?) });
                continue;
            }
            let atom = self.atom()?;
            let atom = self.scripts(atom)?;
            row.push(atom);
        }
        Ok(if row.len() == 1 { row.remove(0) } else { Formula::Row(row) })
    }

    fn scripts(&mut self, base: Formula) -> Result<Formula, String> {
        let (mut below, mut above, mut has_limits) = (None, None, false);
        let mut primes = Vec::new();
        loop {
            self.skip_spaces();
            if self.is_command(&["limits", "nolimits"]) {
                has_limits = self.is_command(&["limits"]);
                self.at += 1;
            } else if self.is('\'') {
                self.at += 1;
                primes.push(Formula::Symbol('′'));
            } else if self.is('_') && below.is_none() {
                self.at += 1;
                below = Some(self.argument()?);
            } else if self.is('^') && above.is_none() {
                self.at += 1;
                above = Some(self.argument()?);
            } else if self.is('_') || self.is('^') {
                return Err("it has two subscripts or superscripts at the same position".to_owned());
            } else {
                break;
            }
        }
        if !primes.is_empty() {
            primes.extend(above);
            above = Some(Formula::Row(primes));
        }
        if below.is_none() && above.is_none() {
            return Ok(base);
        }
        let (below, above) = (below.map(Box::new), above.map(Box::new));
        Ok(match base {
            Formula::Stack { base, below: None, above: None } => {
                Formula::Stack { base, below, above }
            }
            // Large symbols and functions place their limits themselves.
            base if has_limits
                && !matches!(base, Formula::Symbol(_) | Formula::Function { .. }) =>
            {
                Formula::Stack { base: Box::new(base), below, above }
            }
            base => Formula::Scripts { base: Box::new(base), below, above },
        })
    }

    /// The style that applies to the rest of the group.
    fn switch(&mut self) -> Option<Style> {
        let Some(Token::Command(name)) = self.peek() else { return None };
        let style = match name.as_str() {
            "rm" => Style::Upright,
            "bf" => Style::Bold,
            "sf" => Style::Sans,
            "tt" => Style::Mono,
            "cal" => Style::Calligraphic,
            _ => return None,
        };
        self.at += 1;
        Some(style)
    }

    /// A group in braces, or the next atom.
    pub fn argument(&mut self) -> Result<Formula, String> {
        self.skip_spaces();
        if self.is('{') {
            return self.group();
        }
        match self.peek() {
            None => Err("it is incomplete".to_owned()),
            Some(Token::Char(c)) if c.is_ascii_digit() => {
                let digit = c.to_string();
                self.at += 1;
                Ok(Formula::Number(digit))
            }
            // An argument may be a command with an argument, as in `\hat\hat x`.
            Some(_) => self.nested(Self::atom),
        }
    }

    fn group(&mut self) -> Result<Formula, String> {
        self.at += 1;
        let row = self.row(&[])?;
        if !self.is('}') {
            return Err("a brace is not closed".to_owned());
        }
        self.at += 1;
        Ok(row)
    }

    pub fn boxed(&mut self) -> Result<Box<Formula>, String> {
        Ok(Box::new(self.argument()?))
    }

    fn atom(&mut self) -> Result<Formula, String> {
        let Some(token) = self.peek().cloned() else {
            return Err("it is incomplete".to_owned());
        };
        match token {
            Token::Char('{') => self.group(),
            Token::Char('^' | '_' | '\'') => Ok(Formula::Row(Vec::new())),
            Token::Char('}' | '&') => Err(format!("“{}” is unexpected", token.text())),
            Token::Char(c) if c.is_ascii_digit() => Ok(self.number()),
            Token::Char(c) => {
                self.at += 1;
                Ok(match c {
                    '~' => Formula::Space(1.0 / 3.0),
                    '-' => Formula::Symbol('−'),
                    '*' => Formula::Symbol('∗'),
                    c => Formula::Symbol(c),
                })
            }
            Token::Command(name) => {
                self.at += 1;
                self.command(&name)
            }
        }
    }

    fn number(&mut self) -> Formula {
        let mut number = String::new();
        while let Some(Token::Char(c)) = self.peek() {
            let next = self.tokens.get(self.at + 1);
            let next_is_digit = matches!(next, Some(Token::Char(c)) if c.is_ascii_digit());
            if !(c.is_ascii_digit() || (*c == '.' && next_is_digit)) {
                break;
            }
            number.push(*c);
            self.at += 1;
        }
        Formula::Number(number)
    }

    fn command(&mut self, name: &str) -> Result<Formula, String> {
        if let Some(c) = symbols::symbol(name) {
            return Ok(Formula::Symbol(c));
        }
        if let Some(em) = symbols::space(name) {
            return Ok(Formula::Space(em));
        }
        if let Some(limits) = symbols::function(name) {
            return Ok(Formula::Function { name: name.to_owned(), limits });
        }
        if let Some(mark) = symbols::accent(name) {
            return Ok(Formula::Accent { mark, body: self.boxed()? });
        }
        if let Some(style) = style(name) {
            return Ok(Formula::Styled { style, body: self.boxed()? });
        }
        self.structure(name)
    }

    fn structure(&mut self, name: &str) -> Result<Formula, String> {
        match name {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                Ok(Formula::Fraction(self.boxed()?, self.boxed()?))
            }
            "binom" | "dbinom" | "tbinom" => Ok(Formula::Binomial(self.boxed()?, self.boxed()?)),
            "sqrt" => self.root(),
            "text" | "textrm" | "mbox" | "textit" | "textbf" => Ok(Formula::Text(self.words()?)),
            "operatorname" => {
                let limits = self.is('*');
                self.at += usize::from(limits);
                Ok(Formula::Function { name: self.words()?, limits })
            }
            "overline" => Ok(Formula::Line { over: true, body: self.boxed()? }),
            "underline" => Ok(Formula::Line { over: false, body: self.boxed()? }),
            "overbrace" => Ok(Formula::Brace { over: true, body: self.boxed()? }),
            "underbrace" => Ok(Formula::Brace { over: false, body: self.boxed()? }),
            "left" => self.fence(),
            "begin" => self.environment(),
            "displaystyle" | "textstyle" | "bigl" | "bigr" | "big" | "Big" | "Bigl" | "Bigr"
            | "bigg" | "Bigg" | "nonumber" => Ok(Formula::Row(Vec::new())),
            "bmod" => Ok(Formula::Text(" mod ".into())),
            "pmod" => {
                let body = self.argument()?;
                let words = Formula::Text("mod ".into());
                let body = Box::new(Formula::Row(vec![words, body]));
                Ok(Formula::Fence { open: Some('('), close: Some(')'), body })
            }
            "not" => match self.argument()? {
                Formula::Symbol('=') => Ok(Formula::Symbol('≠')),
                Formula::Symbol('∈') => Ok(Formula::Symbol('∉')),
                _ => Err("\\not is only supported before = and \\in".to_owned()),
            },
            "" => Err("it ends with a backslash".to_owned()),
            other => match self.extra(other)? {
                Some(formula) => Ok(formula),
                None => Ok(Formula::Text(self.unknown(other))),
            },
        }
    }

    /// The source of an unknown command and its arguments in braces.
    fn unknown(&mut self, name: &str) -> String {
        self.notes.push(format!("\\{name} is shown as its source"));
        let mut source = format!("\\{name}");
        while self.is('{')
            && let Ok(group) = self.source_of_group()
        {
            source.extend(["{", &group, "}"]);
        }
        source
    }

    /// The source of a group in braces; it is consumed only if it is closed.
    pub fn source_of_group(&mut self) -> Result<String, String> {
        self.skip_spaces();
        let (mut source, mut depth) = (String::new(), 0_usize);
        for (count, token) in self.tokens[self.at..].iter().enumerate() {
            match token {
                Token::Char('{') => depth += 1,
                Token::Char('}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                self.at += count + 1;
                return Ok(source.split_off(usize::from(count > 0)));
            }
            source.push_str(&token.text());
            // The name of a command ends before a letter.
            let is_word = matches!(token, Token::Command(name) if !name.is_empty());
            if is_word && self.follows_letter(self.at + count + 1) {
                source.push(' ');
            }
        }
        Err("a brace is not closed".to_owned())
    }

    fn follows_letter(&self, at: usize) -> bool {
        matches!(self.tokens.get(at), Some(Token::Char(c)) if c.is_ascii_alphabetic())
    }

    fn root(&mut self) -> Result<Formula, String> {
        self.skip_spaces();
        let mut degree = None;
        if self.is('[') {
            self.at += 1;
            degree = Some(Box::new(self.row(&["]"])?));
            if !self.is(']') {
                return Err("a bracket is not closed".to_owned());
            }
            self.at += 1;
        }
        Ok(Formula::Root { degree, body: self.boxed()? })
    }

    /// The text in braces, verbatim.
    pub fn words(&mut self) -> Result<String, String> {
        self.skip_spaces();
        if !self.is('{') {
            return Err("text must be in braces".to_owned());
        }
        self.at += 1;
        let mut words = String::new();
        loop {
            match self.peek() {
                Some(Token::Char('}')) => break,
                Some(Token::Char('{')) | None => return Err("a brace is not closed".to_owned()),
                Some(Token::Char(c)) => words.push(*c),
                Some(Token::Command(name)) => match symbols::symbol(name) {
                    Some(c) => words.push(c),
                    None if name == " " || name == "," => words.push(' '),
                    None => {
                        let name = name.clone();
                        self.notes.push(format!("\\{name} is shown as its source"));
                        words.extend(["\\", &name]);
                    }
                },
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(words)
    }
}

fn style(name: &str) -> Option<Style> {
    Some(match name {
        "mathbf" | "boldsymbol" | "bm" => Style::Bold,
        "mathrm" | "mathup" => Style::Upright,
        "mathbb" => Style::Blackboard,
        "mathcal" | "mathscr" => Style::Calligraphic,
        "mathfrak" => Style::Fraktur,
        "mathsf" => Style::Sans,
        "mathtt" => Style::Mono,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_of_the_corpus_are_understood() {
        for latex in [
            r"E = mc^2",
            r"\frac{a}{b} + \sqrt{x^2 + y^2}",
            r"\int_{0}^{\infty} e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
            r"\begin{pmatrix} a & b \\ c & d \end{pmatrix} \cdot \vec{v} = \sum_{i=1}^{n} \alpha_i \mathbf{e}_i",
            r"f'(x) = \lim_{h \to 0} \left. \frac{f(x+h)}{h} \right|_{x}",
            r"\begin{cases} 1 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}",
            r"\begin{aligned} a &= b \\ &= c \end{aligned}",
            r"\sqrt[3]{x} \le \binom{n}{k} \underbrace{a+b}_{n}",
        ] {
            assert!(parse(latex).is_ok(), "{latex}: {:?}", parse(latex));
        }
    }

    #[test]
    fn the_tree_is_what_was_written() {
        let formula = parse("x_1^{2}").unwrap();
        let Formula::Scripts { base, below, above } = formula else { panic!("{formula:?}") };
        assert_eq!(*base, Formula::Symbol('x'));
        assert_eq!(below, Some(Box::new(Formula::Number("1".into()))));
        assert_eq!(above, Some(Box::new(Formula::Number("2".into()))));
        assert_eq!(parse(r"3.14").unwrap(), Formula::Number("3.14".into()));
    }

    #[test]
    fn usual_commands_of_packages_are_known() {
        for latex in [
            r"\overset{!}{=}",
            r"\underset{x}{\max} f",
            r"A \stackrel{f}{\to} B",
            r"\boxed{E = mc^2}",
            r"\sum_{\substack{i < n \\ j < m}} a_{ij}",
            r"A \xrightarrow[b]{a} B",
            r"x = 1 \tag{3} \label{eq:a}",
            r"\operatorname*{arg\,max}_{x} f(x)",
            r"\phantom{x} \cancel{y}",
            r"\mathop{\rm lim}\limits_{x \to 0} x",
            r"a \hspace{1cm} b \hspace*{-2pt} c",
            r"{\rm const} + \smash{x}",
            r"\sideset{_a^b}{_c^d}\sum",
            r"\newcommand{\R}{\mathbb{R}} x \in \R",
            r"\newcommand{\norm}[1]{\left\|#1\right\|} \norm{x} + \norm y",
            r"\def\half#1{\frac{#1}{2}} \half{x}",
            r"\unicode{x2211}",
            r"\ce{2H2O <=> H3O+ + OH^-}",
            r"\SI{5}{\kilo\metre\per\hour} \num{1.5} \si{kg.m^2}",
            r"\LaTeX \limits x \notag",
        ] {
            assert_eq!((parse(latex).err(), losses(latex)), (None, vec![]), "{latex}");
        }
        assert_eq!(losses(r"\color{red} a \textcolor{blue}{b}").len(), 2);
        assert!(parse(r"\unicode{zz}").is_err());
        assert!(parse(r"\newcommand{\a}{\a\a} \a").unwrap_err().contains("too much"));
    }

    #[test]
    fn commands_of_a_formula_expand_within_a_limit() {
        let long = "x".repeat(1_000);
        for latex in [
            format!(r"\newcommand{{\a}}{{{long}}}{}", r"\a".repeat(20)),
            format!(r"\newcommand{{\a}}[1]{{{}}}\a{{{long}}}", "#1".repeat(1_000)),
        ] {
            assert!(parse(&latex).unwrap_err().contains("too much"), "{}", latex.len());
        }
        assert!(parse(&format!(r"\newcommand{{\a}}{{{long}}}{}", r"\a".repeat(9))).is_ok());
    }

    #[test]
    fn only_the_unknown_part_is_shown_as_its_source() {
        let Formula::Row(row) = parse(r"\frac{a}{b} + \foo{x \bar y}{z} w").unwrap() else {
            panic!("no row")
        };
        assert!(matches!(row[0], Formula::Fraction(..)));
        assert_eq!(row[2], Formula::Text(r"\foo{x \bar y}{z}".into()));
        assert_eq!(row.len(), 4);
        assert_eq!(losses(r"\foo{x} \foo"), [r"\foo is shown as its source"]);
    }

    #[test]
    fn chemistry_and_units_are_read() {
        let Formula::Row(row) = parse(r"\ce{H2O}").unwrap() else { panic!("no row") };
        assert!(matches!(&row[0], Formula::Scripts { below: Some(_), .. }), "{row:?}");
        let speed = parse(r"\si{\kilo\metre\per\hour}").unwrap();
        assert_eq!(speed, Formula::Text("km/h".into()));
    }

    #[test]
    fn unknown_commands_are_reported() {
        for (latex, why) in [
            ("{a", "closed"),
            ("a}", "beginning"),
            ("x^2^3", "two subscripts or superscripts"),
            (r"\left( a", r"\right"),
            (r"\begin{matrix} a", r"\end"),
            (r"\begin{tikz}\end{tikz}", "tikz"),
            ("a^", "incomplete"),
            (&"{".repeat(100), "deeper"),
            (&r"\hat".repeat(100), "deeper"),
            (&r"\sqrt\frac".repeat(100), "deeper"),
            (&"x".repeat(5_000), "longer"),
            (r"\frac", "incomplete"),
            (r"\", "backslash"),
        ] {
            let error = parse(latex).unwrap_err();
            assert!(error.contains(why), "{latex}: {error}");
        }
    }
}
