//! Packages built software as a skill: its files, and a `SKILL.md` that the gateway writes.

use std::fmt::Write as _;

use super::{
    draft::SourceFiles,
    requirement::{BuildRequirement, ProgrammingLanguage, SoftwareType, TestCase},
    result::{BuildResult, ValidationError, ValidationKind},
    toolchain::{entry_path, script_path, source_path},
};
use crate::tools::skills::{
    package::Package,
    scan::{self, Finding},
};

const MAIN: &str = "SKILL.md";
/// The length of the description in the list of skills.
const LISTED_CHARS: usize = 300;

/// The skill, with everything that it needs to run.
pub fn skill(requirement: &BuildRequirement, result: &BuildResult) -> Result<Package, String> {
    let program = result.program.as_deref();
    of(requirement, &result.source_code, program).map_err(|problem| format!("{problem:#}"))
}

pub(super) fn of(
    requirement: &BuildRequirement,
    files: &SourceFiles,
    program: Option<&[u8]>,
) -> anyhow::Result<Package> {
    let BuildRequirement { name, language, .. } = requirement;
    let mut package = Package::default();
    package.add(MAIN, main(requirement).as_bytes(), false)?;
    for (path, content) in files {
        let path = match language {
            ProgrammingLanguage::Rust => source_path(path),
            _ => script_path(path),
        };
        package.add(&path, content.as_bytes(), false)?;
    }
    if let Some(program) = program {
        package.add(&entry_path(*language, name), program, true)?;
    }
    Ok(package)
}

/// What the review of skills finds in it that would prevent its installation. The compiled program
/// is not a finding: the gateway has compiled it from the source beside it.
pub(super) fn findings(requirement: &BuildRequirement, package: &Package) -> Vec<ValidationError> {
    let own = entry_path(requirement.language, &requirement.name);
    let is_own = |file: &str| requirement.language == ProgrammingLanguage::Rust && file == own;
    let severe =
        scan::scan(package).into_iter().filter(|found| found.severe && !is_own(&found.file));
    let error = |Finding { file, line, what, .. }: Finding| {
        let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        ValidationError::of(&file, ValidationKind::Review, format!("it {what}{line}"))
    };
    severe.map(error).collect()
}

/// The `SKILL.md`.
fn main(requirement: &BuildRequirement) -> String {
    let BuildRequirement { name, description, language, software_type, test_cases, .. } =
        requirement;
    let listed: String = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let listed: String = listed.chars().take(LISTED_CHARS).collect();
    // A JSON string is a string of YAML as well.
    let quoted = serde_json::Value::from(listed).to_string();
    let script = entry_path(*language, name);
    let use_it = match software_type {
        SoftwareType::Tool => "Run it",
        SoftwareType::Library => "Its modules are used by other programs. Its entry point runs",
        SoftwareType::Service => "It answers each line of its input with a line. Run it",
    };
    let mut text = format!(
        "---\nname: {name}\ndescription: {quoted}\n---\n\n# {name}\n\n{description}\n\n{use_it} with \
            `run_skill_script`: skill `{name}`, script `{script}`.\n"
    );
    if !test_cases.is_empty() {
        text.push_str("\n## Examples\n\n");
        for case in test_cases {
            example(&mut text, case);
        }
    }
    text
}

/// A test case, as JSON on one line, so that nothing in it acts as Markdown.
fn example(text: &mut String, case: &TestCase) {
    let example = serde_json::json!({
        "args": case.args,
        "input": case.input,
        "output": case.output,
        "exitStatus": case.exit_status,
    });
    let _ = writeln!(text, "    {example}");
}
