//! Messages and log capture shared by the tests of several adapters.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

use channels::{Button, Choice, Outgoing};
use tracing_subscriber::fmt::MakeWriter;

pub fn text(text: &str) -> Outgoing {
    Outgoing::Text { markdown: text.to_owned(), reply_to: None }
}

/// A question with these buttons.
pub fn asked(text: &str, choices: &[(&str, Button)]) -> Outgoing {
    let choices = choices
        .iter()
        .map(|(label, button)| Choice { label: (*label).to_owned(), button: *button });
    let (markdown, approval) = (text.to_owned(), "abcdefgh".to_owned());
    Outgoing::Approval { markdown, approval, choices: choices.collect(), reply_to: None }
}

pub fn file(name: &str, caption: Option<&str>) -> Outgoing {
    Outgoing::File {
        name: name.to_owned(),
        media_type: "text/plain".to_owned(),
        size_bytes: 5,
        digest: "d".to_owned(),
        caption: caption.map(str::to_owned),
        reply_to: None,
    }
}

/// Collects log output.
#[derive(Clone, Default)]
pub struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    pub fn logged(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Sink {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
