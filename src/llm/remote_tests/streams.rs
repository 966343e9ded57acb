//! A corpus of recorded responses, each named after its behaviour. Tests what the person sees, and
//! that no truncation or piece boundary changes a call.

use super::*;
use crate::{
    llm::decode::{Broken, Finished, ResponseReader},
    texts::Language,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

struct Stream {
    provider: Provider,
    /// The behaviour.
    name: String,
    /// The status of the response. The file name begins with it if it is not 200.
    status: u16,
    media_type: &'static str,
    body: Vec<u8>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams")
}

fn dialect(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi => "openai",
        Provider::Anthropic => "anthropic",
        Provider::Gemini => "gemini",
        Provider::Ollama => "ollama",
    }
}

fn corpus() -> Vec<Stream> {
    let mut streams = Vec::new();
    for provider in ALL {
        let files = fs::read_dir(folder().join(dialect(provider))).expect("a folder per dialect");
        for path in files.map(|file| file.expect("a file").path()) {
            let media_type = match path.extension().and_then(|extension| extension.to_str()) {
                Some("sse") => "text/event-stream",
                Some("ndjson") => "application/x-ndjson",
                Some("json") => "application/json",
                _ => "text/html",
            };
            let name = path.file_stem().expect("a name").to_string_lossy().replace('-', " ");
            let status = name.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(200);
            let body = fs::read(&path).expect("readable");
            streams.push(Stream { provider, name, status, media_type, body });
        }
    }
    streams
}

/// The responses that are answers.
fn answers() -> impl Iterator<Item = Stream> {
    corpus().into_iter().filter(|stream| stream.status == 200)
}

/// What happens to a call.
fn fate(call: &Call) -> String {
    match &call.arguments {
        Value::String(raw) => format!("✗ {} `{}`", call.tool, raw),
        arguments => format!("▶ {} `{arguments}`", call.tool),
    }
}

/// What the person sees, and which calls are made.
fn outcome(answer: &Result<Reply, ModelError>) -> String {
    match answer {
        Ok(Reply { text, calls, .. }) if text.trim().is_empty() && calls.is_empty() => {
            format!("“{}”", Language::English.words().no_answer)
        }
        Ok(Reply { text, calls, .. }) => {
            let said = (!text.is_empty()).then(|| format!("“{}”", text.replace("\n\n", " ¶ ")));
            said.into_iter().chain(calls.iter().map(fate)).collect::<Vec<_>>().join("; ")
        }
        Err(error) => {
            let attempts = match error {
                ModelError::Retry { .. } => "after 5 attempts: ",
                problem if problem.is_size() => "after the conversation was shortened: ",
                ModelError::Failed(_) => "after 3 attempts: ",
                ModelError::MalformedCall(_) => "after 3 attempts without a delay: ",
                _ => "at once: ",
            };
            format!("{attempts}“{}”", error.user_text(Language::English.words()))
        }
    }
}

/// A table of outcomes with a row per behaviour and a column per dialect.
fn table(outcomes: &BTreeMap<(String, &str), String>) -> String {
    let mut table = String::from(
        "# Responses of language models as they occur\n\n\
         Each file is a response to a request for a streamed answer; its status is 200 unless its \
         name begins with another one. This table shows, for each behaviour and dialect, what the \
         person sees. ▶ is a call that is judged and run with exactly these arguments. ✗ is a call that neither runs nor is put up for approval: the \
         model gets an error that quotes it. A test keeps the table true, and updates it when the \
         variable `COUNTERSIGN_UPDATE_DOCS` is set.\n\n\
         | Behaviour | OpenAI | Anthropic | Gemini | Ollama |\n| --- | --- | --- | --- | --- |\n",
    );
    let names: BTreeSet<_> = outcomes.keys().map(|(name, _)| name).collect();
    for name in names {
        let _ = write!(table, "| {name} |");
        for provider in ALL {
            let found = outcomes.get(&(name.clone(), dialect(provider)));
            let _ = write!(table, " {} |", found.map_or("", String::as_str));
        }
        table.push('\n');
    }
    table
}

/// Over HTTP, in small pieces. What is shown while the answer is streamed becomes the answer.
#[tokio::test]
async fn each_response_has_the_outcome_that_the_table_says() {
    let mut outcomes = BTreeMap::new();
    for Stream { provider, name, status, media_type, body } in corpus() {
        let llm = FakeLlm::start().await;
        llm.will(llm::raw_with_status(status, media_type, body));
        let (answer, heard) = ask(&model(&llm, provider), &hello()).await;
        let drafts: String = heard.concat();
        assert!(!drafts.contains("Hm.") || heard.iter().any(String::is_empty), "{name}: {drafts}");
        if let Ok(reply) = &answer {
            let last = heard.rsplit(String::is_empty).next().unwrap_or_default().concat();
            assert!(reply.text.starts_with(&last), "{name}: {last} became {}", reply.text);
        }
        outcomes.insert((name, dialect(provider)), outcome(&answer));
    }
    assert!(outcomes.len() >= 150, "a part of the corpus is missing");
    let (path, table) = (folder().join("README.md"), table(&outcomes));
    if std::env::var_os("COUNTERSIGN_UPDATE_DOCS").is_some() {
        fs::write(&path, &table).expect("writable");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, table, "run again with COUNTERSIGN_UPDATE_DOCS=1");
}

