//! Redirections: files that are written and read, here-documents, and standard input.

use brush_parser::ast::{
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, ProcessSubstitutionKind, RedirectList,
    SubshellCommand,
};

use super::{
    command::{Command, Word},
    inner,
    state::{Input, Walk},
};
use crate::texts::UnclearReason;

impl Walk {
    pub(super) fn redirects(&mut self, redirects: Option<&RedirectList>, input: Input) -> Input {
        redirects
            .iter()
            .flat_map(|list| &list.0)
            .fold(input, |input, redirect| self.redirect(redirect, input))
    }

    pub(super) fn redirect(&mut self, redirect: &IoRedirect, input: Input) -> Input {
        use IoFileRedirectKind as Kind;
        match redirect {
            IoRedirect::File(_, kind, IoFileRedirectTarget::Filename(word)) => match kind {
                Kind::Read | Kind::DuplicateInput => return self.reads_file(&word.value),
                _ => self.writes_file(&word.value),
            },
            IoRedirect::File(_, _, IoFileRedirectTarget::Duplicate(word)) => {
                self.duplicates(&word.value);
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(kind, subshell)) => {
                let text = self.substituted(kind, subshell);
                return Input { piped: true, text };
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => {}
            IoRedirect::OutputAndError(word, _) => self.writes_file(&word.value),
            IoRedirect::HereString(_, word) => {
                let words = self.words(&word.value);
                let text = words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
                return Input { piped: true, text: Some(text) };
            }
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.expanded(&document.doc.value);
                }
                return Input { piped: true, text: Some(document.doc.value.clone()) };
            }
        }
        input
    }

    /// `<&3` duplicates a descriptor; `>&FILE` writes a file.
    fn duplicates(&mut self, word: &str) {
        if word.chars().all(|c| c.is_ascii_digit() || c == '-') {
            return;
        }
        if word.contains(['\'', '"', '\\']) {
            // bash removes the quotes twice here.
            self.doubt(UnclearReason::OtherShells);
        }
        self.writes_file(word);
    }

    fn writes_file(&mut self, word: &str) {
        let alternatives = self.braces(word).len();
        let words = self.words(word);
        if alternatives != 1 || words.len() != 1 {
            // Some shells treat braces as part of the name, others expand them.
            self.doubt(UnclearReason::Braces);
        }
        for word in words {
            self.writes(word);
        }
    }

    /// Records that a program writes this file.
    pub(super) fn writes(&mut self, file: Word) {
        let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
        if file.sure && harmless.contains(&file.text.as_str()) {
            return;
        }
        self.written.insert(inner::plain_path(&file.text));
        self.push(Command { words: vec![Word::sure(">"), file] });
    }

    fn reads_file(&mut self, word: &str) -> Input {
        for word in self.words(word) {
            self.files_run.push(inner::plain_path(&word.text));
            self.push(Command { words: vec![Word::sure("<"), word] });
        }
        Input { piped: true, text: None }
    }

    /// Expands a here-document as within double quotes, except that quotes have no special meaning.
    fn expanded(&mut self, document: &str) {
        let starts = document.contains("$(") || document.contains('`') || document.contains("${");
        if starts && document.contains(['\'', '"']) {
            self.doubt(UnclearReason::Word);
        }
        self.inside(&format!("\"{}\"", document.replace(['\'', '"'], " ")));
    }

    /// Handles `<(…)` and `>(…)`.
    pub(super) fn substituted(
        &mut self,
        kind: &ProcessSubstitutionKind,
        subshell: &SubshellCommand,
    ) -> Option<String> {
        let (start, end) = (subshell.loc.start.index, subshell.loc.end.index);
        if let Some(written) = self.source.get(start..end) {
            self.followed.insert(format!("{kind}{}", String::from_iter(written)));
        }
        self.list(&subshell.list)
    }
}
