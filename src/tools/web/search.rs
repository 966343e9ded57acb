//! `web_search`: the first of several services that answers.

use async_trait::async_trait;
use bytes::Bytes;
use hashlink::LinkedHashMap;
use renderers::read::html::{self, Element};
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::timeout;
use url::Url;

use super::client::{Ask, Outside, place};
use crate::{
    agent::catalog::{Subject, Tier, ToolSpec, Variable},
    tools::{
        Context, Output, Tool, ToolError,
        arguments::{parse, schema},
        reader,
        sandbox::Sandbox,
    },
};

const MAX_BYTES: usize = 2 * 1024 * 1024;
const USUAL_COUNT: usize = 5;
const MOST: usize = 10;
const SNIPPET_CHARS: usize = 400;
/// How long one service may take before the next is asked.
const PATIENCE: Duration = Duration::from_secs(8);
/// For all of them.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How long an answer is given again, and how many are kept.
const FRESH_FOR: chrono::TimeDelta = chrono::TimeDelta::minutes(10);
const KEPT: usize = 256;

/// A service that searches, with what it needs.
#[derive(Debug, Clone)]
pub struct Provider {
    pub kind: Kind,
    /// Where it is asked.
    pub url: Url,
    pub key: Option<SecretString>,
    /// What one search costs, in millionths of a currency unit.
    pub price_micros: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Serper,
    Tavily,
    Brave,
    Searxng,
    Duckduckgo,
}

impl Kind {
    /// The service's own address; SearXNG is a program that everybody runs for themselves.
    pub fn usual_url(self) -> Option<Url> {
        let url = match self {
            Self::Serper => "https://google.serper.dev/search",
            Self::Tavily => "https://api.tavily.com/search",
            Self::Brave => "https://api.search.brave.com/res/v1/web/search",
            Self::Duckduckgo => "https://html.duckduckgo.com/html/",
            Self::Searxng => return None,
        };
        Some(url.parse().expect("a constant"))
    }

    pub fn needs_key(self) -> bool {
        matches!(self, Self::Serper | Self::Tavily | Self::Brave)
    }
}

impl Provider {
    /// The operator's own service may be inside.
    pub(super) fn own_place(&self) -> Option<String> {
        let is_own = Some(&self.url) != self.kind.usual_url().as_ref();
        is_own.then(|| place(&self.url))
    }
}

/// `web_search`
pub struct WebSearch {
    outside: Outside,
    /// Where pages are read.
    sandbox: Arc<Sandbox>,
    providers: Vec<Provider>,
    /// What others would need to be asked too.
    missing: Vec<Variable>,
    patience: Duration,
    kept: Mutex<LinkedHashMap<Wish, (chrono::DateTime<chrono::Utc>, String)>>,
}

#[derive(Deserialize, JsonSchema, Clone, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
struct Wish {
    query: String,
    /// How many results, 1 to 10; 5 if left out.
    #[serde(default)]
    count: Option<usize>,
    /// Nothing older than this.
    #[serde(default)]
    freshness: Option<Freshness>,
    /// Language of the results, such as de.
    #[serde(default)]
    language: Option<String>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
enum Freshness {
    Day,
    Week,
    Month,
    Year,
}

impl Freshness {
    fn name(self) -> &'static str {
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

/// One result, as a service gave it.
#[derive(Debug, PartialEq, Eq)]
struct Hit {
    title: String,
    url: String,
    snippet: String,
}

impl WebSearch {
    pub fn new(outside: Outside, sandbox: Arc<Sandbox>, providers: Vec<Provider>) -> Self {
        let (missing, kept) = <_>::default();
        Self { outside, sandbox, providers, missing, patience: PATIENCE, kept }
    }

    /// The same, where these variables would have let others be asked.
    #[must_use]
    pub fn missing(self, missing: Vec<Variable>) -> Self {
        Self { missing, ..self }
    }

    fn kept(&self, wish: &Wish, now: chrono::DateTime<chrono::Utc>) -> Option<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, text) = kept.get(wish)?;
        (now - *at < FRESH_FOR).then(|| text.clone())
    }

