//! Reads the files that the model has written. Nothing about them is trusted: their paths stay within
//! the folder of the build, and their number and size are limited.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::result::{ValidationError, ValidationKind};
use crate::{
    journal::event::Call,
    llm::Reply,
    tools::skills::package::{Package, is_plain},
};

/// The tool through which the model gives the files.
pub(super) const WRITE_FILES: &str = "write_files";

pub(super) const MAX_FILES: usize = 30;
pub(super) const FILE_BYTES: usize = 100_000;
const TOTAL_BYTES: usize = 300_000;
const PATH_BYTES: usize = 120;
const DEPTH: usize = 4;

/// Files by their paths.
pub(super) type SourceFiles = BTreeMap<String, String>;

#[derive(Deserialize)]
struct WrittenFiles {
    files: Vec<WrittenFile>,
}

#[derive(Deserialize)]
struct WrittenFile {
    path: String,
    content: String,
}

/// The files of a reply, or what is wrong with them.
pub(super) fn read(reply: &Reply) -> Result<SourceFiles, ValidationError> {
    let wrong = |message: String| ValidationError::new(ValidationKind::Files, message);
    let written = reply.calls.iter().filter(|call| call.tool == WRITE_FILES);
    let mut files = SourceFiles::new();
    for Call { arguments, .. } in written {
        let given: WrittenFiles = serde_json::from_value(arguments.clone())
            .map_err(|problem| wrong(format!("the arguments of {WRITE_FILES}: {problem}")))?;
        for WrittenFile { path, content } in given.files {
            check(&path, &content)
                .map_err(|why| ValidationError::of(&path, ValidationKind::Files, why))?;
            files.insert(path, content);
        }
    }
    let total: usize = files.values().map(String::len).sum();
    match files.len() {
        0 => Err(wrong(format!("there are no files: call {WRITE_FILES} with all of them"))),
        count if count > MAX_FILES => {
            Err(wrong(format!("there are {count} files; {MAX_FILES} is the most")))
        }
        _ if total > TOTAL_BYTES => {
            Err(wrong(format!("the files have {total} bytes; {TOTAL_BYTES} is the most")))
        }
        _ => without_conflicts(files),
    }
}

fn check(path: &str, content: &str) -> Result<(), String> {
    let parts = path.split('/');
    let plain = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let fits = Package::check(path).is_ok()
        && path.len() <= PATH_BYTES
        && parts.clone().count() <= DEPTH
        && parts.clone().all(|part| is_plain(part) && plain(part) && !part.starts_with('-'));
    if !fits {
        return Err(format!(
            "it is not an accepted path: use letters, digits, `.`, `_` and `-`, relative, in at \
                most {DEPTH} levels"
        ));
    }
    if content.len() > FILE_BYTES {
        return Err(format!("it has {} bytes; {FILE_BYTES} is the most", content.len()));
    }
    if content.contains('\0') {
        return Err("it contains a NUL character".to_owned());
    }
    Ok(())
}

/// A path cannot be a file and a folder.
fn without_conflicts(files: SourceFiles) -> Result<SourceFiles, ValidationError> {
    let is_folder = |path: &&String| files.keys().any(|key| key.starts_with(&format!("{path}/")));
    match files.keys().find(is_folder) {
        Some(path) => Err(ValidationError::of(path, ValidationKind::Files, "it is also a folder")),
        None => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::answer;
    use serde_json::{Value, json};

    fn files(given: Value) -> Result<SourceFiles, ValidationError> {
        read(&answer("", vec![(WRITE_FILES.to_owned(), json!({ "files": given }))]))
    }

    #[test]
    fn a_path_of_the_model_stays_within_the_folder() {
        for path in [
            "../x.py",
            "/etc/passwd",
            "a/../../x",
            "a\\b.py",
            "C:x.py",
            ".git/hooks/x",
            "a//b",
            "a/b/c/d/e.py",
            "-rf",
            "a\nb",
            "a b.py",
            "",
            ".",
            "scripts/.env",
            "\u{202e}yp.x",
        ] {
            let problem = files(json!([{ "path": path, "content": "x" }])).unwrap_err();
            assert!(problem.message.contains("not an accepted path"), "{path}: {problem}");
        }
        let kept = files(json!([
            { "path": "main.py", "content": "a" }, { "path": "lib/b.py", "content": "b" }
        ]));
        assert_eq!(kept.unwrap().len(), 2);
    }

    #[test]
    fn number_and_size_of_files_are_limited() {
        let many: Vec<_> =
            (0..=MAX_FILES).map(|n| json!({ "path": format!("f{n}.py"), "content": "" })).collect();
        assert!(files(json!(many)).unwrap_err().message.contains("30 is the most"));
        let long = "x".repeat(FILE_BYTES + 1);
        let long = files(json!([{ "path": "a.py", "content": long }])).unwrap_err();
        assert!(long.message.contains("100000 is the most"), "{long}");
        let full = "x".repeat(FILE_BYTES);
        let four: Vec<_> =
            (0..4).map(|n| json!({ "path": format!("f{n}.py"), "content": full })).collect();
        assert!(files(json!(four)).unwrap_err().message.contains("300000 is the most"));
        assert!(files(json!([])).unwrap_err().message.contains("no files"));
        assert!(files(json!("x")).unwrap_err().message.contains("arguments of write_files"));
        assert!(read(&answer("Here it is.", vec![])).unwrap_err().message.contains("no files"));
        let both = json!([{ "path": "a", "content": "" }, { "path": "a/b", "content": "" }]);
        assert!(files(both).unwrap_err().message.contains("also a folder"));
    }
}
