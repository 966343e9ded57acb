//! The requirement of a build: a name, a description, a language, and the test cases that decide
//! whether the software works.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::skills::front;

const DESCRIPTION_CHARS: usize = 4_000;
const MAX_DEPENDENCIES: usize = 20;
const MAX_TEST_CASES: usize = 20;
const MAX_ARGUMENTS: usize = 50;
/// The maximum length of each text of a test case.
const TEXT_BYTES: usize = 20_000;

/// The requirement of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BuildRequirement {
    /// The name of the software and of its skill: lower-case letters, digits, hyphens.
    pub name: String,
    /// What it does, with its arguments, its input and its output.
    pub description: String,
    pub language: ProgrammingLanguage,
    #[serde(default)]
    pub software_type: SoftwareType,
    /// Modules or programs that it needs besides the standard library. Nothing is downloaded: they
    /// must be installed on the gateway's machine.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// The gateway runs each of them after every change. At least one.
    pub test_cases: Vec<TestCase>,
}

/// A programming language.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ProgrammingLanguage {
    Python,
    JavaScript,
    Shell,
    Rust,
}

impl ProgrammingLanguage {
    pub const ALL: [Self; 4] = [Self::Python, Self::JavaScript, Self::Shell, Self::Rust];

    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::Shell => "shell",
            Self::Rust => "Rust",
        }
    }

    /// The file with which a program begins.
    pub fn entry_point(self) -> &'static str {
        match self {
            Self::Python => "main.py",
            Self::JavaScript => "main.js",
            Self::Shell => "main.sh",
            Self::Rust => "main.rs",
        }
    }
}

/// A tool is a program that is called with arguments and input. A library is modules for other
/// programs, with an entry point that calls them, so that they can be tested. A service answers each
/// line of its input with a line of output, until the input ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SoftwareType {
    #[default]
    Tool,
    Library,
    Service,
}

/// A run of the program, and what is expected of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestCase {
    pub name: String,
    /// The arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The text for standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub input: Option<String>,
    /// The expected standard output. Without it, only the exit status counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub output: Option<String>,
    /// How the output is compared: exact (without white space at the end), contains, or json (equal
    /// as JSON).
    #[serde(default)]
    pub compare: OutputComparison,
    /// The expected exit status.
    #[serde(default)]
    pub exit_status: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputComparison {
    #[default]
    Exact,
    Contains,
    Json,
}

impl BuildRequirement {
    /// Checks it before anything is spent on it. The error names the field.
    pub fn check(&self) -> Result<(), String> {
        if !self.name.is_ascii() || !front::is_valid(&self.name) {
            return Err(format!(
                "name: {:?} is not a name: use lower-case letters, digits, hyphens, at most 64",
                self.name
            ));
        }
        let length = self.description.chars().count();
        if self.description.trim().is_empty() || length > DESCRIPTION_CHARS {
            return Err(format!(
                "description: it has {length} characters; 1 to {DESCRIPTION_CHARS} are allowed"
            ));
        }
        within("dependencies", self.dependencies.len(), 0..=MAX_DEPENDENCIES)?;
        if let Some(odd) = self.dependencies.iter().find(|name| !is_dependency(name)) {
            return Err(format!("dependencies: {odd:?} is not the name of a module or a program"));
        }
        within("testCases", self.test_cases.len(), 1..=MAX_TEST_CASES)?;
        self.test_cases.iter().try_for_each(TestCase::check)
    }
}

impl TestCase {
    fn check(&self) -> Result<(), String> {
        let named = |problem: String| format!("testCases: {:?}: {problem}", self.name);
        within("args", self.args.len(), 0..=MAX_ARGUMENTS).map_err(named)?;
        let texts = self.args.iter().chain(&self.input).chain(&self.output).chain([&self.name]);
        if texts.map(String::len).any(|bytes| bytes > TEXT_BYTES) {
            return Err(named(format!("a text is longer than {TEXT_BYTES} bytes")));
        }
        if let (OutputComparison::Json, Some(expected)) = (self.compare, &self.output) {
            serde_json::from_str::<Value>(expected)
                .map_err(|problem| named(format!("output is not JSON: {problem}")))?;
        }
        Ok(())
    }

