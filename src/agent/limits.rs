//! What one turn may use.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{journal::session::Session, texts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Requests to the model.
    pub steps: u32,
    /// Input and output together, as the provider counts them.
    pub tokens: u64,
    /// From the message to the end of the turn, without the time a person took to decide.
    pub time: TimeDelta,
    /// The longest answer.
    pub output_tokens: u32,
    /// The prompt is summarised when it is estimated to be longer.
    pub context_tokens: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: 24,
            tokens: 1_000_000,
            time: TimeDelta::minutes(15),
            output_tokens: 8_192,
            context_tokens: 100_000,
        }
    }
}

/// Why this turn may not go on, as the person is told.
pub fn exhausted(session: &Session, budget: &Budget, now: DateTime<Utc>) -> Option<String> {
    let turn = &session.turn;
    if turn.steps >= budget.steps {
        return Some(texts::out_of_steps(budget.steps));
    }
    if turn.tokens >= budget.tokens {
        return Some(texts::out_of_tokens(budget.tokens));
    }
    let since = turn.started_at?;
    (now - since - turn.waited > budget.time).then(|| texts::out_of_time(budget.time))
}
