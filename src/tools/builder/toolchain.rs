//! The interpreters and compilers of this machine, as programs in the sandbox see them.

use sandbox::{Job, Sandbox, SandboxLimits, Work, profile::Profile, run};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::requirement::ProgrammingLanguage;
use crate::tools::{ToolError, skills::SKILL};

/// The timeout for asking a program for its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);
/// A Rust toolchain that is not in `/usr`, inside the sandbox.
const RUST: &str = "/run/rust";

/// The languages, each with its toolchain or the reason why there is none.
#[derive(Debug, Clone, Default)]
pub struct Toolchains(BTreeMap<ProgrammingLanguage, Result<Toolchain, String>>);

/// The programs of one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// The version that the interpreter or compiler prints.
    pub version: String,
    /// The interpreter or compiler inside the sandbox.
    program: String,
    /// Folders that the sandbox has to show: outside and inside paths.
    shown: Vec<(PathBuf, PathBuf)>,
}

impl Toolchains {
    /// Looks for the toolchains of all languages. `rust` is the folder of a Rust toolchain, which
    /// contains `bin/rustc`, for a machine without one in `/usr`.
    pub async fn find(sandbox: &Sandbox, rust: Option<&Path>) -> Self {
        let looked = ProgrammingLanguage::ALL
            .map(|language| async move { (language, find(sandbox, language, rust).await) });
        Self(futures::future::join_all(looked).await.into_iter().collect())
    }

    /// The toolchain of a language. The error says what to install.
    pub fn of(&self, language: ProgrammingLanguage) -> Result<&Toolchain, String> {
        match self.0.get(&language) {
            Some(Ok(toolchain)) => Ok(toolchain),
            Some(Err(why)) => Err(why.clone()),
            None => Err(format!("{} is not supported", language.name())),
        }
    }

    /// The languages that can be used, and the others with the reasons.
    pub fn about(&self) -> String {
        let mut text = String::new();
        for (language, toolchain) in &self.0 {
            let separator = if text.is_empty() { "" } else { "; " };
            let _ = match toolchain {
                Ok(toolchain) => {
                    write!(text, "{separator}{}: {}", language.name(), toolchain.version)
                }
                Err(why) => write!(text, "{separator}{why}"),
            };
        }
        text
    }

    /// Whether all languages are available.
    pub fn are_complete(&self) -> bool {
        self.0.values().all(Result::is_ok)
    }
}

async fn find(
    sandbox: &Sandbox,
    language: ProgrammingLanguage,
    rust: Option<&Path>,
) -> Result<Toolchain, String> {
    let (programs, hint): (&[&str], &str) = match language {
        ProgrammingLanguage::Python => (&["python3"], "install Python 3 (apt-get install python3)"),
        ProgrammingLanguage::JavaScript => (&["node"], "install Node.js (apt-get install nodejs)"),
        ProgrammingLanguage::Shell => {
            (&["/bin/sh"], "install a POSIX shell (apt-get install dash)")
        }
        ProgrammingLanguage::Rust => (
            &["rustc", "/run/rust/bin/rustc"],
            "install Rust and a linker (apt-get install rustc gcc), or name the folder of a \
                toolchain in builder.rust_toolchain",
        ),
    };
    let mut problem = String::new();
    for program in programs {
        let own = rust.filter(|_| program.starts_with(RUST));
        let toolchain = Toolchain {
            version: String::new(),
            program: (*program).to_owned(),
            shown: own.map(|folder| (folder.to_owned(), RUST.into())).into_iter().collect(),
        };
        match toolchain.ask_version(sandbox, language).await {
            Ok(version) => return Ok(Toolchain { version, ..toolchain }),
            Err(why) => problem = why,
        }
    }
    Err(format!("{} is not available ({problem}): {hint}", language.name()))
}

impl Toolchain {
    /// The first line of the program's version output. A linker is part of Rust's toolchain.
    async fn ask_version(
        &self,
        sandbox: &Sandbox,
        language: ProgrammingLanguage,
    ) -> Result<String, String> {
        let script = match language {
            ProgrammingLanguage::Shell => "test -x /bin/sh && echo POSIX shell".to_owned(),
            ProgrammingLanguage::Rust => {
                format!("cc --version > /dev/null && {} --version", self.program)
            }
            ProgrammingLanguage::Python | ProgrammingLanguage::JavaScript => {
                format!("{} --version", self.program)
            }
        };
        let command = vec!["/bin/sh".to_owned(), "-c".to_owned(), script];
        let profile = self.profile(command, SandboxLimits::COMMAND);
        let command = sandbox
            .confined_command(&profile)
            .map_err(|error| ToolError::from(error).to_string())?;
        let ended = run::to_its_end(command, Vec::new(), VERSION_TIMEOUT).await;
        let ended = ended.map_err(|error| ToolError::from(error).to_string())?;
        let (said, complained) = (ended.stdout.text(), ended.stderr.text());
        match (ended.code, said.lines().next()) {
            (Some(0), Some(version)) if language == ProgrammingLanguage::JavaScript => {
                Ok(format!("Node.js {}", version.trim()))
            }
            (Some(0), Some(version)) => Ok(version.trim().to_owned()),
            _ if ended.timed_out => Err("it did not answer in time".to_owned()),
            _ => Err(complained.lines().last().unwrap_or("it is not installed").to_owned()),
        }
    }

