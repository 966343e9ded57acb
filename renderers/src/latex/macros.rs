//! Expands `\newcommand` definitions of a formula.

use std::collections::HashMap;

use super::tokens::Token;

/// The maximum number of replacements in a formula.
const REPLACEMENTS: usize = 200;
/// The maximum number of tokens of an expanded formula.
const TOKENS: usize = 16 * 1024;
/// The maximum number of parameters of a command.
const PARAMETERS: usize = 9;

struct Macro {
    parameters: usize,
    body: Vec<Token>,
}

/// The formula without its definitions, and with its defined commands replaced.
pub fn expand(tokens: Vec<Token>) -> Result<Vec<Token>, String> {
    let defines = |token: &Token| matches!(token, Token::Command(name) if is_definition(name));
    if !tokens.iter().any(defines) {
        return Ok(tokens);
    }
    let mut macros: HashMap<String, Macro> = HashMap::new();
    // The rest of the formula, in reverse order.
    let mut rest: Vec<Token> = tokens.into_iter().rev().collect();
    let (mut expanded, mut replacements) = (Vec::new(), 0);
    while let Some(token) = rest.pop() {
        match &token {
            Token::Command(name) if is_definition(name) => {
                let (name, defined) = definition(&mut rest)?;
                macros.insert(name, defined);
            }
            Token::Command(name) if macros.contains_key(name) => {
                let used = &macros[name];
                replacements += 1;
                let arguments: Vec<Vec<Token>> =
                    (0..used.parameters).map(|_| group(&mut rest)).collect::<Result<_, _>>()?;
                let body = replaced(&used.body, &arguments);
                let tokens = expanded.len() + rest.len() + body.len();
                if replacements > REPLACEMENTS || tokens > TOKENS {
                    return Err("its commands expand to too much".to_owned());
                }
                rest.extend(body.into_iter().rev());
            }
            _ => expanded.push(token),
        }
    }
    Ok(expanded)
}

fn is_definition(name: &str) -> bool {
    matches!(name, "newcommand" | "renewcommand" | "providecommand" | "def")
}

/// `{\name}[2]{body}` or `\name{body}`
fn definition(rest: &mut Vec<Token>) -> Result<(String, Macro), String> {
    let odd = || "a definition is incomplete".to_owned();
    let name = match group(rest)?.as_slice() {
        [Token::Command(name)] => name.clone(),
        _ => return Err(odd()),
    };
    let mut parameters = 0;
    if rest.last() == Some(&Token::Char('[')) {
        let head: Vec<Option<Token>> = (0..3).map(|_| rest.pop()).collect();
        let [_, Some(Token::Char(count)), Some(Token::Char(']'))] = head.as_slice() else {
            return Err(odd());
        };
        parameters = count.to_digit(10).ok_or_else(odd)? as usize;
    }
    // `\def\name#1#2{body}`
    while rest.last() == Some(&Token::Char('#')) {
        rest.truncate(rest.len().saturating_sub(2));
        parameters = (parameters + 1).min(PARAMETERS);
    }
    Ok((name, Macro { parameters, body: group(rest)? }))
}

/// The tokens of a group in braces, or a single token.
fn group(rest: &mut Vec<Token>) -> Result<Vec<Token>, String> {
    while rest.last() == Some(&Token::Char(' ')) {
        rest.pop();
    }
    match rest.pop() {
        None => Err("it is incomplete".to_owned()),
        Some(Token::Char('{')) => {
            let (mut inside, mut depth) = (Vec::new(), 1);
            while let Some(token) = rest.pop() {
                match token {
                    Token::Char('{') => depth += 1,
                    Token::Char('}') => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    return Ok(inside);
                }
                inside.push(token);
            }
            Err("a brace is not closed".to_owned())
        }
        Some(token) => Ok(vec![token]),
    }
}

/// The body with `#1` and so on replaced; it ends where it is too long.
fn replaced(body: &[Token], arguments: &[Vec<Token>]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = body.iter();
    while let Some(token) = rest.next() {
        if tokens.len() > TOKENS {
            break;
        }
        let number = match (token, rest.as_slice().first()) {
            (Token::Char('#'), Some(Token::Char(digit))) => digit.to_digit(10),
            _ => None,
        };
        let argument = number.and_then(|n| arguments.get((n as usize).checked_sub(1)?));
        if let Some(argument) = argument {
            rest.next();
            tokens.push(Token::Char('{'));
            tokens.extend_from_slice(argument);
            tokens.push(Token::Char('}'));
        } else {
            tokens.push(token.clone());
        }
    }
    tokens
}
