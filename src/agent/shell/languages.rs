//! Programs with a small language of their own, which can contain commands: `sed`, `awk` and
//! database clients.

use super::{
    command::{Command, Word},
    options::Options,
    state::{Input, Walk},
};
use crate::texts::UnclearReason;

const NONE: Options = Options { short: "", long: &[], words: &[], valued: "" };

pub(super) fn follow(walk: &mut Walk, name: &str, words: &[Word], input: &Input) {
    match name {
        "sed" | "gsed" => sed(walk, words),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk(walk, words),
        "sqlite3" | "sqlite" => sqlite(walk, words, input),
        "psql" => client(walk, words, &["\\", "program"]),
        "mysql" | "mariadb" => client(walk, words, &["\\", "system", "source", "--pager", "--tee"]),
        _ => {}
    }
}

/// Marks a text that may start programs in an unknown way. Recognisable commands in it are still
/// judged, because a guess can deny.
pub(super) fn suspect(walk: &mut Walk, text: &str) {
    walk.doubt(UnclearReason::Starts);
    for part in text.split(['"', '\'', '!', '\n', '|', '(', '=']) {
        let part = part.trim_start_matches(|c: char| !c.is_alphabetic() && !"/.\\$`".contains(c));
        let part = ["shell ", "system ", ".shell ", ".system ", "e "]
            .iter()
            .find_map(|begin| part.strip_prefix(begin))
            .unwrap_or(part);
        if !part.trim().is_empty() {
            walk.script(part);
        }
    }
}

/// Arguments that are neither options nor their values.
pub(super) fn operands<'a>(words: &'a [Word], valued: &str) -> Vec<&'a Word> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word.text == "--" {
            found.extend(rest);
            break;
        }
        match word.text.strip_prefix('-') {
            Some(cluster) if !cluster.is_empty() && !cluster.starts_with('-') => {
                let place = cluster.find(|c| valued.contains(c));
                if place.is_some_and(|place| place + 1 == cluster.len()) {
                    rest.next();
                }
            }
            Some(long) if long.starts_with('-') => {}
            _ => found.push(word),
        }
    }
    found
}

fn sed(walk: &mut Walk, words: &[Word]) {
    let valued = "efl";
    let given = Options { short: "e", long: &["expression"], valued, ..NONE }.values(words);
    let in_file = Options { short: "f", long: &["file"], valued, ..NONE }.are_in(words);
    let in_place = Options { short: "i", long: &["in-place"], valued, ..NONE }.are_in(words);
    let operands = operands(words, valued);
    let mut files = operands.as_slice();
    let mut scripts: Vec<_> = given.into_iter().flatten().collect();
    if in_file {
        walk.doubt(UnclearReason::Script);
    } else if scripts.is_empty()
        && let Some((first, rest)) = files.split_first()
    {
        scripts.push((*first).clone());
        files = rest;
    }
    // One script may be spread over several options.
    let script = scripts.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join("\n");
    if !sed_is_plain(&script) {
        suspect(walk, &script);
    }
    for file in files.iter().filter(|_| in_place) {
        walk.push(Command { words: vec![Word::sure(">"), (*file).clone()] });
    }
}

/// Whether no command of the script starts programs or writes files.
fn sed_is_plain(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ";{}".contains(c));
        if rest.is_empty() {
            return true;
        }
        let Some(after) = address(rest).and_then(|rest| match rest.strip_prefix(',') {
            Some(second) => address(second.trim_start_matches(['+', '~', ' '])),
            None => Some(rest),
        }) else {
            return false;
        };
        let command = after.trim_start_matches([' ', '!']);
        let Some(c) = command.chars().next() else { return false };
        let behind = &command[c.len_utf8()..];
        let next = match c {
            'p' | 'P' | 'd' | 'D' | 'q' | 'Q' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'x' | 'z'
            | '=' | 'l' => {
                Some(behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '))
            }
            '{' => Some(behind),
            's' => substitution(behind),
            'y' => delimited(behind, 2),
            ':' | 'b' | 't' | 'T' => after_label(behind),
            '#' | 'r' | 'R' => Some(&behind[behind.find('\n').unwrap_or(behind.len())..]),
            'a' | 'i' | 'c' => Some(text_lines(behind)),
            _ => None,
        };
        let ends =
            |next: &str| next.is_empty() || next.starts_with(['{', '}', ';', '\n', '#', ' ']);
        match next {
            Some(next) if ends(next) || c == '{' => rest = next,
            _ => return false,
        }
    }
}

/// The text after a leading number, `$` or `/expression/`, if there is one.
fn address(text: &str) -> Option<&str> {
    let is_number = |c: char| c.is_ascii_digit() || c == '~';
    match text.chars().next() {
        Some('/') => delimited(text, 1).map(|rest| rest.trim_start_matches(['I', 'M', ' '])),
        Some('\\') => None,
        Some('$') => Some(text[1..].trim_start()),
        _ => Some(text.trim_start_matches(is_number).trim_start()),
    }
}

/// The text after a label. In current versions a space or a brace ends it, in older ones only the
/// end of the command.
fn after_label(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\t']);
    let rest = &text[text.find([' ', '\t', ';', '}', '\n']).unwrap_or(text.len())..];
    let ends = rest.trim_start_matches([' ', '\t']);
    (ends.is_empty() || ends.starts_with([';', '}', '\n'])).then_some(ends)
}

fn substitution(text: &str) -> Option<&str> {
    let rest = delimited(text, 2)?;
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiImM".contains(c)))
}