    fn keep(&self, wish: Wish, now: chrono::DateTime<chrono::Utc>, text: String) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(wish, (now, text));
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }

    async fn ask(&self, provider: &Provider, wish: &Wish) -> Result<Vec<Hit>, String> {
        let answered = timeout(self.patience, self.answer(provider, wish)).await;
        answered.unwrap_or_else(|_| Err("did not answer in time".into()))
    }

    async fn answer(&self, provider: &Provider, wish: &Wish) -> Result<Vec<Hit>, String> {
        let ask = question(provider, wish).ok_or("its key cannot be sent")?;
        let answer = self.outside.send(ask).await.map_err(|problem| problem.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("answered {}", answer.status));
        }
        let body = String::from_utf8_lossy(&answer.body);
        let hits = match provider.kind {
            Kind::Duckduckgo => {
                let found = reader::elements(&self.sandbox, &MARKS, body.into_owned()).await;
                page(found.map_err(|problem| problem.to_string())?)?
            }
            kind => listed(kind, &body)?,
        };
        if hits.is_empty() { Err("found nothing".into()) } else { Ok(hits) }
    }
}

#[async_trait]
impl Tool for WebSearch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            subject: Some(Subject::Text("query")),
            untrusted: true,
            outward: true,
            timeout: TIMEOUT,
            env: if self.providers.is_empty() { self.missing.clone() } else { Vec::new() },
            ..ToolSpec::read_only(
                "web_search",
                "Searches the web: title, address and a few words of each result.\nRead a result \
                 with web_fetch.",
                schema::<Wish>(),
            )
        }
    }

    /// That of the dearest: which of them answers is not known before.
    fn estimated_cost(&self, _arguments: &Value) -> Option<u64> {
        let prices = self.providers.iter().map(|provider| provider.price_micros);
        prices.max().filter(|price| *price > 0)
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let wish: Wish = parse(arguments)?;
        if wish.query.trim().is_empty() {
            return Err(ToolError::InvalidParameters("the query is empty".into()));
        }
        if let Some(text) = self.kept(&wish, context.now) {
            return Ok(Output::text(text));
        }
        let mut problems = Vec::new();
        for provider in &self.providers {
            match self.ask(provider, &wish).await {
                Ok(hits) => {
                    let text = told(hits, wish.count());
                    self.keep(wish, context.now, text.clone());
                    problems.push(format!("{:?} answered", provider.kind));
                    let cost_micros = Some(provider.price_micros).filter(|price| *price > 0);
                    let raw = Some(problems.join("; "));
                    return Ok(Output { raw, cost_micros, ..Output::text(text) });
                }
                Err(problem) => problems.push(format!("{:?} {problem}", provider.kind)),
            }
        }
        Err(ToolError::ExternalService(match problems.as_slice() {
            [] => "no search service is configured: the operator names them (web.search)".into(),
            _ => format!("no service had an answer: {}", problems.join("; ")),
        }))
    }
}

impl Wish {
    fn count(&self) -> usize {
        self.count.unwrap_or(USUAL_COUNT).clamp(1, MOST)
    }
}

