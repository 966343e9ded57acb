//! The remote model against a server that speaks both wires.

use super::*;
use crate::{
    agent::prompt::{Message, Picture, ToolSchema},
    journal::{event::Call, ids::CallId},
    llm::vendor::Timeouts,
};
use fakes::llm::{self, FakeLlm, Fault};
use serde_json::{Value, json};
use std::{sync::Mutex, time::Duration};

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
    let schema = |name: &str| ToolSchema {
        name: name.into(),
        description: "Does it.".into(),
        parameters: json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
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

/// A person shows a picture, and a tool another.
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

/// A turn in which two tools were called, one of them in broken JSON.
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
    let hear = |piece: &str| heard.lock().expect("not poisoned").push(piece.to_owned());
    let answer = model.reply(prompt, &hear).await;
    (answer, heard.into_inner().expect("not poisoned"))
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

/// Gemini and Ollama send the arguments as they are, and no ids.
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

/// CV-15
#[tokio::test]
async fn tools_and_results_go_out_in_the_vendors_shape() {
    for provider in BOTH {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("Done."));
        ask(&model(&llm, provider), &after_tools()).await.0.expect("an answer");
        assert_eq!(llm.problems(), Vec::<String>::new());
        let body = &llm.requests()[0].body;
        if provider == Provider::OpenAi {
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

#[tokio::test]
async fn anthropic_is_told_what_to_cache() {
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
async fn overload_means_again_not_before_the_vendor_says() {
    for provider in ALL {
        let busy = refused(provider, llm::busy("7")).await;
        assert!(
            matches!(&busy, ModelError::Retry { after: Some(a), .. } if a.as_secs() == 7),
            "{busy}"
        );
        for code in [500, 502, 503, 529, 408] {
            let down = refused(provider, llm::refuse(code, "api_error", "Down.")).await;
            assert!(matches!(down, ModelError::Retry { after: None, .. }), "{code}: {down}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_never_taken_as_whole() {
    for provider in ALL {
        let turn = || llm::text("Delete the file a.txt, but only after you have asked Ann.");
        // When everything is there but the word that it is.
        let after = if BOTH.contains(&provider) { 6 } else { 2 };
        for fault in [
            Fault::Cut { turn: turn(), after: 5 },
            Fault::Short { turn: turn(), after: 5 },
            Fault::Short { turn: llm::text("Now.").call("call_aaaaaa", "list_dir", "{}"), after },
            Fault::Short { turn: turn(), after: 0 },
            Fault::Event { turn: turn(), after: 4, kind: "overloaded_error" },
        ] {
            let told = format!("{provider:?} {fault:?}");
            let cut = refused(provider, fault).await;
            assert!(matches!(cut, ModelError::Retry { .. }), "{told}: {cut}");
        }
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_told_apart() {
    for provider in ALL {
        for (code, kind, message) in [
            (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
            (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            (413, "request_too_large", "Request exceeds the maximum size"),
        ] {
            let long = refused(provider, llm::refuse(code, kind, message)).await;
            assert!(matches!(long, ModelError::TooLong(_)), "{long}");
        }
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do_and_never_the_key() {
    let message = format!("Incorrect API key provided: {KEY}.");
    for (code, kind, hint) in [
        (401, "authentication_error", "OPENAI_API_KEY, or `api_key` of the model `main`"),
        (403, "permission_error", "OPENAI_API_KEY"),
        (404, "not_found_error", "does not know `fake-1`"),
        (400, "invalid_request_error", "does not accept the key"),
        (422, "invalid_request_error", "It says: Incorrect API key provided: [key]."),
        (429, "insufficient_quota", "no credit left"),
        (307, "moved", "check `base_url`"),
    ] {
        let no = refused(Provider::OpenAi, llm::refuse(code, kind, &message)).await;
        assert!(matches!(&no, ModelError::Rejected(why) if why.contains(hint)), "{code}: {no}");
    }
    let invalid = "API key not valid. Please pass a valid API key.";
    let no = refused(Provider::Gemini, llm::refuse(400, "INVALID_ARGUMENT", invalid)).await;
    assert!(no.to_string().contains("check GEMINI_API_KEY"), "{no}");
    let no = refused(Provider::Anthropic, llm::refuse(401, "authentication_error", &message)).await;
    assert!(no.to_string().contains("ANTHROPIC_API_KEY"), "{no}");
}

#[tokio::test]
async fn a_slow_server_is_waited_for_and_a_silent_one_is_not() {
    let (soon, never) = (Duration::from_millis(60), Duration::from_mins(1));
    for provider in ALL {
        let llm = FakeLlm::start().await;
        let mut config = config(&llm, provider);
        config.timeouts.headers = Duration::from_millis(400);
        config.timeouts.read = Duration::from_millis(400);
        let model = RemoteModel::new(config).expect("a whole configuration");
        let turn = || llm::text("Late.");
        llm.will(Fault::SlowFirstToken { turn: turn(), by: soon });
        assert_eq!(ask(&model, &hello()).await.0.expect("an answer").text, "Late.");
        llm.will(Fault::SlowFirstToken { turn: turn(), by: never });
        let silent = ask(&model, &hello()).await.0.expect_err("no answer");
        assert!(silent.to_string().contains("fell silent"), "{silent}");
        llm.will(Fault::SlowHeaders { turn: turn(), by: never });
        let slow = ask(&model, &hello()).await.0.expect_err("no answer");
        assert!(slow.to_string().contains("did not begin"), "{slow}");
        assert!(matches!(slow, ModelError::Retry { .. }));
    }
}

#[tokio::test]
async fn an_answer_that_drips_for_ever_ends() {
    let llm = FakeLlm::start().await;
    llm.will(Fault::SlowFirstToken { turn: llm::text("Late."), by: Duration::from_mins(1) });
    let mut config = config(&llm, Provider::OpenAi);
    config.timeouts.total = Duration::from_millis(200);
    let model = RemoteModel::new(config).expect("a whole configuration");
    let late = ask(&model, &hello()).await.0.expect_err("no answer");
    assert!(
        matches!(&late, ModelError::Retry { reason, .. } if reason.contains("no whole answer"))
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_can_be_tried_again() {
    let llm = FakeLlm::start().await;
    let mut config = config(&llm, Provider::OpenAi);
    config.base_url = Some("http://127.0.0.1:1/v1".parse().expect("a URL"));
    let model = RemoteModel::new(config).expect("a whole configuration");
    let gone = ask(&model, &hello()).await.0.expect_err("no answer");
    assert!(
        matches!(&gone, ModelError::Retry { reason, .. } if reason.contains("cannot be reached"))
    );
}

#[tokio::test]
async fn a_model_without_calls_of_its_own_is_told_of_its_tools_in_words() {
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
fn a_missing_key_is_told_before_the_first_request() {
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

fn seeing(llm: &FakeLlm, provider: Provider) -> RemoteModel {
    RemoteModel::new(ModelConfig { vision: true, ..config(llm, provider) }).expect("whole")
}

/// CA-36: on each wire as its vendor wants it; the next request begins with this one.
#[tokio::test]
async fn ca_36_pictures_go_out_on_every_wire() {
    for provider in ALL {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("Two.")).will(llm::text("Two again."));
        let model = seeing(&llm, provider);
        let mut prompt = with_pictures();
        ask(&model, &prompt).await.0.expect("an answer");
        prompt.messages.push(Message::Assistant { text: "Two.".into(), calls: vec![] });
        prompt.messages.push(user("sure?"));
        ask(&model, &prompt).await.0.expect("an answer");
        assert_eq!(llm.problems(), Vec::<String>::new(), "{provider:?}");
        let bodies: Vec<_> = llm.requests().into_iter().map(|request| request.body).collect();
        let key = if provider == Provider::Gemini { "contents" } else { "messages" };
        let [first, second] = [0, 1].map(|n| without_marks(&bodies[n][key]));
        assert_eq!(first.to_string().matches(JPEG).count(), 2, "{provider:?}: {first}");
        assert!(first.to_string().contains("[picture: inbox/a.jpg]"), "{first}");
        let (first, second) = (first.as_array().expect("a list"), second.as_array().expect("too"));
        assert_eq!(first[..], second[..first.len()], "{provider:?}: T1");
    }
}

/// Where the cache is to begin moves on with each request, and changes nothing that is cached.
fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(all) if all.get("type") == Some(&json!("text")) && all.len() <= 3 => {
            json!({ "type": "text", "text": all["text"] })
        }
        Value::Object(all) => all
            .iter()
            .filter(|(key, _)| *key != "cache_control")
            .map(|(key, value)| (key.clone(), without_marks(value)))
            .collect(),
        Value::Array(all) => all.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

/// One that sees none, as a stand-in for one that does, and one that refuses them, get the line.
#[tokio::test]
async fn a_model_that_sees_nothing_is_told_of_pictures() {
    for provider in ALL {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("I see nothing."));
        ask(&model(&llm, provider), &with_pictures()).await.0.expect("an answer");
        llm.will(llm::refuse(400, "invalid_request_error", "no image input here"));
        llm.will(llm::text("Nor do I."));
        let (answer, heard) = ask(&seeing(&llm, provider), &with_pictures()).await;
        assert_eq!(answer.expect("an answer").text, "Nor do I.");
        assert_eq!(heard[0], "", "what was shown begins again");
        let requests = llm.requests();
        assert!(requests[1].body.to_string().contains(JPEG));
        for blind in [&requests[0], &requests[2]] {
            let body = blind.body.to_string();
            assert!(!body.contains(JPEG), "{provider:?}");
            assert!(body.contains("[picture: b.png, which you cannot see]"), "{body}");
        }
    }
}
