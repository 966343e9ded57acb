//! Changes existing files: bytes in, bytes out. What an edit does not concern stays as it is.
//!
//! - [`fill`]: template fields in Word and PowerPoint; `fields` finds them, `sections` what is
//!   repeated, `list` reads the rows of a mail merge
//! - [`workbook`]: cells, rows and sheets of Excel files; `book`, `cells`, `formulas`,
//!   `groups`, `sheet`, `tables`: its parts
//! - [`word`]: text, paragraphs and table rows of Word files; `word_tables`: its tables;
//!   `revisions`: tracked changes
//! - [`pdf`]: pages, stamps and form fields of PDFs; `pages`, `stamp`, `form`: each of them;
//!   `field_look`: how fields are drawn; `pdf_work`: what has changed so far
//! - `parts`, `tree`, `text`: packages, XML and the text of paragraphs
//!
//! Parsers of third-party formats occasionally fail badly: call this in a separate process with
//! memory and time limits.

mod book;
mod cells;
mod field_look;
mod fields;
pub mod fill;
mod form;
mod formulas;
mod groups;
mod list;
mod pages;
mod parts;
pub mod pdf;
mod pdf_work;
mod revisions;
mod sections;
mod sheet;
mod stamp;
mod tables;
mod text;
pub(crate) mod tree;
pub mod word;
mod word_tables;
pub mod workbook;

use serde::{Deserialize, Serialize};

use crate::read::ReadError;

/// A changed file, and what has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edited {
    /// The contents of the new file.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// The file name that a mail merge gives it.
    pub name: Option<String>,
    /// The changes in order.
    pub changes: Vec<Change>,
    /// One sentence each, for the user and the model.
    pub warnings: Vec<String>,
}

/// One change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The place, such as `Sheet1!B2`.
    pub place: String,
    /// The text before; `None` if it is new.
    pub before: Option<String>,
    /// The text after; `None` if it is removed.
    pub after: Option<String>,
}

impl Change {
    fn of(place: impl Into<String>, before: &str, after: &str) -> Self {
        let place = place.into();
        Self { place, before: Some(before.to_owned()), after: Some(after.to_owned()) }
    }

    fn added(place: impl Into<String>, after: &str) -> Self {
        Self { place: place.into(), before: None, after: Some(after.to_owned()) }
    }

    fn removed(place: impl Into<String>, before: &str) -> Self {
        Self { place: place.into(), before: Some(before.to_owned()), after: None }
    }
}

/// The changes in the form of a unified diff.
pub fn diff(changes: &[Change]) -> String {
    let mut text = String::new();
    for Change { place, before, after } in changes {
        text.extend(["@@ ", place, " @@\n"]);
        for (sign, side) in [("-", before), ("+", after)] {
            for line in side.iter().flat_map(|side| side.split('\n')) {
                text.extend([sign, line, "\n"]);
            }
        }
    }
    text
}

/// The reason why a file was not changed; the sentence says what to do.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum EditError {
    /// It exceeds a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The file or the edit is not valid.
    #[error("{0}")]
    Invalid(String),
}

impl From<ReadError> for EditError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::TooLarge(why) => Self::TooLarge(why),
            ReadError::Damaged(why) | ReadError::Unknown(why) => Self::Invalid(why),
        }
    }
}

fn invalid<T>(why: impl Into<String>) -> Result<T, EditError> {
    Err(EditError::Invalid(why.into()))
}
