//! Tests of the remote model against a server that speaks the APIs of the providers.

mod pictures;
mod streams;
mod troubles;

use super::*;
use crate::{
    agent::{
        catalog::ToolSchema,
        prompt::{Message, Picture},
    },
    journal::{event::Call, ids::CallId},
    llm::vendor::{Provider, Timeouts},
};
use fakes::llm::{self, FakeLlm, Fault};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const BOTH: [Provider; 2] = [Provider::OpenAi, Provider::Anthropic];
const ALL: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::Ollama];
const KEY: &str = "sk-secret-0123456789";

fn bare(provider: Provider, base_url: Option<&str>) -> ModelConfig {
    let _ = rustls::crypto::ring::default_provider().install_default();
    ModelConfig {
        id: "main".into(),
        provider,
        base_url: base_url.map(|url| url.parse().expect("a URL")),
        api_key: None,
        model: "fake-1".into(),
        tools: ToolCalls::Native,
        vision: false,
        temperature: None,
        max_output_tokens: None,
        timeouts: Timeouts::default(),
    }
}

fn config(llm: &FakeLlm, provider: Provider) -> ModelConfig {
    let url = if BOTH.contains(&provider) { llm.base_url() } else { llm.url.clone() };
    ModelConfig { api_key: Some(KEY.into()), ..bare(provider, Some(&url)) }
}

fn model(llm: &FakeLlm, provider: Provider) -> RemoteModel {
    RemoteModel::new(config(llm, provider)).expect("a whole configuration")
}

fn prompt(messages: Vec<Message>) -> Prompt {
    let schema = |name: &str| {
        Arc::new(ToolSchema {
            name: name.into(),
            description: "Does it.".into(),
            parameters: json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
        })
    };
    Prompt {
        system: "Be brief.".into(),
        tools: vec![schema("read_file"), schema("list_dir")],
        messages,
        max_output_tokens: 500,
    }
}

fn user(text: &str) -> Message {
    Message::User { text: text.into() }
}

/// The beginning of a JPEG.
const JPEG: &str = "/9j/4AAQSkZJRgABAQAA";

/// A conversation with a picture from a person and one from a tool.
fn with_pictures() -> Prompt {
    let picture = |path: &str| {
        Message::Picture(Picture {
            path: path.into(),
            media_type: "image/jpeg".into(),
            digest: "0".repeat(64),
            base64: Some(JPEG.into()),
        })
    };
    let mut prompt = after_tools();
    prompt.messages.insert(1, picture("inbox/a.jpg"));
    prompt.messages.push(picture("b.png"));
    prompt
}

fn hello() -> Prompt {
    prompt(vec![user("Hello")])
}

/// A turn with two tool calls, one of them with invalid JSON.
fn after_tools() -> Prompt {
    let call = |model_id: &str, arguments: Value| Call {
        id: CallId::new(),
        model_id: model_id.into(),
        tool: "read_file".into(),
        arguments,
    };
    let (one, two) = (call("call_000001", json!({ "path": "a" })), call("call_000002", json!("{")));
    let tool = |call: &Call, text: &str| Message::Tool { call: call.clone(), text: text.into() };
    prompt(vec![
        user("Read a"),
        Message::Assistant { text: "So.".into(), calls: vec![one.clone(), two.clone()] },
        tool(&one, "AAA"),
        tool(&two, "Invalid parameters"),
    ])
}

async fn ask(model: &RemoteModel, prompt: &Prompt) -> (Result<Reply, ModelError>, Vec<String>) {
    let heard = Mutex::new(Vec::new());
    let hear = |piece: &str| heard.lock().push(piece.to_owned());
    let answer = model.reply(prompt, &hear).await;
    (answer, heard.into_inner())
}

async fn refused(provider: Provider, answer: impl Into<llm::Answer>) -> ModelError {
    let llm = FakeLlm::start().await;
    llm.will(answer);
    let error = ask(&model(&llm, provider), &hello()).await.0.expect_err("no answer");
    assert_eq!(llm.problems(), Vec::<String>::new());
    assert_eq!(llm.requests().len(), 1, "retries are another's business");
    assert!(!error.to_string().contains(KEY), "{error}");
    assert!(!error.to_string().contains("Be brief"), "{error}");
    error
}

