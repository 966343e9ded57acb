//! `countersign extract`: prints the text of a document as agents read it.

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;
use renderers::read::limits::INPUT_BYTES;
use sandbox::Sandbox;
use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
};

use super::output::OutputFormat;
use crate::{
    config::{Config, secret::Secret},
    tools::documents::{office::Office, reader::DocumentReader},
};

#[derive(Debug, Args)]
pub struct Extract {
    /// A PDF, Word, Excel, PowerPoint, OpenDocument, RTF, HTML, e-mail, CSV, JSON or text file
    file: PathBuf,
    /// An environment variable with the password of a protected file
    #[arg(long, value_name = "NAME")]
    password_env: Option<String>,
    #[command(flatten)]
    output: OutputFormat,
}

/// Reads the document in the sandbox and returns its text. Warnings go to standard error. The given
/// password is tried before those of the configuration.
pub async fn run(
    config: &Config,
    variables: &BTreeMap<String, String>,
    args: &Extract,
) -> Result<String> {
    let file = args.file.display();
    let size = std::fs::metadata(&args.file).with_context(|| format!("reading {file}"))?.len();
    ensure!(size <= INPUT_BYTES as u64, "{file} has {size} bytes; the most is {INPUT_BYTES}");
    let bytes = std::fs::read(&args.file).with_context(|| format!("reading {file}"))?;
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let given = args.password_env.clone().map(|env| Secret::Env { env }.reveal(variables));
    let mut passwords: Vec<_> = given.transpose()?.into_iter().collect();
    passwords.extend(config.extraction.passwords(variables)?);
    let read = Sandbox::once(&std::env::current_exe()?, async |sandbox| {
        let sandbox = Arc::new(sandbox);
        let office = Office::installed(&sandbox);
        let reader =
            DocumentReader { sandbox: &sandbox, passwords: &passwords, office: office.as_ref() };
        reader.read(&name, &bytes).await.map_err(|problem| anyhow!("{problem}"))
    })
    .await?;
    for warning in &read.warnings {
        writeln!(io::stderr(), "warning: {warning}")?;
    }
    args.output.of(&read, || read.markdown.trim_end().to_owned())
}
