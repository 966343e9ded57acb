//! The result of parsing a command line.

use crate::texts::UnclearReason;

/// The programs that a command line would start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    pub commands: Vec<Command>,
    /// Why the list may be incomplete.
    pub unclear: Option<UnclearReason>,
}

/// Stands for the output of another program.
pub(super) const FROM_A_PROGRAM: &str = "$(…)";

/// One program with its arguments, with quotes resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program is the first word.
    pub words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Whether the word is certain; otherwise it is a guess.
    pub sure: bool,
}

impl Word {
    pub(super) fn sure(text: impl Into<String>) -> Self {
        Self { text: text.into(), sure: true }
    }

    pub(super) fn guess(text: impl Into<String>) -> Self {
        Self { text: text.into(), sure: false }
    }
}

impl Command {
    pub(super) fn of(words: &[&str]) -> Self {
        Self { words: words.iter().map(|word| Word::sure(*word)).collect() }
    }

    /// The program's name without its folder. `None` if it is not known for certain.
    pub fn name(&self) -> Option<&str> {
        self.likely_name().filter(|_| self.words[0].sure)
    }

    /// The name, even if it is a guess.
    pub fn likely_name(&self) -> Option<&str> {
        self.words.first()?.text.rsplit('/').next()
    }

    /// The name, if it is certainly that of a system program: `./ls` is not `ls`.
    pub fn own_name(&self) -> Option<&str> {
        let folder = self.words.first()?.text.rsplit_once('/').map_or("", |(folder, _)| folder);
        let own = ["", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];
        self.name().filter(|_| own.contains(&folder))
    }

    pub fn is_sure(&self) -> bool {
        self.words.iter().all(|word| word.sure)
    }

    /// One line for patterns and people. Words with special characters are quoted.
    pub fn text(&self) -> String {
        let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^~<>|*?[]{}$!()…".contains(c);
        let quoted = self.words.iter().map(|word| {
            if !word.text.is_empty() && word.text.chars().all(plain) {
                return word.text.clone();
            }
            format!("'{}'", word.text.replace('\'', "'\\''"))
        });
        quoted.collect::<Vec<_>>().join(" ")
    }
}
