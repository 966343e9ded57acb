//! Tests software in the sandbox: checks or compiles it, and runs its test cases.

use sandbox::{
    Sandbox, SandboxLimits,
    profile::{Profile, WORKSPACE},
    run::{self, ProgramResult, Stream},
};
use std::{
    fs::File,
    io::Read as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    draft::SourceFiles,
    package,
    requirement::{BuildRequirement, ProgrammingLanguage, TestCase},
    result::{TestResult, ValidationError, ValidationKind},
    toolchain::Toolchain,
};
use crate::tools::{
    ToolError,
    contract::blocking,
    skills::{SKILL, package::Package},
};

const MIB: u64 = 1024 * 1024;

/// The limits of a program that is tested. It can write only in memory.
const TESTED: SandboxLimits = SandboxLimits {
    memory_bytes: 512 * MIB,
    total_bytes: 768 * MIB,
    processes: 64,
    cpu_seconds: 120,
    ..SandboxLimits::COMMAND
};

/// How long a compiler or a check may take at least.
const CHECKS_WITHIN: Duration = Duration::from_mins(2);
/// The maximum size of a compiled program, which is that of a file of a skill.
const PROGRAM_BYTES: u64 = 5_000_000;
/// How much of each stream is kept.
const STREAM_BYTES: usize = 2_000;

/// What trying out has shown.
#[derive(Debug, Clone, Default)]
pub(super) struct TrialResult {
    pub files: SourceFiles,
    pub program: Option<Vec<u8>>,
    pub errors: Vec<ValidationError>,
    pub tests: Vec<TestResult>,
}

impl TrialResult {
    pub fn works(&self) -> bool {
        self.errors.is_empty() && self.tests.iter().all(|test| test.passed)
    }

    /// An attempt without errors is better than one with errors, then the number of passed tests
    /// counts.
    pub fn score(&self) -> (bool, bool, usize) {
        let passed = self.tests.iter().filter(|test| test.passed).count();
        (!self.files.is_empty(), self.errors.is_empty(), passed)
    }
}

/// The place where software of one requirement is tried out.
pub(super) struct Trial<'a> {
    pub sandbox: &'a Sandbox,
    pub toolchain: &'a Toolchain,
    pub requirement: &'a BuildRequirement,
    /// The folder of the build.
    pub folder: &'a Path,
    /// The time limit of a test case.
    pub command_time: Duration,
}

