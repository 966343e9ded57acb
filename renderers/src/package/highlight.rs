//! Syntax highlighting: comments, strings, numbers and keywords.
//!
//! One small scanner serves all languages; an unknown language is not highlighted.

/// A part of a line in one colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodePiece<'t> {
    pub text: &'t str,
    kind: CodeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeKind {
    Plain,
    Comment,
    Text,
    Number,
    Word,
}

impl CodePiece<'_> {
    /// RRGGBB, dark enough to be read on the background of code (contrast above 4.5:1).
    pub fn color(self) -> Option<&'static str> {
        match self.kind {
            CodeKind::Plain => None,
            CodeKind::Comment => Some("57606A"),
            CodeKind::Text => Some("0A5A2A"),
            CodeKind::Number => Some("0550AE"),
            CodeKind::Word => Some("A31550"),
        }
    }
}

/// The properties of a language that the scanner needs.
struct Grammar {
    line_comment: &'static str,
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    words: &'static str,
}

/// Code larger than this is not highlighted.
const MAX_BYTES: usize = 200_000;

/// The lines of `code`, each cut into coloured pieces.
pub fn lines<'t>(language: Option<&str>, code: &'t str) -> Vec<Vec<CodePiece<'t>>> {
    let name = language.unwrap_or_default().split([' ', ',', '{']).next().unwrap_or_default();
    let grammar = grammar(&name.to_ascii_lowercase()).filter(|_| code.len() <= MAX_BYTES);
    let Some(grammar) = grammar else {
        return code
            .split('\n')
            .map(|text| vec![CodePiece { text, kind: CodeKind::Plain }])
            .collect();
    };
    let mut lines = vec![Vec::new()];
    for piece in pieces(code, &grammar) {
        for (at, text) in piece.text.split('\n').enumerate() {
            if at > 0 {
                lines.push(Vec::new());
            }
            if !text.is_empty() {
                let line = lines.last_mut().expect("there is always a line");
                line.push(CodePiece { text, ..piece });
            }
        }
    }
    lines
}

fn pieces<'t>(code: &'t str, grammar: &Grammar) -> Vec<CodePiece<'t>> {
    let (mut pieces, mut plain, mut at) = (Vec::new(), 0, 0);
    while at < code.len() {
        let rest = &code[at..];
        let (length, kind) = token(rest, grammar);
        if kind != CodeKind::Plain {
            if plain < at {
                pieces.push(CodePiece { text: &code[plain..at], kind: CodeKind::Plain });
            }
            pieces.push(CodePiece { text: &rest[..length], kind });
            plain = at + length;
        }
        at += length;
    }
    if plain < code.len() {
        pieces.push(CodePiece { text: &code[plain..], kind: CodeKind::Plain });
    }
    pieces
}

/// The token at the start of `rest`, which is not empty: its length in bytes and its kind.
fn token(rest: &str, grammar: &Grammar) -> (usize, CodeKind) {
    let first = rest.chars().next().expect("the rest is not empty");
    if let Some((open, close)) = grammar.block_comment
        && let Some(inside) = rest.strip_prefix(open)
    {
        let length = inside.find(close).map_or(rest.len(), |end| open.len() + end + close.len());
        return (length, CodeKind::Comment);
    }
    if !grammar.line_comment.is_empty() && rest.starts_with(grammar.line_comment) {
        return (rest.find('\n').unwrap_or(rest.len()), CodeKind::Comment);
    }
    if grammar.quotes.contains(first) {
        return quoted(rest, first)
            .map_or((first.len_utf8(), CodeKind::Plain), |n| (n, CodeKind::Text));
    }
    if first.is_alphanumeric() || first == '_' {
        return word(rest, first, grammar);
    }
    (first.len_utf8(), CodeKind::Plain)
}

fn word(rest: &str, first: char, grammar: &Grammar) -> (usize, CodeKind) {
    let number = first.is_ascii_digit();
    let inside = |c: char| c.is_alphanumeric() || c == '_' || (number && c == '.');
    let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
    let known = grammar.words.split(' ').any(|word| word == &rest[..length]);
    let kind = match (number, known) {
        (true, _) => CodeKind::Number,
        (_, true) => CodeKind::Word,
        _ => CodeKind::Plain,
    };
    (length, kind)
}

/// The length of the string that begins here; none if it does not end on its line, so that
/// apostrophes and lifetimes are not highlighted.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    if let Some(inside) = rest.strip_prefix(&triple) {
        return inside.find(&triple).map(|end| end + 6);
    }
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote != '`' => return None,
            _ if letter == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

