//! A registered tool with its compiled schema, the preparation of its arguments, and why a tool is not
//! registered.

use jsonschema::Validator;
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};
use thiserror::Error;

use super::{arguments, one_line::cut};
use crate::{
    agent::{
        argument_check,
        catalog::{ApprovalMode, CallTerms, EffectClass, Subject, ToolSpec},
        paths::normalise,
    },
    tools::{Context, Tool, ToolError},
};

/// The maximum length of quoted arguments in an error.
pub(super) const QUOTED_CHARS: usize = 300;

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

    /// The terms of a call with these arguments; the strictest ones if the tool panics.
    pub fn terms(&self, arguments: &Value) -> CallTerms {
        let terms = std::panic::catch_unwind(AssertUnwindSafe(|| self.tool.terms(arguments)));
        let strictest = || CallTerms { approval: ApprovalMode::Always, ..self.spec.terms() };
        terms.unwrap_or_else(|_| strictest())
    }

    /// Whether a call with these arguments must not run twice. The start of such a call is
    /// recorded, and a person decides what happens if it never ends.
    pub fn runs_once(&self, arguments: &Value) -> bool {
        [self.spec.effect, self.terms(arguments).effect] == [EffectClass::AtMostOnce; 2]
    }

    pub fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        argument_check::fits(&self.schema, arguments).map_err(ToolError::InvalidParameters)
    }
}

/// The reason why a tool is not registered.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum RegistrationError {
    #[error("there is already a tool {0:?}")]
    Taken(String),
    #[error("{0:?} is not a name for a tool: use snake_case, at most 64 characters")]
    Name(String),
    #[error("the schema of {tool:?} is not valid: {reason}")]
    Schema { tool: String, reason: String },
}

impl RegistrationError {
    /// Whether the tool with this name is not registered.
    pub fn is_about(&self, tool: &str) -> bool {
        let (Self::Taken(name) | Self::Name(name) | Self::Schema { tool: name, .. }) = self;
        name == tool
    }
}

/// The compiled schema of a tool with a valid name.
pub(in crate::tools) fn compiled(
    name: &str,
    parameters: &Value,
) -> Result<Validator, RegistrationError> {
    if !is_fit(name) {
        return Err(RegistrationError::Name(cut(name, QUOTED_CHARS)));
    }
    let unfit = |reason: String| RegistrationError::Schema { tool: name.to_owned(), reason };
    if !parameters.is_object() {
        return Err(unfit("it is not an object".into()));
    }
    let schema = jsonschema::options().offline().build(parameters);
    schema.map_err(|error| unfit(cut(&error.to_string(), QUOTED_CHARS)))
}

fn is_fit(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
