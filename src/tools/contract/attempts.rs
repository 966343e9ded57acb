//! Runs one call, in this process or as a program in the sandbox, and retries it where that is
//! safe.

use sandbox::{
    Job, Sandbox, SandboxLimits, Work,
    profile::Profile,
    run::{self, ProgramResult},
};
use serde_json::Value;
use std::time::Duration;

use crate::{
    agent::catalog::{EffectClass, ToolSource, ToolSpec},
    clock::stops_within,
    tools::{Context, Output, Tool, ToolError, workspace},
};

/// The delay before each retry.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// The maximum length of standard error in a result.
const COMPLAINT_BYTES: usize = 2_000;

/// A tool, and the sandbox for its program.
pub(in crate::tools) struct ToolRunner<'a> {
    pub tool: &'a dyn Tool,
    pub spec: &'a ToolSpec,
    pub sandbox: Option<&'a Sandbox>,
}

impl ToolRunner<'_> {
    /// Runs the call. A read-only tool is retried after an error of an external service; MCP
    /// servers have their own retries. All attempts count as one call for the limits.
    pub async fn attempt(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let retries =
            self.spec.effect == EffectClass::ReadOnly && self.spec.source == ToolSource::Builtin;
        if !retries {
            return self.once(arguments, context).await;
        }
        for pause in PAUSES {
            match self.once(arguments.clone(), context).await {
                Err(ToolError::ExternalService(why)) => {
                    tracing::debug!(tool.name = self.spec.name, why, "retrying a call");
                }
                ended => return ended,
            }
            // The pause ends early if the call is stopped.
            if stops_within(pause, &context.cancelled).await {
                break;
            }
        }
        self.once(arguments, context).await.map_err(|error| match error {
            ToolError::ExternalService(why) => {
                ToolError::ExecutionFailed(format!("Tool execution error: {why}"))
            }
            other => other,
        })
    }

    async fn once(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        match self.spec.domain.program() {
            Some(program) => self.confined(program, &arguments, context).await,
            None => self.tool.run(arguments, context).await,
        }
    }

    /// Runs the program in the sandbox, in the folder of the conversation and without network.
    async fn confined(
        &self,
        program: &[String],
        arguments: &Value,
        context: &Context,
    ) -> Result<Output, ToolError> {
        let sandbox = self.sandbox.ok_or_else(|| ToolError::Sandbox(NO_SANDBOX.into()))?;
        // The folder is created on first use.
        workspace::beneath(context, |_, _| Ok(())).await?;
        let job = Job::new(Work::Program(program.to_vec()), Some(SandboxLimits::COMMAND));
        let profile = Profile::around(job).with_workspace(&context.workspace);
        let command = sandbox.confined_command(&profile)?;
        let input = arguments.to_string().into_bytes();
        let ended = run::to_its_end(command, input, self.spec.timeout).await?;
        output_of(&ended, self.spec.timeout)
    }
}

/// Why a tool of the container domain is unavailable.
pub(in crate::tools) const NO_SANDBOX: &str = "it requires the sandbox, which is not available";

fn output_of(ended: &ProgramResult, limit: Duration) -> Result<Output, ToolError> {
    if ended.timed_out {
        return Err(ToolError::Timeout(limit));
    }
    if ended.code == Some(0) {
        return Ok(Output::text(ended.stdout.text().trim_end()));
    }
    let complaint = ended.stderr.end(COMPLAINT_BYTES);
    let complaint = String::from_utf8_lossy(&complaint);
    let code = ended.code.map_or("a signal".to_owned(), |code| format!("code {code}"));
    Err(ToolError::ExecutionFailed(format!("The program ended with {code}. {}", complaint.trim())))
}
