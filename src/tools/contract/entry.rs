//! A registered tool with its compiled schema, and the preparation of its arguments.

use jsonschema::Validator;
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use super::arguments;
use crate::{
    agent::{
        catalog::{self, Subject, ToolSpec},
        paths::normalise,
    },
    tools::{Context, Tool, ToolError},
};

/// A registered tool.
#[derive(Clone)]
pub(in crate::tools) struct RegisteredTool {
    pub tool: Arc<dyn Tool>,
    pub spec: Arc<ToolSpec>,
    pub schema: Arc<Validator>,
    /// The environment variables that it declares.
    pub variables: BTreeMap<String, String>,
    /// Whether it receives the flag `approved`.
    pub takes_approval: bool,
}

impl RegisteredTool {
    /// The context with the variables of this tool, and of no other.
    pub fn with_variables<'a>(&self, context: &'a Context) -> Cow<'a, Context> {
        if self.variables.is_empty() {
            return Cow::Borrowed(context);
        }
        Cow::Owned(Context { variables: self.variables.clone(), ..context.clone() })
    }

    pub fn prepare(&self, arguments: Value) -> Result<Value, ToolError> {
        let arguments = arguments::tidy(arguments, &self.spec.parameters)?;
        self.validate(&arguments)?;
        self.normalised(arguments)
    }

    pub fn normalised(&self, mut arguments: Value) -> Result<Value, ToolError> {
        if let Some(Subject::Path(field)) = &self.spec.subject
            && let Some(path) = arguments.get_mut(*field)
            && let Some(text) = path.as_str()
        {
            *path = Value::String(normalise(text)?);
        }
        Ok(arguments)
    }

    /// Adds the flag `approved`, which only the guard can set.
    pub fn approved(&self, mut arguments: Value) -> Value {
        if self.takes_approval {
            arguments[arguments::APPROVED] = true.into();
        }
        arguments
    }

    pub fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        catalog::fits(&self.schema, arguments).map_err(ToolError::InvalidParameters)
    }
}
