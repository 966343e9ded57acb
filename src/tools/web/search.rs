//! `web_search`: returns the results of the first search provider that answers.

use async_trait::async_trait;
use hashlink::LinkedHashMap;
use parking_lot::Mutex;
use renderers::read::html;
use sandbox::Sandbox;
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc, time::Duration};
use tokio::time::timeout;

use super::{
    client::{WebClient, WebResponse},
    provider_requests::{MARKS, listed, page, search_request},
    providers::{Hit, SearchEngine, SearchProvider, SearchQuery},
};
use crate::{
    agent::catalog::{Subject, Tier, ToolSpec, Variable},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        workspace::confined_reader,
    },
};

const SNIPPET_CHARS: usize = 400;
/// The timeout of one provider, after which the next one is used.
const ANSWER_FOR: Duration = Duration::from_secs(8);
const VENDOR_TIMES: u32 = 4;
/// The timeout of a call, or longer if its providers need more. The remaining time is left for the
/// rest of the call.
const TIMEOUT: Duration = Duration::from_mins(1);
const REST_OF_CALL: Duration = Duration::from_secs(10);
/// How long a response is cached, and the maximum number of cached responses.
const FRESH_FOR: chrono::TimeDelta = chrono::TimeDelta::minutes(10);
const KEPT: usize = 256;

/// Why a provider has no results, in words.
enum SearchProblem {
    /// It has rejected the query, or did not get it.
    NotRun(String),
    /// It has searched, or may have done so, which has to be paid for.
    Ran(String),
}

/// `web_search`
pub struct WebSearch {
    web_client: WebClient,
    /// The sandbox in which pages are parsed.
    sandbox: Arc<Sandbox>,
    providers: Vec<SearchProvider>,
    /// The missing keys of other providers.
    missing: Vec<Variable>,
    answer_for: Duration,
    kept: Mutex<LinkedHashMap<SearchQuery, (chrono::DateTime<chrono::Utc>, String)>>,
}

impl WebSearch {
    pub fn new(
        web_client: WebClient,
        sandbox: Arc<Sandbox>,
        providers: Vec<SearchProvider>,
    ) -> Self {
        let (missing, kept) = <_>::default();
        Self { web_client, sandbox, providers, missing, answer_for: ANSWER_FOR, kept }
    }

    /// Sets the missing variables of other providers.
    #[must_use]
    pub fn missing(self, missing: Vec<Variable>) -> Self {
        Self { missing, ..self }
    }

    fn kept(&self, search: &SearchQuery, now: chrono::DateTime<chrono::Utc>) -> Option<String> {
        let kept = self.kept.lock();
        let (at, text) = kept.get(search)?;
        (now - *at < FRESH_FOR).then(|| text.clone())
    }

    fn keep(&self, search: SearchQuery, now: chrono::DateTime<chrono::Utc>, text: String) {
        let mut kept = self.kept.lock();
        kept.insert(search, (now, text));
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }

    /// How long a provider has.
    fn time_of(&self, provider: &SearchProvider) -> Duration {
        // A language model reads what it finds before it answers.
        self.answer_for * if provider.kind.needs_model() { VENDOR_TIMES } else { 1 }
    }

    async fn ask(
        &self,
        provider: &SearchProvider,
        search: &SearchQuery,
    ) -> Result<Vec<Hit>, SearchProblem> {
        let answered = timeout(self.time_of(provider), async {
            let answer = self.answer(provider, search).await.map_err(SearchProblem::NotRun)?;
            self.hits(provider, answer).await.map_err(SearchProblem::Ran)
        });
        // The provider may finish the search, and charge for it, after the timeout.
        let late = |_| Err(SearchProblem::Ran("did not answer in time".into()));
        answered.await.unwrap_or_else(late)
    }

