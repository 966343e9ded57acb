//! `countersign audit`: shows what was judged, decided and run, and whether that is what was written.

use anyhow::{Result, bail};
use chrono::{DateTime, Utc};
use clap::Subcommand;
use std::fmt::Write as _;

use crate::store::{
    Store,
    audit::{Query, Row},
};

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check every row; name those that were changed, moved or taken out
    Verify {
        /// The hash of a seal that an earlier check has printed: it must still be there
        #[arg(long, value_name = "HASH")]
        seal: Option<String>,
    },
    /// Print rows, the newest first
    Show {
        #[arg(long, default_value = "")]
        conversation: String,
        /// The platform's id of a person
        #[arg(long, default_value = "")]
        person: String,
        #[arg(long, default_value = "")]
        tool: String,
        /// asked, decided, started, ran, refused, …
        #[arg(long, default_value = "")]
        kind: String,
        /// As in 2026-05-04T10:00:00Z
        #[arg(long)]
        since: Option<DateTime<Utc>>,
        #[arg(long)]
        until: Option<DateTime<Utc>>,
        #[arg(long, default_value_t = 100)]
        most: usize,
    },
}

/// What to print; an error, if the audit is not as it was written.
pub async fn run(store: &Store, command: AuditCommand) -> Result<String> {
    match command {
        AuditCommand::Verify { seal } => verify(store, seal).await,
        AuditCommand::Show { conversation, person, tool, kind, since, until, most } => {
            let query = Query { conversation, person, tool, kind, since, until, after: None, most };
            let rows = store.audit(query).await?;
            Ok(rows.iter().map(line).collect::<Vec<_>>().join("\n"))
        }
    }
}

async fn verify(store: &Store, seal: Option<String>) -> Result<String> {
    let mut verified = store.verify_audit().await?;
    if let Some(seal) = seal
        && !store.has_seal(&seal).await?
    {
        verified.faults.push(format!("there is no seal {seal}: what it sealed was replaced"));
    }
    if !verified.faults.is_empty() {
        bail!("the audit is not as it was written:\n  {}", verified.faults.join("\n  "));
    }
    let mut text = format!("{} rows in {} chains are good.", verified.rows, verified.chains);
    if let Some((n, hash)) = verified.seal {
        let _ = write!(text, "\nSeal {n} is {hash}; keep it elsewhere, for `--seal` next time.");
    }
    Ok(text)
}

fn line(row: &Row) -> String {
    let Row { chain, n, at, kind, person, tool, body, .. } = row;
    format!("{} {chain} {n} {kind} {person} {tool} {body}", at.to_rfc3339())
}
