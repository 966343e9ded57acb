//! `run_skill_script`: runs a script of a skill in the sandbox, with the conversation's folder
//! writable.

use async_trait::async_trait;
use sandbox::{Job, Sandbox, SandboxLimits, Work, egress::Egress, profile::Profile};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{Folders, SKILL, ScriptNetwork, folder, of};
use crate::{
    agent::{
        catalog::{ApprovalMode, Confinement, Domain, EffectClass, Skill, Subject, Tier, ToolSpec},
        paths::normalise,
        policy::FileDigests,
    },
    texts::{PreviewNote, preview::Preview},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        files::diff,
        shell,
        workspace::{self, file_binding},
    },
};

const DEFAULT_SECONDS: u64 = 60;
const MAX_SECONDS: u64 = 300;
/// The time to start and stop the sandbox, besides the script's own.
const MARGIN: Duration = Duration::from_secs(10);

/// `run_skill_script`
pub struct RunSkillScript {
    pub folders: Folders,
    pub ways: ScriptNetwork,
    pub sandbox: Arc<Sandbox>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// The skill's name.
    skill: String,
    /// The script as the skill names it, such as scripts/fill.py.
    script: String,
    /// The arguments of the script.
    #[serde(default)]
    args: Vec<String>,
    /// The text for standard input.
    #[serde(default)]
    input: Option<String>,
    /// Timeout in seconds; default 60.
    #[serde(default)]
    #[schemars(range(min = 1, max = 300))]
    timeout: Option<u64>,
}

#[async_trait]
impl Tool for RunSkillScript {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            tier: Tier::Extension,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Text("script")),
            timeout: Duration::from_secs(MAX_SECONDS) + MARGIN,
            untrusted: true,
            domain: Domain::Container(Confinement::OWN),
            outward: !self.ways.is_empty(),
            unavailable: self.sandbox.missing().map(str::to_owned),
            ..ToolSpec::read_only(
                "run_skill_script",
                &format!(
                    "Runs a script of a loaded skill in a sandbox without network{}.\nIt starts in \
                        /workspace, the folder of this conversation, and can write there; the \
                        skill is /skill, read-only. The result is JSON: exitCode, stdout, \
                        stderr, timedOut.",
                    if self.ways.is_empty() {
                        ""
                    } else {
                        ", except for hosts that the operator allows"
                    }
                ),
                schema::<Arguments>(),
            )
        }
    }

    /// The script that would run.
    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let Arguments { skill, script, .. } = parse(arguments.clone()).ok()?;
        let folder = of(&self.folders, context).ok()?.clone();
        let read = move || {
            let found = match command(&folder, &skill, &script) {
                Ok(found) => found,
                Err(why) => return Preview::failure(why),
            };
            match std::fs::read_to_string(&found.path) {
                Ok(text) => diff::created(&text),
                Err(_) => Preview::note(PreviewNote::CompiledProgram),
            }
        };
        tokio::task::spawn_blocking(read).await.ok()
    }

    /// The whole skill, whose files a script may read, and the files of the workspace in its
    /// arguments.
    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let Arguments { skill, args, .. } = parse(arguments.clone())?;
        let folder = of(&self.folders, context)?.clone();
        let state = move || {
            let place = folder::find(&folder, &skill).ok()?;
            Some((format!("skill {skill}"), folder::state_of(&place)))
        };
        let skill = tokio::task::spawn_blocking(state).await.ok().flatten();
        let paths: Vec<_> = args.iter().filter_map(|word| normalise(word).ok()).collect();
        let files =
            workspace::beneath(context, move |ws, _| file_binding::bind(ws, &paths)).await?;
        Ok(files.into_iter().chain(skill).collect())
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { skill, script, args, input, timeout } = parse(arguments)?;
        let folder = of(&self.folders, context)?.clone();
        let found = tokio::task::spawn_blocking(move || command(&folder, &skill, &script)).await;
        let SkillScript { place, mut command, skill, .. } = found
            .unwrap_or_else(|_| Err("The skill cannot be read".into()))
            .map_err(ToolError::ExecutionFailed)?;
        command.extend(args);
        let way = skill.map_or(Ok(None), |skill| self.way(&skill))?;
        let wait = Duration::from_secs(timeout.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS));
        // Creates the folder when it is first needed.
        workspace::beneath(context, |_, _| Ok(())).await?;
        let cell = Profile::around(Job::new(Work::Program(command), Some(SandboxLimits::COMMAND)))
            .with_workspace(&context.workspace)
            .showing(&place, Path::new(SKILL));
        let input = input.unwrap_or_default().into_bytes();
        let ended = shell::ended(&self.sandbox, way, cell, input, wait).await?;
        Ok(Output::text(shell::format_result(ended, context).await))
    }
}

