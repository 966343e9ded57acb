//! `read_file`: a page of a text file, and the digest that an edit is checked against.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io::Read;
use tokio_util::sync::CancellationToken;

use super::{
    page::{Pager, Range, TextPage},
    seen,
};
use crate::{
    agent::{
        catalog::{Subject, ToolSpec},
        paths::{absolute, normalise},
    },
    tools::{
        Context, Output, Tool, ToolError,
        contract::{
            arguments::{parse, schema},
            overflow,
        },
        workspace::{self, Workspace},
    },
};

/// Larger files can only be read in parts.
pub const MAX_WHOLE_BYTES: u64 = 1024 * 1024;

/// The maximum length of a page. With the path and the header it is within the limit of a result.
const PAGE_CHARS: usize = overflow::LIMIT_CHARS - 1500;

/// `read_file`
pub struct ReadFile;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// Path in the workspace.
    path: String,
    /// Line to start from, counted from 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Same as offset.
    #[serde(default, alias = "start_line")]
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line, instead of limit.
    #[serde(default, alias = "end_line")]
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
    /// Character within the first line to start from, counted from 1: goes on in a long line.
    #[serde(default, alias = "start_column")]
    #[schemars(range(min = 1))]
    start_column: Option<u64>,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            subject: Some(Subject::Path("path")),
            // The file may contain untrusted content.
            untrusted: true,
            ..ToolSpec::read_only(
                "read_file",
                "Reads a text file of the workspace. The first line of the result is JSON about \
                 it; then come the lines, each as `number│ text`. When nextStartLine is given, \
                 there is more: pass it as startLine, and nextStartColumn as startColumn. Files \
                 over 1 MB are read in parts, by offset and limit or startLine and endLine.",
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let arguments: Arguments = parse(arguments)?;
        let range = arguments.range()?;
        let whole = arguments.is_whole();
        let path = normalise(&arguments.path)?;
        workspace::beneath(context, move |workspace, cancelled| {
            read(workspace, &path, &RequestedRange { range, whole }, cancelled)
        })
        .await
    }
}

struct RequestedRange {
    range: Range,
    whole: bool,
}

impl Arguments {
    fn is_whole(&self) -> bool {
        let parts = [self.offset, self.limit, self.start_line, self.end_line, self.start_column];
        parts.iter().all(Option::is_none)
    }

    fn range(&self) -> Result<Range, ToolError> {
        let invalid = |words: &str| Err(ToolError::InvalidParameters(words.to_owned()));
        if let (Some(offset), Some(line)) = (self.offset, self.start_line)
            && offset != line
        {
            return invalid("offset and startLine mean the same: give one of them");
        }
        let start_line = self.start_line.or(self.offset).unwrap_or(1);
        let start_column = self.start_column.unwrap_or(1);
        if start_line == 0 || start_column == 0 || self.limit == Some(0) {
            return invalid("lines and columns are counted from 1, and limit is at least 1");
        }
        let by_limit = self.limit.map(|limit| start_line.saturating_add(limit - 1));
        let end_line = self.end_line.unwrap_or(u64::MAX).min(by_limit.unwrap_or(u64::MAX));
        if end_line < start_line {
            return invalid("endLine is before startLine");
        }
        Ok(Range { start_line, start_column, end_line, max_chars: PAGE_CHARS })
    }
}

fn read(
    workspace: &Workspace,
    path: &str,
    wanted: &RequestedRange,
    cancelled: &CancellationToken,
) -> Result<Output, ToolError> {
    let open = workspace.file(path)?;
    if wanted.whole && open.size_bytes > MAX_WHOLE_BYTES {
        return Err(ToolError::ExecutionFailed(format!(
            "{path} has {} bytes, more than 1 MB: use offset and limit to read it in parts",
            open.size_bytes
        )));
    }
    let (page, digest) =
        page_of(open.file, wanted.range, cancelled).map_err(|error| error.into_tool_error(path))?;
    let start = wanted.range.start_line;
    if start > page.total_lines.max(1) {
        return Err(ToolError::InvalidParameters(format!(
            "line {start} is past the end: {path} has {} lines",
            page.total_lines
        )));
    }
    Ok(Output { seen: seen(path, digest), ..Output::text(format_page(path, &page)) })
}

