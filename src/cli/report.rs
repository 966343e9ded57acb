//! The report of `countersign doctor`.

use anyhow::Result;

use super::output::OutputFormat;
use crate::{
    admin::reload::{CheckResult, CheckStatus},
    agent::redact::Redactor,
};

/// One line per check.
#[derive(Default)]
pub struct Report {
    lines: Vec<CheckResult>,
}

impl Report {
    pub fn add(&mut self, found: CheckStatus, what: &str, says: impl Into<String>) {
        self.lines.push(CheckResult { check: what.to_owned(), found, says: says.into() });
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
        output.list(&self.lines, "", |CheckResult { check, found, says }| {
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

    /// The results, in order.
    pub fn into_results(self) -> Vec<CheckResult> {
        self.lines
    }

    pub fn count(&self) -> usize {
        self.lines.len()
    }
}