/// A call as it would run.
#[derive(Debug, PartialEq)]
struct Made {
    tool: String,
    arguments: Value,
}

/// The calls that would run, and the text, if these pieces arrive.
fn received(provider: Provider, pieces: &[&[u8]]) -> Result<(Vec<Made>, String), String> {
    let finished = finished(provider, pieces).map_err(|broken| format!("{broken:?}"))?;
    let reply = crate::llm::reply::reply(finished.draft, 9).map_err(|error| error.to_string())?;
    let runnable = reply.calls.into_iter().filter(|call| call.arguments.is_object());
    let made = runnable.map(|Call { tool, arguments, .. }| Made { tool, arguments });
    Ok((made.collect(), reply.text))
}

fn finished(provider: Provider, pieces: &[&[u8]]) -> Result<Finished, Broken> {
    let mut reading = ResponseReader::new(provider, ToolCalls::Native);
    for piece in pieces {
        reading.push(piece)?;
    }
    reading.finish()
}

/// Cutting a response at any byte never causes a panic, nor a call with arguments that differ from
/// those of the whole response.
#[test]
fn no_cut_changes_the_arguments_of_a_call() {
    let mut cuts = 0;
    for Stream { provider, name, body, .. } in answers() {
        let whole = received(provider, &[&body]).map_or(vec![], |(calls, _)| calls);
        for end in 0..body.len() {
            cuts += 1;
            let cut = received(provider, &[&body[..end]]).map_or(vec![], |(calls, _)| calls);
            assert!(cut.iter().all(|call| whole.contains(call)), "{name} at {end}: {cut:?}");
        }
    }
    assert!(cuts > 40_000, "{cuts} cuts");
}

#[test]
fn no_boundary_of_the_pieces_changes_an_answer() {
    for Stream { provider, name, body, .. } in answers() {
        let whole = received(provider, &[&body]);
        for at in 0..body.len() {
            let (first, second) = body.split_at(at);
            assert_eq!(received(provider, &[first, second]), whole, "{name} at {at}");
        }
    }
}

/// A call that is written as text keeps what looks like reasoning, is not taken from reasoning, and
/// does not run if a character was lost.
#[tokio::test]
async fn a_call_in_text_is_made_exactly_as_it_is_written() {
    let call = |path: &str| {
        let call = json!({ "name": "read_file", "arguments": { "path": path } });
        format!("<tool_call>{call}</tool_call>")
    };
    let said = format!("<think>{}</think>Let me look. {}", call("no"), call("<think>a</think>"));
    let event = |text: &str| json!({ "choices": [{ "delta": { "content": text } }] });
    let end = "data: [DONE]\n\n";
    let exact = format!("data: {}\n\n{end}", event(&said)).into_bytes();
    let lossy: Vec<u8> = format!("data: {}\n\n{end}", event(&call("@"))).into_bytes();
    let lossy = lossy.into_iter().map(|byte| if byte == b'@' { 0xff } else { byte }).collect();
    for (body, arguments) in [(exact, Some(json!({ "path": "<think>a</think>" }))), (lossy, None)] {
        let llm = FakeLlm::start().await;
        llm.will(llm::raw("text/event-stream", body));
        let config = ModelConfig { tools: ToolCalls::Prompted, ..config(&llm, Provider::OpenAi) };
        let model = RemoteModel::new(config).expect("a whole configuration");
        let (answer, heard) = ask(&model, &hello()).await;
        let Reply { calls, .. } = answer.expect("an answer");
        assert!(!heard.concat().contains("read_file"), "{heard:?}");
        let [call] = &calls[..] else { panic!("{calls:?}") };
        assert_eq!(Some(&call.arguments).filter(|it| it.is_object()).cloned(), arguments);
        let quoted = call.arguments.as_str().unwrap_or_default();
        assert!(!tidies_to_object(quoted), "{quoted}");
    }
}

/// Whether a tool would accept the text as its arguments.
fn tidies_to_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}

/// A response of damaged bytes gives an answer or an error.
#[test]
fn damaged_responses_do_no_harm() {
    let mut dice: u64 = 7;
    let mut roll = |below: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice % below.max(1) as u64) as usize
    };
    for Stream { provider, body, .. } in answers() {
        for _ in 0..20 {
            let mut damaged = body.clone();
            for _ in 0..=roll(4) {
                let at = roll(damaged.len());
                match roll(3) {
                    0 => damaged[at] = roll(256) as u8,
                    1 => drop(damaged.drain(at..(at + roll(9)).min(damaged.len()))),
                    _ => damaged.insert(at, b"{}[]\",:\\\xff\n"[roll(10)]),
                }
            }
            let _ = received(provider, &[&damaged]);
        }
    }
}