/// The text after this many parts, which the first character separates. Separators in brackets are
/// not supported.
fn delimited(text: &str, parts: usize) -> Option<&str> {
    let mut characters = text.char_indices();
    let (_, separator) = characters.next()?;
    if separator.is_alphanumeric() || separator == '\\' || separator == '\n' {
        return None;
    }
    let (mut left, mut in_brackets) = (parts, false);
    while let Some((place, c)) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            c if c == separator && in_brackets => return None,
            c if c == separator => {
                left -= 1;
                if left == 0 {
                    return Some(&text[place + c.len_utf8()..]);
                }
            }
            '[' if left == parts => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
    }
    None
}

/// The text after `a`, `i` and `c`, which continues after a backslash at the end of a line.
fn text_lines(text: &str) -> &str {
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = c == '\n' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    &text[end.unwrap_or(text.len())..]
}

fn awk(walk: &mut Walk, words: &[Word]) {
    let valued = "Fvfile";
    // Options that load a program, and those that write a file about it.
    let loads = Options {
        short: "fEildopD",
        long: &[
            "file",
            "exec",
            "include",
            "load",
            "dump-variables",
            "pretty-print",
            "profile",
            "debug",
        ],
        valued,
        ..NONE
    };
    if loads.are_in(words) {
        walk.doubt(UnclearReason::Script);
    }
    let given = Options { short: "e", long: &["source"], valued, ..NONE }.values(words);
    let first = operands(words, valued).first().copied().cloned();
    for program in given.into_iter().flatten().chain(first) {
        let text = program.text.replace("||", " ");
        let starts = ["system", "|", "getline", "@"].iter().any(|sign| text.contains(sign));
        if starts || awk_writes(&program.text) {
            suspect(walk, &program.text);
        }
    }
}

/// Whether a statement of an `awk` program prints into a file.
fn awk_writes(program: &str) -> bool {
    let Some(bare) = awk_without_texts(program) else { return true };
    bare.split("print").skip(1).any(|rest| {
        rest.split([';', '}', '\n']).next().is_some_and(|statement| statement.contains('>'))
    })
}

/// The program with each statement in one line, and with a zero in place of each string and
/// regular expression: they may contain what separates statements. `None` if it is unclear where
/// one ends.
fn awk_without_texts(program: &str) -> Option<String> {
    let mut bare = String::new();
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let before = bare.trim_end_matches([' ', '\t']);
        match c {
            '"' => {
                rest = after_awk_text(rest, '"')?;
                bare.push('0');
            }
            '/' if awk_expects_value(before) => {
                rest = after_awk_text(rest, '/')?;
                bare.push('0');
            }
            // A condition may end here, and an expression begin.
            '/' if before.ends_with(')')
                && ["if", "while", "for"].iter().any(|word| before.contains(word)) =>
            {
                return None;
            }
            '#' => rest = &rest[rest.find('\n').unwrap_or(rest.len())..],
            '\\' => {
                rest = rest.strip_prefix('\n')?;
                bare.push(' ');
            }
            '\n' if [",", "&&", "||"].iter().any(|sign| before.ends_with(sign)) => bare.push(' '),
            c => bare.push(c),
        }
    }
    Some(bare)
}

/// Whether a slash after this begins a regular expression and does not divide.
fn awk_expects_value(before: &str) -> bool {
    let keywords = ["print", "printf", "return", "exit", "else", "do", "in", "case", "delete"];
    let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
    match word.unwrap_or_default() {
        "" => ![")", "]", ".", "++", "--"].iter().any(|end| before.ends_with(end)),
        word => keywords.contains(&word),
    }
}

/// The text after the end of a string or regular expression. A slash in brackets ends it only in
/// some versions, and is not supported.
fn after_awk_text(text: &str, end: char) -> Option<&str> {
    let (mut brackets, mut before) = (0_usize, end);
    let mut characters = text.char_indices();
    while let Some((place, c)) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            '\n' => return None,
            '[' if end == '/' => brackets += 1,
            ']' if brackets > 0 && matches!(before, '[' | '^') => return None,
            ']' => brackets = brackets.saturating_sub(1),
            c if c == end => return (brackets == 0).then(|| &text[place + c.len_utf8()..]),
            _ => {}
        }
        before = c;
    }
    None
}

/// Commands of `sqlite3` that are read-only.
const SHOWS: &[&str] = &[
    ".tables",
    ".schema",
    ".dump",
    ".mode",
    ".header",
    ".headers",
    ".width",
    ".indexes",
    ".databases",
    ".dbinfo",
    ".nullvalue",
    ".separator",
    ".timeout",
    ".stats",
    ".show",
    ".quit",
    ".exit",
];

fn sqlite(walk: &mut Walk, words: &[Word], input: &Input) {
    if (Options { words: &["-init", "--init"], ..NONE }).are_in(words) {
        walk.doubt(UnclearReason::Script);
    }
    for text in words.iter().map(|word| word.text.clone()).chain(input.text.clone()) {
        let commands = text.lines().map(str::trim_start).filter(|line| line.starts_with('.'));
        let only_shows = commands
            .map(|line| line.split_whitespace().next().unwrap_or_default())
            .all(|command| SHOWS.contains(&command) || command.starts_with("./"));
        let calls = ["load_extension", "writefile", "edit("];
        let lower = text.to_lowercase();
        if !only_shows || calls.iter().any(|call| lower.contains(call)) {
            suspect(walk, &text);
        }
    }
}

/// A database client whose commands can start programs.
fn client(walk: &mut Walk, words: &[Word], signs: &[&str]) {
    let starts = |word: &&Word| {
        let text = word.text.to_lowercase();
        signs.iter().any(|sign| text.contains(sign))
    };
    words.iter().filter(starts).for_each(|word| suspect(walk, &word.text));
}
