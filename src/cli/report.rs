//! The report of `countersign doctor`.

use anyhow::Result;
use serde::Serialize;

use super::output::OutputFormat;
use crate::agent::redact::Redactor;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CheckStatus {
    #[serde(rename = "ok")]
    Fine,
    #[serde(rename = "warning")]
    Warning,
    #[serde(rename = "failed")]
    Fault,
}

/// The result of a check.
#[derive(Serialize)]
struct Line {
    check: String,
    found: CheckStatus,
    says: String,
}

/// One line per check.
#[derive(Default)]
pub struct Report {
    lines: Vec<Line>,
}

impl Report {
    pub fn add(&mut self, found: CheckStatus, what: &str, says: impl Into<String>) {
        self.lines.push(Line { check: what.to_owned(), found, says: says.into() });
    }

    /// Adds the result of a check. An error is reported as a fault.
    pub fn check(&mut self, what: &str, checked: Result<(CheckStatus, String)>) {
        match checked {
            Ok((found, says)) => self.add(found, what, says),
            Err(problem) => self.add(CheckStatus::Fault, what, format!("{problem:#}")),
        }
    }

    /// Removes secrets from all lines.
    pub fn redact(&mut self, redactor: &Redactor) {
        for line in &mut self.lines {
            line.says = redactor.own(&line.says).into_owned();
        }
    }

    /// One line for each check.
    pub fn shown(&self, output: OutputFormat) -> Result<String> {
        output.list(&self.lines, "", |Line { check, found, says }| {
            let mark = match found {
                CheckStatus::Fine => "ok",
                CheckStatus::Warning => "warn",
                CheckStatus::Fault => "FAIL",
            };
            format!("{mark:<5} {check:<20} {says}")
        })
    }

    pub fn faults(&self) -> usize {
        self.lines.iter().filter(|line| line.found == CheckStatus::Fault).count()
    }

    pub fn count(&self) -> usize {
        self.lines.len()
    }
}
