//! A mistake in a configuration, and the error that lists several.

/// A key as a list of names and positions: `["channels", "0", "token"]`.
pub(super) type KeyPath = Vec<String>;

/// One mistake.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub key: KeyPath,
    pub message: String,
}

impl Mistake {
    pub fn new(key: &[String], message: impl Into<String>) -> Self {
        Self { key: key.to_owned(), message: message.into() }
    }

    /// Whether one of the keys is a prefix of the other.
    pub fn overlaps(&self, key: &[String]) -> bool {
        self.key.starts_with(key) || key.starts_with(&self.key)
    }
}

/// An error that lists all mistakes, one in each line.
pub(super) fn listed(lines: Vec<String>) -> anyhow::Error {
    match lines.as_slice() {
        [one] => anyhow::anyhow!("{one}"),
        lines => anyhow::anyhow!(
            "the configuration has {} mistakes:\n  {}",
            lines.len(),
            lines.join("\n  ")
        ),
    }
}
