//! Every requirement is proved by a test, or listed here as open.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A requirements file, and its rows.
const WANTED: &[(&str, &str)] = &[
    ("the main job", "M1 … M12, R9, R10, S6, S21"),
    ("memory and time", "S17, R7, MC-21, MC-35, MC-39, IC-49, CV-08, FO-10, FO-11"),
    (
        "countersigning",
        "A1 … A15, T2, T3, T6, S1 … S5, S13, S17, S18, MC-42 … MC-51, IC-07, IC-22 … IC-35, \
         CV-07, CV-10 … CV-14, CV-19",
    ),
    ("documents", "MC-26 … MC-33, S9, S14, S15, T5"),
    ("disclosure and skills", "T1, MC-04 … MC-06, MC-08 … MC-16, CA-17 … CA-19"),
    ("operators", "MC-07, MC-52, MC-53, O7, S6, S10"),
    ("delegation", "MC-37, CA-34, CA-35"),
    ("tools of one's own", "MC-54, IC-45, CA-09"),
    (
        "the toolbox",
        "IC-01 … IC-35, IC-40 … IC-42, IC-45 … IC-52, FO-01 … FO-30, CV-01 … CV-21, MC-01 … MC-25, \
         MC-35, MC-37 … MC-40, MC-47 … MC-55, CA-01 … CA-41, T1 … T8, S7 … S9, S14, S16, S17",
    ),
];

/// Rows without a test, and the reason.
const OPEN: &[(&str, &str)] = &[
    ("MC-06", "the tools that make media and the browser come later; the others state their tier"),
    ("IC-09", "IC-31 stands: who names no limit has the usual one"),
    ("IC-51", "files are opened beneath the workspace, without links, in this process (FO-28, S9)"),
    ("FO-06", "MC-20 stands: to read is free"),
    ("CA-13", "IC-16 stands: one kind of result"),
    ("CA-14", "IC-16 stands: one kind of call"),
    ("CA-20", "T2 stands: close names are told; all of them would fill the prompt"),
    ("CA-24", "a call that cannot be read is answered as such; the turn's steps bound it"),
    ("CA-25", "as CA-24"),
    ("CA-27", "S5 stands: who asks is never an argument"),
    ("CA-28", "CV-16 stands: one way to tell tools in words"),
    ("CA-30", "CA-22 stands: the cache is the gateway's, no tool looks into it"),
    ("CA-37", "MC-18 and MC-26 stand: bytes never enter the prompt"),
];

/// A test names its rows in the last line of its doc comment: `/// Proves IC-21, T7.` Prints the
/// table of the rows and their tests.
#[test]
fn every_row_is_proved_or_open() {
    let mut proved = BTreeMap::new();
    for folder in ["src", "channels", "renderers", "tests"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut proved);
    }
    let open: BTreeMap<_, _> = OPEN.iter().copied().collect();
    for (what, rows) in WANTED {
        for row in rows_in(rows) {
            let (tests, why) = (proved.get(&row), open.get(row.as_str()));
            let told = match (tests, why) {
                (Some(tests), None) => {
                    tests.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
                }
                (None, Some(why)) => format!("open: {why}"),
                (None, None) => panic!("{what}: no test names {row}"),
                (Some(_), Some(_)) => panic!("{what}: {row} is proved, and listed as open"),
            };
            eprintln!("{row:<6} {told}");
        }
    }
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
