//! Waiting for people and sub-agents, and the taint and usage that pass between an agent and its
//! sub-agents.

use chrono::{DateTime, Utc};

use crate::journal::{
    event::{ApprovalPurpose, InheritedState},
    ids::CallId,
    session::{CallState, OpenCall, Session},
};

/// One task for one sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub agent: String,
    pub text: String,
}

impl Session {
    pub fn inherited(&self) -> InheritedState {
        let untrusted = self.untrusted.iter().chain(self.sent.keys()).cloned().collect();
        let (taint, joined) = (self.taint.clone(), self.joined.clone());
        InheritedState { taint, untrusted, joined, ..InheritedState::default() }
    }

    /// Clears earlier permissions: they were given to an agent that had not read untrusted content.
    pub(super) fn tainted(&mut self, source: &str) {
        if self.taint.is_empty() {
            self.allowed.clear();
        }
        if !self.taint.iter().any(|known| known == source) {
            self.taint.push(source.to_owned());
        }
    }

    /// The time that sub-agents take does not count towards the turn.
    pub(super) fn delegated(&mut self, at: DateTime<Utc>, call: &CallId) {
        self.turn.waits_since.get_or_insert(at);
        self.set(call, CallState::Delegated);
    }

    /// The time that people take does not count towards the turn. A running call with an
    /// elicitation keeps running.
    pub(super) fn asked(&mut self, at: DateTime<Utc>, call: &CallId, asked: CallState) {
        self.turn.waits_since.get_or_insert(at);
        match asked {
            CallState::Asked { asks: ApprovalPurpose::Answer, .. } => {
                self.turn.asking.push(call.clone());
            }
            asked => self.set(call, asked),
        }
    }

    /// Records that an elicitation of a running call is settled.
    pub(super) fn elicitation_settled(&mut self, call: &CallId) {
        if let Some(at) = self.turn.asking.iter().position(|asking| asking == call) {
            self.turn.asking.swap_remove(at);
        }
    }

    /// Resumes the clock of the turn when it no longer waits for people or sub-agents.
    pub(super) fn stop_waiting(&mut self, at: DateTime<Utc>) {
        let waits = |open: &OpenCall| {
            matches!(open.state, CallState::Asked { .. } | CallState::Delegated)
                || self.turn.asking.contains(&open.call.id)
        };
        if !self.open_calls().any(waits)
            && let Some(since) = self.turn.waits_since.take()
        {
            self.turn.waited += at - since;
        }
    }

    pub(super) fn inherit(&mut self, inherited: &InheritedState) {
        for source in &inherited.taint {
            self.tainted(source);
        }
        self.untrusted.extend(inherited.untrusted.iter().cloned());
        self.joined.extend(inherited.joined.iter().cloned());
        for (tool, runs) in &inherited.used {
            *self.used.entry(tool.clone()).or_default() += runs;
        }
        self.turn.tokens += inherited.tokens;
    }
}
