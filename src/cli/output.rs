//! Prints results as text for people, or as JSON for scripts.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

/// The form of a result.
#[derive(Debug, Clone, Copy, Args)]
pub struct OutputFormat {
    /// Print JSON, for scripts
    #[arg(long)]
    json: bool,
}

impl OutputFormat {
    /// The text, or the value as JSON.
    pub fn of(self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<String> {
        if self.json { Ok(serde_json::to_string_pretty(value)?) } else { Ok(text()) }
    }

    /// One line per entry, or `none`. As JSON, an array.
    pub fn list<T: Serialize>(
        self,
        entries: &[T],
        none: &str,
        line: impl Fn(&T) -> String,
    ) -> Result<String> {
        self.of(&entries, || match entries {
            [] => none.to_owned(),
            entries => entries.iter().map(line).collect::<Vec<_>>().join("\n"),
        })
    }
}
