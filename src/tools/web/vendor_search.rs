//! Search by vendors of language models: their model searches on their servers, and cites what it
//! found. The citations become results like those of other providers.
//!
//! - OpenAI: <https://platform.openai.com/docs/guides/tools-web-search>
//! - Anthropic: <https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool>
//! - Gemini: <https://ai.google.dev/gemini-api/docs/google-search>

use serde_json::{Value, json};
use std::fmt::Write as _;
use url::Url;

use super::providers::{Hit, SearchEngine, SearchQuery};

/// The maximum length of the vendor's answer, in tokens, and of its searches.
const ANSWER_TOKENS: u32 = 2_000;
const MAX_SEARCHES: u32 = 3;

/// The address of a request for this model.
pub(super) fn address(kind: SearchEngine, base: &Url, model: &str) -> Url {
    let mut url = base.clone();
    if kind == SearchEngine::Gemini
        && let Ok(mut path) = url.path_segments_mut()
    {
        path.pop_if_empty().push(&format!("{model}:generateContent"));
    }
    url
}

/// The body of a request; `None` for other providers.
pub(super) fn body(kind: SearchEngine, model: &str, search: &SearchQuery) -> Option<Value> {
    let prompt = prompt(search);
    match kind {
        SearchEngine::OpenAi => Some(json!({
            "model": model,
            "input": prompt,
            "tools": [{ "type": "web_search" }],
            "tool_choice": "required",
            "max_output_tokens": ANSWER_TOKENS,
            "store": false,
        })),
        SearchEngine::Anthropic => Some(json!({
            "model": model,
            "max_tokens": ANSWER_TOKENS,
            "messages": [{ "role": "user", "content": prompt }],
            "tools": [{
                "type": "web_search_20250305", "name": "web_search", "max_uses": MAX_SEARCHES,
            }],
        })),
        SearchEngine::Gemini => Some(json!({
            "contents": [{ "role": "user", "parts": [{ "text": prompt }] }],
            "tools": [{ "google_search": {} }],
            "generationConfig": { "maxOutputTokens": ANSWER_TOKENS },
        })),
        _ => None,
    }
}

fn prompt(search: &SearchQuery) -> String {
    let mut prompt = format!(
        "Search the web for: {}\n\nName the {} most relevant pages. For each, say in one sentence \
            what it states about this, and cite it.",
        search.query,
        search.count()
    );
    if let Some(since) = search.freshness {
        let _ = write!(prompt, " Only pages of the last {}.", since.name());
    }
    if let Some(language) = &search.language {
        let _ = write!(prompt, " Prefer pages in the language `{language}`.");
    }
    prompt
}

/// The pages that an answer cites, each with the text that the citation supports, then other pages
/// that were found.
pub(super) fn cited(kind: SearchEngine, answer: &Value) -> Result<Vec<Hit>, String> {
    let hits = match kind {
        SearchEngine::OpenAi => by_openai(answer),
        SearchEngine::Anthropic => by_anthropic(answer)?,
        _ => by_gemini(answer),
    };
    Ok(hits.into_iter().filter(|hit| hit.url.starts_with("http")).collect())
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(of: &Value) -> String {
    of.as_str().unwrap_or_default().to_owned()
}

fn hit(page: &Value, url: &str, snippet: String) -> Hit {
    Hit { title: text(&page["title"]), url: text(&page[url]), snippet }
}

/// The positions of a citation count characters; the text before it is what it supports.
fn by_openai(answer: &Value) -> Vec<Hit> {
    let mut hits = Vec::new();
    let parts = each(&answer["output"]).flat_map(|item| each(&item["content"]));
    for part in parts {
        let whole: Vec<char> = part["text"].as_str().unwrap_or_default().chars().collect();
        let mut from = 0;
        for page in each(&part["annotations"]).filter(|note| note["type"] == "url_citation") {
            let at = |field: &str| {
                let at = page[field].as_u64().and_then(|at| usize::try_from(at).ok());
                at.unwrap_or(whole.len()).min(whole.len())
            };
            let (start, end) = (at("start_index"), at("end_index"));
            let snippet = whole.get(from..start).unwrap_or_default().iter().collect();
            from = from.max(end);
            hits.push(hit(page, "url", snippet));
        }
    }
    hits
}

fn by_anthropic(answer: &Value) -> Result<Vec<Hit>, String> {
    let (mut hits, mut found) = (Vec::new(), Vec::new());
    for block in each(&answer["content"]) {
        let citations = each(&block["citations"]);
        hits.extend(citations.map(|page| hit(page, "url", text(&page["cited_text"]))));
        if block["type"] == "web_search_tool_result" {
            if let Some(code) = block["content"]["error_code"].as_str() {
                let code: String = code.chars().filter(char::is_ascii_graphic).take(40).collect();
                return Err(format!("could not search ({code})"));
            }
            let pages = each(&block["content"]);
            found.extend(pages.map(|page| hit(page, "url", text(&page["page_age"]))));
        }
    }
    hits.append(&mut found);
    Ok(hits)
}

/// Each supported text names the pages that support it by their position.
fn by_gemini(answer: &Value) -> Vec<Hit> {
    let grounding = &answer["candidates"][0]["groundingMetadata"];
    let mut hits: Vec<_> =
        each(&grounding["groundingChunks"]).map(|c| hit(&c["web"], "uri", String::new())).collect();
    for support in each(&grounding["groundingSupports"]) {
        for index in each(&support["groundingChunkIndices"]) {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            let page = index.and_then(|index| hits.get_mut(index));
            if let Some(page) = page.filter(|page| page.snippet.is_empty()) {
                page.snippet = text(&support["segment"]["text"]);
            }
        }
    }
    hits
}
