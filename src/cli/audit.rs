//! `countersign audit`: prints and verifies the audit.

use anyhow::{Result, bail};
use chrono::{DateTime, Utc};
use clap::Subcommand;
use std::fmt::Write as _;

use super::{examples, output::OutputFormat};
use crate::{
    admin::api::audit::FactView,
    store::{Store, audit::Query},
};

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Verify all records and report those that were changed, moved or removed
    #[command(after_help = examples::AUDIT_VERIFY)]
    Verify {
        /// The hash of a seal that an earlier verification printed, which must still exist
        #[arg(long, value_name = "HASH")]
        seal: Option<String>,
    },
    /// Print records, newest first
    #[command(after_help = examples::AUDIT_SHOW)]
    Show {
        /// Only records of this conversation
        #[arg(long, default_value = "", hide_default_value = true)]
        conversation: String,
        /// The platform's id of a person
        #[arg(long, default_value = "", hide_default_value = true)]
        person: String,
        /// Only records of this tool
        #[arg(long, default_value = "", hide_default_value = true)]
        tool: String,
        /// asked, decided, started, ran, refused, …
        #[arg(long, default_value = "", hide_default_value = true)]
        kind: String,
        /// For example 2026-05-04T10:00:00Z
        #[arg(long)]
        since: Option<DateTime<Utc>>,
        /// Only records before this time
        #[arg(long)]
        until: Option<DateTime<Utc>>,
        /// The maximum number of records
        #[arg(long, alias = "most", default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        output: OutputFormat,
    },
}

/// Returns the output. Fails if verification fails.
pub async fn run(store: &Store, command: AuditCommand) -> Result<String> {
    match command {
        AuditCommand::Verify { seal } => verify(store, seal).await,
        AuditCommand::Show { conversation, person, tool, kind, since, until, limit, output } => {
            let after = None;
            let query = Query { conversation, person, tool, kind, since, until, after, limit };
            let rows = store.audit(query).await?;
            let facts: Vec<FactView> = rows.into_iter().map(Into::into).collect();
            output.list(&facts, "No such records.", line)
        }
    }
}

async fn verify(store: &Store, seal: Option<String>) -> Result<String> {
    let mut verified = store.verify_audit().await?;
    if let Some(seal) = seal
        && !store.has_seal(&seal).await?
    {
        verified.faults.push(format!("there is no seal {seal}: the audit it sealed was replaced"));
    }
    if !verified.faults.is_empty() {
        bail!("verification failed:\n  {}", verified.faults.join("\n  "));
    }
    let mut text =
        format!("Verified: {} records in {} chains, none altered.", verified.rows, verified.chains);
    if let Some((n, hash)) = verified.seal {
        let _ = write!(text, "\nSeal {n} is {hash}. Store it elsewhere, for `--seal` next time.");
    }
    Ok(text)
}

fn line(fact: &FactView) -> String {
    let FactView { chain, number, at, kind, person, tool, body, .. } = fact;
    format!("{} {chain} {number} {kind} {person} {tool} {body}", at.to_rfc3339())
}