/// The request, in each service's own words.
fn question(provider: &Provider, wish: &Wish) -> Option<Ask> {
    let (query, count, since) = (&wish.query, wish.count().to_string(), wish.freshness);
    let language = wish.language.as_deref();
    let mut ask = Ask::get(provider.url.clone(), MAX_BYTES);
    let mut json = None;
    let mut pairs = Vec::new();
    match provider.kind {
        Kind::Serper => {
            let since = since.map(|since| format!("qdr:{}", since.letter()));
            json = Some(json!({ "q": query, "num": wish.count(), "tbs": since, "hl": language }));
        }
        Kind::Tavily => {
            let since = since.map(Freshness::name);
            let count = wish.count();
            json = Some(json!({ "query": query, "max_results": count, "time_range": since }));
        }
        Kind::Brave => {
            pairs = vec![("q", query.clone()), ("count", count)];
            pairs.extend(since.map(|since| ("freshness", format!("p{}", since.letter()))));
            pairs.extend(language.map(|language| ("search_lang", language.to_owned())));
        }
        Kind::Searxng => {
            pairs = vec![("q", query.clone()), ("format", "json".to_owned())];
            pairs.extend(since.map(|since| ("time_range", since.name().to_owned())));
            pairs.extend(language.map(|language| ("language", language.to_owned())));
        }
        Kind::Duckduckgo => {
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

fn sign(kind: Kind, key: &SecretString, headers: &mut HeaderMap) -> Option<()> {
    let key = key.expose_secret();
    let (name, value) = match kind {
        Kind::Serper => ("x-api-key", key.to_owned()),
        Kind::Brave => ("x-subscription-token", key.to_owned()),
        Kind::Tavily | Kind::Searxng | Kind::Duckduckgo => {
            ("authorization", format!("Bearer {key}"))
        }
    };
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(name), value);
    Some(())
}

fn listed(kind: Kind, body: &str) -> Result<Vec<Hit>, String> {
    let body: Value = serde_json::from_str(body).map_err(|_| "sent no JSON")?;
    let (list, title, url, snippet) = match kind {
        Kind::Serper => (&body["organic"], "title", "link", "snippet"),
        Kind::Brave => (&body["web"]["results"], "title", "url", "description"),
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

/// DuckDuckGo has a page for those without scripts, and no key.
const MARKS: [&str; 3] = [DOUBT, LINK, SNIPPET];
const DOUBT: &str = "challenge-form";
const LINK: &str = "result__a";
const SNIPPET: &str = "result__snippet";

fn page(elements: Vec<Element>) -> Result<Vec<Hit>, String> {
    let mut hits: Vec<Hit> = Vec::new();
    let mut is_advertised = false;
    for element in elements {
        if element.id == DOUBT {
            return Err("wants to know whether we are a person".into());
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

/// Its links go by way of a counter, and advertisements by another.
fn unwrapped(href: &str) -> Option<String> {
    let base: Url = "https://duckduckgo.com/".parse().expect("a constant");
    let url = base.join(href).ok()?;
    if url.path() == "/y.js" {
        return None;
    }
    let target = url.query_pairs().find(|(name, _)| name == "uddg");
    Some(target.map_or_else(|| url.to_string(), |(_, target)| target.into_owned()))
}

fn told(hits: Vec<Hit>, count: usize) -> String {
    let mut text = String::new();
    let mut seen = Vec::new();
    for hit in hits {
        if seen.len() == count || seen.contains(&hit.url) {
            continue;
        }
        let number = seen.len() + 1;
        let (title, snippet) = (plain(&hit.title), plain(&hit.snippet));
        let _ = writeln!(text, "{number}. {title}\n   {}\n   {snippet}\n", plain(&hit.url));
        seen.push(hit.url);
    }
    text
}

/// One line, no marks, no tricks. So little is read that it can do no harm here.
fn plain(text: &str) -> String {
    let text: String = text.chars().take(4 * SNIPPET_CHARS).collect();
    let whole = html::elements(&text, |element| element.name == "body").unwrap_or_default();
    let words = whole.first().map_or("", |body| body.text.as_str());
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    channels::text::neutralise(&line).chars().take(SNIPPET_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Place;
    use fakes::web::FakeWeb;

    fn provider(server: &FakeWeb, kind: Kind) -> Provider {
        let url = format!("{}/{}", server.url(), format!("{kind:?}").to_lowercase());
        let key = kind.needs_key().then(|| SecretString::from("k-canary"));
        Provider { kind, url: url.parse().unwrap(), key, price_micros: 0 }
    }

    fn tool(server: &FakeWeb, kinds: &[Kind]) -> WebSearch {
        let outside = Outside::new(["127.0.0.1".to_owned()].into()).unwrap();
        let sandbox = Arc::new(Sandbox::off("no page is read here"));
        WebSearch::new(outside, sandbox, kinds.iter().map(|kind| provider(server, *kind)).collect())
    }

    /// MC-22: each service is asked in its own words and understood.
    #[tokio::test]
    async fn every_service_with_an_interface_is_understood() {
        let mut place = Place::new();
        for kind in [Kind::Serper, Kind::Tavily, Kind::Brave, Kind::Searxng] {
            let server = FakeWeb::start().await;
            let wish =
                json!({ "query": "rivers", "count": 2, "freshness": "week", "language": "de" });
            let text = place.runs(&tool(&server, &[kind]), wish).await.unwrap().text;
            assert_eq!(
                text,
                "1. The Elbe & others\n   https://example.org/elbe\n   A river in Europe.\n\n\
                 2. Second\n   https://example.org/two\n   More.\n\n",
                "{kind:?}"
            );
            assert_eq!(server.problems(), Vec::<String>::new(), "{kind:?}");
        }
    }

    /// MC-22: the first answers 500, the second is used; the answer is kept.
    #[tokio::test]
    async fn the_next_is_asked_when_one_fails() {
        let (server, mut place) = (FakeWeb::start().await, Place::new());
        server.fails("/serper", 500);
        server.fails("/tavily", 429);
        let tool = tool(&server, &[Kind::Serper, Kind::Tavily, Kind::Searxng]);
        let wish = json!({ "query": "rivers" });
        let output = place.runs(&tool, wish.clone()).await.unwrap();
        let raw = output.raw.unwrap_or_default();
        assert!(raw.starts_with("Serper answered 500") && raw.contains("; Tavily answered 429"));
        assert!(raw.ends_with("; Searxng answered"), "operators see who did: {raw}");
        let first = output.text;
        assert!(first.contains("Elbe"), "{first}");
        assert_eq!(server.asked().len(), 3);
        assert_eq!(place.runs(&tool, wish.clone()).await.unwrap().text, first);
        assert_eq!(server.asked().len(), 3, "the answer was kept");
        place.context.now += FRESH_FOR;
        place.runs(&tool, wish).await.unwrap();
        assert_eq!(server.asked().len(), 6, "and is not kept for ever");
    }

    /// MC-22: one that hangs is not waited for until the time of the call is over.
    #[tokio::test]
    async fn the_next_is_asked_when_one_hangs() {
        let (server, mut place) = (FakeWeb::start().await, Place::new());
        server.hangs("/serper");
        let mut tool = tool(&server, &[Kind::Serper, Kind::Searxng]);
        assert!(5 * tool.patience < tool.spec().timeout, "all can be asked");
        tool.patience = Duration::from_millis(200);
        let output = place.runs(&tool, json!({ "query": "rivers" })).await.unwrap();
        let raw = output.raw.unwrap_or_default();
        assert_eq!(raw, "Serper did not answer in time; Searxng answered");
        assert!(output.text.contains("Elbe"));
    }

    #[tokio::test]
    async fn when_none_answers_it_is_said_without_keys() {
        let (server, mut place) = (FakeWeb::start().await, Place::new());
        server.fails("/brave", 401);
        let tool = tool(&server, &[Kind::Brave, Kind::Duckduckgo]);
        let error = place.runs(&tool, json!({ "query": "x" })).await.unwrap_err().to_string();
        assert!(error.contains("Brave answered 401"), "{error}");
        assert!(error.contains("no page is read here"), "{error}");
        assert!(!error.contains("canary"), "{error}");
        let none = WebSearch::new(tool.outside.clone(), tool.sandbox.clone(), vec![]);
        let error = place.runs(&none, json!({ "query": "x" })).await.unwrap_err().to_string();
        assert!(error.contains("web.search"), "{error}");
    }

    #[test]
    fn results_come_without_marks_and_tricks() {
        assert_eq!(plain("<b>bold</b> &amp; \n plain<script>x</script>"), "bold & plain");
        assert!(!plain("evil\u{202e}txt").contains('\u{202e}'));
        assert_eq!(
            unwrapped("//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.org%2F%3Fb").as_deref(),
            Some("https://a.org/?b")
        );
        assert_eq!(unwrapped("/y.js?ad_domain=x"), None);
    }
}
