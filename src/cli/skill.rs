//! `countersign skill`: installs, lists, scans and removes skills.

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{examples, output::OutputFormat, say};
use crate::{
    config::Config,
    tools::skills::{
        folder, front,
        scan::{self, Finding},
        source::Source,
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
        /// Accept a finding that you have reviewed, by its name; can be repeated
        #[arg(long, value_name = "FINDING")]
        accept: Vec<String>,
        /// Install despite all findings
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
    #[command(alias = "vouch", after_help = examples::SKILL_TRUST)]
    Trust {
        /// The name of the skill
        name: String,
    },
    /// Remove a skill
    #[command(after_help = examples::SKILL_REMOVE)]
    Remove {
        /// The name of the skill
        name: String,
    },
}

/// Runs the command and prints its output.
pub fn run(config: &Config, args: SkillArgs) -> Result<()> {
    let agent = match &args.agent {
        None => config.agents.first(),
        Some(id) => config.agents.iter().find(|agent| agent.id == *id),
    };
    let folder = config.skills_dir(agent.context("there is no agent with this id")?);
    match args.what {
        SkillCommand::Install { source, accept, force } => {
            let accepted = if force { scan::ids().collect() } else { accepted(&accept)? };
            let installed = install(&folder, &source, &accepted)?;
            say(&installed.report.join("\n"))?;
            let Installation { refused, .. } = installed;
            ensure!(refused == 0, "{refused} of {} skills not installed", installed.found);
            Ok(())
        }
        SkillCommand::List(output) => say(&list(&folder, output)?),
        SkillCommand::Scan { source } => say(&scan(&folder, &source)?),
        SkillCommand::Trust { name } => {
            folder::trust(&folder::lock(&folder)?, &name)?;
            say(&format!("{name} is trusted until it changes."))
        }
        SkillCommand::Remove { name } => {
            folder::remove(&folder::lock(&folder)?, &name)?;
            say(&format!("{name} was removed."))
        }
    }
}

/// The result of an installation.
#[derive(Default)]
struct Installation {
    report: Vec<String>,
    found: usize,
    refused: usize,
}

/// The findings with these names. Fails if one does not exist.
fn accepted(names: &[String]) -> Result<BTreeSet<&'static str>> {
    let find = |name: &String| {
        let known = scan::ids().find(|id| id == name);
        known.with_context(|| {
            let known = scan::ids().collect::<Vec<_>>().join(", ");
            format!("there is no finding `{name}`; the findings are: {known}")
        })
    };
    names.iter().map(find).collect()
}

/// Installs the skills that pass the scan. The others are reported and do not prevent it.
fn install(folder: &Path, source: &str, accepted: &BTreeSet<&'static str>) -> Result<Installation> {
    let mut installed = Installation::default();
    let mut names = BTreeSet::new();
    let scratch = Scratch::within(folder)?;
    let found = scratch.open(source)?;
    for root in &found.roots {
        installed.found += 1;
        let report = &mut installed.report;
        let done = found.skill(root, &fallback(source)).and_then(|(name, skill)| {
            let findings = scan::scan(&skill);
            report.extend(findings.iter().map(|finding| line(&name, finding)));
            let open = findings.iter().filter(|f| f.severe && !accepted.contains(f.id));
            let open: BTreeSet<&str> = open.map(|finding| finding.id).collect();
            ensure!(
                open.is_empty(),
                "review its findings, and accept them if they are harmless: {}",
                open.iter().map(|id| format!("--accept {id}")).collect::<Vec<_>>().join(" ")
            );
            ensure!(names.insert(name.clone()), "another skill has the name `{name}`");
            let lock = folder::lock(folder)?;
            ensure!(
                folder::find(folder, &name).is_err(),
                "there is already a skill `{name}`; remove it first"
            );
            folder::put(&lock, &name, &skill, source)?;
            Ok(name)
        });
        match done {
            Ok(name) => report.push(format!(
                "{name} was installed. Loading it taints a conversation, because it is untrusted \
                    content: review it, then run `countersign skill trust {name}`."
            )),
            Err(problem) => {
                installed.refused += 1;
                let root = if root.is_empty() { source } else { root };
                report.push(format!("{root} was not installed: {problem:#}"));
            }
        }
    }
    Ok(installed)
}

