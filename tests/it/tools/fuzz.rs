//! S14: hundreds of damaged files and texts; thousands with `tests/run --full`. Each gives a text
//! or an error, from a process that neither hangs nor crashes.

use countersign::testing::tools::{
    ToolError,
    documents::{
        Branding,
        confined_jobs::{ConfinedJob, reader_input},
        pool::RenderPool,
        protocol::{RenderOptions, RenderRequest},
    },
};
use renderers::{Format, markdown, read::Reading};
use sandbox::{Sandbox, SandboxLimits, run};
use serde_json::json;
use std::{path::Path, sync::Arc, time::Duration};

use crate::support::program::BINARY;

const FEATURES: &str = include_str!("../../../renderers/tests/corpus/features.md");
const DECK: &str = include_str!("../../../renderers/tests/corpus/deck.md");
const SHEETS: &str = include_str!("../../../renderers/tests/corpus/sheets.md");
const HTML: &str = "<h1>Title</h1><table><tr><td>a<td>b</table><ul><li>x<li>y</ul>";
const MAIL: &str = "From: a@example.org\r\nSubject: Hi\r\nContent-Type: multipart/mixed; boundary=b\r\n\
    \r\n--b\r\nContent-Type: text/html\r\n\r\n<p>Hello</p>\r\n--b--\r\n";
const RTF: &str = "{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\\pard\\b Gr\\'f6\\u8364?\\par\\trowd\\intbl a\\cell\\row}";
/// The maximum time for a slightly damaged document.
const CPU_SECONDS: u64 = 5;
const WAIT: Duration = Duration::from_mins(1);

/// The same sequence in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// A few bytes changed, a piece duplicated, moved or removed.
    fn damage(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        for _ in 0..=self.roll(8) {
            let at = self.roll(bytes.len());
            let end = (at + self.roll(64)).min(bytes.len());
            match self.roll(5) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let piece = bytes[at..end].to_vec();
                    let to = self.roll(bytes.len());
                    bytes.splice(to..to, piece);
                }
                3 => bytes[at..end].fill(self.0 as u8),
                _ => bytes[at] ^= 1 << self.roll(8),
            }
            if bytes.is_empty() {
                bytes.push(b' ');
            }
        }
        bytes
    }
}

/// The number of rounds, in the short and the full variant.
pub fn rounds(short: usize, full: usize) -> usize {
    if std::env::var_os("COUNTERSIGN_TEST_FULL").is_some() { full } else { short }
}

/// A file of each supported type.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let drawn = |source: &str, format| {
        renderers::render(&markdown::read(source).unwrap(), format).unwrap().bytes
    };
    vec![
        ("a.docx", drawn(FEATURES, Format::Docx)),
        ("a.pptx", drawn(DECK, Format::Pptx)),
        ("a.xlsx", drawn(SHEETS, Format::Xlsx)),
        ("a.pdf", drawn(DECK, Format::Pdf)),
        ("a.html", HTML.into()),
        ("a.eml", MAIL.into()),
        ("a.rtf", RTF.into()),
        ("a.csv", b"a;b\n\"1\";2\n".to_vec()),
        ("a.json", br#"{"a":[1,{"b":null}]}"#.to_vec()),
    ]
}

/// Proves S14.
#[tokio::test]
async fn damaged_files_are_read_or_refused() {
    let sandbox = Sandbox::without_bubblewrap(Path::new(BINARY), "a test");
    let mut dice = Dice(0x5eed_1234_5678_9abc);
    for (name, whole) in files() {
        for round in 0..rounds(12, 500) {
            let bytes = dice.damage(&whole);
            let limits = SandboxLimits { cpu_seconds: CPU_SECONDS, ..SandboxLimits::DOCUMENT };
            let command = ConfinedJob::Read(name.into()).command(&sandbox, limits).unwrap();
            let ended = run::to_its_end(command, reader_input(&[], &bytes), WAIT).await.unwrap();
            let answer: Result<Result<Reading, String>, _> =
                serde_json::from_slice(&ended.stdout.head);
            assert!(answer.is_ok(), "{name}, round {round}: {ended:?}");
        }
    }
}

/// Each text is rendered in a separate process, a PDF for seconds, which limits their number.
/// Proves S14.
#[tokio::test]
async fn damaged_texts_are_drawn_or_refused() {
    let sandbox = Arc::new(Sandbox::without_bubblewrap(Path::new(BINARY), "a test"));
    let pool = RenderPool::new(sandbox, Branding::default().fonts());
    let mut dice = Dice(0xfeed_1234_5678_9abc);
    for (source, format, full) in [
        (FEATURES, Format::Docx, 400),
        (DECK, Format::Pptx, 400),
        (SHEETS, Format::Xlsx, 400),
        (FEATURES, Format::Pdf, 60),
    ] {
        for round in 0..rounds(3, full) {
            let text = dice.damage(source.as_bytes());
            let text = String::from_utf8_lossy(&text);
            let part = json!({ "text": text, "folder": ".", "pictures": {}, "warnings": [] });
            let options = json!({
                "format": format, "text": { "Markdown": [part] }, "title": null,
                "date": "2026-01-01", "aspect": null, "assets": {},
            });
            let options: RenderOptions = serde_json::from_value(options).unwrap();
            let drawn = pool.ask(RenderRequest::File(Box::new(options))).await;
            if let Err(ToolError::ExecutionFailed(why)) = &drawn {
                let broke = why.starts_with("The document could not be drawn");
                assert!(!broke, "{format:?}, round {round}: {why}\n{text}");
            } else {
                assert!(drawn.is_ok(), "{drawn:?}");
            }
        }
    }
}