impl RunSkillScript {
    /// The network access. It was granted to the skill that the operator knew under this name:
    /// their own, or one that they trust as it is now.
    fn way(&self, skill: &Skill) -> Result<Option<&Arc<Egress>>, ToolError> {
        match self.ways.get(&skill.name) {
            Some(_) if skill.untrusted => Err(ToolError::NotAuthorized(format!(
                "`{0}` may reach hosts, but nobody trusts it as it is now: run `countersign skill \
                    trust {0}`",
                skill.name
            ))),
            way => Ok(way),
        }
    }
}

/// A script that can be started.
#[derive(Debug)]
struct SkillScript {
    place: PathBuf,
    path: PathBuf,
    /// The command inside the sandbox.
    command: Vec<String>,
    /// `None` if it is invalid, and therefore has no network access.
    skill: Option<Skill>,
}

fn command(folder: &Path, skill: &str, script: &str) -> Result<SkillScript, String> {
    let place = folder::find(folder, skill).map_err(|problem| format!("{problem:#}"))?;
    if folder::is_disabled(&place) {
        return Err(format!("The skill `{skill}` is disabled."));
    }
    let missing = || format!("The skill `{skill}` has no script `{script}`.");
    let place = place.canonicalize().map_err(|_| missing())?;
    let path = place.join(script).canonicalize().map_err(|_| missing())?;
    let within = path.strip_prefix(&place).map_err(|_| missing())?;
    let about = path.metadata().map_err(|_| missing())?;
    if !about.is_file() {
        return Err(missing());
    }
    let program = Path::new(SKILL).join(within).to_string_lossy().into_owned();
    let interpreter = match path.extension().and_then(|ending| ending.to_str()) {
        Some("py") => Some("python3"),
        Some("sh") => Some("/bin/sh"),
        Some("bash") => Some("bash"),
        Some("js" | "mjs") => Some("node"),
        _ if about.permissions().mode() & 0o111 != 0 => None,
        _ => {
            return Err(format!("`{script}` is not a script: .py, .sh, .bash, .js or executable."));
        }
    };
    let command = interpreter.map(str::to_owned).into_iter().chain([program]).collect();
    let skill = folder::kept(&place).ok().map(|kept| kept.skill);
    Ok(SkillScript { place, path, command, skill })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;
    use serde_json::json;
    use std::fs;

    #[test]
    fn only_scripts_of_the_skill_are_started() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("letters");
        fs::create_dir_all(place.join("scripts")).unwrap();
        fs::write(place.join("SKILL.md"), "---\nname: letters\ndescription: d\n---\n").unwrap();
        fs::write(place.join("scripts/a.py"), "print(1)").unwrap();
        fs::write(place.join("notes.txt"), "x").unwrap();
        fs::write(home.path().join("outside.py"), "print(2)").unwrap();
        std::os::unix::fs::symlink("../outside.py", place.join("link.py")).unwrap();
        let command = |skill: &str, script: &str| command(home.path(), skill, script);
        let found = command("letters", "scripts/a.py").unwrap();
        assert_eq!(found.command, ["python3", "/skill/scripts/a.py"]);
        for script in ["../outside.py", "link.py", "scripts", "notes.txt", "/etc/passwd", "none.py"]
        {
            assert!(command("letters", script).is_err(), "{script}");
        }
        assert!(command("../letters", "scripts/a.py").is_err());
    }

    /// An approval is bound to the script as shown, and to these files.
    /// Proves S3.
    #[tokio::test]
    async fn a_decision_is_bound_to_the_script_as_it_was_shown() {
        let (place, home) = (ToolFixture::new(), tempfile::tempdir().unwrap());
        let script = home.path().join("letters/scripts/a.py");
        fs::create_dir_all(script.parent().unwrap()).unwrap();
        let main = "---\nname: letters\ndescription: d\n---\n";
        fs::write(home.path().join("letters/SKILL.md"), main).unwrap();
        fs::write(&script, "print(1)").unwrap();
        place.has("a.txt", "one");
        let folders = [("default".to_owned(), home.path().to_owned())].into();
        let sandbox = Arc::new(Sandbox::off("a test"));
        let tool = RunSkillScript { folders, ways: ScriptNetwork::default(), sandbox };
        let arguments =
            json!({ "skill": "letters", "script": "scripts/a.py", "args": ["-v", "a.txt"] });
        let shown = tool.preview(&arguments, &place.context).await.unwrap().shown();
        assert!(shown.contains("print(1)"), "{shown}");
        let asked = tool.bound(&arguments, &place.context).await.unwrap();
        assert_eq!(tool.bound(&arguments, &place.context).await.unwrap(), asked);
        place.has("a.txt", "two");
        let other = tool.bound(&arguments, &place.context).await.unwrap();
        assert_ne!(other, asked);
        fs::write(&script, "print(2)").unwrap();
        assert_ne!(tool.bound(&arguments, &place.context).await.unwrap(), other);
    }
}
