//! Holds a request against the wire: what the real servers would refuse, this one refuses.

use serde_json::Value;
use std::collections::BTreeSet;

use super::Request;

type Check = Result<(), String>;

fn need(holds: bool, problem: impl Into<String>) -> Check {
    if holds { Ok(()) } else { Err(problem.into()) }
}

fn has_header(request: &Request, name: &str, starts: &str) -> Check {
    let value = request.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    need(
        value.starts_with(starts) && value.len() > starts.len(),
        format!("header {name} is missing"),
    )
}

fn common(body: &Value) -> Result<&Vec<Value>, String> {
    need(body.is_object(), "the body is no JSON object")?;
    need(body["model"].as_str().is_some_and(|m| !m.is_empty()), "`model` is missing")?;
    let messages = body["messages"].as_array().ok_or("`messages` is missing")?;
    need(!messages.is_empty(), "`messages` is empty")?;
    if let Some(t) = body.get("temperature") {
        need(t.as_f64().is_some_and(|t| (0.0..=2.0).contains(&t)), "`temperature` is not 0 to 2")?;
    }
    Ok(messages)
}

fn name(value: &Value) -> Check {
    let name = value.as_str().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    need(
        !name.is_empty() && name.len() <= 64 && name.chars().all(fits),
        format!("`{name}` is no name of a tool"),
    )
}

/// The first bytes match the declared type.
fn picture(media_type: &str, base64: &str) -> Check {
    let begins = match media_type {
        "image/jpeg" => "/9j/",
        "image/png" => "iVBORw0KGgo",
        other => return Err(format!("`{other}` is no type of a picture that is taken")),
    };
    need(base64.starts_with(begins), format!("a picture is no {media_type}"))?;
    let whole = base64.len().is_multiple_of(4) && !base64.contains(char::is_whitespace);
    need(whole, "a picture is no base64")
}

fn schema(value: &Value) -> Check {
    need(value["type"] == "object", "the schema of a tool must be of type object")
}

/// <https://platform.openai.com/docs/api-reference/chat/create>
pub(super) fn openai(request: &Request) -> Check {
    has_header(request, "authorization", "Bearer ")?;
    let body = &request.body;
    let messages = common(body)?;
    if let Some(tools) = body.get("tools") {
        let tools = tools.as_array().filter(|t| !t.is_empty()).ok_or("`tools` is empty")?;
        for tool in tools {
            need(tool["type"] == "function", "the type of a tool must be function")?;
            name(&tool["function"]["name"])?;
            let description = tool["function"]["description"].as_str().unwrap_or_default();
            need(description.chars().count() <= 1024, "a description is too long")?;
            schema(&tool["function"]["parameters"])?;
        }
    }
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        need(open.is_empty() || role == "tool", "a call is not followed by its result")?;
        match role {
            "system" | "developer" | "user" => {
                let content = &message["content"];
                need(content.is_string() || content.is_array(), "`content` is missing")?;
                let images = content.as_array().into_iter().flatten();
                for image in images.filter(|part| part["type"] == "image_url") {
                    need(role == "user", "only a user shows pictures")?;
                    let url = image["image_url"]["url"].as_str().unwrap_or_default();
                    let (head, data) = url.split_once(";base64,").unwrap_or_default();
                    picture(head.trim_start_matches("data:"), data)?;
                }
            }
            "assistant" => open = openai_calls(message)?,
            "tool" => {
                let id = message["tool_call_id"].as_str().ok_or("`tool_call_id` is missing")?;
                need(message["content"].is_string(), "a result has no content")?;
                let at = open.iter().position(|o| o == id);
                open.remove(at.ok_or(format!("the result {id} follows no call"))?);
            }
            other => return Err(format!("there is no role `{other}`")),
        }
    }
    need(open.is_empty(), "the last calls have no results")
}

fn openai_calls(message: &Value) -> Result<Vec<String>, String> {
    let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
    let says = message["content"].as_str().is_some_and(|c| !c.is_empty());
    need(says || !calls.is_empty(), "the assistant neither says nor calls anything")?;
    let mut ids = Vec::new();
    for call in &calls {
        need(call["type"] == "function", "the type of a call must be function")?;
        name(&call["function"]["name"])?;
        let arguments = call["function"]["arguments"].as_str().ok_or("arguments must be text")?;
        let read: Value = serde_json::from_str(arguments).unwrap_or_default();
        need(read.is_object(), "the arguments of a call must be a JSON object as text")?;
        ids.push(call["id"].as_str().ok_or("a call has no id")?.to_owned());
    }
    Ok(ids)
}

