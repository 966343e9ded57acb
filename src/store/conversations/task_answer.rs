//! The answer of a sub-agent to its task.

use serde::{Deserialize, Serialize};

use crate::journal::event::{InheritedState, ToolResult};

/// The answer to a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskAnswer {
    pub result: ToolResult,
    #[serde(rename = "heritage")]
    pub inherited: InheritedState,
}