    /// The sandbox for a command that needs this toolchain.
    pub(super) fn profile(&self, command: Vec<String>, limits: SandboxLimits) -> Profile {
        let profile = Profile::around(Job::new(Work::Program(command), Some(limits)));
        self.shown.iter().fold(profile, |profile, (here, within)| profile.showing(here, within))
    }

    /// The command that prints each of these dependencies that is not installed, on a line; `None`
    /// if there can be none.
    pub(super) fn missing(
        &self,
        language: ProgrammingLanguage,
        names: &[String],
    ) -> Option<Vec<String>> {
        let code = match language {
            ProgrammingLanguage::Python => {
                "import importlib.util, sys\n\
                 for name in sys.argv[1:]:\n\
                 \x20   if importlib.util.find_spec(name.split('.')[0]) is None: print(name)"
            }
            ProgrammingLanguage::JavaScript => {
                "for (const name of process.argv.slice(1)) {\n\
                 \x20 try { require.resolve(name) } catch { console.log(name) }\n}"
            }
            ProgrammingLanguage::Shell => {
                "for name; do command -v \"$name\" > /dev/null || echo \"$name\"; done"
            }
            ProgrammingLanguage::Rust => return None,
        };
        let flag = if language == ProgrammingLanguage::JavaScript { "-e" } else { "-c" };
        let mut command = vec![self.program.clone(), flag.to_owned(), code.to_owned()];
        match language {
            ProgrammingLanguage::Shell => command.push("sh".to_owned()),
            ProgrammingLanguage::JavaScript => command.push("--".to_owned()),
            ProgrammingLanguage::Python | ProgrammingLanguage::Rust => {}
        }
        command.extend_from_slice(names);
        Some(command)
    }

    /// The command that checks the syntax of a file without running it; `None` for other files, and
    /// for a language that is compiled.
    pub(super) fn check(&self, language: ProgrammingLanguage, path: &str) -> Option<Vec<String>> {
        let file = format!("{SKILL}/{}", script_path(path));
        let (ending, words): (&[&str], &[&str]) = match language {
            ProgrammingLanguage::Python => (
                &["py"],
                &["-c", "import sys; compile(open(sys.argv[1], 'rb').read(), sys.argv[1], 'exec')"],
            ),
            ProgrammingLanguage::JavaScript => (&["js", "mjs", "cjs"], &["--check"]),
            ProgrammingLanguage::Shell => (&["sh"], &["-n"]),
            ProgrammingLanguage::Rust => return None,
        };
        let fits = Path::new(path).extension().and_then(|end| end.to_str());
        fits.filter(|end| ending.contains(end))?;
        let words = words.iter().map(|&word| word.to_owned());
        Some([self.program.clone()].into_iter().chain(words).chain([file]).collect())
    }

    /// The command that compiles `/skill/src/main.rs` into this file.
    pub(super) fn compile(&self, to: &str) -> Vec<String> {
        let entry = format!("{SKILL}/{}", source_path(ProgrammingLanguage::Rust.entry_point()));
        let words = ["--edition=2021", "-O", "-C", "strip=symbols", "-C", "panic=abort", "-o", to];
        let words = words.into_iter().map(str::to_owned);
        [self.program.clone()].into_iter().chain(words).chain([entry]).collect()
    }

    /// The command that starts the software, as `run_skill_script` does.
    pub(super) fn start(&self, language: ProgrammingLanguage, name: &str) -> Vec<String> {
        let entry = format!("{SKILL}/{}", entry_path(language, name));
        if language == ProgrammingLanguage::Rust {
            vec![entry]
        } else {
            vec![self.program.clone(), entry]
        }
    }
}

/// The path of a script in the skill.
pub(super) fn script_path(path: &str) -> String {
    format!("scripts/{path}")
}

/// The path of source code that is compiled.
pub(super) fn source_path(path: &str) -> String {
    format!("src/{path}")
}

/// The path in the skill of the file that is started.
pub(super) fn entry_path(language: ProgrammingLanguage, name: &str) -> String {
    match language {
        ProgrammingLanguage::Rust => script_path(name),
        _ => script_path(language.entry_point()),
    }
}
