//! The languages of the texts.

use super::{Messages, de, en, es, zh};

/// A language of the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    #[default]
    English,
    Chinese,
    German,
    Spanish,
}

impl Language {
    pub const ALL: [Self; 4] = [Self::English, Self::Chinese, Self::German, Self::Spanish];

    /// The IETF tag of the language.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
            Self::German => "de",
            Self::Spanish => "es",
        }
    }

    /// The language of an IETF tag such as `de-AT`; English if it is not supported.
    pub fn of(tag: Option<&str>) -> Self {
        let main = tag.unwrap_or_default().split(['-', '_']).next().unwrap_or_default();
        match main.to_ascii_lowercase().as_str() {
            "zh" => Self::Chinese,
            "de" => Self::German,
            "es" => Self::Spanish,
            _ => Self::English,
        }
    }

    pub fn words(self) -> &'static Messages {
        match self {
            Self::English => &en::WORDS,
            Self::Chinese => &zh::WORDS,
            Self::German => &de::WORDS,
            Self::Spanish => &es::WORDS,
        }
    }
}