/// <https://docs.anthropic.com/en/api/messages>
pub(super) fn anthropic(request: &Request) -> Check {
    // Either is taken: older clients send the first, newer ones the second.
    has_header(request, "x-api-key", "")
        .or_else(|_| has_header(request, "authorization", "Bearer "))?;
    has_header(request, "anthropic-version", "20")?;
    let body = &request.body;
    let messages = common(body)?;
    need(body["max_tokens"].as_u64().is_some_and(|n| n > 0), "`max_tokens` is missing")?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        name(&tool["name"])?;
        schema(&tool["input_schema"])?;
    }
    need(messages[0]["role"] == "user", "the first message must be the user's")?;
    let cached = count_cached(body);
    need(cached <= 4, format!("{cached} blocks with cache_control, at most 4 are allowed"))?;
    let mut ids = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        let blocks = blocks(&message["content"])?;
        match message["role"].as_str().unwrap_or_default() {
            "user" => answer(&mut open, &blocks)?,
            "assistant" => {
                need(open.is_empty(), "tool_use without tool_result in the next message")?;
                open = uses(&blocks)?;
                for id in &open {
                    need(ids.insert(id.clone()), "tool_use ids must be unique")?;
                }
            }
            other => return Err(format!("there is no role `{other}`")),
        }
    }
    need(open.is_empty(), "the last calls have no results")
}

fn blocks(content: &Value) -> Result<Vec<Value>, String> {
    match content {
        Value::String(text) if !text.is_empty() => {
            Ok(vec![serde_json::json!({ "type": "text", "text": text })])
        }
        Value::Array(blocks) if !blocks.is_empty() => Ok(blocks.clone()),
        _ => Err("a message must have content".to_owned()),
    }
}

/// All results of an assistant's calls are in the one message that follows it.
fn answer(open: &mut Vec<String>, blocks: &[Value]) -> Check {
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "tool_result" => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let at = open.iter().position(|o| o == id);
                open.remove(at.ok_or(format!("the result {id} follows no call"))?);
            }
            "text" => {
                let text = block["text"].as_str().unwrap_or_default();
                need(!text.is_empty(), "text content blocks must be non-empty")?;
            }
            "image" => {
                let source = &block["source"];
                need(source["type"] == "base64", "a picture is given as base64 here")?;
                let media_type = source["media_type"].as_str().unwrap_or_default();
                picture(media_type, source["data"].as_str().unwrap_or_default())?;
            }
            "document" => {}
            other => return Err(format!("a user's block of type `{other}`")),
        }
    }
    need(open.is_empty(), "tool_use without tool_result in the next message")
}

fn uses(blocks: &[Value]) -> Result<Vec<String>, String> {
    let mut ids = Vec::new();
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "tool_use" => {
                name(&block["name"])?;
                need(block["input"].is_object(), "the input of a call must be an object")?;
                ids.push(block["id"].as_str().ok_or("a call has no id")?.to_owned());
            }
            "text" => {
                let text = block["text"].as_str().unwrap_or_default();
                need(!text.trim().is_empty(), "text content blocks must be non-empty")?;
            }
            "thinking" | "redacted_thinking" => {}
            other => return Err(format!("an assistant's block of type `{other}`")),
        }
    }
    Ok(ids)
}

fn count_cached(value: &Value) -> usize {
    match value {
        Value::Object(all) => {
            let own = usize::from(all.contains_key("cache_control"));
            own + all.values().map(count_cached).sum::<usize>()
        }
        Value::Array(all) => all.iter().map(count_cached).sum(),
        _ => 0,
    }
}

/// <https://ai.google.dev/api/generate-content>
pub(super) fn gemini(request: &Request) -> Check {
    has_header(request, "x-goog-api-key", "")?;
    let body = &request.body;
    let contents = body["contents"].as_array().ok_or("`contents` is missing")?;
    need(!contents.is_empty(), "`contents` is empty")?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        for declared in tool["functionDeclarations"].as_array().into_iter().flatten() {
            name(&declared["name"])?;
        }
    }
    let mut open = 0;
    for content in contents {
        let parts = content["parts"].as_array().ok_or("a content has no parts")?;
        need(!parts.is_empty(), "a content has no parts")?;
        let with = |key: &str| parts.iter().filter(|part| part.get(key).is_some()).count();
        let (calls, responses) = (with("functionCall"), with("functionResponse"));
        need(
            open == responses,
            "the number of function response parts must equal the number of function call parts",
        )?;
        for part in parts {
            // Both spellings are taken.
            let data = part.get("inline_data").or(part.get("inlineData"));
            if let Some(data) = data {
                let media_type = data.get("mime_type").or(data.get("mimeType"));
                let media_type = media_type.and_then(Value::as_str).unwrap_or_default();
                picture(media_type, data["data"].as_str().unwrap_or_default())?;
            }
        }
        let role = content["role"].as_str().unwrap_or_default();
        need(matches!(role, "user" | "model"), format!("there is no role `{role}`"))?;
        need(calls == 0 || role == "model", "only the model calls")?;
        open = calls;
    }
    need(open == 0, "the last calls have no results")
}