/// A long tool description is truncated for a provider that would reject the whole request.
#[tokio::test]
async fn a_long_description_is_cut_where_it_would_be_refused() {
    for provider in ALL {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("Hello."));
        let mut asked = hello();
        Arc::make_mut(&mut asked.tools[0]).description =
            format!("{}the end", "words and ".repeat(120));
        ask(&model(&llm, provider), &asked).await.0.expect("an answer");
        assert_eq!(llm.problems(), Vec::<String>::new());
        let sent = llm.requests()[0].body.to_string();
        assert!(sent.contains(&"words and ".repeat(100)));
        assert_eq!(sent.contains("the end"), provider != Provider::OpenAi, "{provider:?}");
    }
}

#[tokio::test]
async fn text_streams_and_tokens_are_counted() {
    for provider in ALL {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("Grüße an alle, die dies lesen.").usage(1200, 34, 1000));
        let (answer, heard) = ask(&model(&llm, provider), &hello()).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.text, "Grüße an alle, die dies lesen.");
        assert!(heard.len() > 2 && heard.concat() == answer.text, "{heard:?}");
        let usage = answer.usage;
        assert_eq!(
            (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
            (1200, 34, 1000)
        );
        assert_eq!(llm.problems(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn several_calls_of_one_answer_have_ids_of_ours_and_of_theirs() {
    for provider in BOTH {
        let llm = FakeLlm::start().await;
        let long = json!({ "path": "a/very/long/path, split into many pieces" }).to_string();
        let turn = llm::text("Let me look.").call("call_aaaaaa", "read_file", &long).call(
            "call_bbbbbb",
            "list_dir",
            "{}",
        );
        llm.will(turn);
        let answer = ask(&model(&llm, provider), &hello()).await.0.expect("an answer");
        assert_eq!(answer.text, "Let me look.");
        let [one, two] = &answer.calls[..] else { panic!("{answer:?}") };
        assert_eq!((one.tool.as_str(), one.model_id.as_str()), ("read_file", "call_aaaaaa"));
        assert_eq!(one.arguments["path"], "a/very/long/path, split into many pieces");
        assert_eq!((two.tool.as_str(), &two.arguments), ("list_dir", &json!({})));
        assert!(one.id != two.id && one.id.as_str() != one.model_id);
    }
}

#[tokio::test]
async fn calls_of_one_answer_with_the_same_id_go_back_with_different_ones() {
    for provider in BOTH {
        let llm = FakeLlm::start().await;
        let turn = llm::text("").call("call_aaaaaa", "read_file", "{\"path\":\"a\"}").call(
            "call_aaaaaa",
            "read_file",
            "{\"path\":\"b\"}",
        );
        llm.will(turn);
        let answer = ask(&model(&llm, provider), &hello()).await.0.expect("an answer");
        let [one, two] = &answer.calls[..] else { panic!("{answer:?}") };
        assert_eq!((&one.arguments["path"], &two.arguments["path"]), (&json!("a"), &json!("b")));
        assert_eq!((one.model_id.as_str(), &two.model_id), ("call_aaaaaa", &two.id.to_string()));
    }
}

/// Gemini and Ollama send the arguments as objects, and no ids.
#[tokio::test]
async fn several_calls_without_ids_get_ids_and_their_results_go_back() {
    for provider in [Provider::Gemini, Provider::Ollama] {
        let llm = FakeLlm::start().await;
        let turn =
            llm::text("").call("", "read_file", "{\"path\":\"a\"}").call("", "list_dir", "{}");
        llm.will(turn).will(llm::text("Done."));
        let model = model(&llm, provider);
        let answer = ask(&model, &hello()).await.0.expect("an answer");
        let [one, two] = &answer.calls[..] else { panic!("{answer:?}") };
        assert_eq!((one.tool.as_str(), &one.arguments), ("read_file", &json!({ "path": "a" })));
        assert!(one.model_id != two.model_id && one.id != two.id);
        let tool =
            |call: &Call, text: &str| Message::Tool { call: call.clone(), text: text.into() };
        let (first, second) = (tool(one, "AAA"), tool(two, "BBB"));
        let calls = answer.calls.clone();
        let asked = Message::Assistant { text: String::new(), calls };
        let next = prompt(vec![user("Hello"), asked, first, second]);
        assert_eq!(ask(&model, &next).await.0.expect("an answer").text, "Done.");
        assert_eq!(llm.problems(), Vec::<String>::new());
        let sent = llm.requests()[1].body.to_string();
        assert!(sent.contains("AAA") && sent.contains("BBB"), "{sent}");
        assert_eq!(sent.contains("signature of read_file"), provider == Provider::Gemini, "{sent}");
    }
}

#[tokio::test]
async fn broken_arguments_become_their_raw_text() {
    for provider in BOTH {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("").call("call_aaaaaa", "read_file", "{\"path\": "));
        let answer = ask(&model(&llm, provider), &hello()).await.0.expect("an answer");
        assert_eq!(answer.calls[0].arguments, json!("{\"path\": "));
    }
}

/// Proves CV-15.
#[tokio::test]
async fn tools_and_results_go_out_in_the_vendors_shape() {
    for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini] {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("Done."));
        ask(&model(&llm, provider), &after_tools()).await.0.expect("an answer");
        assert_eq!(llm.problems(), Vec::<String>::new());
        let body = &llm.requests()[0].body;
        if provider == Provider::Gemini {
            let declared = &body["tools"][0]["functionDeclarations"];
            assert_eq!(declared[0]["name"], "read_file", "{body}");
            assert_eq!(declared[1]["name"], "list_dir");
            assert_eq!(declared[0]["description"], "Does it.");
            assert!(declared[0].to_string().contains(r#""path":{"type":"string"}"#), "{declared}");
            let call = &body["contents"][1]["parts"][1]["functionCall"];
            assert_eq!((&call["name"], &call["args"]["path"]), (&json!("read_file"), &json!("a")));
            let result = &body["contents"][2]["parts"][0]["functionResponse"];
            assert_eq!(result["name"], "read_file", "{body}");
            assert!(result.to_string().contains("AAA"), "{result}");
        } else if provider == Provider::OpenAi {
            assert_eq!(body["tools"][0]["type"], "function");
            assert_eq!(body["tools"][0]["function"]["parameters"]["type"], "object");
            assert_eq!(body["tools"][0]["function"]["name"], "read_file");
            assert_eq!(body["messages"][0]["role"], "system");
            assert_eq!(body["messages"][3]["tool_call_id"], "call_000001");
            assert_eq!(body["messages"][4]["content"], "Invalid parameters");
            assert_eq!(body["stream_options"]["include_usage"], true);
        } else {
            assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
            assert_eq!(body["messages"][2]["content"][1]["tool_use_id"], "call_000002");
            assert_eq!(body["messages"][1]["content"][2]["input"]["malformed_arguments"], "{");
            assert_eq!(body["max_tokens"], 500);
        }
    }
}

/// Some servers reject chunked request bodies.
#[tokio::test]
async fn requests_state_the_length_of_their_body() {
    let llm = FakeLlm::start().await;
    llm.will(llm::text("Done."));
    ask(&model(&llm, Provider::OpenAi), &hello()).await.0.expect("an answer");
    let headers = &llm.requests()[0].headers;
    assert!(headers.contains_key("content-length"), "{headers:?}");
    assert!(!headers.contains_key("transfer-encoding"), "{headers:?}");
}

#[tokio::test]
async fn anthropic_requests_mark_what_to_cache() {
    let llm = FakeLlm::start().await;
    llm.will(llm::text("Done."));
    ask(&model(&llm, Provider::Anthropic), &after_tools()).await.0.expect("an answer");
    let body = &llm.requests()[0].body;
    let ephemeral = json!({ "type": "ephemeral" });
    assert_eq!(body["system"][0]["cache_control"], ephemeral);
    assert_eq!(body["tools"][1]["cache_control"], ephemeral);
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert_eq!(body["messages"][2]["content"][1]["cache_control"], ephemeral);
    assert_eq!(body["messages"][0]["content"], "Read a");
}

/// Anthropic rejects calls and results in a request that defines no tools. A summary has none.
#[tokio::test]
async fn a_request_without_tools_declares_those_of_earlier_calls_to_anthropic() {
    let without_tools = |asked: Prompt| Prompt { tools: vec![], ..asked };
    for provider in ALL {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("Done.")).will(llm::text("Done."));
        let model = model(&llm, provider);
        ask(&model, &without_tools(after_tools())).await.0.expect("an answer");
        ask(&model, &without_tools(hello())).await.0.expect("an answer");
        assert_eq!(llm.problems(), Vec::<String>::new());
        let requests = llm.requests();
        let [with_calls, without_calls] = &requests[..] else { panic!("two requests") };
        if provider == Provider::Anthropic {
            let tools = with_calls.body["tools"].as_array().expect("tools");
            let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
            assert_eq!(names, ["read_file"]);
            assert_eq!(with_calls.body["tool_choice"], json!({ "type": "none" }));
        } else {
            assert_eq!(with_calls.body.get("tools"), None, "{provider:?}");
        }
        assert_eq!(without_calls.body.get("tools"), None, "{provider:?}");
        assert_eq!(without_calls.body.get("tool_choice"), None, "{provider:?}");
    }
}

#[tokio::test]
async fn temperature_and_the_lower_limit_of_tokens_are_sent() {
    let llm = FakeLlm::start().await;
    llm.will(llm::text("Done."));
    let mut config = config(&llm, Provider::OpenAi);
    (config.temperature, config.max_output_tokens) = (Some(0.2), Some(64));
    let model = RemoteModel::new(config).expect("a whole configuration");
    ask(&model, &hello()).await.0.expect("an answer");
    let body = &llm.requests()[0].body;
    assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(0.2), &json!(64)));
}

