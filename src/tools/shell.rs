//! `shell`: runs a command in the sandbox, with the conversation's folder writable.

use async_trait::async_trait;
use sandbox::{
    Job, Sandbox, SandboxError, SandboxLimits, Work,
    egress::Egress,
    profile::Profile,
    run::{self, ProgramResult, Stream},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

use super::{
    Context, Output, Tool, ToolError,
    contract::{
        arguments::{parse, schema},
        overflow,
    },
    workspace,
};
use crate::agent::catalog::{
    ApprovalMode, Confinement, Domain, EffectClass, Subject, Tier, ToolSpec,
};

const DEFAULT_SECONDS: u64 = 60;
const MAX_SECONDS: u64 = 300;
/// The time for starting and stopping the sandbox, in addition to the command's time limit.
const MARGIN: Duration = Duration::from_secs(10);
/// The maximum length of each stream in the result.
const STREAM_BYTES: usize = 10_000;
const END_BYTES: usize = 4_000;
/// The maximum length of a command. Linux limits one argument of a program to 128 KiB.
const COMMAND_BYTES: usize = 64 * 1024;

/// `shell`
pub struct Shell {
    pub sandbox: Arc<Sandbox>,
    /// The hosts that commands can reach; `None` without network access.
    pub egress: Option<Arc<Egress>>,
}

/// The network access of commands; `None` for no access.
#[derive(Default)]
pub struct CommandNetwork(pub Option<Arc<Egress>>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// The command, as for `/bin/sh -c`.
    command: String,
    /// Timeout in seconds; default 60.
    #[serde(default)]
    #[schemars(range(min = 1, max = 300))]
    timeout: Option<u64>,
}

#[async_trait]
impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            tier: Tier::Extension,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Command("command")),
            timeout: Duration::from_secs(MAX_SECONDS) + MARGIN,
            // Files that it prints may contain untrusted content.
            untrusted: true,
            domain: Domain::Container(Confinement::OWN),
            outward: self.egress.is_some(),
            unavailable: self.sandbox.missing().map(str::to_owned),
            ..ToolSpec::read_only("shell", &self.about(), schema::<Arguments>())
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { command, timeout } = parse(arguments)?;
        if command.trim().is_empty() || command.len() > COMMAND_BYTES || command.contains('\0') {
            return Err(ToolError::InvalidParameters(
                "command must be text of at most 64 KiB: write a script with write_file first"
                    .into(),
            ));
        }
        let wait = wait(timeout);
        // The folder is created on first use.
        workspace::beneath(context, |_, _| Ok(())).await?;
        let program = ["/bin/sh", "-c", &command].map(str::to_owned).to_vec();
        let cell = Profile::around(Job::new(Work::Program(program), Some(SandboxLimits::COMMAND)))
            .with_workspace(&context.workspace);
        let way = self.egress.as_ref();
        let ended = ended(&self.sandbox, way, cell, Vec::new(), wait).await?;
        Ok(Output::text(format_result(ended, context).await))
    }
}

impl Shell {
    fn about(&self) -> String {
        let network = match &self.egress {
            None => "without network".to_owned(),
            Some(egress) => {
                format!("that reaches only these hosts, by https: {}", egress.names().join(", "))
            }
        };
        format!(
            "Runs a command with /bin/sh in a sandbox {network}.\nIt starts in /workspace, the \
             folder of this conversation, and can write there and in /tmp, which is gone \
             afterwards. Nothing goes on running when the command has ended. The result is JSON: \
             exitCode, stdout, stderr, timedOut."
        )
    }
}

/// The time limit of a command.
fn wait(seconds: Option<u64>) -> Duration {
    Duration::from_secs(seconds.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS))
}

/// Runs the program until it ends, with the given network access.
pub(super) async fn ended(
    sandbox: &Sandbox,
    way: Option<&Arc<Egress>>,
    cell: Profile,
    input: Vec<u8>,
    wait: Duration,
) -> Result<ProgramResult, ToolError> {
    let Some(egress) = way else {
        return Ok(run::to_its_end(sandbox.confined_command(&cell)?, input, wait).await?);
    };
    let folder = tempfile::tempdir().map_err(SandboxError::NoNetwork)?;
    let socket = folder.path().join("egress");
    let open = egress.open(&socket)?;
    let command = sandbox.confined_command(&cell.with_proxy_socket(&socket))?;
    tokio::select! {
        ended = run::to_its_end(command, input, wait) => Ok(ended?),
        never = open.serve() => match never {},
    }
}

/// Formats the result of a program for the model.
pub(super) async fn format_result(ended: ProgramResult, context: &Context) -> String {
    json!({
        "exitCode": ended.code,
        "stdout": shortened(ended.stdout, "stdout", context).await,
        "stderr": shortened(ended.stderr, "stderr", context).await,
        "timedOut": ended.timed_out,
    })
    .to_string()
}

/// The beginning and the end of a stream, with the path of the full output.
async fn shortened(stream: Stream, name: &str, context: &Context) -> String {
    if stream.is_whole() && stream.head.len() <= STREAM_BYTES {
        return stream.text();
    }
    let Stream { head, total_bytes, .. } = &stream;
    let room = STREAM_BYTES - END_BYTES;
    let start = String::from_utf8_lossy(&head[..head.len().min(room)]).into_owned();
    let end = stream.end(END_BYTES);
    let end = String::from_utf8_lossy(&end);
    let left_out = total_bytes - (STREAM_BYTES as u64).min(*total_bytes);
    let what = if stream.is_whole() {
        "The full output".to_owned()
    } else {
        format!("Its first {} bytes", head.len())
    };
    let kept = match overflow::keep(&format!("-{name}.txt"), stream.head, context).await {
        Some(path) => format!("{what} is in {path}: page through it with read_file"),
        None => "The full output could not be saved: make the command print less".to_owned(),
    };
    format!("{start}\n[… {left_out} bytes of {name} are left out here. {kept} …]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves MC-23, MC-48.
    #[test]
    fn a_command_has_a_minute_and_at_most_five() {
        let seconds = |asked| wait(asked).as_secs();
        assert_eq!([None, Some(0), Some(90), Some(9_999)].map(seconds), [60, 1, 90, 300]);
    }

    /// The guard must parse the subject as a shell command. As any other subject, it would be a
    /// single word.
    /// Proves S3.
    #[test]
    fn the_guard_sees_a_command() {
        let spec = Shell { sandbox: Arc::new(Sandbox::off("a test")), egress: None }.spec();
        assert_eq!(spec.subject, Some(Subject::Command("command")));
    }
}
