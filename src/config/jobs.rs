//! The section on background jobs.

use anyhow::{Context as _, Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build;
use crate::{
    agent::catalog::Coworker, journal::event::JobBudget, store::jobs::JobConcurrency,
    tools::jobs::Terms,
};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JobsSection {
    /// Maximum number of running background jobs per conversation, up to 20.
    pub per_conversation: usize,
    /// Maximum number of running background jobs per person, in all conversations of a channel.
    pub per_person: usize,
    /// Requests to the model that one job may make.
    pub max_steps: u32,
    /// Tokens that one job may use, input and output together.
    pub max_tokens: u64,
    /// How long a job may take, without the time that people take to decide.
    pub max_time: String,
}

impl Default for JobsSection {
    fn default() -> Self {
        Self {
            per_conversation: 3,
            per_person: 5,
            max_steps: 100,
            max_tokens: 1_000_000,
            max_time: "1h".into(),
        }
    }
}

/// The upper bound for running jobs per conversation, because all of them are listed.
const MAX_PER_CONVERSATION: usize = 20;

impl JobsSection {
    pub fn build(&self, agents: Vec<Coworker>) -> Result<Terms> {
        ensure!(
            self.per_conversation <= MAX_PER_CONVERSATION,
            "jobs.per_conversation: at most {MAX_PER_CONVERSATION}"
        );
        let time = build::duration(&self.max_time).context("jobs.max_time")?;
        Ok(Terms {
            limit: JobConcurrency {
                per_conversation: self.per_conversation,
                per_person: self.per_person,
            },
            budget: JobBudget {
                steps: self.max_steps,
                tokens: self.max_tokens,
                time_ms: u64::try_from(time.num_milliseconds()).unwrap_or_default(),
            },
            agents,
        })
    }
}
