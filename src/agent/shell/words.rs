//! The words of a command line with their quotes resolved, and the programs that stand within them.

use brush_parser::{
    ParserOptions,
    word::{
        self, BraceExpressionMember, BraceExpressionOrText, Parameter, ParameterExpr, WordPiece,
        WordPieceWithSource,
    },
};
use std::{iter::Peekable, panic::catch_unwind, str::Chars};

use super::{command::Word, inner, walk::Walk};
use crate::texts::Doubt;

/// The words that one word with braces may become.
const MAX_WORDS: usize = 64;

impl Walk {
    /// The words that a word as written becomes.
    pub(super) fn words(&mut self, written: &str) -> Vec<Word> {
        let alternatives = self.braces(written);
        alternatives.iter().flat_map(|written| self.word(written)).collect()
    }

    /// Follows what a text that is no word of a command runs: `$(…)` within `$((…))`.
    pub(super) fn inside(&mut self, written: &str) {
        self.word(written);
    }

    fn braces(&mut self, written: &str) -> Vec<String> {
        if !written.contains('{') {
            return vec![written.to_owned()];
        }
        let options = ParserOptions::default();
        let parsed = catch_unwind(|| word::parse_brace_expansions(written, &options).ok());
        match parsed.ok().flatten().flatten() {
            Some(parts) if parts.iter().any(|p| matches!(p, BraceExpressionOrText::Expr(_))) => {
                expand(&parts).unwrap_or_else(|| {
                    self.doubt(Doubt::Braces);
                    vec![written.to_owned()]
                })
            }
            _ => vec![written.to_owned()],
        }
    }

    fn word(&mut self, written: &str) -> Vec<Word> {
        let options = ParserOptions::default();
        let parsed = catch_unwind(|| word::parse(written, &options).ok());
        let Some(pieces) = parsed.ok().flatten() else {
            self.doubt(Doubt::Word);
            return vec![Word::guess(written)];
        };
        let mut spelled = Spelled::default();
        for piece in &pieces {
            self.piece(piece, (written, false), &mut spelled);
        }
        spelled.words()
    }

    fn piece(
        &mut self,
        piece: &WordPieceWithSource,
        (written, quoted): (&str, bool),
        into: &mut Spelled,
    ) {
        let source = written.get(piece.start_index..piece.end_index).unwrap_or(written);
        match &piece.piece {
            WordPiece::Text(text) if quoted => into.known(text),
            WordPiece::Text(text) => into.unquoted(text),
            WordPiece::SingleQuotedText(text) => into.known(text),
            WordPiece::AnsiCQuotedText(text) => into.guessed(&unescaped(text), true),
            WordPiece::EscapeSequence(text) => {
                into.known(text.strip_prefix('\\').unwrap_or(text).trim_start_matches('\n'));
            }
            WordPiece::DoubleQuotedSequence(pieces)
            | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                into.known("");
                for piece in pieces {
                    self.piece(piece, (written, true), into);
                }
            }
            WordPiece::TildePrefix(user) => into.known(&format!("~{user}")),
            WordPiece::ParameterExpansion(expression) => {
                let value = self.value(expression, source);
                into.guessed(&value, quoted);
            }
            WordPiece::CommandSubstitution(script)
            | WordPiece::BackquotedCommandSubstitution(script) => {
                let said = self.script(script);
                let said = said.unwrap_or_else(|| inner::FROM_A_PROGRAM.to_owned());
                into.guessed(said.trim_end_matches('\n'), quoted);
            }
            WordPiece::ArithmeticExpression(expression) => {
                self.inside(&expression.value);
                into.guessed("0", quoted);
            }
        }
    }

    /// What a variable may hold.
    fn value(&mut self, expression: &ParameterExpr, source: &str) -> String {
        let unknown = || source.to_owned();
        match expression {
            ParameterExpr::Parameter { parameter: Parameter::Named(name), indirect: false } => {
                match (name.as_str(), self.variables.get(name)) {
                    (_, Some(Some(value))) => value.clone(),
                    ("IFS", None) => " ".to_owned(),
                    ("HOME", None) => "~".to_owned(),
                    _ => unknown(),
                }
            }
            ParameterExpr::UseDefaultValues { default_value: Some(text), .. }
            | ParameterExpr::AssignDefaultValues { default_value: Some(text), .. }
            | ParameterExpr::UseAlternativeValue { alternative_value: Some(text), .. } => {
                let words = self.words(&text.clone());
                words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
            }
            _ => {
                if source.contains('(') || source.contains('`') {
                    self.doubt(Doubt::Variable);
                }
                unknown()
            }
        }
    }
}

/// Words as they grow out of pieces: what is not quoted is split where it holds spaces.
#[derive(Default)]
struct Spelled {
    done: Vec<Word>,
    open: Option<Word>,
}

impl Spelled {
    fn open(&mut self) -> &mut Word {
        self.open.get_or_insert_with(|| Word::sure(""))
    }

    fn known(&mut self, text: &str) {
        self.open().text.push_str(text);
    }

    /// A pattern of file names stands for names that somebody else may have chosen; one that
    /// begins with it may even stand for an option.
    fn unquoted(&mut self, text: &str) {
        let open = self.open();
        open.text.push_str(text);
        if text.contains(['*', '?', '[']) && open.text.starts_with(['*', '?', '[', '-']) {
            open.sure = false;
        }
    }

    fn guessed(&mut self, text: &str, quoted: bool) {
        self.open().sure = false;
        if quoted {
            return self.known(text);
        }
        for (place, part) in text.split([' ', '\t', '\n']).enumerate() {
            if place > 0 {
                self.done.extend(self.open.take().filter(|word| !word.text.is_empty()));
                self.open = Some(Word::guess(""));
            }
            self.known(part);
        }
    }

    fn words(mut self) -> Vec<Word> {
        self.done.extend(self.open.take().filter(|word| word.sure || !word.text.is_empty()));
        self.done
    }
}

/// `a{b,c}` → `ab`, `ac`; `None` where that is not followed.
fn expand(parts: &[BraceExpressionOrText]) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    for part in parts {
        let alternatives = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => members
                .iter()
                .map(|member| match member {
                    BraceExpressionMember::Child(parts) => expand(parts),
                    _ => None,
                })
                .collect::<Option<Vec<_>>>()?
                .concat(),
        };
        words = words
            .iter()
            .flat_map(|word| alternatives.iter().map(move |more| format!("{word}{more}")))
            .collect();
        if words.len() > MAX_WORDS {
            return None;
        }
    }
    Some(words)
}

/// `\x72\155` → `rm`, as in `$'…'`, `printf` and `echo -e`.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some(mark @ ('x' | 'u' | 'U')) => {
                let most = match mark {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                match number(&mut rest, 16, most) {
                    Some(c) => plain.push(c),
                    None => plain.extend(['\\', mark]),
                }
            }
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some(digit) if digit.is_digit(8) => {
                let more: String =
                    std::iter::from_fn(|| rest.next_if(|c| c.is_digit(8))).take(2).collect();
                let digits = format!("{digit}{more}");
                plain.extend(u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32));
            }
            Some(other) => plain.push(other),
            None => plain.push('\\'),
        }
    }
    plain
}

fn number(rest: &mut Peekable<Chars<'_>>, radix: u32, most: usize) -> Option<char> {
    let digits: String =
        std::iter::from_fn(|| rest.next_if(|c| c.is_digit(radix))).take(most).collect();
    u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32)
}