/// One line of JSON, followed by the lines of the file unescaped: escaped lines could not be quoted
/// in an edit.
fn format_page(path: &str, page: &TextPage) -> String {
    let mut about = json!({
        "path": absolute(path),
        "total_lines": page.total_lines,
        "lines_shown": page.lines_shown,
    });
    if let Some(next) = page.next {
        about["nextStartLine"] = next.line.into();
        if let Some(column) = next.column {
            about["nextStartColumn"] = column.into();
        }
    }
    if !page.ends_with_newline {
        about["ends_with_newline"] = false.into();
    }
    format!("{about}\n{}", page.content)
}

#[derive(Debug)]
enum Unreadable {
    Io(std::io::Error),
    /// Not text; the first bytes.
    Binary(Vec<u8>),
    Stopped,
}

impl Unreadable {
    fn into_tool_error(self, path: &str) -> ToolError {
        ToolError::ExecutionFailed(match self {
            Self::Io(error) => format!("{path} cannot be read: {error}"),
            Self::Stopped => format!("Reading {path} was stopped"),
            Self::Binary(start) => {
                let kind =
                    infer::get(&start).map_or("binary or not UTF-8", |kind| kind.mime_type());
                format!(
                    "{path} is not text ({kind}): read_file shows UTF-8 text only. send_file sends \
                        it to the person as it is"
                )
            }
        })
    }
}

/// Reads the whole file once, for the digest, the number of lines and the page.
fn page_of(
    mut file: impl Read,
    range: Range,
    cancelled: &CancellationToken,
) -> Result<(TextPage, String), Unreadable> {
    let mut pager = Pager::new(range);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    // The number of bytes at the front of the buffer that are an incomplete character.
    let mut kept = 0;
    loop {
        if cancelled.is_cancelled() {
            return Err(Unreadable::Stopped);
        }
        let read = match file.read(&mut buffer[kept..]) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read.map_err(Unreadable::Io)?,
        };
        hash.update(&buffer[kept..kept + read]);
        let filled = kept + read;
        let text = text(&buffer[..filled], read == 0)?;
        pager.feed(text);
        let used = text.len();
        buffer.copy_within(used..filled, 0);
        kept = filled - used;
        if read == 0 {
            return Ok((pager.finish(), hex::encode(hash.finalize())));
        }
    }
}

