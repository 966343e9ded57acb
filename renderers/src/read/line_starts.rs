//! Escapes the beginnings of lines that Markdown would take for something else than text.

use std::borrow::Cow;

/// The text with a backslash in each line that would begin a heading, an item, a quote, a rule or a
/// block of code.
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_except(text, |_| false)
}

/// Like [`escaped`], without the lines that are code, by their numbers from 0.
pub fn escaped_except(text: &str, is_code: impl Fn(usize) -> bool) -> Cow<'_, str> {
    let place = |at: usize, line: &str| place(line, at == 0).filter(|_| !is_code(at));
    if text.split('\n').enumerate().all(|(at, line)| place(at, line).is_none()) {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').enumerate().map(|(at, line)| match place(at, line) {
        Some(place) => format!("{}\\{}", &line[..place], &line[place..]),
        None => line.to_owned(),
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Where a line needs a backslash. In a paragraph that is open, only a list that begins with 1
/// begins.
fn place(line: &str, is_first: bool) -> Option<usize> {
    let start = line.len() - line.trim_start().len();
    let text = line.trim();
    let ends = |from: usize| text[from..].chars().next().is_none_or(char::is_whitespace);
    let run = |sign: char| text.len() - text.trim_start_matches(sign).len();
    let is_rule = |sign: char| {
        let signs = text.chars().filter(|c| *c == sign).count();
        signs > 2 && text.chars().all(|c| c == sign || c.is_whitespace())
    };
    let escapes = match text.chars().next()? {
        '>' => true,
        '#' => run('#') <= 6 && ends(run('#')),
        sign @ ('-' | '*') => ends(1) || is_rule(sign),
        '+' => ends(1),
        '_' => is_rule('_'),
        '=' => !is_first && run('=') == text.len(),
        sign @ ('`' | '~') => run(sign) > 2,
        '0'..='9' => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let begins = digits < 10 && (is_first || text[..digits].parse() == Ok(1_u32));
            let is_item = begins && text[digits..].starts_with(['.', ')']) && ends(digits + 1);
            return is_item.then_some(start + digits);
        }
        _ => false,
    };
    escapes.then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_markdown_would_read_are_escaped() {
        for [text, wanted] in [
            ["# no heading", "\\# no heading"],
            ["#5 is alive", "#5 is alive"],
            ["####### seven", "####### seven"],
            ["> 5 years", "\\> 5 years"],
            ["- no item", "\\- no item"],
            ["-5 degrees", "-5 degrees"],
            ["**strong** and *so*", "**strong** and *so*"],
            ["* footnote", "\\* footnote"],
            ["---", "\\---"],
            ["____________", "\\____________"],
            ["2019. There was", "2019\\. There was"],
            ["1.5 m", "1.5 m"],
            ["2) two", "2\\) two"],
            ["1234567890. x", "1234567890. x"],
            ["``` x", "\\``` x"],
            ["~~gone~~", "~~gone~~"],
            ["the year\n2019. was\n 1. one\n===", "the year\n2019. was\n 1\\. one\n\\==="],
            ["=== x", "=== x"],
            ["", ""],
        ] {
            assert_eq!(escaped(text), wanted, "{text}");
        }
        assert_eq!(escaped_except("# a\n# b", |line| line == 1), "\\# a\n# b");
    }
}
