//! `apply_patch`: replaces text in a file that the agent has read.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    MAX_WRITE_BYTES, RATE, diff, digest,
    edits::{Edits, Versions},
    seen,
};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Subject, ToolSpec},
        paths::{absolute, normalise},
    },
    texts::preview::Preview,
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        workspace::{self, Workspace},
    },
};

/// `apply_patch`
pub struct ApplyPatch {
    pub edits: Arc<Edits>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Path in the workspace.
    path: String,
    /// The exact text to replace, with its whitespace and indentation, without line numbers.
    #[serde(alias = "oldString")]
    old_string: String,
    /// The replacement.
    #[serde(alias = "newString")]
    new_string: String,
    /// Replace every occurrence, not only the first.
    #[serde(default, alias = "replaceAll")]
    replace_all: bool,
}

struct Patched {
    before: String,
    after: String,
    replacements: usize,
    /// The number of matches that were not replaced.
    others: usize,
}

const OTHERS: &str = "old_string occurs more often: only the first occurrence was replaced";

#[async_trait]
impl Tool for ApplyPatch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Path("path")),
            rate: RATE,
            ..ToolSpec::read_only(
                "apply_patch",
                "Replaces old_string by new_string in a file of the workspace. The file must have \
                 been read with read_file before, and old_string must match exactly, including \
                 whitespace and indentation. Replaces the first occurrence, or all of them with \
                 replace_all.",
                schema::<Arguments>(),
            )
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let mut arguments: Arguments = parse(arguments.clone()).ok()?;
        arguments.path = normalise(&arguments.path).ok()?;
        let versions = self.edits.of(context, &arguments.path);
        let known = context.seen.get(&arguments.path).cloned();
        let preview = workspace::beneath(context, move |workspace, _| {
            let versions = versions.lock();
            let patched = admitted(workspace, &arguments, known.as_ref(), &versions)?;
            let preview = diff::changed(&arguments.path, &patched.before, &patched.after);
            Ok(preview.covering(&["old_string", "new_string"]))
        });
        Some(preview.await.unwrap_or_else(Preview::failure))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let mut arguments: Arguments = parse(arguments)?;
        arguments.path = normalise(&arguments.path)?;
        let versions = self.edits.of(context, &arguments.path);
        let known = context.seen.get(&arguments.path).cloned();
        workspace::beneath(context, move |workspace, cancelled| {
            let mut versions = versions.lock();
            let path = &arguments.path;
            let patched = admitted(workspace, &arguments, known.as_ref(), &versions)?;
            let after = digest(patched.after.as_bytes());
            workspace.replace(path, patched.after.as_bytes(), cancelled)?;
            versions.edited(digest(patched.before.as_bytes()), after.clone());
            let mut receipt = json!({
                "path": absolute(path),
                "replacements": patched.replacements,
                "success": true,
            });
            if patched.others > 0 {
                receipt["others"] = patched.others.into();
                receipt["warning"] = OTHERS.into();
            }
            Ok(Output { seen: seen(path, after), ..Output::text(receipt.to_string()) })
        })
        .await
    }
}

/// Patches the text, if the agent knows the current version of the file. This is checked first,
/// because an error message may quote the file, which only an agent that has read it may see.
fn admitted(
    workspace: &Workspace,
    arguments: &Arguments,
    known: Option<&String>,
    versions: &Versions,
) -> Result<Patched, ToolError> {
    let path = &arguments.path;
    let before = workspace.bytes(path, MAX_WRITE_BYTES)?;
    versions.admit(path, known, &digest(&before))?;
    replaced(path, before, arguments)
}

fn replaced(path: &str, before: Vec<u8>, arguments: &Arguments) -> Result<Patched, ToolError> {
    let failed = |words: String| Err(ToolError::ExecutionFailed(words));
    if arguments.old_string.is_empty() {
        return Err(ToolError::InvalidParameters(
            "old_string is empty: name what to replace".into(),
        ));
    }
    if arguments.old_string == arguments.new_string {
        return Err(ToolError::InvalidParameters("old_string and new_string are the same".into()));
    }
    let Ok(before) = String::from_utf8(before) else {
        return failed(format!("{path} is not UTF-8 text and cannot be patched"));
    };
    let (old, new) = as_in(&before, arguments);
    let found = before.matches(&old).count();
    if found == 0 {
        return failed(not_found(path, &before, &old));
    }
    let replacements = if arguments.replace_all { found } else { 1 };
    let after = before.replacen(&old, &new, replacements);
    if after.len() as u64 > MAX_WRITE_BYTES {
        return failed(format!("{path} would have {} bytes; the limit is 5 MB", after.len()));
    }
    Ok(Patched { before, after, replacements, others: found - replacements })
}