impl Trial<'_> {
    /// The dependencies that are not installed, as errors.
    pub async fn missing_dependencies(&self) -> Result<Vec<ValidationError>, ToolError> {
        let BuildRequirement { language, dependencies, .. } = self.requirement;
        if dependencies.is_empty() {
            return Ok(Vec::new());
        }
        let Some(command) = self.toolchain.missing(*language, dependencies) else {
            let own = |name: &&String| !["std", "core", "alloc"].contains(&name.as_str());
            let others = dependencies.iter().filter(own);
            let why = "Rust programs have only the standard library here: do without it";
            return Ok(others.map(|name| missing(name, why)).collect());
        };
        let profile = self.toolchain.profile(command, TESTED);
        let ended = self.run(&profile, Vec::new(), self.command_time).await?;
        if ended.code != Some(0) {
            let why = format!("the dependencies cannot be checked: {}", shortened(&ended.stderr));
            return Err(ToolError::ExecutionFailed(why));
        }
        let why = "install it on the gateway's machine, or do without it";
        Ok(ended.stdout.text().lines().map(|name| missing(name, why)).collect())
    }

    /// Checks the files and runs all test cases.
    pub async fn run_all(&self, files: SourceFiles) -> Result<TrialResult, ToolError> {
        let mut attempt = TrialResult { files, ..TrialResult::default() };
        let entry = self.requirement.language.entry_point();
        if !attempt.files.contains_key(entry) {
            let message = format!("there is no {entry}, with which the program begins");
            attempt.errors.push(ValidationError::new(ValidationKind::EntryPoint, message));
            return Ok(attempt);
        }
        let place = self.write(&attempt).await?;
        if self.requirement.language == ProgrammingLanguage::Rust {
            match self.compile(&place).await? {
                Ok(program) => attempt.program = Some(program),
                Err(error) => attempt.errors.push(error),
            }
        } else {
            attempt.errors = self.check_syntax(&place, &attempt.files).await?;
        }
        let package = self.package(&attempt)?;
        attempt.errors.extend(package::findings(self.requirement, &package));
        if attempt.errors.is_empty() {
            // With the compiled program.
            let place = self.write(&attempt).await?;
            for case in &self.requirement.test_cases {
                attempt.tests.push(self.test(&place, case).await?);
            }
        }
        Ok(attempt)
    }

    fn package(&self, attempt: &TrialResult) -> Result<Package, ToolError> {
        package::of(self.requirement, &attempt.files, attempt.program.as_deref())
            .map_err(|problem| ToolError::ExecutionFailed(format!("{problem:#}")))
    }

    /// Writes the skill as it would be installed, in place of the previous one.
    async fn write(&self, attempt: &TrialResult) -> Result<PathBuf, ToolError> {
        let (package, place) = (self.package(attempt)?, self.folder.join("skill"));
        let folder = place.clone();
        let write = move || -> anyhow::Result<()> {
            if folder.exists() {
                std::fs::remove_dir_all(&folder)?;
            }
            package.write(&folder)
        };
        blocking(write).await?.map_err(|problem| {
            let why = format!("the files of the build cannot be written: {problem:#}");
            ToolError::ExecutionFailed(why)
        })?;
        Ok(place)
    }

    async fn check_syntax(
        &self,
        place: &Path,
        files: &SourceFiles,
    ) -> Result<Vec<ValidationError>, ToolError> {
        let mut errors = Vec::new();
        for path in files.keys() {
            let Some(command) = self.toolchain.check(self.requirement.language, path) else {
                continue;
            };
            let profile = self.toolchain.profile(command, TESTED).showing(place, SKILL.as_ref());
            let wait = self.command_time.max(CHECKS_WITHIN);
            let ended = self.run(&profile, Vec::new(), wait).await?;
            if ended.code != Some(0) {
                let message = if ended.timed_out {
                    format!("the check took longer than {} s", wait.as_secs())
                } else {
                    shortened(&ended.stderr)
                };
                errors.push(ValidationError::of(path, ValidationKind::Syntax, message));
            }
        }
        Ok(errors)
    }

    /// The compiled program, or why there is none.
    async fn compile(&self, place: &Path) -> Result<Result<Vec<u8>, ValidationError>, ToolError> {
        let out = self.folder.join("out");
        tokio::fs::create_dir_all(&out).await.map_err(|problem| {
            ToolError::ExecutionFailed(format!("the folder of the build cannot be made: {problem}"))
        })?;
        let command = self.toolchain.compile(&format!("{WORKSPACE}/program"));
        let profile = self.toolchain.profile(command, SandboxLimits::COMMAND);
        let profile = profile.with_workspace(&out).showing(place, SKILL.as_ref());
        let wait = self.command_time.max(CHECKS_WITHIN);
        let ended = self.run(&profile, Vec::new(), wait).await?;
        let failed = |message: String| Err(ValidationError::new(ValidationKind::Syntax, message));
        if ended.timed_out {
            return Ok(failed(format!("the compiler took longer than {} s", wait.as_secs())));
        }
        if ended.code != Some(0) {
            return Ok(failed(shortened(&ended.stderr)));
        }
        let read = blocking(move || read_program(&out.join("program"))).await?;
        Ok(read.map_err(|why| ValidationError::new(ValidationKind::Syntax, why)))
    }

    /// Runs one test case: the software as it would be installed, in a folder in memory.
    async fn test(&self, place: &Path, case: &TestCase) -> Result<TestResult, ToolError> {
        let BuildRequirement { language, name, .. } = self.requirement;
        let mut command = self.toolchain.start(*language, name);
        command.extend(case.args.iter().cloned());
        let profile = self.toolchain.profile(command, TESTED).showing(place, SKILL.as_ref());
        let input = case.input.clone().unwrap_or_default().into_bytes();
        let started = Instant::now();
        let ended = self.run(&profile, input, self.command_time).await?;
        let problem = match ended.code {
            _ if ended.timed_out => {
                Some(format!("it did not end within {} s", self.command_time.as_secs()))
            }
            None => Some("it was killed".to_owned()),
            Some(code) => case.mismatch(code, &ended.stdout.text()),
        };
        Ok(TestResult {
            name: case.name.clone(),
            passed: problem.is_none(),
            problem,
            exit_status: ended.code,
            output: shortened(&ended.stdout),
            errors: shortened(&ended.stderr),
            took_ms: started.elapsed().as_millis() as u64,
        })
    }

    async fn run(
        &self,
        profile: &Profile,
        input: Vec<u8>,
        wait: Duration,
    ) -> Result<ProgramResult, ToolError> {
        Ok(run::to_its_end(self.sandbox.confined_command(profile)?, input, wait).await?)
    }
}

fn missing(name: &str, why: &str) -> ValidationError {
    ValidationError::new(ValidationKind::Dependency, format!("`{name}` is not installed: {why}"))
}

/// The beginning of a stream, with a mark if it is cut.
fn shortened(stream: &Stream) -> String {
    let kept = stream.head.len().min(STREAM_BYTES);
    let text = String::from_utf8_lossy(&stream.head[..kept]).into_owned();
    match stream.total_bytes - kept as u64 {
        0 => text,
        more => format!("{text}\n[… {more} more bytes]"),
    }
}

/// Reads the file that the compiler has written. Links are not followed.
fn read_program(path: &Path) -> Result<Vec<u8>, String> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file = File::options().read(true).custom_flags(no_link).open(path);
    let failed =
        |problem: std::io::Error| format!("the compiled program cannot be read: {problem}");
    let file = file.map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err("the compiler has written no program".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(PROGRAM_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > PROGRAM_BYTES {
        return Err(format!("the compiled program is larger than {PROGRAM_BYTES} bytes"));
    }
    Ok(bytes)
}
