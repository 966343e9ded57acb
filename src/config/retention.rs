//! The section on retention.

use anyhow::{Context as _, Result, ensure};
use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, build};
use crate::store::retention::Retention;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionSection {
    /// Ids of received updates, by which duplicates are recognised; at least `2d`.
    pub deliveries: String,
    /// Updates that could not be parsed.
    pub unparsed: String,
    /// Sent messages and dead letters; longer while their approval is open or its grant is valid.
    /// The web chat shows no older ones.
    pub messages: String,
    /// Approvals after the decision, with their votes.
    pub approvals: String,
    /// Grants after their end.
    pub grants: String,
    /// Conversations of sub-agents after they began.
    pub tasks: String,
    /// Reminders and tasks after their end.
    pub schedules: String,
    /// The log of webhook deliveries.
    pub webhook_deliveries: String,
    /// Files that no conversation refers to; at least `1d`.
    pub artifacts: String,
    /// Conversations with their journal, memory and files after the last event, for example `400d`.
    #[schemars(extend("x-default" = "kept forever"))]
    pub conversations: Option<String>,
}

impl Default for RetentionSection {
    fn default() -> Self {
        Self {
            deliveries: "7d".into(),
            unparsed: "30d".into(),
            messages: "90d".into(),
            approvals: "90d".into(),
            grants: "90d".into(),
            tasks: "30d".into(),
            schedules: "30d".into(),
            webhook_deliveries: "30d".into(),
            artifacts: "7d".into(),
            conversations: None,
        }
    }
}

/// The retention of each kind of data.
pub fn retention(config: &Config) -> Result<Retention> {
    let section = &config.retention;
    let long =
        |name: &str, text: &str| build::duration(text).with_context(|| format!("retention.{name}"));
    let conversations = section.conversations.as_deref();
    let kept = Retention {
        deliveries: long("deliveries", &section.deliveries)?,
        unparsed: long("unparsed", &section.unparsed)?,
        messages: long("messages", &section.messages)?,
        approvals: long("approvals", &section.approvals)?,
        grants: long("grants", &section.grants)?,
        tasks: long("tasks", &section.tasks)?,
        schedules: long("schedules", &section.schedules)?,
        webhook_deliveries: long("webhook_deliveries", &section.webhook_deliveries)?,
        artifacts: long("artifacts", &section.artifacts)?,
        conversations: conversations.map(|text| long("conversations", text)).transpose()?,
        audit: config
            .audit
            .retention
            .as_deref()
            .map(build::duration)
            .transpose()
            .context("audit.retention")?,
    };
    ensure!(
        kept.deliveries >= TimeDelta::days(2),
        "retention.deliveries: must be at least 2d, because platforms deliver again for a day"
    );
    ensure!(
        kept.artifacts >= TimeDelta::days(1),
        "retention.artifacts: must be at least 1d, because files are stored before anything refers \
            to them"
    );
    Ok(kept)
}
