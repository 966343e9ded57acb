//! Search providers, and what they are asked and find.

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::client::place;

const USUAL_COUNT: usize = 5;
const MAX_RESULTS: usize = 10;

/// A configured search provider.
#[derive(Debug, Clone)]
pub struct SearchProvider {
    pub kind: SearchEngine,
    /// Its URL.
    pub url: Url,
    pub key: Option<SecretString>,
    /// The model that searches, at a vendor of language models.
    pub model: String,
    /// The price of one search, in millionths of a currency unit.
    pub price_micros: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchEngine {
    Serper,
    Tavily,
    Brave,
    Searxng,
    Duckduckgo,
    OpenAi,
    Anthropic,
    Gemini,
}

impl SearchEngine {
    /// The provider's default URL; SearXNG is self-hosted and has none.
    pub fn usual_url(self) -> Option<Url> {
        let url = match self {
            Self::Serper => "https://google.serper.dev/search",
            Self::Tavily => "https://api.tavily.com/search",
            Self::Brave => "https://api.search.brave.com/res/v1/web/search",
            Self::Duckduckgo => "https://html.duckduckgo.com/html/",
            Self::OpenAi => "https://api.openai.com/v1/responses",
            Self::Anthropic => "https://api.anthropic.com/v1/messages",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/models",
            Self::Searxng => return None,
        };
        Some(url.parse().expect("a constant"))
    }

    pub fn needs_key(self) -> bool {
        !matches!(self, Self::Searxng | Self::Duckduckgo)
    }

    /// Whether a language model searches, on the servers of its vendor.
    pub fn needs_model(self) -> bool {
        matches!(self, Self::OpenAi | Self::Anthropic | Self::Gemini)
    }
}

impl SearchProvider {
    /// The operator's own service may be in a private network.
    pub(super) fn own_place(&self) -> Option<String> {
        let is_own = Some(&self.url) != self.kind.usual_url().as_ref();
        is_own.then(|| place(&self.url))
    }
}

/// The query: the arguments of the tool.
#[derive(Deserialize, JsonSchema, Clone, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchQuery {
    /// What to search for.
    pub query: String,
    /// Number of results, 1 to 10; default 5.
    #[serde(default)]
    pub count: Option<usize>,
    /// Only results newer than this.
    #[serde(default)]
    pub freshness: Option<Freshness>,
    /// Language of the results, such as de.
    #[serde(default)]
    pub language: Option<String>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub(super) enum Freshness {
    Day,
    Week,
    Month,
    Year,
}

impl Freshness {
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    pub fn letter(self) -> &'static str {
        &self.name()[..1]
    }
}

/// One result of a provider.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub title: String,
    pub url: String,
    pub snippet: String,
}

impl SearchQuery {
    pub fn count(&self) -> usize {
        self.count.unwrap_or(USUAL_COUNT).clamp(1, MAX_RESULTS)
    }
}
