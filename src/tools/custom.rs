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
    ApprovalMode, CallTerms, Confinement, Domain, EffectClass, Rate, Subject, Tier, ToolSpec,
    Variable,
};
pub use crate::{
    agent::policy::FileDigests,
    journal::event::{Attachment, SeenFile, Usage},
    texts::preview::Preview,
};

/// Converts the return value of a function to a result. Strings are used unchanged; other values
/// become JSON.
pub fn output(returned: impl serde::Serialize) -> Result<Output, ToolError> {
    let value = serde_json::to_value(returned)
        .map_err(|problem| ToolError::ExecutionFailed(problem.to_string()))?;
    Ok(Output::text(match value {
        Value::String(text) => text,
        other => other.to_string(),
    }))
}

/// Converts the error of a function, if it returned one, to a tool error.
pub fn succeeded<T>(returned: Result<T, impl std::fmt::Display>) -> Result<T, ToolError> {
    returned.map_err(|problem| ToolError::ExecutionFailed(problem.to_string()))
}
