//! Splits LaTeX into commands and characters.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Command(String),
    Char(char),
}

impl Token {
    pub fn text(&self) -> String {
        match self {
            Token::Command(name) => format!("\\{name}"),
            Token::Char(c) => c.to_string(),
        }
    }
}

/// Spaces end a command and have no other meaning, but `\text{…}` keeps them.
pub fn tokens(latex: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = latex.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            tokens.push(Token::Char(if c.is_whitespace() { ' ' } else { c }));
            continue;
        }
        let mut name = String::new();
        while let Some(&letter) = chars.peek().filter(|c| c.is_ascii_alphabetic()) {
            name.push(letter);
            chars.next();
        }
        if name.is_empty() {
            name.extend(chars.next());
        }
        tokens.push(Token::Command(name));
    }
    tokens
}
