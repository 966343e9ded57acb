//! The result of a build: the source code, and what the gateway found when it checked and tested
//! it.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write as _};

use super::requirement::{ProgrammingLanguage, SoftwareType};

/// The result of a build. It is complete, whether or not the software works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildResult {
    /// The files of the best attempt by their paths; empty if there was none.
    pub source_code: BTreeMap<String, String>,
    pub info: BuildDetails,
    /// A result for each test case, unless the program could not be started.
    pub test_results: Vec<TestResult>,
    pub validation_errors: Vec<ValidationError>,
    /// Why there were no further rounds, if it does not work.
    pub stopped: Option<StopReason>,
    /// The compiled program, for a compiled language.
    #[serde(skip)]
    pub program: Option<Vec<u8>>,
}

/// How it was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildDetails {
    pub name: String,
    pub language: ProgrammingLanguage,
    pub software_type: SoftwareType,
    /// The version of the interpreter or compiler.
    pub version: String,
    pub entry_point: String,
    pub dependencies: Vec<String>,
    /// The requests to the model.
    pub rounds: u32,
    /// Input and output together.
    pub tokens: u64,
    pub took_ms: u64,
}

/// The result of a test case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    pub name: String,
    pub passed: bool,
    /// Why it failed.
    pub problem: Option<String>,
    /// `None` if the program was killed.
    pub exit_status: Option<i32>,
    /// Standard output. A long one is cut, with a mark.
    pub output: String,
    /// Standard error, like the output.
    pub errors: String,
    pub took_ms: u64,
}

/// What is wrong with the software, apart from its test cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidationError {
    pub kind: ValidationKind,
    pub file: Option<String>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidationKind {
    /// The model gave no files, or files that are not accepted.
    Files,
    EntryPoint,
    /// A dependency is not installed.
    Dependency,
    /// The check of the language or the compiler rejects it.
    Syntax,
    /// The review of skills would reject it.
    Review,
}

/// Why a build ended without working software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// A dependency is missing, so no model was asked.
    Dependencies,
    Rounds(u32),
    Tokens(u64),
    Time(u64),
    /// A budget of the person is used up.
    Budget(String),
    /// The model failed.
    Model(String),
}

impl ValidationError {
    pub fn new(kind: ValidationKind, message: impl Into<String>) -> Self {
        Self { kind, file: None, message: message.into() }
    }

    pub fn of(file: &str, kind: ValidationKind, message: impl Into<String>) -> Self {
        Self { file: Some(file.to_owned()), ..Self::new(kind, message) }
    }
}

impl std::fmt::Display for ValidationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Dependencies => f.write_str("a dependency is not installed"),
            Self::Rounds(limit) => write!(f, "all {limit} rounds were used (builder.max_rounds)"),
            Self::Tokens(limit) => write!(f, "all {limit} tokens were used (builder.max_tokens)"),
            Self::Time(seconds) => {
                write!(f, "the time of {seconds} s was used up (builder.max_time)")
            }
            Self::Budget(why) => f.write_str(why),
            Self::Model(why) => write!(f, "the model failed: {why}"),
        }
    }
}

impl BuildResult {
    /// Whether everything passed.
    pub fn works(&self) -> bool {
        !self.source_code.is_empty()
            && self.validation_errors.is_empty()
            && !self.test_results.is_empty()
            && self.test_results.iter().all(|test| test.passed)
    }

    /// The number of test cases that passed.
    pub fn passed(&self) -> usize {
        self.test_results.iter().filter(|test| test.passed).count()
    }

    /// The findings for a model or a person: errors, then each test case.
    pub fn findings(&self) -> String {
        let mut text = String::new();
        for error in &self.validation_errors {
            let _ = writeln!(text, "ERROR {error}");
        }
        for test in &self.test_results {
            let mark = if test.passed { "PASSED" } else { "FAILED" };
            let _ = write!(text, "{mark} {} ({} ms)", test.name, test.took_ms);
            if let Some(problem) = &test.problem {
                let _ = write!(text, ": {problem}");
                let streams = [("standard output", &test.output), ("standard error", &test.errors)];
                for (name, stream) in streams.into_iter().filter(|(_, text)| !text.is_empty()) {
                    let _ = write!(text, "\n  {name}: {}", stream.trim_end().replace('\n', "\n  "));
                }
            }
            text.push('\n');
        }
        text
    }

    /// Everything that a reviewer reads: how it was built, the findings and all source code.
    pub fn review(&self) -> String {
        let BuildDetails { name, version, rounds, tokens, .. } = &self.info;
        let mut text =
            format!("{name}: {version}, {rounds} rounds, {tokens} tokens\n\n{}", self.findings());
        for (path, content) in &self.source_code {
            let _ = write!(text, "\n=== {path} ===\n{}\n", content.trim_end());
        }
        text
    }
}
