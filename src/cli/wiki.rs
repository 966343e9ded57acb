//! `countersign wiki`: exports the wiki of an agent.

use anyhow::{Context as _, Result, ensure};
use clap::Subcommand;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use super::examples;
use crate::store::{
    Store, memory,
    wiki::{self, Listing, WikiPage},
};

#[derive(Debug, Subcommand)]
pub enum WikiCommand {
    /// Write all pages into a folder, as Markdown files
    #[command(after_help = examples::WIKI_EXPORT)]
    Export {
        /// The folder, which must be empty or not exist
        folder: PathBuf,
        /// The agent whose wiki it is
        #[arg(long, default_value = "default", value_name = "ID")]
        agent: String,
    },
}

/// Exports the wiki and reports the number of pages.
pub async fn run(store: &Store, command: WikiCommand) -> Result<String> {
    let WikiCommand::Export { folder, agent } = command;
    let shown = folder.display();
    let is_empty = fs::read_dir(&folder).map_or(true, |mut entries| entries.next().is_none());
    ensure!(is_empty, "{shown} is not empty");
    let listing = Listing { agent: agent.clone(), most: memory::MOST, ..Listing::default() };
    let list = store.read(move |tx| Box::pin(async move { wiki::list(tx, &listing).await }));
    let headings = list.await?;
    let count = headings.len();
    fs::create_dir_all(&folder).with_context(|| format!("creating {shown}"))?;
    for heading in headings {
        let agent = agent.clone();
        let find = store
            .read(move |tx| Box::pin(async move { wiki::find(tx, &agent, &heading.page).await }));
        if let Some(page) = find.await? {
            write(&folder, &page)?;
        }
    }
    Ok(format!("{count} pages were written to {shown}."))
}

/// Writes a page. Names contain letters, digits, hyphens and slashes only, so the path stays in the
/// folder.
fn write(folder: &Path, page: &WikiPage) -> Result<()> {
    let path = folder.join(format!("{}.md", page.page));
    let parent = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
    fs::write(&path, markdown(page)?).with_context(|| format!("writing {}", path.display()))
}

/// The page with its properties as front matter. The values are JSON strings, which are valid YAML.
fn markdown(page: &WikiPage) -> Result<String> {
    let mut text = String::from("---\n");
    let _ = writeln!(text, "title: {}", serde_json::to_string(&page.title)?);
    let _ = writeln!(text, "version: {}", page.version);
    let _ = writeln!(text, "written_at: {}", page.written_at.to_rfc3339());
    let _ = writeln!(text, "written_for: {}", serde_json::to_string(&page.by.name)?);
    let _ = writeln!(text, "archived: {}", page.is_archived);
    let _ = writeln!(text, "taint: {}", serde_json::to_string(&page.taint)?);
    let _ = writeln!(text, "sources: {}", serde_json::to_string(&page.sources)?);
    let _ = write!(text, "---\n\n{}\n", page.content.trim_end());
    Ok(text)
}
