//! Scans a script's text a second time, independently, for syntax that the walk has not followed.
//!
//! The parser is a third-party crate. If it treated syntax as plain text, a program would start
//! that no rule has seen. Version 0.3 of `brush-parser` does so with `~$(…)`, whose tilde prefix
//! extends to the next `/`. Every `$(`, `` ` ``, `${`, `<(` and `>(` that a shell would interpret
//! must therefore begin a part that the walk has followed; otherwise the script is unclear. The
//! contents of such a part are a script or a word of their own, and are checked when they are
//! followed.

use std::collections::BTreeSet;

/// Whether the script contains syntax that is not in `followed`.
pub(super) fn overlooks(script: &str, followed: &BTreeSet<String>) -> bool {
    let unusual = |c: char| {
        !matches!(c, ' ' | '\t' | '\n') && (c.is_whitespace() || c.is_control())
        // Parsers disagree on whether these characters separate words.
    };
    if script.contains(unusual) {
        return true;
    }
    let mut scan =
        Scan { rest: script, followed, place: ScanState::Script, before: '\n', documents: vec![] };
    scan.finds_unfollowed()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanState {
    Script,
    DoubleQuotes,
    HereDocument,
}

/// A here-document whose body begins on the next line.
struct HereDocument {
    delimiter: String,
    is_literal: bool,
    strips_tabs: bool,
}

struct Scan<'a> {
    rest: &'a str,
    followed: &'a BTreeSet<String>,
    place: ScanState,
    before: char,
    documents: Vec<HereDocument>,
}

impl<'a> Scan<'a> {
    fn finds_unfollowed(&mut self) -> bool {
        while let Some(c) = self.rest.chars().next() {
            let Some(length) = self.step(c) else { return true };
            let (passed, rest) = self.rest.split_at(length.min(self.rest.len()));
            self.before = passed.chars().next_back().unwrap_or(self.before);
            self.rest = rest;
        }
        self.place == ScanState::DoubleQuotes
    }

    /// The number of bytes to advance; `None` if something was not followed.
    fn step(&mut self, c: char) -> Option<usize> {
        let next = self.rest.chars().nth(1);
        let in_script = self.place == ScanState::Script;
        match c {
            '\\' => self.escape(next),
            '`' => self.piece(),
            '$' if matches!(next, Some('(' | '{' | '[')) => self.piece(),
            '$' if in_script && next == Some('\'') => self.ansi_quoted(),
            '"' => Some(self.quote()),
            '\'' if in_script => Some(self.rest[1..].find('\'')? + 2),
            '<' | '>' if in_script && next == Some('(') => self.piece(),
            '<' if in_script && self.rest.starts_with("<<<") => Some(3),
            '<' if in_script && next == Some('<') => self.here_document(),
            '#' if in_script && (self.before.is_whitespace() || ";&|()".contains(self.before)) => {
                Some(self.rest.find('\n').unwrap_or(self.rest.len()))
            }
            '{' if in_script && self.sets_a_variable() => None,
            '\n' if in_script => self.bodies(),
            c => Some(c.len_utf8()),
        }
    }

    fn quote(&mut self) -> usize {
        self.place = match self.place {
            ScanState::Script => ScanState::DoubleQuotes,
            ScanState::DoubleQuotes => ScanState::Script,
            ScanState::HereDocument => ScanState::HereDocument,
        };
        1
    }

    /// Shells join lines before they look for operators; the parser does not.
    fn escape(&self, next: Option<char>) -> Option<usize> {
        if next == Some('\n') && "$`<>&|;({[!#~=".contains(self.before) {
            return None;
        }
        Some(1 + next.map_or(0, char::len_utf8))
    }

    fn piece(&self) -> Option<usize> {
        let pieces = self.followed.iter().filter(|piece| self.rest.starts_with(piece.as_str()));
        pieces.map(String::len).filter(|length| *length > 1).max()
    }

    fn ansi_quoted(&self) -> Option<usize> {
        let mut escaped = false;
        let end = self.rest[2..].find(|c| {
            let closes = c == '\'' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        Some(end? + 3)
    }

    /// `{NAME}>file` sets a variable.
    fn sets_a_variable(&self) -> bool {
        self.rest[1..].split_once('}').is_some_and(|(name, rest)| {
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            is_name && rest.starts_with(['<', '>'])
        })
    }

    fn here_document(&mut self) -> Option<usize> {
        let after = &self.rest[2..];
        let strips_tabs = after.starts_with('-');
        let word = after.strip_prefix('-').unwrap_or(after).trim_start_matches([' ', '\t']);
        let ends = |c: char| c.is_whitespace() || ";&|()<>".contains(c);
        let (written, rest) = word.split_at(word.find(ends).unwrap_or(word.len()));
        let delimiter = written.replace(['\'', '"', '\\'], "");
        let is_plain = |c: char| c.is_alphanumeric() || "_-.!+,:@%^".contains(c);
        if delimiter.is_empty() || !delimiter.chars().all(is_plain) {
            return None;
        }
        let is_literal = delimiter != written;
        self.documents.push(HereDocument { delimiter, is_literal, strips_tabs });
        Some(self.rest.len() - rest.len())
    }

    /// The bodies that begin on the line after this newline.
    fn bodies(&mut self) -> Option<usize> {
        let mut length = 1;
        for document in std::mem::take(&mut self.documents) {
            let rest = &self.rest[length.min(self.rest.len())..];
            let mut body = 0;
            let mut whole = rest.len();
            for line in rest.split_inclusive('\n') {
                let text = line.trim_end_matches('\n');
                let tabs = |text: &'a str| text.trim_start_matches('\t');
                let is_end = if document.strips_tabs { tabs(text) } else { text };
                if is_end == document.delimiter {
                    whole = body + line.len();
                    break;
                }
                body += line.len();
            }
            if !document.is_literal {
                let place = ScanState::HereDocument;
                let text = &rest[..body];
                let mut within = Scan {
                    rest: text,
                    followed: self.followed,
                    place,
                    before: '\n',
                    documents: vec![],
                };
                if within.finds_unfollowed() {
                    return None;
                }
            }
            length += whole;
        }
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quoted text is not syntax; everything else must have been followed.
    #[test]
    fn syntax_is_distinguished_from_text() {
        let followed = ["$(a)", "`b`", "${c}", "<(d)"].map(str::to_owned).into();
        for clear in [
            "x '$(z)' \"$(a)\" `b` ${c} <(d)",
            "x \\$(z",
            "x # $(z) '",
            "x \"'$(a)'\"",
            "x <<'X'\n$(z)\nX\ny $(a)",
            "x <<X\n# $(a) '\nX\ny # $(z)",
            "x <<-X\n\t$(a)\n\tX\ny",
            "x $'a\\'$(z)'",
            "x \"\\$(z)\"",
            "x a#b <<< y",
        ] {
            assert!(!overlooks(clear, &followed), "{clear}");
        }
        for overlooked in [
            "x $(z)",
            "x ~$(z)",
            "x \"`z`\"",
            "x >(z)",
            "x ${z}",
            "x $[1]",
            "x '' $(z) ''",
            "x \"'$(z)'\"",
            "x a#$(z)",
            "x <<X\n# $(z)\nX",
            "x <<'X'\n$(z)\nX\ny $(z)",
            "x <<$(z)\n$(z)",
            "x \\\\$(z)",
            "x $\\\n(z)",
            "x {y}>z",
            "x \"y",
            "x 'y",
            "x\u{a0}y",
            "x\ry",
        ] {
            assert!(overlooks(overlooked, &followed), "{overlooked}");
        }
    }
}