/// The text in these bytes, without an incomplete character at the end.
fn text(bytes: &[u8], is_end: bool) -> Result<&str, Unreadable> {
    let binary = || Unreadable::Binary(bytes[..bytes.len().min(4096)].to_vec());
    if bytes.contains(&0) {
        return Err(binary());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if error.error_len().is_none() && !is_end => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).map_err(|_| binary())
        }
        Err(_) => Err(binary()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{files::digest, testing::ToolFixture};

    fn parts(output: &Output) -> (Value, String) {
        let (about, content) = output.text.split_once('\n').unwrap();
        (serde_json::from_str(about).unwrap(), content.to_owned())
    }

    async fn fails(place: &mut ToolFixture, arguments: Value) -> ToolError {
        place.runs(&ReadFile, arguments).await.unwrap_err()
    }

    /// Proves FO-01.
    #[tokio::test]
    async fn the_path_is_required() {
        let error = fails(&mut ToolFixture::new(), json!({})).await;
        assert!(matches!(error, ToolError::InvalidParameters(_)), "{error}");
    }

    /// Proves FO-02 … FO-04.
    #[tokio::test]
    async fn lines_come_with_numbers_and_totals() {
        let mut place = ToolFixture::new();
        let text = (1..=150).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        place.has("src/main.rs", &text);
        let arguments = json!({ "path": "src/main.rs", "offset": 10, "limit": 20 });
        let (about, content) = parts(&place.runs(&ReadFile, arguments).await.unwrap());
        assert_eq!(
            about,
            json!({
                "path": "/workspace/src/main.rs",
                "total_lines": 150,
                "lines_shown": 20,
                "nextStartLine": 30,
            })
        );
        assert!(content.starts_with("    10│ line 10\n    11│ line 11\n"), "{content}");
        assert!(content.ends_with("\n    29│ line 29"), "{content}");
        let same = json!({ "path": "/workspace/src/main.rs", "startLine": 10, "endLine": 29 });
        assert_eq!(parts(&place.runs(&ReadFile, same).await.unwrap()).1, content);
    }

    /// Proves FO-05.
    #[tokio::test]
    async fn a_file_over_one_megabyte_is_read_only_in_parts() {
        let mut place = ToolFixture::new();
        place.has("ok", "a\n".repeat(512 * 1024));
        place.has("big", "a\n".repeat(512 * 1024) + "b");
        assert!(place.runs(&ReadFile, json!({ "path": "ok" })).await.is_ok());
        let error = fails(&mut place, json!({ "path": "big" })).await;
        assert!(error.to_string().contains("use offset and limit"), "{error}");
        let arguments = json!({ "path": "big", "offset": 512 * 1024 + 1 });
        let (about, content) = parts(&place.runs(&ReadFile, arguments).await.unwrap());
        assert_eq!(content, "524289│ b");
        assert_eq!(about["ends_with_newline"], false);
    }

    /// Proves FO-26.
    #[tokio::test]
    async fn the_digest_of_the_whole_is_noted_though_a_part_is_read() {
        let mut place = ToolFixture::new();
        place.has("a.txt", "1\n2\n3\n");
        let arguments = json!({ "path": "./a.txt", "limit": 1 });
        let output = place.runs(&ReadFile, arguments).await.unwrap();
        assert_eq!(output.seen, seen("a.txt", digest(b"1\n2\n3\n")));
    }

    /// Proves FO-30.
    #[tokio::test]
    async fn binary_files_are_rejected_with_a_hint() {
        let mut place = ToolFixture::new();
        place.has("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        place.has("latin1", b"caf\xe9\n");
        place.has("cut", b"caf\xc3");
        place.has("utf16", b"\xff\xfea\0");
        for (path, words) in
            [("a.png", "image/png"), ("latin1", "UTF-8"), ("cut", "UTF-8"), ("utf16", "UTF-8")]
        {
            let error = fails(&mut place, json!({ "path": path })).await.to_string();
            assert!(error.contains(words) && error.contains("send_file"), "{path}: {error}");
        }
    }

    /// Proves FO-30.
    #[tokio::test]
    async fn an_empty_file_and_one_with_crlf_are_read() {
        let mut place = ToolFixture::new();
        place.has("empty", "");
        place.has("dos", "a\r\nb\r\n");
        let (about, content) =
            parts(&place.runs(&ReadFile, json!({ "path": "empty" })).await.unwrap());
        assert_eq!((about["total_lines"].as_u64(), content.as_str()), (Some(0), ""));
        let (_, content) = parts(&place.runs(&ReadFile, json!({ "path": "dos" })).await.unwrap());
        assert_eq!(content, "     1│ a\r\n     2│ b\r");
    }

    /// Proves MC-19.
    #[tokio::test]
    async fn a_giant_line_is_read_page_by_page_and_no_page_is_cut_afterwards() {
        let mut place = ToolFixture::new();
        let text = "漢😀x".repeat(15_000);
        place.has("line.json", &text);
        let (mut whole, mut arguments) = (String::new(), json!({ "path": "line.json" }));
        loop {
            let output = place.runs(&ReadFile, arguments.clone()).await.unwrap();
            assert!(output.text.chars().count() <= overflow::LIMIT_CHARS);
            let (about, content) = parts(&output);
            whole += content.strip_prefix("     1│ ").unwrap();
            if about["nextStartLine"].is_null() {
                break;
            }
            arguments["startLine"] = about["nextStartLine"].clone();
            arguments["startColumn"] = about["nextStartColumn"].clone();
        }
        assert!(whole == text, "{} of {}", whole.len(), text.len());
    }

    #[tokio::test]
    async fn contradictions_and_lines_past_the_end_are_refused() {
        let mut place = ToolFixture::new();
        place.has("a", "1\n2\n");
        for (arguments, words) in [
            (json!({ "path": "a", "offset": 1, "startLine": 2 }), "mean the same"),
            (json!({ "path": "a", "offset": 0 }), "from 1"),
            (json!({ "path": "a", "startLine": 2, "endLine": 1 }), "before"),
            (json!({ "path": "a", "offset": 3 }), "past the end: a has 2 lines"),
        ] {
            let error = fails(&mut place, arguments).await;
            assert!(matches!(error, ToolError::InvalidParameters(_)));
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn characters_are_whole_wherever_the_chunks_end() {
        struct Drip<'a>(&'a [u8]);
        impl Read for Drip<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let count = self.0.len().min(buffer.len()).min(1);
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let range = Range { start_line: 1, start_column: 1, end_line: u64::MAX, max_chars: 100 };
        let text = "ä😀\n漢";
        let (page, hash) =
            page_of(Drip(text.as_bytes()), range, &CancellationToken::new()).unwrap();
        assert_eq!(page.content, "     1│ ä😀\n     2│ 漢");
        assert_eq!(hash, digest(text.as_bytes()));
        let stopped = CancellationToken::new();
        stopped.cancel();
        assert!(matches!(page_of(Drip(b"a"), range, &stopped), Err(Unreadable::Stopped)));
    }
}
