//! Maps our prompt to a provider's request, and its response to our reply.

use genai::chat::{
    Binary, BinarySource, CacheControl, ChatMessage, ChatRequest, ContentPart, MessageContent,
    MessageOptions, StopReason, StreamEnd, Tool, ToolCall, ToolResponse,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ModelError, Reply, vendor::Provider};
use crate::{
    agent::prompt::{Message, Picture, Prompt, ToolSchema},
    journal::{
        event::{Call, Usage},
        ids::CallId,
    },
};

/// The whole request. Only Anthropic needs cache markers; the others cache automatically.
pub(super) fn request(prompt: &Prompt, provider: Provider) -> ChatRequest {
    let caching = provider == Provider::Anthropic;
    let mut all = Vec::new();
    if !prompt.system.is_empty() {
        all.push(cached_if(caching, ChatMessage::system(prompt.system.as_str())));
    }
    let mut dialogue = messages(&prompt.messages, provider);
    if let Some(last) = dialogue.pop() {
        dialogue.push(cached_if(caching, last));
    }
    all.extend(dialogue);
    let request = ChatRequest::new(all);
    if prompt.tools.is_empty() {
        return request;
    }
    request.with_tools(tools(&prompt.tools, provider))
}

fn cached_if(caching: bool, message: ChatMessage) -> ChatMessage {
    if !caching {
        return message;
    }
    message.with_options(MessageOptions::default().with_cache_control(CacheControl::Ephemeral))
}

/// The maximum length of a tool's description for OpenAI and compatible servers, which reject a
/// request with a longer one.
const OPENAI_DESCRIPTION_CHARS: usize = 1024;

fn tools(schemas: &[ToolSchema], provider: Provider) -> Vec<Tool> {
    let (last, caching) = (schemas.len() - 1, provider == Provider::Anthropic);
    let longest = if provider == Provider::OpenAi { OPENAI_DESCRIPTION_CHARS } else { usize::MAX };
    let tool = |(i, schema): (usize, &ToolSchema)| {
        let tool = Tool::new(schema.name.as_str())
            .with_description(cut(&schema.description, longest))
            .with_schema(schema.parameters.clone());
        if caching && i == last { tool.with_cache_control(CacheControl::Ephemeral) } else { tool }
    };
    schemas.iter().enumerate().map(tool).collect()
}

/// Truncates at the end of a word.
fn cut(text: &str, most: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    text[..end].rsplit_once(char::is_whitespace).map_or(&text[..end], |(begin, _)| begin)
}

/// Combines consecutive results into one message, as Anthropic requires. For Ollama each is a
/// separate message, because the client sends only the last of several.
fn messages(messages: &[Message], provider: Provider) -> Vec<ChatMessage> {
    let mut all = Vec::new();
    if !matches!(messages.first(), Some(Message::User { .. }) | None) {
        // The beginning of the dialogue was left out, and some providers require that the user
        // begins.
        all.push(ChatMessage::user("(The dialogue goes on.)"));
    }
    let mut results = Vec::new();
    for message in messages {
        if let Message::Tool { call, text } = message {
            results.push(result(call, text, provider));
            if provider == Provider::Ollama {
                flush(&mut results, &mut all);
            }
            continue;
        }
        flush(&mut results, &mut all);
        match message {
            Message::User { text } => all.push(ChatMessage::user(not_empty(text))),
            Message::Assistant { text, calls } => all.extend(assistant(text, calls, provider)),
            Message::Picture(it) => all.push(picture(it)),
            Message::Tool { .. } => {}
        }
    }
    flush(&mut results, &mut all);
    all
}

fn flush(results: &mut Vec<ToolResponse>, all: &mut Vec<ChatMessage>) {
    if !results.is_empty() {
        let results = std::mem::take(results);
        all.push(ChatMessage::tool(MessageContent::from_tool_responses(results)));
    }
}

/// A separate message for all providers, because tool results cannot contain images everywhere.
fn picture(picture: &Picture) -> ChatMessage {
    let mut parts = vec![ContentPart::from_text(picture.line())];
    if let Some(base64) = &picture.base64 {
        let source = BinarySource::Base64(base64.clone());
        parts.push(ContentPart::Binary(Binary::new(&picture.media_type, source, None)));
    }
    ChatMessage::user(MessageContent::from_parts(parts))
}

fn not_empty(text: &str) -> &str {
    if text.trim().is_empty() { "(empty)" } else { text }
}

fn assistant(text: &str, calls: &[Call], provider: Provider) -> Option<ChatMessage> {
    let said = (!text.trim().is_empty()).then(|| ContentPart::from_text(text));
    let calls = calls.iter().map(|call| ContentPart::ToolCall(tool_call(call, provider)));
    let parts: Vec<_> = said.into_iter().chain(calls).collect();
    (!parts.is_empty()).then(|| ChatMessage::assistant(MessageContent::from_parts(parts)))
}

