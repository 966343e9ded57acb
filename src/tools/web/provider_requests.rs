//! The requests to search providers, and the results in their responses.

use bytes::Bytes;
use renderers::read::html::Element;
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use url::Url;

use super::{
    client::WebRequest,
    providers::{Freshness, Hit, SearchEngine, SearchProvider, SearchQuery},
    regions, vendor_search,
};

const MAX_BYTES: usize = 2 * 1024 * 1024;

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
            let country = language.and_then(regions::country);
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
            let region = language.and_then(regions::region);
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
