//! Custom tools: support for functions with the [`tool`] attribute.

pub use async_trait;
pub use macros::tool;
pub use schemars;
pub use serde;
pub use serde_json::Value;

pub use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{parse, schema},
};
pub use crate::agent::catalog::{
    ApprovalMode, Confinement, Domain, EffectClass, Rate, Subject, Tier, ToolSpec, Variable,
};

/// The return value as the model reads it: text as it is, everything else as JSON.
pub fn told(returned: impl serde::Serialize) -> Result<Output, ToolError> {
    let value = serde_json::to_value(returned)
        .map_err(|problem| ToolError::ExecutionFailed(problem.to_string()))?;
    Ok(Output::text(match value {
        Value::String(text) => text,
        other => other.to_string(),
    }))
}

/// The return value of a function, unless it has failed.
pub fn succeeded<T>(returned: Result<T, impl std::fmt::Display>) -> Result<T, ToolError> {
    returned.map_err(|problem| ToolError::ExecutionFailed(problem.to_string()))
}
