//! `countersign logs`: shows the log of the gateway, from the systemd journal, a file or a pipe.

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, BufReader, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::journal::ids::FailureReference;

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Keep printing new lines as they are written
    #[arg(long, short)]
    follow: bool,
    /// Only lines about the conversation with this id
    #[arg(long, value_name = "ID", conflicts_with = "reference")]
    conversation: Option<String>,
    /// Only lines about the failed turn with this reference, as people are shown it, and about its
    /// conversation
    #[arg(long, value_name = "REFERENCE")]
    reference: Option<String>,
    /// The maximum number of lines to begin with
    #[arg(long, short = 'n', default_value_t = 200)]
    lines: usize,
    /// The systemd unit whose journal is read
    #[arg(long, default_value = "countersign", conflicts_with = "file")]
    unit: String,
    /// Read this file instead of the journal; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// How often a file is checked for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// A longer line is cut.
const LINE_BYTES: u64 = 1024 * 1024;

const NO_JOURNAL: &str = "reading the systemd journal with journalctl. The gateway writes its log to \
    standard error: without systemd, pass the file that contains it with --file, or pipe it, as in \
    `docker compose logs countersign | countersign logs --file -`";

/// Prints the log. It is not an error if nobody reads it to its end.
pub fn run(args: &LogsArgs) -> Result<()> {
    let printed = match args.file.as_deref() {
        Some(path) if path == Path::new("-") => args.print(&mut io::stdin().lock()),
        Some(path) => args.print_file(path),
        None => args.print_journal(),
    };
    match printed {
        Err(problem) if is_broken_pipe(&problem) => Ok(()),
        printed => printed,
    }
}

fn is_broken_pipe(problem: &anyhow::Error) -> bool {
    let io = problem.downcast_ref::<io::Error>();
    io.is_some_and(|problem| problem.kind() == io::ErrorKind::BrokenPipe)
}

impl LogsArgs {
    /// The words of which a line must contain one; empty for all lines.
    fn words(&self) -> Vec<String> {
        let conversation = self.conversation.clone();
        let failed = self.reference.as_deref().and_then(FailureReference::parse);
        let failed = failed.map(|failed| failed.conversation.0);
        [conversation, self.reference.clone(), failed].into_iter().flatten().collect()
    }

    fn print_file(&self, path: &Path) -> Result<()> {
        let mut reader = open(path)?;
        self.print(&mut reader)?;
        if self.follow { self.follow_file(path, reader) } else { Ok(()) }
    }

    /// Prints new lines until the process is ended.
    fn follow_file(&self, path: &Path, mut reader: BufReader<File>) -> Result<()> {
        loop {
            thread::sleep(POLL_INTERVAL);
            let read = reader.stream_position()?;
            // A shorter file was emptied or replaced by a rotation.
            if path.metadata().is_ok_and(|now| now.len() < read) {
                reader = open(path)?;
            }
            self.print_new(&mut reader)?;
        }
    }

    fn print_journal(&self) -> Result<()> {
        let mut journalctl = Command::new("journalctl");
        journalctl.args(["--unit", &self.unit, "--output", "cat", "--no-pager"]);
        if self.words().is_empty() {
            journalctl.args(["--lines", &self.lines.to_string()]);
        }
        let mut child = Reading(journalctl.stdout(Stdio::piped()).spawn().context(NO_JOURNAL)?);
        let output = child.0.stdout.take().context("the output of journalctl")?;
        self.print(&mut BufReader::new(output))?;
        let status = child.0.wait()?;
        ensure!(status.success(), "{NO_JOURNAL}: journalctl failed with {status}");
        if !self.follow {
            return Ok(());
        }
        let mut journalctl = Command::new("journalctl");
        journalctl.args(["--unit", &self.unit, "--output", "cat", "--follow", "--lines", "0"]);
        let mut child = Reading(journalctl.stdout(Stdio::piped()).spawn().context(NO_JOURNAL)?);
        let output = child.0.stdout.take().context("the output of journalctl")?;
        self.print_new(&mut BufReader::new(output))
    }

    /// Prints the last matching lines. Standard input and pipes are read to their end.
    fn print(&self, reader: &mut impl BufRead) -> Result<()> {
        let words = self.words();
        let mut last = VecDeque::new();
        while let Some(line) = line(reader)? {
            if !matches(&line, &words) {
                continue;
            }
            if last.len() == self.lines {
                last.pop_front();
            }
            last.push_back(line);
        }
        let mut output = io::stdout().lock();
        for line in last.iter().take(self.lines) {
            writeln!(output, "{line}")?;
        }
        Ok(output.flush()?)
    }

    /// Prints all matching lines as they are read.
    fn print_new(&self, reader: &mut impl BufRead) -> Result<()> {
        let words = self.words();
        while let Some(line) = line(reader)? {
            if matches(&line, &words) {
                let mut output = io::stdout().lock();
                writeln!(output, "{line}")?;
                output.flush()?;
            }
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<BufReader<File>> {
    let opened = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    Ok(BufReader::new(opened))
}

/// A process that is ended when it is not read any more.
struct Reading(Child);

impl Drop for Reading {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The next line without its end; `None` at the end of the log.
fn line(reader: &mut impl BufRead) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = reader.take(LINE_BYTES).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&bytes);
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Whether the line contains one of the words, with no letter, digit or hyphen beside it.
fn matches(line: &str, words: &[String]) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
    let contains = |word: &String| {
        line.match_indices(word.as_str()).any(|(at, _)| {
            !is_part(line[..at].chars().next_back())
                && !is_part(line[at + word.len()..].chars().next())
        })
    };
    words.is_empty() || words.iter().any(contains)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_not_a_part_of_another_one() {
        let words = ["ab-1".to_owned()];
        for (line, found) in [
            ("turn failed conversation.id=ab-1 reference=x", true),
            (r#"{"conversation.id":"ab-1"}"#, true),
            ("conversation.id=ab-12", false),
            ("conversation.id=xab-1", false),
            ("conversation.id=ab-1-17", false),
        ] {
            assert_eq!(matches(line, &words), found, "{line}");
        }
        assert!(matches("anything", &[]));
    }
}