const C_LIKE: &str = "abstract as async await break case catch class const constexpr continue \
    default delete do else enum export extends extern false final finally float for from func \
    function goto if implements import in instanceof int interface let long namespace new null \
    override package private protected public return short static struct super switch template \
    this throw throws true try type typedef typeof undefined union unsigned using var virtual void \
    volatile while yield bool boolean char double nil defer go chan map range select fallthrough \
    string val when fun object data sealed internal readonly nullptr auto size_t";
const RUST: &str = "as async await break const continue crate dyn else enum extern false fn for if \
    impl in let loop match mod move mut pub ref return self Self static struct super trait true \
    type union unsafe use where while";
const PYTHON: &str = "and as assert async await break class continue def del elif else except False \
    finally for from global if import in is lambda None nonlocal not or pass raise return True try \
    while with yield match case";
const SHELL: &str = "if then else elif fi for while until do done case esac function in return \
    export local set unset source exit echo cd sudo";
const SQL: &str = "select from where and or not insert into values update set delete create table \
    index view drop alter add primary key foreign references join left right inner outer on as \
    group by order having limit offset union all distinct null is in exists between like case when \
    then else end begin commit SELECT FROM WHERE AND OR NOT INSERT INTO VALUES UPDATE SET DELETE \
    CREATE TABLE INDEX VIEW DROP ALTER ADD PRIMARY KEY FOREIGN REFERENCES JOIN LEFT RIGHT INNER \
    OUTER ON AS GROUP BY ORDER HAVING LIMIT OFFSET UNION ALL DISTINCT NULL IS IN EXISTS BETWEEN \
    LIKE CASE WHEN THEN ELSE END BEGIN COMMIT";
const RUBY: &str = "begin break case class def do else elsif end ensure false for if in module next \
    nil not or redo rescue retry return self super then true unless until when while yield require";

fn grammar(language: &str) -> Option<Grammar> {
    let c_comment = Some(("/*", "*/"));
    let with = |line_comment, block_comment, quotes, words| {
        Some(Grammar { line_comment, block_comment, quotes, words })
    };
    match language {
        "rust" | "rs" => with("//", c_comment, "\"", RUST),
        "python" | "py" => with("#", None, "\"'", PYTHON),
        "sh" | "bash" | "shell" | "zsh" | "console" => with("#", None, "\"'", SHELL),
        "sql" => with("--", c_comment, "'", SQL),
        "ruby" | "rb" => with("#", None, "\"'", RUBY),
        "yaml" | "yml" | "toml" | "ini" | "dockerfile" | "make" => {
            with("#", None, "\"'", "true false null yes no")
        }
        "json" | "jsonc" | "json5" => with("//", c_comment, "\"", "true false null"),
        "html" | "xml" | "svg" => with("", Some(("<!--", "-->")), "\"'", ""),
        "css" | "scss" => with("", c_comment, "\"'", "important media import"),
        "c" | "h" | "cpp" | "c++" | "cc" | "hpp" | "cs" | "csharp" | "java" | "kotlin" | "kt"
        | "scala" | "swift" | "dart" | "php" => with("//", c_comment, "\"'", C_LIKE),
        "js" | "javascript" | "ts" | "typescript" | "jsx" | "tsx" | "go" => {
            with("//", c_comment, "\"'`", C_LIKE)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(language: &str, code: &str) -> Vec<String> {
        let lines = lines(Some(language), code);
        let piece = |piece: &CodePiece<'_>| format!("{:?}:{}", piece.kind, piece.text);
        lines.iter().map(|line| line.iter().map(piece).collect::<Vec<_>>().join("|")).collect()
    }

    #[test]
    fn comments_strings_numbers_and_words_are_distinguished() {
        assert_eq!(
            shown("rust", "let s = \"a\\\"b\"; // 中文\nfn f<'a>() -> u8 { 10 }"),
            [
                "Word:let|Plain: s = |Text:\"a\\\"b\"|Plain:; |Comment:// 中文",
                "Word:fn|Plain: f<'a>() -> u8 { |Number:10|Plain: }"
            ]
        );
    }

    #[test]
    fn comments_run_over_lines_and_an_unknown_language_stays_plain() {
        assert_eq!(shown("c", "/* a\nb */ x"), ["Comment:/* a", "Comment:b */|Plain: x"]);
        assert_eq!(shown("brainfuck", "if 1"), ["Plain:if 1"]);
        assert_eq!(shown("python", "\"\"\"a\nb\"\"\""), ["Text:\"\"\"a", "Text:b\"\"\""]);
    }

    #[test]
    fn no_letter_is_lost() {
        let code = "x = 'unclosed\n\ty = `b\n\u{1F600} \"\"\"open\n# ende";
        for language in ["rust", "python", "js", "html", "sql", ""] {
            let whole: Vec<String> = lines(Some(language), code)
                .iter()
                .map(|line| line.iter().map(|piece| piece.text).collect())
                .collect();
            assert_eq!(whole.join("\n"), code, "{language}");
        }
    }
}
