//! The terminal setup for the shared conformance suite.

use std::{
    future::ready,
    io::{self, Write},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use channels::{Channel, Place, terminal::Terminal};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::suite::{Seen, Stage, conformance};

struct OnTerminal {
    channel: Arc<Terminal>,
    typed: mpsc::Sender<String>,
    paper: Paper,
    folder: TempDir,
}

/// The output, split where it was flushed.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<(Vec<String>, Vec<u8>)>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let (sheets, line) = &mut *self.0.lock().expect("not poisoned");
        sheets.push(String::from_utf8(std::mem::take(line)).expect("text"));
        Ok(())
    }
}

fn stage() -> OnTerminal {
    let folder = tempfile::tempdir().expect("a folder");
    let (typed, lines) = mpsc::channel(9);
    let paper = Paper::default();
    let (to, saved) = (Box::new(paper.clone()), folder.path().join("saved"));
    let channel = Arc::new(Terminal::new("terminal", "ann", lines, to, saved));
    OnTerminal { channel, typed, paper, folder }
}

impl Stage for OnTerminal {
    fn channel(&self) -> Arc<dyn Channel> {
        self.channel.clone()
    }

    fn place(&self) -> Place {
        Terminal::place()
    }

    fn lacks(&self, test: &str) -> Option<&'static str> {
        match test {
            "says_how_long_a_full_line_has_to_wait" => {
                Some("a terminal prints as fast as we write")
            }
            "names_what_comes_twice_the_same" => {
                Some("a line that was read cannot be delivered again: typed twice it is said twice")
            }
            _ => None,
        }
    }

    fn says(&self, text: &str) {
        self.typed.try_send(text.to_owned()).expect("there is room");
    }

    /// A path ends at the first space.
    fn attaches(&self, bytes: Bytes) -> &'static str {
        let path = self.folder.path().join("a_b.txt");
        std::fs::write(&path, bytes).expect("writable");
        self.says(&format!("/file {}", path.display()));
        "a_b.txt"
    }

    fn shown(&self) -> Vec<Seen> {
        let sheets = self.paper.0.lock().expect("not poisoned").0.clone();
        let seen = |sheet: String| {
            let sheet = sheet.trim_end();
            let (text, path) = sheet.split_once("\n[saved: ").unwrap_or((sheet, ""));
            let file = std::fs::read(path.trim_end_matches(']')).ok().map(Bytes::from);
            Seen { text: text.to_owned(), buttons: Vec::new(), file }
        };
        sheets.into_iter().map(seen).collect()
    }

    fn loses_answer(&self) -> bool {
        false
    }
}

conformance!(ready(stage()));
