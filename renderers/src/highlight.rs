//! Highlights code: which part of a line is a keyword, a string, a comment, and so on.

use std::{ops::Range, sync::LazyLock};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

/// The syntaxes, which the PDF format uses as well.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_no_newlines);

/// What a part of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A comment.
    Comment,
    /// A text, or a part of one.
    String,
    /// A number or another constant.
    Number,
    /// A word of the language.
    Keyword,
    /// The name of a function.
    Function,
    /// The name of a type, a tag, a key or an attribute.
    Type,
    /// A line that a diff adds.
    Inserted,
    /// A line that a diff removes.
    Deleted,
}

/// The kinds by the scopes of syntaxes. Of several that match, the one that was found last in a
/// stack counts.
static KINDS: LazyLock<Vec<(Scope, Option<TokenKind>)>> = LazyLock::new(|| {
    let kinds = [
        (TokenKind::Comment, "comment meta.diff.range meta.diff.header"),
        (TokenKind::String, "string constant.character markup.raw"),
        (TokenKind::Number, "constant.numeric constant.language constant.other"),
        (TokenKind::Keyword, "keyword storage markup.heading variable.language"),
        (TokenKind::Function, "entity.name.function support.function variable.function"),
        (TokenKind::Type, "entity.name.type entity.name.class entity.name.struct entity.name.enum"),
        (TokenKind::Type, "entity.name.trait entity.name.impl entity.name.namespace support.type"),
        (TokenKind::Type, "entity.name.tag entity.other meta.mapping.key support.class"),
        (TokenKind::Inserted, "markup.inserted"),
        (TokenKind::Deleted, "markup.deleted"),
    ];
    let kinds = kinds
        .into_iter()
        .flat_map(|(kind, scopes)| scopes.split(' ').map(move |scope| (scope, Some(kind))));
    // Operators, and code within a text, look like any other code.
    let plain = ["keyword.operator", "meta.interpolation", "source", "punctuation.section"];
    let plain = plain.map(|scope| (scope, None));
    let words = ["keyword.operator.word", "keyword.operator.logical"];
    let words = words.map(|scope| (scope, Some(TokenKind::Keyword)));
    let all = kinds.chain(plain).chain(words);
    all.filter_map(|(scope, kind)| Some((Scope::new(scope).ok()?, kind))).collect()
});

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodePart<'a> {
    /// `None` for code without a special meaning.
    pub kind: Option<TokenKind>,
    /// The text.
    pub text: &'a str,
}

/// Usual names in Markdown of languages whose syntaxes have other names.
const ALIASES: [(&str, &str); 7] = [
    ("console", "bash"),
    ("csharp", "cs"),
    ("golang", "go"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsx", "tsx"),
    ("shell", "bash"),
];

/// Highlights the lines of one block of code, in order.
pub struct Highlighter {
    state: ParseState,
    stack: ScopeStack,
}

impl Highlighter {
    /// A highlighter for a language as it is named in Markdown (`rust`, `py`); `None` if it is not
    /// known, or is plain text.
    pub fn of(language: &str) -> Option<Self> {
        let alias = ALIASES.iter().find(|(name, _)| name.eq_ignore_ascii_case(language));
        let name = alias.map_or(language, |(_, name)| name);
        let syntax = SYNTAXES.find_syntax_by_token(name)?;
        let is_plain = syntax.name == SYNTAXES.find_syntax_plain_text().name;
        let state = ParseState::new(syntax);
        (!is_plain).then(|| Self { state, stack: ScopeStack::new() })
    }

    /// The parts of the next line, which has no line break; adjacent ones differ in kind. `None` if the syntax cannot be applied;
    /// then no further line can be highlighted.
    pub fn line<'a>(&mut self, line: &'a str) -> Option<Vec<CodePart<'a>>> {
        let mut parts: Vec<CodePart<'a>> = Vec::new();
        let mut at = 0;
        for (next, op) in self.state.parse_line(line, &SYNTAXES).ok()? {
            add(&mut parts, self.kind(), line, at..next)?;
            self.stack.apply(&op).ok()?;
            at = next;
        }
        add(&mut parts, self.kind(), line, at..line.len())?;
        Some(parts)
    }

    fn kind(&self) -> Option<TokenKind> {
        let known = |scope: &Scope| {
            let matching = KINDS.iter().filter(|(prefix, _)| prefix.is_prefix_of(*scope));
            matching.max_by_key(|(prefix, _)| prefix.len()).map(|(_, kind)| *kind)
        };
        self.stack.as_slice().iter().rev().find_map(known).flatten()
    }
}

/// Adds the next text of the line, unless it is empty. `None` if it is not within the line.
fn add<'a>(
    parts: &mut Vec<CodePart<'a>>,
    kind: Option<TokenKind>,
    line: &'a str,
    place: Range<usize>,
) -> Option<()> {
    let text = line.get(place.clone())?;
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.kind == kind => {
            last.text = line.get(place.start - last.text.len()..place.end)?;
        }
        _ => parts.push(CodePart { kind, text }),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of parts, with their texts.
    fn kinds(language: &str, code: &str) -> Vec<(TokenKind, String)> {
        let mut highlighter = Highlighter::of(language).unwrap();
        let mut found: Vec<(TokenKind, String)> = Vec::new();
        for line in code.lines() {
            let parts = highlighter.line(line).unwrap();
            assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), line);
            for CodePart { kind, text } in parts {
                match (kind, found.last_mut()) {
                    (Some(kind), Some((last, before))) if *last == kind => before.push_str(text),
                    (Some(kind), _) => found.push((kind, text.to_owned())),
                    (None, _) => {}
                }
            }
        }
        found
    }

    #[test]
    fn code_is_highlighted_by_its_language() {
        let rust = kinds("rust", "// Adds.\nfn add(a: u32) -> u32 { a + 1 }\nlet s = \"é\";");
        let has =
            |kind, text: &str| rust.iter().any(|(one, own)| *one == kind && own.contains(text));
        assert!(has(TokenKind::Comment, "// Adds."), "{rust:?}");
        assert!(has(TokenKind::Function, "add"), "{rust:?}");
        assert!(has(TokenKind::Number, "1"), "{rust:?}");
        assert!(has(TokenKind::String, "\"é\""), "{rust:?}");
        let python = kinds("py", "def f():\n    '''a\n    b'''\n    return None");
        assert!(python.iter().any(|(kind, text)| *kind == TokenKind::Keyword && text == "return"));
        let text = |(kind, text): &(TokenKind, String)| {
            matches!(kind, TokenKind::Comment | TokenKind::String) && text.contains("b'''")
        };
        assert!(python.iter().any(text), "a text over several lines: {python:?}");
        let diff = kinds("diff", "-a\n+b");
        assert_eq!(diff, [(TokenKind::Deleted, "-a".into()), (TokenKind::Inserted, "+b".into())]);
    }

    #[test]
    fn usual_languages_are_known() {
        let names = "bash c c++ cc console cpp cs csharp css dart diff dockerfile go golang h hpp \
            html ini java javascript js json json5 jsonc jsx kotlin kt lua make markdown php py \
            python rb rs ruby rust scala scss sh shell sql svg swift toml ts tsx typescript xml \
            yaml yml zsh";
        let unknown: Vec<_> =
            names.split_whitespace().filter(|name| Highlighter::of(name).is_none()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert!(Highlighter::of("text").is_none() && Highlighter::of("nonsense").is_none());
    }
}