    async fn answer(
        &self,
        provider: &SearchProvider,
        search: &SearchQuery,
    ) -> Result<WebResponse, String> {
        let ask = search_request(provider, search).ok_or("its key is not a valid header")?;
        let answer = self.web_client.send(ask).await.map_err(|problem| problem.to_string())?;
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(format!("answered {}", answer.status))
        }
    }

    async fn hits(
        &self,
        provider: &SearchProvider,
        answer: WebResponse,
    ) -> Result<Vec<Hit>, String> {
        let body = String::from_utf8_lossy(&answer.body);
        let hits = match provider.kind {
            SearchEngine::Duckduckgo => {
                let found =
                    confined_reader::elements(&self.sandbox, &MARKS, body.into_owned()).await;
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
            timeout: self
                .providers
                .iter()
                .map(|one| self.time_of(one))
                .sum::<Duration>()
                .saturating_add(REST_OF_CALL)
                .max(TIMEOUT),
            env: if self.providers.is_empty() { self.missing.clone() } else { Vec::new() },
            ..ToolSpec::read_only(
                "web_search",
                "Searches the web: title, URL and a snippet of each result.\nRead a result with \
                    web_fetch.",
                schema::<SearchQuery>(),
            )
        }
    }

    /// The price of all providers, since each may find nothing and charge for it.
    fn estimated_cost(&self, _arguments: &Value) -> Option<u64> {
        let prices = self.providers.iter().map(|provider| provider.price_micros);
        Some(prices.sum()).filter(|price| *price > 0)
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let search: SearchQuery = parse(arguments)?;
        if search.query.trim().is_empty() {
            return Err(ToolError::InvalidParameters("the query is empty".into()));
        }
        if let Some(text) = self.kept(&search, context.now) {
            return Ok(Output::text(text));
        }
        let (mut problems, mut cost_micros) = (Vec::new(), 0);
        for provider in &self.providers {
            match self.ask(provider, &search).await {
                Ok(hits) => {
                    cost_micros += provider.price_micros;
                    let text = format_hits(hits, search.count());
                    self.keep(search, context.now, text.clone());
                    problems.push(format!("{:?} answered", provider.kind));
                    let cost_micros = Some(cost_micros).filter(|cost| *cost > 0);
                    let raw = Some(problems.join("; "));
                    return Ok(Output { raw, cost_micros, ..Output::text(text) });
                }
                Err(SearchProblem::Ran(problem)) => {
                    cost_micros += provider.price_micros;
                    problems.push(format!("{:?} {problem}", provider.kind));
                }
                Err(SearchProblem::NotRun(problem)) => {
                    problems.push(format!("{:?} {problem}", provider.kind));
                }
            }
        }
        let error = ToolError::ExternalService(match problems.as_slice() {
            [] => "no search provider is configured (web.search)".into(),
            _ => format!("no provider answered: {}", problems.join("; ")),
        });
        Err(match cost_micros {
            0 => error,
            cost_micros => ToolError::Billed { error: Box::new(error), cost_micros },
        })
    }
}

