//! The states of a task of a sub-agent.

use strum::IntoStaticStr;

/// How far the work of a sub-agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum TaskStatus {
    /// A call waits for the answer.
    Open,
    /// No call waits for the answer. It is reported when the work is done.
    Background,
    Ended,
    Stopped,
}

impl TaskStatus {
    /// As it is stored.
    pub(super) fn as_str(self) -> &'static str {
        self.into()
    }
}
