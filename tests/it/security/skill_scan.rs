//! Measures the scan of skills on those in `tests/skills`, which are benign, careless or hostile.
//!
//! `@@ skill NAME: DESCRIPTION` begins a skill with its instructions, `@@ file PATH` another file of
//! it; `\u{…}` is a character that would not be visible.

use countersign::testing::tools::skills::{
    package::Package,
    scan::{self, Finding},
};
use std::{fmt::Write as _, fs, path::Path};

struct Sample {
    name: String,
    findings: Vec<Finding>,
}

impl Sample {
    fn is_refused(&self) -> bool {
        self.findings.iter().any(|finding| finding.severe)
    }
}

fn samples(kind: &str) -> Vec<Sample> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/skills/{kind}.txt"));
    let text = fs::read_to_string(path).unwrap();
    text.split("@@ skill ").skip(1).map(sample).collect()
}

fn sample(text: &str) -> Sample {
    let (head, rest) = text.split_once('\n').unwrap();
    let (name, description) = head.split_once(": ").unwrap();
    let mut parts = rest.split("@@ file ");
    let main = parts.next().unwrap();
    let main = format!("---\nname: {name}\ndescription: {description}\n---\n{main}");
    let mut package = Package::default();
    package.add("SKILL.md", unescaped(&main).as_bytes(), false).unwrap();
    for part in parts {
        let (path, text) = part.split_once('\n').unwrap();
        package.add(path, unescaped(text).as_bytes(), true).unwrap();
    }
    Sample { name: name.to_owned(), findings: scan::scan(&package) }
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\u{");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('}').unwrap();
        plain.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        plain.push_str(rest);
    }
    plain
}

/// How many of the skills are refused, and which ones wrongly so.
pub fn table() -> String {
    let mut table =
        "| Skills | Number | Refused | Noted | Rate |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    let mut wrong = String::new();
    for kind in ["benign", "careless", "hostile"] {
        let samples = samples(kind);
        let (refused, passed): (Vec<_>, Vec<_>) = samples.iter().partition(|s| s.is_refused());
        let noted = passed.iter().filter(|sample| !sample.findings.is_empty()).count();
        let percent = |part: usize| 100.0 * part as f64 / samples.len() as f64;
        let (rate, listed) = match kind {
            "benign" => (format!("false positives: {:.1} %", percent(refused.len())), &refused),
            "careless" => {
                (format!("without a finding: {:.1} %", percent(passed.len() - noted)), &passed)
            }
            _ => (format!("false negatives: {:.1} %", percent(passed.len())), &passed),
        };
        let _ = writeln!(
            table,
            "| {kind} | {} | {} | {noted} | {rate} |",
            samples.len(),
            refused.len()
        );
        let names = listed.iter().map(|sample| format!("`{}`", sample.name));
        let names: Vec<_> = names.collect();
        if kind != "careless" && !names.is_empty() {
            let is = if kind == "benign" { "Refused although benign" } else { "Not found" };
            let _ = writeln!(wrong, "\n{is}: {}.", names.join(", "));
        }
    }
    table + wrong.trim_end()
}

/// The scan may get better at these, but not worse.
#[test]
fn the_scan_of_skills_stays_as_good_as_published() {
    let [benign, careless, hostile] = ["benign", "careless", "hostile"].map(samples);
    assert!(benign.len() + careless.len() + hostile.len() >= 60);
    let refused = |samples: &[Sample]| samples.iter().filter(|s| s.is_refused()).count();
    let wrong: Vec<_> =
        benign.iter().filter(|s| s.is_refused()).map(|s| (&s.name, &s.findings)).collect();
    assert!(wrong.len() * 20 <= benign.len(), "{wrong:#?}");
    let missed: Vec<_> = hostile.iter().filter(|s| !s.is_refused()).map(|s| &s.name).collect();
    assert!(missed.len() * 4 <= hostile.len(), "{missed:?}");
    assert!(refused(&careless) * 2 >= careless.len());
}