/// <https://docs.ollama.com/api/chat>; the server itself is lenient, and so loses what is wrong.
pub(super) fn ollama(request: &Request) -> Check {
    let mut open = 0;
    for message in common(&request.body)? {
        let role = message["role"].as_str().unwrap_or_default();
        need(open == 0 || role == "tool", "a call is not followed by its result")?;
        match role {
            "system" | "user" => {
                need(message["content"].is_string(), "`content` is missing")?;
                for image in message["images"].as_array().into_iter().flatten() {
                    picture("image/jpeg", image.as_str().unwrap_or_default())?;
                }
            }
            "assistant" => open = message["tool_calls"].as_array().map_or(0, Vec::len),
            "tool" => {
                need(message["content"].is_string(), "a result has no content")?;
                need(open > 0, "a result follows no call")?;
                open -= 1;
            }
            other => return Err(format!("there is no role `{other}`")),
        }
    }
    need(open == 0, "the last calls have no results")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderMap, HeaderValue};
    use serde_json::json;

    fn request(body: Value) -> Request {
        let mut headers = HeaderMap::new();
        for name in ["authorization", "x-goog-api-key"] {
            headers.insert(name, HeaderValue::from_static("Bearer k"));
        }
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        Request { path: String::new(), headers, body }
    }

    fn refused(check: fn(&Request) -> Check, body: Value, why: &str) {
        let problem = check(&request(body.clone())).expect_err("it is wrong");
        assert!(problem.contains(why), "{problem}: {body}");
    }

    #[test]
    fn requests_that_openai_rejects_are_rejected() {
        let ask = |messages: Value| json!({ "model": "m", "messages": messages });
        let call = |id: &str, arguments: &str| {
            let function = json!({ "name": "a", "arguments": arguments });
            let call = json!({ "id": id, "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        };
        let result = json!({ "role": "tool", "tool_call_id": "c1", "content": "ok" });
        let user = json!({ "role": "user", "content": "hi" });
        assert_eq!(openai(&request(ask(json!([user, call("c1", "{}"), result])))), Ok(()));
        refused(openai, ask(json!([])), "`messages` is empty");
        refused(openai, ask(json!([result])), "follows no call");
        refused(openai, ask(json!([call("c1", "{}"), user])), "not followed by its result");
        refused(openai, ask(json!([call("c1", "{")])), "must be a JSON object");
        refused(openai, ask(json!([{ "role": "bot", "content": "" }])), "no role `bot`");
        let mut tools = ask(json!([user]));
        tools["tools"] = json!([{ "type": "function", "function": { "name": "a b" } }]);
        refused(openai, tools.clone(), "no name of a tool");
        tools["tools"][0]["function"] = json!({ "name": "a", "description": "x".repeat(1025) });
        refused(openai, tools, "a description is too long");
    }

    #[test]
    fn requests_that_anthropic_rejects_are_rejected() {
        let ask = |messages: Value| json!({ "model": "m", "max_tokens": 9, "messages": messages });
        let user = json!({ "role": "user", "content": "hi" });
        let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "a", "input": {} });
        let calls = json!({ "role": "assistant", "content": [used("c1"), used("c2")] });
        let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "" });
        let both = json!({ "role": "user", "content": [result("c1"), result("c2")] });
        let one = json!({ "role": "user", "content": [result("c1")] });
        assert_eq!(anthropic(&request(ask(json!([user, calls, both])))), Ok(()));
        refused(anthropic, ask(json!([user, calls, one])), "without tool_result");
        refused(anthropic, ask(json!([user, calls, both, calls, both])), "must be unique");
        refused(anthropic, ask(json!([both])), "follows no call");
        refused(anthropic, json!({ "model": "m", "messages": [user] }), "`max_tokens`");
        let marked = json!({ "type": "text", "text": "x", "cache_control": {} });
        let much = json!({ "role": "user", "content": vec![marked; 5] });
        refused(anthropic, ask(json!([much])), "at most 4");
    }

    #[test]
    fn requests_that_gemini_and_ollama_would_alter_are_rejected() {
        let called = json!({ "role": "model", "parts": [{ "functionCall": {} }] });
        refused(gemini, json!({ "contents": [called] }), "no results");
        let message = json!({ "role": "assistant", "content": "", "tool_calls": [{}, {}] });
        let tool = json!({ "role": "tool", "content": "ok" });
        let ask = |messages: Value| json!({ "model": "m", "messages": messages });
        refused(ollama, ask(json!([message, tool])), "no results");
        assert_eq!(ollama(&request(ask(json!([message, tool, tool])))), Ok(()));
    }
}
