//! Splits a query into tokens, and limits their number and characters.

use sqlparser::{
    dialect::Dialect,
    keywords::Keyword,
    tokenizer::{Token, Tokenizer, Whitespace},
};

use super::visible::is_invisible;

const MAX_BYTES: usize = 20_000;
/// The maximum number of keywords, operators and brackets. It limits nesting, so that the recursive
/// checks cannot overflow the stack.
const MAX_OPERATORS: usize = 1_000;
/// Returns the tokens and the number of string literals.
pub(super) fn tokens(sql: &str, dialect: &dyn Dialect) -> Result<(Vec<Token>, usize), String> {
    if sql.len() > MAX_BYTES {
        return Err(format!("the query is longer than {MAX_BYTES} bytes"));
    }
    let tokens = Tokenizer::new(dialect, sql).tokenize();
    let tokens = tokens.map_err(|problem| format!("the query cannot be read: {problem}"))?;
    let (mut literals, mut operators) = (0, 0);
    for token in &tokens {
        match token {
            Token::Word(word) if word.keyword == Keyword::NoKeyword => {}
            Token::Number(..) | Token::Comma | Token::Period | Token::Whitespace(_) => {}
            token if is_text(token) => literals += 1,
            Token::Placeholder(_) => return Err("write values instead of placeholders".into()),
            _ => operators += 1,
        }
        let seen = match token {
            Token::Whitespace(
                Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
            ) => continue,
            // A literal may need a joiner for its script or an emoji.
            token if is_text(token) => {
                token.to_string().replace(['\u{200c}', '\u{200d}', '\u{fe0f}'], "")
            }
            token => token.to_string(),
        };
        let odd = |c: char| is_invisible(c) || c.is_control() && !"\n\r\t".contains(c);
        if let Some(c) = seen.chars().find(|c| odd(*c)) {
            return Err(format!("the query has an invisible character (U+{:04X})", u32::from(c)));
        }
    }
    if operators > MAX_OPERATORS {
        return Err("the query is too complicated".into());
    }
    Ok((tokens, literals))
}

fn is_text(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::TripleSingleQuotedString(_)
            | Token::TripleDoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::DoubleQuotedByteStringLiteral(_)
            | Token::TripleSingleQuotedByteStringLiteral(_)
            | Token::TripleDoubleQuotedByteStringLiteral(_)
            | Token::SingleQuotedRawStringLiteral(_)
            | Token::DoubleQuotedRawStringLiteral(_)
            | Token::TripleSingleQuotedRawStringLiteral(_)
            | Token::TripleDoubleQuotedRawStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::QuoteDelimitedStringLiteral(_)
            | Token::NationalQuoteDelimitedStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::HexStringLiteral(_)
    )
}
