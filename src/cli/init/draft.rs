//! The answers of `init` as a configuration that is loaded before it is written.

use anyhow::{Context as _, Result, anyhow};
use std::{collections::BTreeMap, fs, path::Path};

use super::{Answers, NewSecret, SecretTarget, show};
use crate::config::{Config, DEFAULT_FILE};

/// The answers as a configuration, and the variables that contain the typed secrets.
pub(super) struct DraftConfig {
    pub config: Config,
    pub variables: BTreeMap<String, String>,
}

/// `None` if no gateway could start with these answers, after the reason was shown.
pub(super) fn loadable(
    answers: &Answers,
    variables: &BTreeMap<String, String>,
) -> Result<Option<DraftConfig>> {
    match draft(answers, variables) {
        Ok(draft) => Ok(Some(draft)),
        Err(problem) => show(answers, &problem).map(|()| None),
    }
}

fn draft(answers: &Answers, variables: &BTreeMap<String, String>) -> Result<DraftConfig> {
    let mut variables = variables.clone();
    for NewSecret { variable, typed } in answers.secrets() {
        variables.extend(typed.iter().map(|typed| ((*variable).to_owned(), typed.value.clone())));
    }
    let folder = tempfile::tempdir().context("creating a temporary folder")?;
    let file = folder.path().join(DEFAULT_FILE);
    fs::write(&file, answers.text(SecretTarget::Draft)).context("writing the draft")?;
    let config = Config::load(Some(&file), &variables)
        .map_err(|problem| anyhow!("{}", without_lines(&format!("{problem:#}"), &file)))?;
    Ok(DraftConfig { config, variables })
}

/// A problem of a draft, without the line of a file that nobody has seen.
fn without_lines(problem: &str, file: &Path) -> String {
    let line = format!("{}, line ", file.display());
    let mut parts = problem.split(&line);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(": ").map_or(part, |(_, rest)| rest))
}
