//! `countersign skill`: installs, lists, scans and removes skills.

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::path::{Path, PathBuf};

use super::{examples, output::OutputFormat};
use crate::{
    config::Config,
    tools::skills::{
        folder, front,
        package::Package,
        scan::{self, Finding},
    },
};

#[derive(Debug, Args)]
pub struct SkillArgs {
    /// The id of the agent [default: the first]
    #[arg(long, global = true)]
    agent: Option<String>,
    #[command(subcommand)]
    what: SkillCommand,
}

#[derive(Debug, Subcommand)]
enum SkillCommand {
    /// Install the skills of a folder, a .zip file or a git repository; a running gateway picks
    /// them up
    #[command(after_help = examples::SKILL_INSTALL)]
    Install {
        /// A path, or a URL with https://, ssh:// or file://
        source: String,
        /// Install despite severe findings
        #[arg(long)]
        force: bool,
    },
    /// List the installed skills
    #[command(after_help = examples::SKILL_LIST)]
    List(OutputFormat),
    /// Scan a skill for suspicious contents, without installing it
    #[command(after_help = examples::SKILL_SCAN)]
    Scan {
        /// The name of a skill, or a source as for `install`
        source: String,
    },
    /// Trust a skill as it is now: loading it no longer taints conversations
    #[command(after_help = examples::SKILL_VOUCH)]
    Vouch { name: String },
    /// Remove a skill
    #[command(after_help = examples::SKILL_REMOVE)]
    Remove { name: String },
}

/// Runs the command and returns its output.
pub fn run(config: &Config, wish: SkillArgs) -> Result<String> {
    let agent = match &wish.agent {
        None => config.agents.first(),
        Some(id) => config.agents.iter().find(|agent| agent.id == *id),
    };
    let folder = config.skills_dir(agent.context("there is no agent with this id")?);
    match wish.what {
        SkillCommand::Install { source, force } => install(&folder, &source, force),
        SkillCommand::List(output) => list(&folder, output),
        SkillCommand::Scan { source } => scan(&folder, &source),
        SkillCommand::Vouch { name } => {
            folder::vouch(&folder, &name)?;
            Ok(format!("{name} is trusted until it changes."))
        }
        SkillCommand::Remove { name } => {
            folder::remove(&folder, &name)?;
            Ok(format!("{name} was removed."))
        }
    }
}

fn install(folder: &Path, source: &str, force: bool) -> Result<String> {
    let skills = package(folder, source)?.skills(&fallback(source))?;
    let mut said = Vec::new();
    for (name, skill) in &skills {
        let findings = scan::scan(skill);
        said.extend(findings.iter().map(|finding| line(name, finding)));
        if !force && findings.iter().any(|finding| finding.grave) {
            bail!(
                "{}\nNothing was installed. Use --force to install it nevertheless.",
                said.join("\n")
            );
        }
        if folder::find(folder, name).is_ok() {
            bail!("there is already a skill `{name}`; remove it first");
        }
    }
    for (name, skill) in &skills {
        folder::put(folder, name, skill, source)?;
        said.push(format!(
            "{name} was installed. Loading it taints a conversation, because it is untrusted \
                content: review it, then run `countersign skill vouch {name}`."
        ));
    }
    Ok(said.join("\n"))
}

fn package(folder: &Path, source: &str) -> Result<Package> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let scratch = folder.join(format!(".clone-{}", uuid::Uuid::new_v4().simple()));
    let package = Package::of(source, &scratch);
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch)?;
    }
    package.with_context(|| format!("reading {source}"))
}

/// The name of a skill that does not declare one.
fn fallback(source: &str) -> String {
    let path = PathBuf::from(source.trim_end_matches('/').trim_end_matches(".git"));
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// An installed skill.
#[derive(Serialize)]
struct Installed {
    name: String,
    description: String,
    /// Absent for a skill of one's own.
    source: Option<String>,
    trusted: bool,
    warnings: Vec<String>,
}

impl From<folder::Kept> for Installed {
    fn from(folder::Kept { skill, origin, warnings }: folder::Kept) -> Self {
        let source = origin.map(|origin| origin.source);
        let (name, description) = (skill.name, skill.description);
        Self { name, description, source, trusted: !skill.foreign, warnings }
    }
}

impl Installed {
    fn line(&self) -> String {
        let from = match (&self.source, self.trusted) {
            (None, _) => "your own".to_owned(),
            (Some(source), false) => format!("from {source}"),
            (Some(source), true) => format!("from {source}, trusted"),
        };
        let mut text = format!("{} ({from}): {}", self.name, self.description);
        for warning in &self.warnings {
            text.push_str("\n  warning: ");
            text.push_str(warning);
        }
        text
    }
}

fn list(folder: &Path, output: OutputFormat) -> Result<String> {
    let all: Vec<Installed> = folder::all(folder).into_iter().map(Into::into).collect();
    let none = "No skills yet: `countersign skill install SOURCE` installs one.";
    output.list(&all, none, Installed::line)
}

fn scan(folder: &Path, source: &str) -> Result<String> {
    let package = match folder::find(folder, source) {
        Ok(place) => Package::of_folder(&place)?,
        Err(_) => package(folder, source)?,
    };
    let mut said = Vec::new();
    for (name, skill) in package.skills(&fallback(source))? {
        let main = skill.text("SKILL.md").unwrap_or_default();
        let mut front = front::parse(main).map_err(anyhow::Error::msg)?;
        let folder = fallback(source);
        if Path::new(source).is_dir() && skill == package && folder != name {
            front.warnings.push(format!("its folder is named `{folder}`"));
        }
        said.extend(front.warnings.iter().map(|warning| format!("{name}: warning: {warning}")));
        said.extend(scan::scan(&skill).iter().map(|finding| line(&name, finding)));
        said.push(format!("{name}: {} files scanned.", skill.files.len()));
    }
    Ok(said.join("\n"))
}

fn line(name: &str, finding: &Finding) -> String {
    let weight = if finding.grave { "GRAVE" } else { "note" };
    format!("{name}: {weight}: {} {}", finding.file, finding.what)
}