#[tokio::test]
async fn the_name_of_a_model_goes_out_as_it_is() {
    for name in ["qwen-max", "mistral-medium", "gpt-5", "meta/llama-3.1:free"] {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("Done."));
        let mut config = config(&llm, Provider::OpenAi);
        config.model = name.into();
        let model = RemoteModel::new(config).expect("a whole configuration");
        ask(&model, &hello()).await.0.expect("an answer");
        let body = &llm.requests()[0].body;
        assert_eq!(body["model"], name);
        assert_eq!(body.get("reasoning_effort"), None);
    }
}

#[tokio::test]
async fn a_model_without_native_calls_gets_its_tools_as_text() {
    for provider in ALL {
        let llm = FakeLlm::start().await;
        let call = "<tool_call>{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}</tool_call>";
        llm.will(llm::text(&format!("Let me look. {call}")));
        let mut config = config(&llm, provider);
        config.tools = ToolCalls::Prompted;
        let model = RemoteModel::new(config).expect("a whole configuration");
        let (answer, heard) = ask(&model, &after_tools()).await;
        let answer = answer.expect("an answer");
        assert_eq!(
            (answer.text.as_str(), heard.concat().as_str()),
            ("Let me look.", "Let me look. ")
        );
        assert_eq!(answer.calls[0].arguments, json!({ "path": "a" }));
        assert_eq!(llm.problems(), Vec::<String>::new());
        let body = &llm.requests()[0].body;
        assert_eq!(body.get("tools"), None);
        assert!(body.to_string().contains("## Available Tools"));
    }
}

#[test]
fn a_missing_key_is_reported_before_the_first_request() {
    let made = |provider, url| RemoteModel::new(bare(provider, url));
    let no = made(Provider::Gemini, None).err().expect("no key, no model");
    assert!(no.to_string().contains("set GEMINI_API_KEY"), "{no}");
    assert!(made(Provider::Ollama, None).is_ok());
    assert!(made(Provider::OpenAi, Some("http://localhost:8080/v1")).is_ok());
    let odd = made(Provider::OpenAi, Some("file:///etc/passwd")).err();
    assert!(odd.is_some_and(|e| e.to_string().contains("http://")));
}

#[test]
fn an_address_ends_where_the_client_expects_it() {
    let base = |provider, url: &str| bare(provider, Some(url)).base_url().expect("a good address");
    assert_eq!(base(Provider::OpenAi, "http://h:1/v1"), "http://h:1/v1/");
    assert_eq!(base(Provider::OpenAi, "http://h:1"), "http://h:1/v1/");
    assert_eq!(base(Provider::Anthropic, "http://h/proxy/v1/"), "http://h/proxy/v1/");
    assert_eq!(base(Provider::Ollama, "http://h:11434"), "http://h:11434/");
}
