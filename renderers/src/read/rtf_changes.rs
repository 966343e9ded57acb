//! Tracked and hidden text of an RTF file.

/// What was done with a piece of text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RtfChange {
    Inserted,
    Deleted,
    Hidden,
}

impl RtfChange {
    /// The marks around the text, as in Word files.
    pub fn marks(self) -> [&'static str; 2] {
        match self {
            Self::Inserted => ["{++", "++}"],
            Self::Deleted => ["{--", "--}"],
            Self::Hidden => ["{hidden: ", "}"],
        }
    }
}
