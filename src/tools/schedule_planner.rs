//! Plans, creates and changes schedules, for the tools of a chat, the console and the API.

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolError, time};
use crate::{
    agent::schedule_rule::{self, Recurrence, RequestedTime},
    journal::{
        event::Speaker,
        ids::{ConversationId, ScheduleId},
    },
    store::{
        Store,
        audit::{self, Fact},
        schedules::{self, Schedule, ScheduleCreated, ScheduleKind, ScheduleState},
    },
    texts::ScheduleError,
};

/// The maximum length of a reminder or task.
const MAX_CHARS: usize = 4_000;

/// The operator's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleLimits {
    /// The default time zone.
    pub zone: Tz,
    pub shortest: TimeDelta,
    pub per_conversation: usize,
}

impl Default for ScheduleLimits {
    fn default() -> Self {
        Self { zone: Tz::UTC, shortest: TimeDelta::minutes(1), per_conversation: 50 }
    }
}

/// The schedules of all conversations.
#[derive(Clone)]
pub struct SchedulePlanner {
    pub(super) store: Store,
    terms: ScheduleLimits,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleArguments {
    /// The reminder, exactly as people will read it; or the task, complete.
    pub text: String,
    /// Local date and time, for example 2026-05-04T18:00.
    #[serde(default)]
    pub at: Option<String>,
    /// How long from now, for example 20m, 2h or 1day 12h.
    #[serde(default, rename = "in")]
    pub after: Option<String>,
    /// Repeats with this interval, for example 2h; first after the interval, or at `at`.
    #[serde(default)]
    pub every: Option<String>,
    /// Repeats by this cron pattern of five fields, for example 0 9 * * MON-FRI.
    #[serde(default)]
    pub cron: Option<String>,
    /// IANA name of the person's time zone, such as Europe/Berlin; by default the one that was last
    /// used here, else the operator's.
    #[serde(default)]
    pub timezone: Option<String>,
}

/// Where a schedule runs, and for whom.
pub struct ScheduleTarget {
    pub id: ScheduleId,
    pub conversation: ConversationId,
    pub by: Speaker,
    /// The sources of untrusted content that its author had read.
    pub taint: Vec<String>,
}

impl SchedulePlanner {
    pub fn new(store: &Store, terms: ScheduleLimits) -> Self {
        Self { store: store.clone(), terms }
    }

    /// The name of the default time zone.
    pub fn zone_name(&self) -> &'static str {
        self.terms.zone.name()
    }

    /// The maximum number of schedules of a conversation.
    pub fn limit(&self) -> usize {
        self.terms.per_conversation
    }

    /// Creates a schedule, unless an equal one exists, with a record for the audit.
    pub async fn create(
        &self,
        new: Schedule,
        fact: Option<Fact>,
        now: DateTime<Utc>,
    ) -> Result<ScheduleCreated, ScheduleError> {
        let limit = self.limit();
        let create = self.store.write("create schedule", move |tx| {
            Box::pin(async move {
                let created = schedules::create(tx, &new, limit, now).await?;
                if let Some(fact) = fact.filter(|_| created == ScheduleCreated::New) {
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(created)
            })
        });
        create.await.map_err(|error| broken(&error))
    }

    /// Changes what a schedule does and when, with a record for the audit. Returns `false` if it has
    /// ended, or was run or changed in the meantime.
    pub async fn change(
        &self,
        changed: Schedule,
        old_due_at: DateTime<Utc>,
        fact: Fact,
        now: DateTime<Utc>,
    ) -> Result<bool, ScheduleError> {
        let change = self.store.write("edit schedule", move |tx| {
            Box::pin(async move {
                let is_changed = schedules::edit(tx, &changed, old_due_at, now).await?;
                if is_changed {
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(is_changed)
            })
        });
        change.await.map_err(|error| broken(&error))
    }

    /// The schedule that is wanted, if it is valid.
    pub async fn planned(
        &self,
        does: ScheduleKind,
        wanted: ScheduleArguments,
        target: ScheduleTarget,
        now: DateTime<Utc>,
    ) -> Result<Schedule, ScheduleError> {
        let ScheduleArguments { text, at, after, every, cron, timezone } = wanted;
        let requested = RequestedTime { at, after, every, cron };
        let count = text.chars().count();
        if text.trim().is_empty() || count > MAX_CHARS {
            return Err(ScheduleError::TextLength { count, limit: MAX_CHARS });
        }
        let zone = self.zone(timezone, &target).await?;
        let (rule, due_at) = schedule_rule::plan(&requested, zone, self.terms.shortest, now)?;
        let ScheduleTarget { id, conversation, by, taint } = target;
        let (zone, state) = (zone.name().to_owned(), ScheduleState::Waiting);
        Ok(Schedule { id, conversation, does, text, rule, zone, by, taint, state, due_at })
    }

    async fn zone(
        &self,
        named: Option<String>,
        target: &ScheduleTarget,
    ) -> Result<Tz, ScheduleError> {
        if let Some(named) = named {
            return Ok(time::zone(&named)?);
        }
        let (conversation, person) = (target.conversation.clone(), target.by.clone());
        let known = self.store.read(move |tx| {
            Box::pin(async move { schedules::zone(tx, &conversation, &person).await })
        });
        let known = known.await.map_err(|error| broken(&error))?;
        Ok(known.and_then(|zone| zone.parse().ok()).unwrap_or(self.terms.zone))
    }
}

/// The schedule with what was changed. One that continues at the same times keeps its next one.
pub fn edited(old: &Schedule, new: Schedule) -> Schedule {
    let is_same = old.rule == new.rule && old.rule != Recurrence::Once;
    Schedule { due_at: if is_same { old.due_at } else { new.due_at }, state: old.state, ..new }
}

/// An error of the database, which is logged.
pub(super) fn broken(error: &anyhow::Error) -> ScheduleError {
    tracing::error!(problem = format!("{error:#}"), "could not access the schedules");
    ScheduleError::Unavailable
}

/// What the model is told.
impl From<ScheduleError> for ToolError {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Unavailable => Self::ExecutionFailed(error.to_string()),
            wrong => Self::InvalidParameters(wrong.to_string()),
        }
    }
}
