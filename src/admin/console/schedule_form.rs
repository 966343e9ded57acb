//! The form that creates or changes a schedule.

use chrono::NaiveDateTime;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::{
    agent::schedule_rule::Recurrence,
    store::schedules::{Schedule, ScheduleKind},
    tools::schedule_planner::ScheduleArguments,
};

/// How the time is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeKind {
    #[default]
    At,
    In,
    Every,
    Cron,
}

/// What was typed.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ScheduleForm {
    /// The schedule that is changed; empty for a new one.
    pub id: String,
    /// For whom and where: the id of the conversation, a space, and the id of the person.
    pub target: String,
    pub does: String,
    pub text: String,
    pub when: TimeKind,
    pub time: String,
    pub timezone: String,
}

impl ScheduleForm {
    /// The form of a schedule that exists.
    pub fn of(schedule: &Schedule) -> Self {
        let zone: Tz = schedule.zone.parse().unwrap_or(Tz::UTC);
        let due: NaiveDateTime = schedule.due_at.with_timezone(&zone).naive_local();
        let (when, time) = match &schedule.rule {
            Recurrence::Once => (TimeKind::At, due.format("%FT%T").to_string()),
            Recurrence::Every { seconds } => {
                let every = Duration::from_secs((*seconds).max(1) as u64);
                (TimeKind::Every, humantime::format_duration(every).to_string())
            }
            Recurrence::Cron { pattern, .. } => (TimeKind::Cron, pattern.clone()),
        };
        Self {
            id: schedule.id.to_string(),
            target: format!("{} {}", schedule.conversation, schedule.by.id),
            does: schedule.does.as_str().to_owned(),
            text: schedule.text.clone(),
            when,
            time,
            timezone: schedule.zone.clone(),
        }
    }

    pub fn kind(&self) -> ScheduleKind {
        if self.does == ScheduleKind::Run.as_str() {
            ScheduleKind::Run
        } else {
            ScheduleKind::Remind
        }
    }

    /// The conversation and the person.
    pub fn target(&self) -> Option<(&str, &str)> {
        self.target.split_once(' ')
    }

    /// The same arguments as those of the tools.
    pub fn arguments(&self) -> ScheduleArguments {
        let named = Some(self.timezone.trim().to_owned()).filter(|zone| !zone.is_empty());
        // Browsers send both characters for a line break.
        let text = self.text.replace("\r\n", "\n");
        let mut arguments = ScheduleArguments { text, timezone: named, ..<_>::default() };
        let time = match self.when {
            TimeKind::At => &mut arguments.at,
            TimeKind::In => &mut arguments.after,
            TimeKind::Every => &mut arguments.every,
            TimeKind::Cron => &mut arguments.cron,
        };
        *time = Some(self.time.trim().to_owned());
        arguments
    }
}
