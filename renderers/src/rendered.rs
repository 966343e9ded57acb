//! The result of a rendering: a file, its warnings, or an error.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// A file, and warnings about lost content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The contents of the file.
    pub bytes: Vec<u8>,
    /// The number of pages, slides or sheets.
    pub pages: usize,
    /// What was lost; empty if nothing was.
    pub warnings: Vec<Warning>,
}

/// Lost content. Displayed as one sentence for the user and the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Warning {
    /// The caller could not provide a picture.
    PictureLeftOut {
        /// The picture as the source names it.
        name: String,
        /// The reason.
        why: String,
    },
    /// A picture is missing in the file.
    PictureNotDrawn {
        /// The picture as the source names it.
        name: String,
        /// The reason.
        why: String,
    },
    /// The file has the alternative text of a picture instead.
    PictureShownAsText {
        /// The picture as the source names it.
        name: String,
        /// The reason.
        why: String,
    },
    /// A picture in a header of a table, which a workbook cannot show.
    PictureInHeader {
        /// The picture as the source names it.
        name: String,
    },
    /// Other content; a sentence.
    Other(String),
}

impl Warning {
    /// The name of the picture that this warning is about, if it is about a missing picture.
    pub fn missing_picture(&self) -> Option<&str> {
        match self {
            Self::PictureLeftOut { name, .. }
            | Self::PictureNotDrawn { name, .. }
            | Self::PictureShownAsText { name, .. }
            | Self::PictureInHeader { name } => Some(name),
            Self::Other(_) => None,
        }
    }
}

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::PictureLeftOut { name, why } => {
                write!(f, "The picture {name} is left out: {why}")
            }
            Self::PictureNotDrawn { name, why } => {
                write!(f, "The picture {name} is not drawn: {why}.")
            }
            Self::PictureShownAsText { name, why } => {
                write!(f, "The picture {name} is shown as its text: {why}.")
            }
            Self::PictureInHeader { name } => {
                write!(f, "The picture {name} is in a header, which is text in a workbook.")
            }
            Self::Other(sentence) => f.write_str(sentence),
        }
    }
}

impl From<String> for Warning {
    fn from(sentence: String) -> Self {
        Self::Other(sentence)
    }
}

impl From<&str> for Warning {
    fn from(sentence: &str) -> Self {
        Self::Other(sentence.to_owned())
    }
}

impl PartialEq<&str> for Warning {
    fn eq(&self, sentence: &&str) -> bool {
        format!("{self}") == **sentence
    }
}

/// The reason why there is no file.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum RenderError {
    /// The input exceeds a limit; the sentence names the limit and the figure.
    #[error("{0}")]
    TooLarge(String),
    /// The input cannot be rendered; the sentence says what to change.
    #[error("{0}")]
    Invalid(String),
}
