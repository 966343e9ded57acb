//! Paths in the workspace, in the notation that rules, records and files share.

use thiserror::Error;

/// The path of the workspace as the agent sees it. Results contain absolute paths below it, which
/// can be used as arguments and reveal nothing about the machine.
pub const ROOT: &str = "/workspace";

/// Longer than any legitimate path; keeps messages and rows short.
const MAX_BYTES: usize = 1024;

/// A path that leads, or might lead, out of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Path not allowed: {0}")]
pub struct PathRefused(pub String);

/// The path relative to the workspace, without `.` and repeated slashes. The workspace itself is
/// `.`. Rejects `..`, absolute paths outside [`ROOT`], backslashes and control characters.
pub fn normalise(path: &str) -> Result<String, PathRefused> {
    let refused = || PathRefused(shown(path));
    let odd = |c: char| c == '\\' || c.is_control();
    if path.is_empty() || path.len() > MAX_BYTES || path.contains(odd) {
        return Err(refused());
    }
    let parts = relative(path)
        .ok_or_else(refused)?
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect::<Vec<_>>();
    if parts.contains(&"..") {
        return Err(refused());
    }
    Ok(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

/// A normalised path as shown in results.
pub fn absolute(normalised: &str) -> String {
    match normalised {
        "." => ROOT.to_owned(),
        path => format!("{ROOT}/{path}"),
    }
}

fn relative(path: &str) -> Option<&str> {
    if !path.starts_with('/') {
        return Some(path);
    }
    let rest = path.strip_prefix(ROOT)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Truncates the path and removes characters that could break a line or a terminal.
fn shown(path: &str) -> String {
    let mut text: String =
        path.chars().take(200).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if path.chars().nth(200).is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves FO-28.
    #[test]
    fn a_path_has_one_spelling() {
        for (written, meant) in [
            ("a.txt", "a.txt"),
            ("./a.txt", "a.txt"),
            ("a//b/./c.txt", "a/b/c.txt"),
            ("a/", "a"),
            (".", "."),
            ("./", "."),
            ("...", "..."),
            ("a..b", "a..b"),
            ("/workspace/a.txt", "a.txt"),
            ("/workspace", "."),
        ] {
            assert_eq!(normalise(written).unwrap(), meant, "{written}");
        }
    }

    /// Proves FO-28.
    #[test]
    fn a_path_out_of_the_workspace_is_refused() {
        for path in [
            "",
            "..",
            "../a",
            "a/../b",
            "a/..",
            "/etc/passwd",
            "//workspace/a",
            "/workspaces/a",
            "/workspace/../etc/passwd",
            "..\\a",
            "a\0b",
            "a\nb",
        ] {
            assert!(normalise(path).is_err(), "{path:?}");
        }
        assert_eq!(
            normalise("../a").unwrap_err().to_string(),
            "Path not allowed: ../a",
            "CV-11: the exact words"
        );
        assert!(normalise(&"a/".repeat(600)).is_err(), "an endless path");
    }

    proptest! {
        #[test]
        fn a_normal_path_stays_as_it_is(path in "[a-c./]{0,12}") {
            if let Ok(once) = normalise(&path) {
                prop_assert_eq!(normalise(&once).unwrap(), once.clone());
                prop_assert_eq!(normalise(&absolute(&once)).unwrap(), once);
            }
        }
    }
}