/// Converts both texts to the file's line ends. Models write `\n` even if the lines of the file end
/// with `\r\n`, which must be kept.
fn as_in(text: &str, arguments: &Arguments) -> (String, String) {
    let (old, new) = (&arguments.old_string, &arguments.new_string);
    let crlf = text.matches("\r\n").count();
    if crlf == 0 || crlf != text.matches('\n').count() {
        return (old.clone(), new.clone());
    }
    let dos = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    // An exact match of the given text takes precedence. A `\n` alone may match the second half of
    // a line end, which would be split.
    let exact = text.contains(old.as_str()) && !old.starts_with('\n');
    (if exact { old.clone() } else { dos(old) }, dos(new))
}

fn not_found(path: &str, text: &str, old: &str) -> String {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = old.lines().map(squeezed).find(|line| !line.is_empty());
    let near = first.and_then(|first| {
        text.lines().position(|line| squeezed(line).contains(&first)).map(|at| at + 1)
    });
    let near = near
        .map(|line| format!(". Line {line} is like its first line: compare the whitespace"))
        .unwrap_or_default();
    format!(
        "old_string not found in {path}: it must match exactly, including whitespace and \
         indentation{near}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{files::read::ReadFile, testing::ToolFixture};

    fn tool() -> ApplyPatch {
        ApplyPatch { edits: Arc::default() }
    }

    fn change(old: &str, new: &str) -> Value {
        json!({ "path": "a.txt", "old_string": old, "new_string": new })
    }

    async fn place(content: &str) -> ToolFixture {
        let mut place = ToolFixture::new();
        place.has("a.txt", content);
        place.runs(&ReadFile, json!({ "path": "a.txt" })).await.unwrap();
        place
    }

    /// Proves FO-22, FO-24.
    #[tokio::test]
    async fn the_first_match_or_all_are_replaced_and_counted() {
        let mut place = place("x x x").await;
        let one = place.runs(&tool(), change("x", "y")).await.unwrap();
        let receipt: Value = serde_json::from_str(&one.text).unwrap();
        assert_eq!(
            receipt,
            json!({ "path": "/workspace/a.txt", "replacements": 1, "success": true, "others": 2, "warning": OTHERS })
        );
        assert_eq!(place.content("a.txt"), "y x x");
        place.has("a.txt", "x x x");
        place.runs(&ReadFile, json!({ "path": "a.txt" })).await.unwrap();
        let mut all = change("x", "z");
        all["replaceAll"] = true.into();
        let all = place.runs(&tool(), all).await.unwrap();
        let receipt: Value = serde_json::from_str(&all.text).unwrap();
        let whole = json!({ "path": "/workspace/a.txt", "replacements": 3, "success": true });
        assert_eq!(receipt, whole, "nothing is left to warn of");
        assert_eq!(place.content("a.txt"), "z z z");
    }

    /// Proves FO-23, FO-25.
    #[tokio::test]
    async fn only_an_exact_match_is_replaced_and_a_miss_gets_a_hint() {
        let mut place = place("fn a() {\n\treturn 1;\n}\n").await;
        let error = place.runs(&tool(), change("    return 1;", "return 2;")).await.unwrap_err();
        assert!(matches!(error, ToolError::ExecutionFailed(_)));
        let words = error.to_string();
        assert!(words.contains("whitespace") && words.contains("Line 2"), "{words}");
        let error = place.runs(&tool(), change("nowhere", "x")).await.unwrap_err();
        assert!(!error.to_string().contains("Line"), "{error}");
        assert_eq!(place.content("a.txt"), "fn a() {\n\treturn 1;\n}\n");
        for (old, new) in [("", "x"), ("same", "same")] {
            let error = place.runs(&tool(), change(old, new)).await.unwrap_err();
            assert!(matches!(error, ToolError::InvalidParameters(_)), "{error}");
        }
    }

    /// Proves FO-26.
    #[tokio::test]
    async fn a_file_is_read_before_it_is_edited() {
        let mut place = ToolFixture::new();
        place.has("a.txt", "one");
        let error = place.runs(&tool(), change("one", "two")).await.unwrap_err();
        assert!(error.to_string().contains("has not been read"), "{error}");
        place.runs(&ReadFile, json!({ "path": "./a.txt" })).await.unwrap();
        place.has("a.txt", "one more");
        let error = place.runs(&tool(), change("one", "two")).await.unwrap_err();
        assert!(error.to_string().contains("has changed since it was read"), "{error}");
        assert_eq!(place.content("a.txt"), "one more");
        place.runs(&ReadFile, json!({ "path": "a.txt" })).await.unwrap();
        place.runs(&tool(), change("one", "two")).await.unwrap();
        place.runs(&tool(), change("two", "three")).await.unwrap();
        assert_eq!(place.content("a.txt"), "three more");
    }

    /// Proves FO-26.
    #[tokio::test]
    async fn edits_of_one_answer_do_not_refuse_each_other_nor_get_lost() {
        let place = place("one two three").await;
        let tool = tool();
        // Concurrent edits: each knows only the session's state before all of them.
        let (a, b, c) = tokio::join!(
            tool.run(change("one", "1"), &place.context),
            tool.run(change("two", "2"), &place.context),
            tool.run(change("three", "3"), &place.context),
        );
        assert!(a.is_ok() && b.is_ok() && c.is_ok());
        assert_eq!(place.content("a.txt"), "1 2 3");
        place.has("a.txt", "1 by a stranger");
        let error = tool.run(change("1", "one"), &place.context).await.unwrap_err();
        assert!(error.to_string().contains("has changed"), "{error}");
    }

    /// Proves FO-30.
    #[tokio::test]
    async fn line_ends_of_the_file_stay() {
        let mut dos = place("a\r\nb\r\nc\r\n").await;
        dos.runs(&tool(), change("a\nb", "1\n2\n3")).await.unwrap();
        assert_eq!(dos.content("a.txt"), "1\r\n2\r\n3\r\nc\r\n");
        dos.runs(&tool(), change("3\r\nc", "x\r\ny")).await.unwrap();
        assert_eq!(dos.content("a.txt"), "1\r\n2\r\nx\r\ny\r\n");
        dos.runs(&tool(), change("\ny", "\nz")).await.unwrap();
        assert_eq!(dos.content("a.txt"), "1\r\n2\r\nx\r\nz\r\n");
        let mut mixed = place("a\r\nb\n").await;
        mixed.runs(&tool(), change("b\n", "c\n")).await.unwrap();
        assert_eq!(mixed.content("a.txt"), "a\r\nc\n");
        let mut bare = place("end").await;
        bare.runs(&tool(), change("end", "fin")).await.unwrap();
        assert_eq!(bare.content("a.txt"), "fin");
    }

    #[tokio::test]
    async fn a_person_sees_the_change_or_why_there_is_none() {
        let place = place("one\n").await;
        let shown = tool().preview(&change("one", "two"), &place.context).await.unwrap().shown();
        assert!(shown.contains("-one\n+two"), "{shown}");
        let shown = tool().preview(&change("no", "two"), &place.context).await.unwrap().shown();
        assert!(shown.starts_with("This will fail.\n\n```\nold_string not found"), "{shown}");
        assert_eq!(place.content("a.txt"), "one\n");
        let unread = ToolFixture::new();
        unread.has("a.txt", "one\n");
        let shown = tool().preview(&change("one", "two"), &unread.context).await.unwrap().shown();
        assert!(shown.contains("has not been read"), "{shown}");
    }

    /// Proves FO-27.
    #[test]
    fn edits_are_limited_and_need_approval() {
        let spec = tool().spec();
        assert_eq!(spec.rate, Some(crate::agent::catalog::Rate::new(20, 200)));
        assert_eq!(spec.approval, ApprovalMode::UnlessAllowed);
        assert_eq!(spec.effect, EffectClass::AtMostOnce);
    }
}
