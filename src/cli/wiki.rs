//! `countersign wiki`: exports the wiki of an agent.

use anyhow::{Context as _, Result, ensure};
use clap::Subcommand;
use sha2::{Digest as _, Sha256};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use super::examples;
use crate::store::{
    Store,
    wiki::{self, Heading, WikiListing, WikiPage},
};

/// The number of pages that are listed at once.
const AT_ONCE: usize = 200;
/// File systems allow 255 bytes.
const PART_BYTES: usize = 220;

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
    fs::create_dir_all(&folder).with_context(|| format!("creating {shown}"))?;
    let mut count = 0;
    let mut after = String::new();
    loop {
        let headings = listed(store, &agent, &after).await?;
        let Some(last) = headings.last() else { break };
        after.clone_from(&last.page);
        for heading in headings {
            let agent = agent.clone();
            let find = store.read(move |tx| {
                Box::pin(async move { wiki::find(tx, &agent, &heading.page).await })
            });
            if let Some(page) = find.await? {
                write(&folder, &page)?;
                count += 1;
            }
        }
    }
    Ok(format!("{count} pages were written to {shown}."))
}

/// The next pages after this one, archived ones included.
async fn listed(store: &Store, agent: &str, after: &str) -> Result<Vec<Heading>> {
    let (agent, after) = (agent.to_owned(), after.to_owned());
    let listing = WikiListing { agent, after, limit: AT_ONCE, ..WikiListing::default() };
    store.read(move |tx| Box::pin(async move { wiki::list(tx, &listing).await })).await
}

/// Names of pages contain letters, digits, hyphens and slashes only, so they stay in the folder.
fn write(folder: &Path, page: &WikiPage) -> Result<()> {
    let path = folder.join(format!("{}.md", file_name(&page.page)));
    let parent = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
    fs::write(&path, markdown(page)?).with_context(|| format!("writing {}", path.display()))
}

/// The name with parts that fit a file system. Pages of earlier releases may have longer ones, which
/// are cut off and told apart by a digest.
fn file_name(page: &str) -> String {
    let part = |part: &str| {
        if part.len() <= PART_BYTES {
            return part.to_owned();
        }
        let digest = hex::encode(Sha256::digest(part));
        format!("{}-{}", &part[..part.floor_char_boundary(PART_BYTES)], &digest[..12])
    };
    page.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// The page with its properties as front matter, in JSON strings, which are YAML.
fn markdown(page: &WikiPage) -> Result<String> {
    let mut text = String::from("---\n");
    let _ = writeln!(text, "title: {}", serde_json::to_string(&page.title)?);
    let _ = writeln!(text, "version: {}", page.version);
    let _ = writeln!(text, "page: {}", serde_json::to_string(&page.page)?);
    let _ = writeln!(text, "written_at: {}", page.written_at.to_rfc3339());
    let _ = writeln!(text, "written_for: {}", serde_json::to_string(&page.by.name)?);
    let _ = writeln!(text, "archived: {}", page.is_archived);
    let _ = writeln!(text, "taint: {}", serde_json::to_string(&page.taint)?);
    let _ = writeln!(text, "sources: {}", serde_json::to_string(&page.sources)?);
    let _ = write!(text, "---\n\n{}\n", page.content.trim_end());
    Ok(text)
}
