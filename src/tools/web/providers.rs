//! Search providers: their requests and responses.

use bytes::Bytes;
use renderers::read::html::Element;
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    client::{WebRequest, place},
    vendor_search,
};

const MAX_BYTES: usize = 2 * 1024 * 1024;
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

    fn letter(self) -> &'static str {
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

/// The request in the provider's format.
pub(super) fn search_request(
    provider: &SearchProvider,
    search: &SearchQuery,
) -> Option<WebRequest> {
    let (query, count, since) = (&search.query, search.count().to_string(), search.freshness);
    let language = search.language.as_deref();
    let mut ask = WebRequest::get(provider.url.clone(), MAX_BYTES);
    let mut json = None;
    let mut pairs = Vec::new();
    match provider.kind {
        SearchEngine::Serper => {
            let since = since.map(|since| format!("qdr:{}", since.letter()));
            json = Some(json!({ "q": query, "num": search.count(), "tbs": since, "hl": language }));
        }
        SearchEngine::Tavily => {
            let since = since.map(Freshness::name);
            let count = search.count();
            // Tavily has no parameter for the language, only for the country.
            let country = language.and_then(super::regions::country);
            json = Some(json!({
                "query": query,
                "max_results": count,
                "time_range": since,
                "country": country,
            }));
        }
        SearchEngine::Brave => {
            pairs = vec![("q", query.clone()), ("count", count)];
            pairs.extend(since.map(|since| ("freshness", format!("p{}", since.letter()))));
            pairs.extend(language.map(|language| ("search_lang", language.to_owned())));
        }
        SearchEngine::Searxng => {
            pairs = vec![("q", query.clone()), ("format", "json".to_owned())];
            pairs.extend(since.map(|since| ("time_range", since.name().to_owned())));
            pairs.extend(language.map(|language| ("language", language.to_owned())));
        }
        SearchEngine::OpenAi | SearchEngine::Anthropic | SearchEngine::Gemini => {
            ask.url = vendor_search::address(provider.kind, &provider.url, &provider.model);
            json = vendor_search::body(provider.kind, &provider.model, search);
        }
        SearchEngine::Duckduckgo => {
            pairs = vec![("q", query.clone())];
            pairs.extend(since.map(|since| ("df", since.letter().to_owned())));
            let region = language.and_then(super::regions::region);
            pairs.extend(region.map(|region| ("kl", region.to_owned())));
        }
    }
    if !pairs.is_empty() {
        ask.url.query_pairs_mut().extend_pairs(pairs);
    }
    if let Some(json) = json {
        let mut json = json;
        json.as_object_mut()?.retain(|_, value| !value.is_null());
        ask.method = Method::POST;
        ask.headers.insert("content-type", HeaderValue::from_static("application/json"));
        ask.body = Some(Bytes::from(json.to_string()));
    }
    if let Some(key) = &provider.key {
        sign(provider.kind, key, &mut ask.headers)?;
    }
    Some(ask)
}

fn sign(kind: SearchEngine, key: &SecretString, headers: &mut HeaderMap) -> Option<()> {
    let key = key.expose_secret();
    let (name, value) = match kind {
        SearchEngine::Serper => ("x-api-key", key.to_owned()),
        SearchEngine::Brave => ("x-subscription-token", key.to_owned()),
        SearchEngine::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            ("x-api-key", key.to_owned())
        }
        SearchEngine::Gemini => ("x-goog-api-key", key.to_owned()),
        SearchEngine::Tavily
        | SearchEngine::Searxng
        | SearchEngine::Duckduckgo
        | SearchEngine::OpenAi => ("authorization", format!("Bearer {key}")),
    };
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(name), value);
    Some(())
}

/// The results in a provider's JSON response.
pub(super) fn listed(kind: SearchEngine, body: &str) -> Result<Vec<Hit>, String> {
    let body: Value = serde_json::from_str(body).map_err(|_| "sent invalid JSON")?;
    if kind.needs_model() {
        return vendor_search::cited(kind, &body);
    }
    let (list, title, url, snippet) = match kind {
        SearchEngine::Serper => (&body["organic"], "title", "link", "snippet"),
        SearchEngine::Brave => (&body["web"]["results"], "title", "url", "description"),
        _ => (&body["results"], "title", "url", "content"),
    };
    let text = |hit: &Value, field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    let hits = list.as_array().into_iter().flatten();
    let hits = hits.map(|hit| Hit {
        title: text(hit, title),
        url: text(hit, url),
        snippet: text(hit, snippet),
    });
    Ok(hits.filter(|hit| !hit.url.is_empty()).collect())
}

/// The ids and classes on DuckDuckGo's page for browsers without scripts, which needs no key.
pub(super) const MARKS: [&str; 3] = [DOUBT, LINK, SNIPPET];
const DOUBT: &str = "challenge-form";
const LINK: &str = "result__a";
const SNIPPET: &str = "result__snippet";

/// The results on that page, from the elements with its [`MARKS`].
pub(super) fn page(elements: Vec<Element>) -> Result<Vec<Hit>, String> {
    let mut hits: Vec<Hit> = Vec::new();
    let mut is_advertised = false;
    for element in elements {
        if element.id == DOUBT {
            return Err("requires a captcha".into());
        }
        if element.classes.iter().any(|own| own == LINK) {
            let url = element.href.as_deref().and_then(unwrapped);
            is_advertised = url.is_none();
            hits.extend(url.map(|url| Hit { title: element.text, url, snippet: String::new() }));
        } else if let Some(last) = hits.last_mut().filter(|_| !is_advertised) {
            last.snippet = element.text;
        }
    }
    Ok(hits)
}

/// Links of results lead through a redirect; those of advertisements lead through a different one.
fn unwrapped(href: &str) -> Option<String> {
    let base: Url = "https://duckduckgo.com/".parse().expect("a constant");
    let url = base.join(href).ok()?;
    if url.path() == "/y.js" {
        return None;
    }
    let target = url.query_pairs().find(|(name, _)| name == "uddg");
    Some(target.map_or_else(|| url.to_string(), |(_, target)| target.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_results_and_not_to_counters() {
        assert_eq!(
            unwrapped("//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.org%2F%3Fb").as_deref(),
            Some("https://a.org/?b")
        );
        assert_eq!(unwrapped("/y.js?ad_domain=x"), None);
    }
}
