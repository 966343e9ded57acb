//! Feeds a program, collects its output, and ends it.

use std::{process::Stdio, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::timeout,
};

use super::SandboxError;

/// The number of bytes kept at the beginning of a stream; of the rest, only the end is kept. The
/// largest document that can be sent fits.
pub const KEPT_BYTES: usize = 21 * 1024 * 1024;
const TAIL_BYTES: usize = 8 * 1024;

/// The result of a program.
#[derive(Debug)]
pub struct ProgramResult {
    /// `None` if it was killed.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Stream,
    /// What it wrote to standard error.
    pub stderr: Stream,
    /// Whether it was killed because it took too long.
    pub timed_out: bool,
}

/// The output of a program: all of it, or the beginning and the end.
#[derive(Debug)]
pub struct Stream {
    /// The beginning.
    pub head: Vec<u8>,
    /// The end of the output; not always directly after the head.
    pub tail: Vec<u8>,
    /// The size of the whole output.
    pub total_bytes: u64,
    /// The maximum size of the head.
    kept_bytes: usize,
}

impl Default for Stream {
    fn default() -> Self {
        Self::keeping(KEPT_BYTES)
    }
}

impl Stream {
    /// An empty stream that keeps this much of its beginning.
    pub fn keeping(kept_bytes: usize) -> Self {
        Self { head: Vec::new(), tail: Vec::new(), total_bytes: 0, kept_bytes }
    }

    /// The beginning as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.head).into_owned()
    }

    /// Whether the beginning is everything.
    pub fn is_whole(&self) -> bool {
        self.total_bytes == self.head.len() as u64
    }

    /// The last bytes.
    pub fn end(&self, count: usize) -> Vec<u8> {
        let last = |bytes: &[u8], count: usize| bytes[bytes.len().saturating_sub(count)..].to_vec();
        let mut end = last(&self.tail, count);
        if self.total_bytes == (self.head.len() + self.tail.len()) as u64 {
            let mut before = last(&self.head, count - end.len());
            before.append(&mut end);
            end = before;
        }
        end
    }

    /// Reads to the end. Does nothing without a source.
    pub async fn fill(&mut self, from: Option<impl AsyncRead + Unpin>) {
        let Some(mut from) = from else { return };
        let mut buffer = vec![0; 64 * 1024];
        // A broken pipe counts as the end of the stream.
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            self.take(&buffer[..count]);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let room = (self.kept_bytes - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend_from_slice(&bytes[room..]);
        let over = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
    }
}

/// Runs the program until it ends or times out. Dropping the future kills it. If it runs under the
/// sandbox's init process, all its children are killed as well.
pub async fn to_its_end(
    command: Command,
    input: Vec<u8>,
    wait: Duration,
) -> Result<ProgramResult, SandboxError> {
    keeping(KEPT_BYTES, command, input, wait).await
}

/// Like [`to_its_end`], with a given limit for the output that is kept.
pub async fn keeping(
    kept_bytes: usize,
    mut command: Command,
    input: Vec<u8>,
    wait: Duration,
) -> Result<ProgramResult, SandboxError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.process_group(0).kill_on_drop(true).spawn().map_err(SandboxError::NotStarted)?;
    let (stdin, said, complained) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut stdout, mut stderr) = (Stream::keeping(kept_bytes), Stream::default());
    // Drops the input once it is written: it may be large, and the program slow.
    let feeding = async move {
        // A program may end without reading all of its input.
        if let Some(mut pipe) = stdin {
            let _ = pipe.write_all(&input).await;
        }
    };
    let all = async {
        tokio::join!(feeding, stdout.fill(said), stderr.fill(complained));
        child.wait().await
    };
    let ended = timeout(wait, all).await;
    let timed_out = ended.is_err();
    let code = ended.ok().and_then(Result::ok).and_then(|status| status.code());
    if timed_out {
        // The process has ended, or is killed now.
        let _ = child.kill().await;
    }
    Ok(ProgramResult { code, stdout, stderr, timed_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves MC-23.
    #[test]
    fn a_stream_without_end_takes_no_memory_without_end() {
        let mut stream = Stream::default();
        for _ in 0..400 {
            stream.take(&vec![b'y'; 64 * 1024]);
        }
        stream.take(b"the end");
        assert_eq!(stream.head.len(), KEPT_BYTES);
        assert!(stream.tail.len() <= TAIL_BYTES && !stream.is_whole());
        assert_eq!(stream.total_bytes, 400 * 64 * 1024 + 7);
        assert_eq!(stream.end(8), b"ythe end");
    }

    #[test]
    fn the_end_of_a_whole_stream_is_in_its_head() {
        let mut stream = Stream::default();
        stream.take(b"abcdef");
        assert!(stream.is_whole());
        assert_eq!(stream.end(3), b"def");
        assert_eq!(stream.end(30), b"abcdef");
    }
}