    /// Why this result is not the expected one; `None` if it is.
    pub fn mismatch(&self, exit_status: i32, output: &str) -> Option<String> {
        if exit_status != self.exit_status {
            return Some(format!(
                "the exit status is {exit_status}, expected {}",
                self.exit_status
            ));
        }
        let expected = self.output.as_deref()?;
        match self.compare {
            OutputComparison::Exact if output.trim_end() == expected.trim_end() => None,
            OutputComparison::Exact => Some("the output differs from the expected one".to_owned()),
            OutputComparison::Contains if output.contains(expected) => None,
            OutputComparison::Contains => {
                Some("the output does not contain the expected text".to_owned())
            }
            OutputComparison::Json => match serde_json::from_str::<Value>(output) {
                Err(problem) => Some(format!("the output is not JSON: {problem}")),
                Ok(value)
                    if serde_json::from_str(expected).is_ok_and(|same: Value| same == value) =>
                {
                    None
                }
                Ok(_) => Some("the output is other JSON than the expected one".to_owned()),
            },
        }
    }
}

fn within(
    what: &str,
    count: usize,
    allowed: std::ops::RangeInclusive<usize>,
) -> Result<(), String> {
    if allowed.contains(&count) {
        return Ok(());
    }
    Err(format!("{what}: there are {count}; {} to {} are allowed", allowed.start(), allowed.end()))
}

/// Names are passed to programs as arguments, so they cannot begin with a hyphen.
fn is_dependency(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-@/+".contains(c);
    (1..=100).contains(&name.len()) && name.chars().all(fits) && !name.starts_with(['-', '.', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn requirement(more: Value) -> Result<BuildRequirement, String> {
        let mut given = json!({
            "name": "adder", "description": "Adds", "language": "python",
            "testCases": [{ "name": "one" }],
        });
        for (key, value) in more.as_object().unwrap() {
            given[key] = value.clone();
        }
        let read: BuildRequirement = serde_json::from_value(given).map_err(|e| e.to_string())?;
        read.check().map(|()| read)
    }

    /// Proves IC-38.
    #[test]
    fn a_requirement_has_a_name_a_language_a_type_dependencies_and_test_cases() {
        let read = requirement(json!({})).unwrap();
        assert_eq!(
            (read.language, read.software_type),
            (ProgrammingLanguage::Python, SoftwareType::Tool)
        );
        for language in ["python", "javascript", "shell", "rust"] {
            for kind in ["tool", "library", "service"] {
                let read = requirement(json!({ "language": language, "softwareType": kind }));
                assert!(read.is_ok(), "{language} {kind}");
            }
        }
        let case = json!({ "name": "sum", "args": ["1", "2"], "input": "x", "output": "3",
            "compare": "contains", "exitStatus": 4 });
        let read = requirement(json!({ "dependencies": ["json"], "testCases": [case] })).unwrap();
        assert_eq!(read.dependencies, ["json"]);
        assert_eq!(
            (read.test_cases[0].exit_status, &*read.test_cases[0].args),
            (4, &["1".to_owned(), "2".into()][..])
        );
    }

    #[test]
    fn an_invalid_requirement_is_rejected_and_the_error_names_the_field() {
        let long = "x".repeat(TEXT_BYTES + 1);
        for (more, field) in [
            (json!({ "name": "../x" }), "name"),
            (json!({ "name": "a b" }), "name"),
            (json!({ "description": " " }), "description"),
            (json!({ "language": "cobol" }), "cobol"),
            (json!({ "dependencies": ["-rf"] }), "dependencies"),
            (json!({ "dependencies": ["a b"] }), "dependencies"),
            (json!({ "testCases": [] }), "testCases"),
            (json!({ "testCases": vec![json!({ "name": "a" }); 21] }), "testCases"),
            (json!({ "testCases": [{ "name": "a", "input": long }] }), "bytes"),
            (json!({ "testCases": [{ "name": "a", "output": "{", "compare": "json" }] }), "JSON"),
        ] {
            let problem = requirement(more.clone()).unwrap_err();
            assert!(problem.contains(field), "{more}: {problem}");
        }
    }

    #[test]
    fn output_is_compared_as_the_test_case_says() {
        use OutputComparison::{Contains, Exact, Json};
        let case = |output: &str, compare| TestCase {
            output: Some(output.to_owned()),
            compare,
            ..TestCase::default()
        };
        assert_eq!(case("a\n", Exact).mismatch(0, "a"), None);
        assert!(case("a", Exact).mismatch(0, "ab").is_some());
        assert_eq!(case("b", Contains).mismatch(0, "abc"), None);
        assert!(case("d", Contains).mismatch(0, "abc").is_some());
        assert_eq!(case(r#"{"a":1,"b":2}"#, Json).mismatch(0, "{\"b\": 2, \"a\": 1}\n"), None);
        assert!(case("[1]", Json).mismatch(0, "[2]").is_some());
        assert!(case("[1]", Json).mismatch(0, "no").unwrap().contains("not JSON"));
        assert!(case("a", Exact).mismatch(1, "a").unwrap().contains("exit status is 1"));
        assert_eq!(TestCase { exit_status: 3, ..TestCase::default() }.mismatch(3, "any"), None);
    }
}
