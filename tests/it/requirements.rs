//! Every requirement is proved by a test, or listed on the requirements page as not met.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The groups of requirements, and their rows: all of the four sources, and our own that a test can
/// prove.
const WANTED: &[(&str, &str)] = &[
    ("IronClaw, tools module", "IC-01 … IC-52"),
    ("IronClaw, file operations", "FO-01 … FO-30"),
    ("Corvus, tool trait", "CV-01 … CV-21"),
    ("MateClaw, tools", "MC-01 … MC-55"),
    ("crewAI-rust, tools", "CA-01 … CA-41"),
    ("approvals", "A1 … A15"),
    ("messages", "M1 … M12"),
    ("tools and files", "T1 … T8"),
    ("operation", "O1 … O7"),
    ("reliability", "R2 … R5, R7, R9, R10, R12"),
    ("security", "S1 … S11, S13 … S18, S20, S21"),
];

/// The state of a row according to the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Another row contradicts it, wholly or in part.
    Settled,
    /// A test proves a part.
    Partly,
    Missing,
}

const PAGE: &str = include_str!("../../docs/development/requirements.md");

/// The sections that the page can have, and the state of their rows.
const SECTIONS: [(&str, State); 3] = [
    ("### Settled\n", State::Settled),
    ("### Partly met\n", State::Partly),
    ("### Not met\n", State::Missing),
];

/// The rows of the page's tables, with their state and the explanation.
fn stated() -> BTreeMap<String, (State, &'static str)> {
    let mut stated = BTreeMap::new();
    for (heading, state) in SECTIONS {
        let Some((_, section)) = PAGE.split_once(heading) else { continue };
        let section = section.split("\n#").next().unwrap_or_default();
        let lines = section.lines().filter_map(|line| line.strip_prefix("| "));
        for (id, why) in lines.filter_map(|line| line.split_once(" | ")) {
            for row in rows_in(id) {
                let before = stated.insert(row.clone(), (state, why));
                assert_eq!(before, None, "{row} is listed twice");
            }
        }
    }
    stated
}

/// A test names its rows in the last line of its doc comment, after the word `Proves`. Prints the
/// table of the rows and their tests.
#[test]
fn every_row_is_proved_or_the_page_says_what_is_missing() {
    let proved = proved();
    let mut stated = stated();
    for (what, rows) in WANTED {
        for row in rows_in(rows) {
            let tests: Vec<_> =
                proved.get(&row).into_iter().flatten().map(String::as_str).collect();
            let told = match (tests.as_slice(), stated.remove(&row)) {
                ([], None) => {
                    panic!("{what}: no test names {row}, and and the page gives no reason")
                }
                (tests, None) => tests.join(", "),
                ([], Some((State::Partly, _))) => panic!("{what}: no test proves any of {row}"),
                ([_, ..], Some((State::Missing, _))) => {
                    panic!("{what}: a test proves {row}, and the page says that it is not met")
                }
                (tests, Some((state, why))) => format!("{state:?}: {why} {}", tests.join(", ")),
            };
            eprintln!("{row:<6} {told}");
        }
    }
    assert!(stated.is_empty(), "no such rows: {:?}", stated.keys());
}

/// A settled row names the row that contradicts it.
#[test]
fn a_settled_row_names_the_row_that_contradicts_it() {
    for (row, (state, why)) in stated() {
        let others = rows_in(why).into_iter().filter(|other| other.len() == 5 && *other != row);
        assert!(state != State::Settled || others.count() > 0, "{row}: {why}");
        let end = ["later", "soon", "to come"].iter().find(|word| why.contains(*word));
        assert_eq!(end, None, "{row}: {why}");
    }
}

/// The tests that prove each row.
fn proved() -> BTreeMap<String, BTreeSet<String>> {
    let mut proved = BTreeMap::new();
    for folder in ["src", "channels", "renderers", "sandbox", "tests"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut proved);
    }
    proved
}

fn collect(folder: &Path, proved: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, proved);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            for (row, test) in proved_by(&fs::read_to_string(&path).unwrap()) {
                proved.entry(row).or_default().insert(test);
            }
        }
    }
}

/// The rows that the tests of one file prove, each with such a test.
fn proved_by(text: &str) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let (mut doc, mut is_test) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            doc += words;
        } else if line == "story! {"
            || line.starts_with("#[test]")
            || line.starts_with("#[tokio::test")
        {
            is_test = true;
        } else if let Some(at) = line.find("fn ").filter(|_| is_test) {
            let test = line[at + 3..].split('(').next().unwrap_or_default();
            let proved = doc.rsplit_once("Proves ").map_or("", |(_, proved)| proved);
            rows.extend(rows_in(proved).into_iter().map(|row| (row, test.to_owned())));
            (doc, is_test) = (String::new(), false);
        } else if !line.starts_with("#[") {
            doc.clear();
        }
    }
    rows
}

/// `A1 … A3, MC-42` are four.
fn rows_in(text: &str) -> Vec<String> {
    let mut rows: Vec<(String, u32, usize)> = Vec::new();
    let mut to = false;
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '…');
        let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '-');
        let letters = &word[..word.len() - digits.len()];
        if let (false, Ok(number)) = (letters.is_empty(), digits.parse::<u32>()) {
            if let Some((first, from, width)) = rows.last().cloned().filter(|_| to)
                && first == letters
            {
                rows.extend((from + 1..number).map(|n| (first.clone(), n, width)));
            }
            rows.push((letters.to_owned(), number, digits.len()));
        }
        to = word == "…";
    }
    rows.into_iter().map(|(letters, n, width)| format!("{letters}{n:0width$}")).collect()
}

#[test]
fn rows_are_read_from_the_line_that_names_them() {
    assert_eq!(
        rows_in("A1 … A3, S9: see MC-08 … MC-10."),
        ["A1", "A2", "A3", "S9", "MC-08", "MC-09", "MC-10"]
    );
    let text = [
        "/// Proves A9.",
        "fn no_test() {}",
        "/// As S3 says.",
        "/// Proves A1,",
        "/// S2.",
        "#[test]",
        "fn y() {}",
    ];
    let proved = ["A1", "S2"].map(|row| (row.to_owned(), "y".to_owned()));
    assert_eq!(proved_by(&text.join("\n")), proved);
}
