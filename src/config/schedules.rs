//! The section on schedules.

use anyhow::{Context as _, Result, anyhow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build;
use crate::tools::schedule_planner::ScheduleLimits;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulesSection {
    /// Default time zone (IANA name).
    pub timezone: String,
    /// The minimum interval of recurring tasks.
    pub min_interval: String,
    /// Maximum number of active reminders and tasks per conversation.
    pub per_conversation: usize,
}

impl Default for SchedulesSection {
    fn default() -> Self {
        Self { timezone: "UTC".into(), min_interval: "1m".into(), per_conversation: 50 }
    }
}

impl SchedulesSection {
    pub fn build(&self) -> Result<ScheduleLimits> {
        let zone = self.timezone.parse();
        Ok(ScheduleLimits {
            zone: zone
                .map_err(|_| anyhow!("there is no time zone `{}`", self.timezone))
                .context("schedules.timezone")?,
            shortest: build::duration(&self.min_interval).context("schedules.min_interval")?,
            per_conversation: self.per_conversation,
        })
    }
}
