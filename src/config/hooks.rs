//! The list `hooks`: checks or changes of prompts, answers and tool calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{agent::hooks::OnFailure, journal::event::HookPoint};

/// The default of `timeout` of a hook.
pub(super) const HOOK_TIMEOUT: &str = "5s";
/// The default of `max_bytes` of a hook.
pub(super) const HOOK_BYTES: usize = 262_144;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// The name of the hook in the journal and in logs.
    pub name: String,
    /// When it runs: `before_llm`, `after_llm`, `before_tool`, `after_tool` or `on_error`.
    pub on: HookPoint,
    /// What it does: `redact`, `inject`, `validate`, `filter`, `annotate`, or `run` a program. Hooks
    /// run in the order of the file.
    pub action: HookAction,
    /// Tool name; `*` and `?` are wildcards.
    #[schemars(extend("x-default" = "every tool"))]
    pub tool: Option<String>,
    /// `before_tool`: the argument to check or set.
    pub argument: Option<String>,
    /// Regular expression: what is redacted, must match, or must not match.
    pub pattern: Option<String>,
    /// The text to insert or append, or the reason for stopping.
    pub text: Option<String>,
    /// `run`: program and arguments; receives JSON on standard input and prints JSON.
    pub command: Option<Vec<String>>,
    /// Whether the program is sandboxed: no network, writing only to its own folder, the gateway's
    /// data hidden.
    #[serde(default = "yes")]
    pub sandbox: bool,
    /// Timeout of the program, at most one minute.
    #[schemars(extend("default" = HOOK_TIMEOUT))]
    pub timeout: Option<String>,
    /// Maximum size of its input and of its output, in bytes.
    #[schemars(extend("default" = HOOK_BYTES))]
    pub max_bytes: Option<usize>,
    /// What happens if the program fails: `stop` or `continue`.
    #[schemars(extend("x-default" = "stop for before_tool, else continue"))]
    pub on_failure: Option<OnFailure>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    Redact,
    Inject,
    Validate,
    Filter,
    Annotate,
    Run,
}