fn tool_call(call: &Call, provider: Provider) -> ToolCall {
    let mark = Mark::of(call, provider);
    ToolCall {
        call_id: mark.id,
        fn_name: tool_name(&call.tool),
        fn_arguments: match &call.arguments {
            Value::Object(_) => call.arguments.clone(),
            // Providers accept objects only, and the model should see its mistake.
            Value::String(raw) => json!({ "malformed_arguments": raw }),
            other => json!({ "malformed_arguments": other.to_string() }),
        },
        thought_signatures: mark.signatures,
    }
}

fn result(call: &Call, text: &str, provider: Provider) -> ToolResponse {
    ToolResponse::new(Mark::of(call, provider).id, not_empty(text))
        .with_fn_name(tool_name(&call.tool))
}

/// A name that the model made up must not make the provider reject the whole conversation.
fn tool_name(name: &str) -> String {
    let name: String = name.chars().take(64).map(allowed).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

fn allowed(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
}

/// What a provider expects back with a call: its id and, for Gemini, the thought signatures. Both
/// are stored as `Call::model_id`.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    id: String,
    signatures: Option<Vec<String>>,
}

impl Mark {
    /// A different provider than the one that made the call gets our id where it would reject the
    /// original.
    fn of(call: &Call, provider: Provider) -> Self {
        let theirs = Self::read(&call.model_id);
        if provider == Provider::Gemini {
            return theirs;
        }
        let fits = !theirs.id.is_empty() && theirs.id.chars().all(|c| c == allowed(c));
        let id = if fits { theirs.id } else { call.id.as_str().to_owned() };
        Self { id, signatures: None }
    }

    fn read(model_id: &str) -> Self {
        let whole = model_id.starts_with('{').then(|| serde_json::from_str(model_id).ok());
        whole.flatten().unwrap_or_else(|| Self { id: model_id.to_owned(), signatures: None })
    }

    /// Some servers number the calls of each answer from 0, so such an id would repeat.
    fn take(id: &CallId, theirs: String, signatures: Option<Vec<String>>) -> String {
        let id = if theirs.len() < 9 { id.as_str().to_owned() } else { theirs };
        match signatures {
            None => id,
            Some(_) => json!(Self { id, signatures }).to_string(),
        }
    }
}

/// The reply, if the response is valid.
pub(super) fn reply(end: StreamEnd, limit: u32) -> Result<Reply, ModelError> {
    let usage = usage(&end);
    let stop = end.captured_stop_reason.clone();
    let content = end.captured_content.unwrap_or_default();
    let mut text = content.texts().concat();
    let calls = calls(content.into_tool_calls());
    let empty = text.trim().is_empty() && calls.is_empty();
    match stop {
        Some(StopReason::ContentFilter(_)) if empty => {
            let why = "the provider's content filter blocked the answer: rephrase the request";
            return Err(ModelError::Filtered(why.to_owned()));
        }
        Some(StopReason::MaxTokens(why)) if empty && why.contains("context_window") => {
            return Err(ModelError::TooLong("the context window is full".to_owned()));
        }
        Some(StopReason::MaxTokens(_)) if empty => {
            return Err(ModelError::Rejected(format!(
                "all {limit} output tokens were used before the answer began: increase \
                    `max_output_tokens` of the model"
            )));
        }
        Some(StopReason::MaxTokens(_)) if calls.is_empty() => {
            text.push_str("\n\n[cut here: the answer reached its limit of output tokens]");
        }
        _ => {}
    }
    Ok(Reply { text, calls, usage, by: None })
}

fn usage(end: &StreamEnd) -> Usage {
    end.captured_usage.as_ref().map(counted).unwrap_or_default()
}

/// Token counts, if the provider reports them.
pub(super) fn counted(usage: &genai::chat::Usage) -> Usage {
    let count = |n: Option<i32>| n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let details = usage.prompt_tokens_details.as_ref();
    Usage {
        input_tokens: count(usage.prompt_tokens),
        output_tokens: count(usage.completion_tokens),
        cached_tokens: count(details.and_then(|d| d.cached_tokens)),
    }
}

fn calls(theirs: Vec<ToolCall>) -> Vec<Call> {
    let mut seen: Vec<(String, String, Value)> = Vec::new();
    let mut calls = Vec::new();
    for call in theirs {
        // The client fills gaps in the numbering of calls with copies of the next one.
        let key = (call.call_id.clone(), call.fn_name.clone(), call.fn_arguments.clone());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let id = CallId::new();
        calls.push(Call {
            model_id: Mark::take(&id, call.call_id, call.thought_signatures),
            id,
            tool: call.fn_name,
            arguments: arguments(call.fn_arguments),
        });
    }
    calls
}