/// A folder for a clone, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn within(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(Self(folder.join(format!(".clone-{}", uuid::Uuid::new_v4().simple()))))
    }

    fn open(&self, source: &str) -> Result<Source> {
        Source::open(source, &self.0).with_context(|| format!("reading {source}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The name for a skill that does not declare one.
fn fallback(source: &str) -> String {
    let path = PathBuf::from(source.trim_end_matches('/').trim_end_matches(".git"));
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// An installed skill.
#[derive(Serialize)]
struct Installed {
    name: String,
    description: String,
    /// Absent for a skill that was not installed by this command.
    source: Option<String>,
    trusted: bool,
    disabled: bool,
    warnings: Vec<String>,
}

impl From<folder::InstalledSkill> for Installed {
    fn from(installed: folder::InstalledSkill) -> Self {
        let disabled = installed.is_disabled();
        let folder::InstalledSkill { skill, origin, warnings } = installed;
        let source = origin.map(|origin| origin.source);
        let (name, description) = (skill.name, skill.description);
        Self { name, description, source, trusted: !skill.untrusted, disabled, warnings }
    }
}

impl Installed {
    fn line(&self) -> String {
        let from = match (&self.source, self.trusted) {
            (None, _) => "your own".to_owned(),
            (Some(source), false) => format!("from {source}"),
            (Some(source), true) => format!("from {source}, trusted"),
        };
        let disabled = if self.disabled { ", disabled" } else { "" };
        let mut text = format!("{} ({from}{disabled}): {}", self.name, self.description);
        for warning in &self.warnings {
            text.push_str("\n  warning: ");
            text.push_str(warning);
        }
        text
    }
}

fn list(folder: &Path, output: OutputFormat) -> Result<String> {
    let all: Vec<Installed> =
        folder::all_with_disabled(folder).into_iter().map(Into::into).collect();
    let none = "No skills yet: `countersign skill install SOURCE` installs one.";
    output.list(&all, none, Installed::line)
}

fn scan(folder: &Path, source: &str) -> Result<String> {
    let place = folder::find(folder, source).map(|place| place.to_string_lossy().into_owned());
    let source = place.as_deref().unwrap_or(source);
    let scratch = Scratch::within(folder)?;
    let found = scratch.open(source)?;
    let mut said = Vec::new();
    for root in &found.roots {
        let (name, skill) = match found.skill(root, &fallback(source)) {
            Ok(read) => read,
            // If the source is a single skill, the whole installation fails.
            Err(problem) if root.is_empty() => return Err(problem),
            Err(problem) => {
                said.push(format!("{root}: cannot be read: {problem:#}"));
                continue;
            }
        };
        let main = skill.text("SKILL.md").unwrap_or_default();
        let mut front = front::parse(main).map_err(anyhow::Error::msg)?;
        let own_folder = fallback(source);
        if root.is_empty() && Path::new(source).is_dir() && own_folder != name {
            front.warnings.push(format!("its folder is named `{own_folder}`"));
        }
        said.extend(front.warnings.iter().map(|warning| format!("{name}: warning: {warning}")));
        said.extend(scan::scan(&skill).iter().map(|finding| line(&name, finding)));
        said.push(format!("{name}: {} files scanned.", skill.files.len()));
    }
    Ok(said.join("\n"))
}

fn line(name: &str, finding: &Finding) -> String {
    let weight = if finding.severe { "SEVERE" } else { "note" };
    let place = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{name}: {weight}: {}: {}{place} {}", finding.id, finding.file, finding.what)
}
