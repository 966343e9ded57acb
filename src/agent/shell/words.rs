//! Resolves the quotes in the words of a command line, and finds the programs within them.

use brush_parser::{
    ParserOptions,
    word::{
        self, BraceExpressionMember, BraceExpressionOrText, Parameter, ParameterExpr,
        ParameterTransformOp, WordPiece, WordPieceWithSource,
    },
};
use std::{iter::Peekable, panic::catch_unwind, str::Chars};

use super::{
    command::{FROM_A_PROGRAM, Word},
    state::Walk,
};
use crate::texts::UnclearReason;

/// The maximum number of words that one word with braces may expand to.
const MAX_WORDS: usize = 64;

impl Walk {
    /// The words that a written word expands to.
    pub(super) fn words(&mut self, written: &str) -> Vec<Word> {
        let alternatives = self.braces(written);
        alternatives.iter().flat_map(|written| self.word(written)).collect()
    }

    /// Follows what runs in a text that is not a word of the command, such as `$(…)` within
    /// `$((…))`.
    pub(super) fn inside(&mut self, written: &str) {
        self.word(written);
    }

    pub(super) fn braces(&mut self, written: &str) -> Vec<String> {
        if !written.contains('{') {
            return vec![written.to_owned()];
        }
        let options = ParserOptions::default();
        let parsed = catch_unwind(|| word::parse_brace_expansions(written, &options).ok());
        match parsed.ok().flatten().flatten() {
            Some(parts) if parts.iter().any(|p| matches!(p, BraceExpressionOrText::Expr(_))) => {
                expand(&parts).unwrap_or_else(|| {
                    self.doubt(UnclearReason::Braces);
                    vec![written.to_owned()]
                })
            }
            _ => vec![written.to_owned()],
        }
    }

    /// Handles tilde prefixes without the parser: version 0.3 of `brush-parser` extends one to the
    /// next `/`, across `$(…)`, backquotes and quotes, in which shells start programs. It is enough
    /// to treat a prefix as plain text. A prefix that is not a plain name is also unclear.
    fn word(&mut self, written: &str) -> Vec<Word> {
        let options = ParserOptions { tilde_expansion: false, ..ParserOptions::default() };
        if has_odd_tilde(written) {
            self.doubt(UnclearReason::Word);
        }
        let parsed = catch_unwind(|| word::parse(written, &options).ok());
        let Some(pieces) = parsed.ok().flatten() else {
            self.doubt(UnclearReason::Word);
            return vec![Word::guess(written)];
        };
        let mut spelled = Spelled::default();
        for piece in &pieces {
            self.piece(piece, written, false, &mut spelled);
        }
        spelled.words()
    }