/// An object or, if the JSON was invalid or not an object, its text.
fn arguments(value: Value) -> Value {
    match value {
        Value::Object(_) => value,
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => Value::Object(object),
            _ => Value::String(text),
        },
        other => Value::String(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(model_id: &str, tool: &str, arguments: Value) -> Call {
        let (id, model_id) = (CallId::from("01"), model_id.to_owned());
        Call { id, model_id, tool: tool.to_owned(), arguments }
    }

    #[test]
    fn a_name_that_the_model_made_up_is_made_fit_for_the_vendor() {
        assert_eq!(tool_name("functions.read file"), "functions_read_file");
        assert_eq!(tool_name(""), "unknown");
        assert_eq!(tool_name(&"x".repeat(99)).len(), 64);
    }

    #[test]
    fn results_that_follow_one_another_are_one_message() {
        let call = call("call_123456", "a", json!({}));
        let tool = || Message::Tool { call: call.clone(), text: "ok".into() };
        let calls = vec![call.clone(), call.clone()];
        let user = Message::User { text: "go".into() };
        let all = [user, Message::Assistant { text: String::new(), calls }, tool(), tool()];
        let sent = messages(&all, Provider::Anthropic);
        assert_eq!(sent.len(), 3);
        assert_eq!(sent[2].content.tool_responses().len(), 2);
        assert_eq!(messages(&all, Provider::Ollama).len(), 4);
    }

    #[test]
    fn the_user_begins_even_if_the_beginning_was_left_out() {
        let answer = Message::Assistant { text: "So.".into(), calls: vec![] };
        let sent = messages(&[answer], Provider::Anthropic);
        assert_eq!((sent.len(), &sent[0].role), (2, &genai::chat::ChatRole::User));
    }

    #[test]
    fn an_empty_answer_of_the_past_is_left_out() {
        let empty = Message::Assistant { text: " ".into(), calls: vec![] };
        let user = Message::User { text: "go".into() };
        assert_eq!(messages(&[user, empty], Provider::OpenAi).len(), 1);
    }

    #[test]
    fn broken_arguments_go_back_as_an_object() {
        let sent = tool_call(&call("call_123456", "a", json!("{\"path\": ")), Provider::OpenAi);
        assert_eq!(sent.fn_arguments, json!({ "malformed_arguments": "{\"path\": " }));
    }

    #[test]
    fn the_signatures_of_gemini_survive_the_journal() {
        let kept = Mark::take(&CallId::from("01"), "call_123456".into(), Some(vec!["s".into()]));
        let call = call(&kept, "a", json!({}));
        let sent = tool_call(&call, Provider::Gemini);
        assert_eq!(sent.call_id, "call_123456");
        assert_eq!(sent.thought_signatures, Some(vec!["s".to_owned()]));
        assert_eq!(tool_call(&call, Provider::Anthropic).thought_signatures, None);
    }

    #[test]
    fn an_id_that_another_vendor_would_refuse_is_replaced_by_ours() {
        let sent = |id| tool_call(&call(id, "a", json!({})), Provider::Anthropic).call_id;
        assert_eq!(sent("call#a#0"), "01");
        assert_eq!(sent(""), "01");
        assert_eq!(sent("toolu_Ab-9"), "toolu_Ab-9");
    }

    #[test]
    fn an_id_that_would_come_again_is_replaced_by_ours() {
        assert_eq!(Mark::take(&CallId::from("01"), "call_0".into(), None), "01");
        assert_eq!(Mark::take(&CallId::from("01"), "call_Abc12".into(), None), "call_Abc12");
    }

    #[test]
    fn a_copy_of_a_call_is_dropped_and_two_calls_are_kept() {
        let theirs = |id: &str, arguments: Value| ToolCall {
            call_id: id.into(),
            fn_name: "a".into(),
            fn_arguments: arguments,
            thought_signatures: None,
        };
        let same = calls(vec![theirs("call_1", json!({})), theirs("call_1", json!({}))]);
        assert_eq!(same.len(), 1);
        let two = calls(vec![theirs("call_1", json!({})), theirs("call_2", json!({}))]);
        assert_eq!(two.len(), 2);
        assert_ne!(two[0].id, two[1].id);
    }

    #[test]
    fn arguments_are_an_object_or_the_raw_text() {
        assert_eq!(arguments(json!("")), json!({}));
        assert_eq!(arguments(Value::Null), json!({}));
        assert_eq!(arguments(json!("{\"a\":1}")), json!({ "a": 1 }));
        assert_eq!(arguments(json!("{\"a\":")), json!("{\"a\":"));
        assert_eq!(arguments(json!([1])), json!("[1]"));
    }

    #[test]
    fn an_answer_that_hit_its_limit_says_so() {
        let end = |text: &str| StreamEnd {
            captured_stop_reason: Some(StopReason::MaxTokens("length".into())),
            captured_content: Some(MessageContent::from_text(text)),
            ..StreamEnd::default()
        };
        assert!(reply(end("half an"), 7).expect("a reply").text.contains("[cut here"));
        let nothing = reply(end(""), 7).expect_err("nothing was said");
        assert!(matches!(nothing, ModelError::Rejected(why) if why.contains("max_output_tokens")));
    }
}