fn format_hits(hits: Vec<Hit>, count: usize) -> String {
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

/// The text on one line, without markup. It is short enough to be parsed in this process.
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
    use crate::tools::testing::ToolFixture;
    use fakes::web::FakeWeb;
    use secrecy::SecretString;
    use serde_json::json;

    fn provider(server: &FakeWeb, kind: SearchEngine) -> SearchProvider {
        let url = format!("{}/{}", server.url(), format!("{kind:?}").to_lowercase());
        let key = kind.needs_key().then(|| SecretString::from("k-canary"));
        let model = "a-model".to_owned();
        SearchProvider { kind, url: url.parse().unwrap(), key, model, price_micros: 0 }
    }

    fn tool(server: &FakeWeb, kinds: &[SearchEngine]) -> WebSearch {
        let web_client = WebClient::new(["127.0.0.1".to_owned()].into()).unwrap();
        let sandbox = Arc::new(Sandbox::off("no page is read here"));
        WebSearch::new(
            web_client,
            sandbox,
            kinds.iter().map(|kind| provider(server, *kind)).collect(),
        )
    }

    async fn finds_two_results(place: &mut ToolFixture, kind: SearchEngine) {
        let server = FakeWeb::start().await;
        let search =
            json!({ "query": "rivers", "count": 2, "freshness": "week", "language": "de" });
        let text = place.runs(&tool(&server, &[kind]), search).await.unwrap().text;
        assert_eq!(
            text,
            "1. The Elbe & others\n   https://example.org/elbe\n   A river in Europe.\n\n\
             2. Second\n   https://example.org/two\n   More.\n\n",
            "{kind:?}"
        );
        assert_eq!(server.problems(), Vec::<String>::new(), "{kind:?}");
    }

    /// Each provider gets a request in its format, and its response is parsed.
    /// Proves MC-22.
    #[tokio::test]
    async fn every_service_with_an_interface_is_understood() {
        let mut place = ToolFixture::new();
        for kind in
            [SearchEngine::Serper, SearchEngine::Tavily, SearchEngine::Brave, SearchEngine::Searxng]
        {
            finds_two_results(&mut place, kind).await;
        }
    }

    /// The models of vendors search on their servers; what they cite are the results.
    /// Proves MC-22.
    #[tokio::test]
    async fn citations_of_the_provider_become_results() {
        let mut place = ToolFixture::new();
        for kind in [SearchEngine::OpenAi, SearchEngine::Anthropic, SearchEngine::Gemini] {
            finds_two_results(&mut place, kind).await;
        }
        let server = FakeWeb::start().await;
        let refused = json!({ "content": [{
            "type": "web_search_tool_result",
            "content": { "type": "web_search_tool_result_error", "error_code": "max_uses_exceeded" },
        }] });
        server.says("/anthropic", "application/json", refused.to_string());
        let tool = tool(&server, &[SearchEngine::Anthropic, SearchEngine::Searxng]);
        let output = place.runs(&tool, json!({ "query": "rivers" })).await.unwrap();
        let raw = output.raw.unwrap_or_default();
        assert_eq!(raw, "Anthropic could not search (max_uses_exceeded); Searxng answered");
    }

    /// The first answers 500, the second is used; the response is cached.
    /// Proves MC-22.
    #[tokio::test]
    async fn the_next_is_asked_when_one_fails() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        server.fails("/serper", 500);
        server.fails("/tavily", 429);
        let tool =
            tool(&server, &[SearchEngine::Serper, SearchEngine::Tavily, SearchEngine::Searxng]);
        let search = json!({ "query": "rivers" });
        let output = place.runs(&tool, search.clone()).await.unwrap();
        let raw = output.raw.unwrap_or_default();
        assert!(raw.starts_with("Serper answered 500") && raw.contains("; Tavily answered 429"));
        assert!(raw.ends_with("; Searxng answered"), "operators see who did: {raw}");
        let first = output.text;
        assert!(first.contains("Elbe"), "{first}");
        assert_eq!(server.asked().len(), 3);
        assert_eq!(place.runs(&tool, search.clone()).await.unwrap().text, first);
        assert_eq!(server.asked().len(), 3, "the answer was kept");
        place.context.now += FRESH_FOR;
        place.runs(&tool, search).await.unwrap();
        assert_eq!(server.asked().len(), 6, "and is not kept forever");
    }

    /// A provider that hangs does not use up the time limit of the call.
    /// Proves MC-22.
    #[tokio::test]
    async fn the_next_is_asked_when_one_hangs() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        server.hangs("/serper");
        let mut tool = tool(&server, &[SearchEngine::Serper, SearchEngine::Searxng]);
        tool.answer_for = Duration::from_millis(200);
        let output = place.runs(&tool, json!({ "query": "rivers" })).await.unwrap();
        let raw = output.raw.unwrap_or_default();
        assert_eq!(raw, "Serper did not answer in time; Searxng answered");
        assert!(output.text.contains("Elbe"));
    }

    /// A provider is paid for that has searched and found nothing, also if another answers. One that
    /// has rejected the query is not.
    #[tokio::test]
    async fn all_searches_are_paid_for() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        let kinds = [
            SearchEngine::Anthropic,
            SearchEngine::OpenAi,
            SearchEngine::Serper,
            SearchEngine::Tavily,
        ];
        let mut tool = tool(&server, &kinds);
        for (provider, price) in tool.providers.iter_mut().zip([1, 20, 300, 4_000]) {
            provider.price_micros = price;
        }
        tool.answer_for = Duration::from_millis(200);
        server.says("/anthropic", "application/json", json!({ "content": [] }).to_string());
        server.hangs("/openai");
        server.fails("/serper", 500);
        let search = json!({ "query": "rivers" });
        assert_eq!(tool.estimated_cost(&search), Some(4_321));
        let output = place.runs(&tool, search.clone()).await.unwrap();
        assert_eq!(output.cost_micros, Some(4_021));
        server.fails("/tavily", 500);
        place.context.now += FRESH_FOR;
        let failed = place.runs(&tool, search).await.unwrap_err();
        let ToolError::Billed { error, cost_micros } = failed else { panic!("{failed}") };
        assert_eq!(cost_micros, 21);
        assert!(matches!(*error, ToolError::ExternalService(_)), "{error}");
    }

    /// Every provider can use up its time.
    #[tokio::test]
    async fn the_time_is_enough_for_all_providers() {
        let server = FakeWeb::start().await;
        let vendors = [SearchEngine::OpenAi, SearchEngine::Anthropic, SearchEngine::Gemini];
        for kinds in [&vendors[..], &[SearchEngine::Serper; 5], &[SearchEngine::Searxng]] {
            let tool = tool(&server, kinds);
            let times = tool.providers.iter().map(|provider| tool.time_of(provider));
            assert!(times.sum::<Duration>() < tool.spec().timeout, "{kinds:?}");
        }
    }

    #[tokio::test]
    async fn when_none_answers_it_is_said_without_keys() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        server.fails("/brave", 401);
        let tool = tool(&server, &[SearchEngine::Brave, SearchEngine::Duckduckgo]);
        let error = place.runs(&tool, json!({ "query": "x" })).await.unwrap_err().to_string();
        assert!(error.contains("Brave answered 401"), "{error}");
        assert!(error.contains("no page is read here"), "{error}");
        assert!(!error.contains("canary"), "{error}");
        let none = WebSearch::new(tool.web_client.clone(), tool.sandbox.clone(), vec![]);
        let error = place.runs(&none, json!({ "query": "x" })).await.unwrap_err().to_string();
        assert!(error.contains("web.search"), "{error}");
    }

    #[test]
    fn results_come_without_marks_and_tricks() {
        assert_eq!(plain("<b>bold</b> &amp; \n plain<script>x</script>"), "bold & plain");
        assert!(!plain("evil\u{202e}txt").contains('\u{202e}'));
    }
}