    fn piece(
        &mut self,
        piece: &WordPieceWithSource,
        written: &str,
        quoted: bool,
        into: &mut Spelled,
    ) {
        let source = written.get(piece.start_index..piece.end_index).unwrap_or(written);
        match &piece.piece {
            WordPiece::Text(text) => {
                let after = written.get(piece.end_index..).unwrap_or_default();
                let quotes: &[char] = if quoted { &['`'] } else { &['`', '"', '\'', '\\'] };
                let substitutes = text.contains("<(") || text.contains(">(");
                if text.contains(quotes) || begins_expansion(text, after) || substitutes && !quoted
                {
                    self.doubt(UnclearReason::Word);
                }
                if quoted { into.known(text) } else { into.unquoted(text) }
            }
            WordPiece::SingleQuotedText(text) => into.known(text),
            WordPiece::AnsiCQuotedText(text) => into.guessed(&unescaped(text), true),
            WordPiece::EscapeSequence(text) => {
                into.known(text.strip_prefix('\\').unwrap_or(text).trim_start_matches('\n'));
            }
            WordPiece::DoubleQuotedSequence(pieces)
            | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                into.known("");
                for piece in pieces {
                    self.piece(piece, written, true, into);
                }
            }
            WordPiece::TildePrefix(user) => {
                self.doubt(UnclearReason::Word);
                self.inside(user);
                into.guessed(source, quoted);
            }
            WordPiece::ParameterExpansion(expression) => {
                self.followed.insert(source.to_owned());
                if quoted && source.contains('\'') {
                    self.quotes_within_quotes(source);
                }
                let value = self.value(expression, source);
                into.guessed(&value, quoted);
            }
            WordPiece::CommandSubstitution(script)
            | WordPiece::BackquotedCommandSubstitution(script) => {
                self.followed.insert(source.to_owned());
                let said = self.script(script);
                let said = said.unwrap_or_else(|| FROM_A_PROGRAM.to_owned());
                into.guessed(said.trim_end_matches('\n'), quoted);
            }
            WordPiece::ArithmeticExpression(expression) => {
                self.followed.insert(source.to_owned());
                self.arithmetic(&expression.value);
                into.guessed("0", quoted);
            }
        }
    }

    /// Within double quotes, shells treat single quotes in `${x:-…}` as plain text, but the parser
    /// does not. Shells start programs between them.
    fn quotes_within_quotes(&mut self, source: &str) {
        let inner = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let inner = inner.unwrap_or(source).replace('\'', " ");
        if inner.contains(['$', '`']) {
            self.doubt(UnclearReason::Variable);
            self.inside(&inner);
        }
    }

    /// The possible value of a variable.
    fn value(&mut self, expression: &ParameterExpr, source: &str) -> String {
        self.expansion(expression);
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
            ParameterExpr::AssignDefaultValues { parameter, default_value, .. } => {
                let value = default_value.as_deref().map(|text| self.joined(text));
                let word = value.as_deref().map(Word::guess);
                match parameter {
                    Parameter::Named(name) | Parameter::NamedWithIndex { name, .. } => {
                        self.sets(name, word.as_ref());
                    }
                    _ => self.doubt(UnclearReason::Variable),
                }
                value.unwrap_or_else(unknown)
            }
            ParameterExpr::UseDefaultValues { default_value: Some(text), .. }
            | ParameterExpr::UseAlternativeValue { alternative_value: Some(text), .. } => {
                self.joined(text)
            }
            _ => {
                if source.contains('(') || source.contains('`') {
                    self.doubt(UnclearReason::Variable);
                }
                unknown()
            }
        }
    }

    fn joined(&mut self, text: &str) -> String {
        let words = self.words(text);
        words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
    }

    /// Follows what an expansion evaluates: its subscript, offsets and patterns. An expansion that
    /// takes its name or text from a value is unclear.
    fn expansion(&mut self, expression: &ParameterExpr) {
        use ParameterExpr as Expr;
        let (parameter, indirect) = match expression {
            Expr::VariableNames { .. } | Expr::MemberKeys { .. } => return,
            Expr::Parameter { parameter, indirect }
            | Expr::UseDefaultValues { parameter, indirect, .. }
            | Expr::AssignDefaultValues { parameter, indirect, .. }
            | Expr::UseAlternativeValue { parameter, indirect, .. }
            | Expr::ParameterLength { parameter, indirect } => (parameter, *indirect),
            Expr::IndicateErrorIfNullOrUnset {
                parameter, indirect, error_message: text, ..
            }
            | Expr::RemoveSmallestSuffixPattern { parameter, indirect, pattern: text }
            | Expr::RemoveLargestSuffixPattern { parameter, indirect, pattern: text }
            | Expr::RemoveSmallestPrefixPattern { parameter, indirect, pattern: text }
            | Expr::RemoveLargestPrefixPattern { parameter, indirect, pattern: text }
            | Expr::UppercaseFirstChar { parameter, indirect, pattern: text }
            | Expr::UppercasePattern { parameter, indirect, pattern: text }
            | Expr::LowercaseFirstChar { parameter, indirect, pattern: text }
            | Expr::LowercasePattern { parameter, indirect, pattern: text } => {
                if let Some(text) = text {
                    self.inside(text);
                }
                (parameter, *indirect)
            }
            Expr::ReplaceSubstring { parameter, indirect, pattern, replacement, .. } => {
                self.inside(pattern);
                self.inside(replacement.as_deref().unwrap_or_default());
                (parameter, *indirect)
            }
            Expr::Substring { parameter, indirect, offset, length } => {
                self.arithmetic(&offset.value);
                if let Some(length) = length {
                    self.arithmetic(&length.value);
                }
                (parameter, *indirect)
            }
            Expr::Transform { parameter, op, .. } => {
                let runs = matches!(op, ParameterTransformOp::PromptExpand);
                (parameter, runs)
            }
        };
        if let Parameter::NamedWithIndex { index, .. } = parameter {
            self.arithmetic(index);
        }
        if indirect {
            self.doubt(UnclearReason::Variable);
        }
    }
}

/// Whether a word begins with a tilde prefix that is not a plain name.
fn has_odd_tilde(written: &str) -> bool {
    let prefix = written.strip_prefix('~').map(|rest| rest.split('/').next().unwrap_or_default());
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    prefix.is_some_and(|prefix| !prefix.chars().all(plain))
}

/// Whether a shell would find the beginning of an expansion in a text where the parser did not.
/// `after` is the text that follows.
fn begins_expansion(text: &str, after: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let next = text[at + 1..].chars().chain(after.chars()).next();
        next.is_some_and(|c| c.is_alphanumeric() || "_({[".contains(c))
    })
}

/// Words that are built from pieces: unquoted text is split at spaces.
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

    /// A glob matches names that others may have chosen. A word that begins with one may even
    /// expand to an option.
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

/// `a{b,c}` → `ab`, `ac`; `None` if the braces are not supported.
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
                let limit = match mark {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                match number(&mut rest, 16, limit) {
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

fn number(rest: &mut Peekable<Chars<'_>>, radix: u32, limit: usize) -> Option<char> {
    let digits: String =
        std::iter::from_fn(|| rest.next_if(|c| c.is_digit(radix))).take(limit).collect();
    u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32)
}
