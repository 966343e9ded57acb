//! OpenAI clients talk to agents through `/v1/chat/completions`.

use chrono::TimeDelta;
use countersign::testing::{
    journal::{event::Event, ids::ConversationId, role::Role},
    llm::ModelError,
    scripted::{Gate, answer, call, fail, say, think, wait},
};
use futures::future::join_all;
use regex::Regex;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use std::{sync::LazyLock, time::Duration};

use crate::{
    story,
    support::{
        http::{Served, answered},
        world::World,
    },
};

static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new("number ([0-9]+)").unwrap());

/// A running node that serves OpenAI clients.
async fn running(world: &mut World) -> Served {
    world.config.admin.completions.enabled = true;
    let served = Served::of(world).await;
    served.app.start();
    served
}

async fn ended(served: Served) {
    served.app.stop().await.unwrap();
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

fn body(messages: &[Value]) -> Value {
    json!({ "model": "default", "messages": messages, "temperature": 0.1 })
}

fn post(served: &Served, token: &str, body: &Value) -> RequestBuilder {
    let body = body.to_string();
    served.request(Method::POST, "/v1/chat/completions").bearer_auth(token).body(body)
}

/// The content of a whole answer.
async fn asks(served: &Served, token: &str, messages: &[Value]) -> String {
    let (status, answer) = answered(post(served, token, &body(messages))).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
    answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

/// The status and the code of an error, which has the form of OpenAI's errors.
async fn refused(request: RequestBuilder) -> (u16, String) {
    let (status, answer) = answered(request).await;
    let error = &answer["error"];
    let texts = ["message", "type", "code"].map(|name| error[name].as_str());
    let [Some(message), Some(_), Some(code)] = texts else { panic!("{answer}") };
    assert!(!message.is_empty() && error.get("param").is_some(), "{answer}");
    (status.as_u16(), code.to_owned())
}

/// A streamed answer.
struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    async fn of(served: &Served, token: &str, messages: &[Value]) -> Self {
        let mut body = body(messages);
        body["stream"] = json!(true);
        body["stream_options"] = json!({ "include_usage": true });
        let response = post(served, token, &body).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Self { response, text: String::new() }
    }

    /// Reads until the content contains the text.
    async fn until(&mut self, text: &str) {
        while !self.content().contains(text) {
            assert!(self.read().await, "the stream ended: {}", self.text);
        }
    }

    /// Reads the rest. Returns the content.
    async fn rest(&mut self) -> String {
        while self.read().await {}
        assert!(self.text.trim_end().ends_with("data: [DONE]"), "{}", self.text);
        self.content()
    }

    async fn read(&mut self) -> bool {
        let chunk = tokio::time::timeout(Duration::from_secs(30), self.response.chunk());
        let chunk = chunk.await.expect("a chunk within 30 s").ok().flatten();
        let chunk = chunk.map(|chunk| String::from_utf8(chunk.to_vec()).unwrap());
        self.text.extend(chunk.clone());
        chunk.is_some()
    }

    fn chunks(&self) -> Vec<Value> {
        let whole = self.text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        let data = whole.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    fn content(&self) -> String {
        let chunks = self.chunks();
        let deltas = chunks.iter().map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
        deltas.map(Option::unwrap_or_default).collect()
    }
}

fn last_prompt(world: &World) -> String {
    format!("{:?}", world.prompts().last().unwrap().messages)
}

/// Allows the only open approval.
async fn allows(served: &Served, token: &str) {
    let page = served.get(token, "/approvals?status=pending").await;
    let id = page["items"][0]["id"].as_str().unwrap();
    assert_eq!(page["items"][0]["requester"]["id"], "token:editor", "{page}");
    let allow = Some(json!({ "decision": "allow" }));
    let path = format!("/approvals/{id}/decision");
    assert_eq!(served.ask(token, Method::POST, &path, allow).await.0, StatusCode::OK);
}

/// Waits until an event contains the text.
async fn until_recorded(world: &World, text: &str) {
    let recorded = async {
        while !world.rows_of("events").await.iter().any(|row| row.contains(text)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), recorded).await.expect("it is recorded");
}

async fn events(world: &World, served: &Served) -> Vec<Event> {
    let ids = world.rows_of("completions").await;
    assert!(!ids.is_empty());
    let mut events = Vec::new();
    let owner = served.token("reader", Role::Operator).await;
    let page = served.get(&owner, "/conversations").await;
    for item in page["items"].as_array().unwrap() {
        let id = ConversationId::from(item["id"].as_str().unwrap());
        let entries = served.app.gateway.store.events_after(&id, 0).await.unwrap();
        events.extend(entries.into_iter().map(|entry| entry.event));
    }
    events
}

story! {
    /// A client sends the whole dialogue each time, and the gateway continues its own.
    async fn requests_with_the_same_history_are_one_conversation(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        world.model_will(say("One.")).will(say("Two.")).will(say("Three."));
        let mut messages = vec![json!({ "role": "system", "content": "Be brief." }), user("first")];
        for text in ["second", "/new"] {
            let answer = asks(&served, &token, &messages).await;
            messages.extend([assistant(&format!("{answer}\n")), user(text)]);
        }
        let (_, whole) = answered(post(&served, &token, &body(&messages))).await;
        assert_eq!(whole["choices"][0]["message"]["content"], "Three.", "{whole}");
        assert_eq!((&whole["object"], &whole["model"]), (&json!("chat.completion"), &json!("default")));
        assert_eq!(whole["usage"]["total_tokens"], 110, "{whole}");
        assert_eq!(world.rows_of("conversations").await.len(), 1);
        let prompt = last_prompt(world);
        for text in ["Be brief.", "first", "One.", "second", "Two.", "/new"] {
            assert_eq!(prompt.matches(text).count(), 1, "{text}: {prompt}");
        }
        ended(served).await;
    }
}

story! {
    /// A dialogue that was edited, or is from elsewhere, begins a new conversation. It is quoted,
    /// and counts as untrusted content.
    async fn an_unknown_history_is_quoted_in_a_new_conversation(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        world.model_will(say("One.")).will(say("Two.")).will(say("Three."));
        let first = [user("first")];
        assert_eq!(asks(&served, &token, &first).await, "One.");
        let known = [user("first"), assistant("One."), user("second")];
        assert_eq!(asks(&served, &token, &known).await, "Two.");
        // The conversation has moved on: this is another branch of the dialogue.
        let edited = [user("first"), assistant("One."), user("changed")];
        assert_eq!(asks(&served, &token, &edited).await, "Three.");
        assert_eq!(world.rows_of("conversations").await.len(), 2);
        let prompt = last_prompt(world);
        assert!(prompt.contains("> user: first\\n> assistant: One.\\n\\nchanged"), "{prompt}");
        let events = events(world, &served).await;
        let tainted = events.iter().filter(|event| matches!(event, Event::Tainted { .. })).count();
        assert_eq!(tainted, 1, "{events:?}");
        ended(served).await;
    }
}

story! {
    /// The text grows in chunks, and the whole dialogue is known afterwards.
    async fn an_answer_is_streamed(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        let gate = Gate::new();
        world.model_will(say("Hello there, my dear friend.").pausing(&gate)).will(say("Again."));
        let mut stream = Stream::of(&served, &token, &[user("hi")]).await;
        stream.until("Hello").await;
        assert!(!stream.content().contains("friend"), "{}", stream.text);
        gate.open();
        assert_eq!(stream.rest().await, "Hello there, my dear friend.");
        let chunks = stream.chunks();
        assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
        let [.., end, usage] = &chunks[..] else { panic!("{}", stream.text) };
        assert_eq!(end["choices"][0]["finish_reason"], "stop");
        assert_eq!((&usage["choices"], &usage["usage"]["prompt_tokens"]), (&json!([]), &json!(100)));
        let ids: std::collections::BTreeSet<_> = chunks.iter().map(|c| c["id"].as_str()).collect();
        assert_eq!(ids.len(), 1, "{}", stream.text);
        let next = [user("hi"), assistant("Hello there, my dear friend."), user("and?")];
        assert_eq!(asks(&served, &token, &next).await, "Again.");
        assert_eq!(world.rows_of("conversations").await.len(), 1);
        ended(served).await;
    }
}

story! {
    /// The content says what is asked and where it is decided, and the request waits for it.
    async fn a_request_waits_for_an_approval(world: &mut World) {
        world.guard("{ approvers = [\"requester\", \"role:approver\"] }");
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        let approver = served.token("night shift", Role::Approver).await;
        world.model_will(call("delete", json!({ "path": "a.txt" })).saying("One moment."));
        world.model_will(say("Done."));
        let mut stream = Stream::of(&served, &token, &[user("delete a.txt")]).await;
        stream.until("/console/approvals").await;
        let content = stream.content();
        assert!(content.starts_with("One moment.\n\nAllow **delete**?"), "{content}");
        assert_eq!(world.deletions(), 0);
        allows(&served, &approver).await;
        assert_eq!(stream.rest().await, format!("{content}\n\nDone."));
        assert_eq!(world.deletions(), 1);
        ended(served).await;
    }
}

story! {
    /// At the time limit the client gets what there is. The turn goes on, and the next request
    /// begins with the rest of its answer.
    async fn a_late_answer_comes_with_the_next_request(world: &mut World) {
        world.guard("{ approvers = [\"requester\", \"role:approver\"] }");
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        let approver = served.token("night shift", Role::Approver).await;
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("Deleted.")).will(say("As I said."));
        let mut stream = Stream::of(&served, &token, &[user("delete a.txt")]).await;
        stream.until("/console/approvals").await;
        world.clock.advance(TimeDelta::minutes(10));
        let content = stream.rest().await;
        assert!(content.ends_with("comes with your next message."), "{content}");
        allows(&served, &approver).await;
        until_recorded(world, "Deleted.").await;
        let next = [user("delete a.txt"), assistant(&content), user("so?")];
        assert_eq!(asks(&served, &token, &next).await, "Deleted.\n\nAs I said.");
        assert_eq!((world.deletions(), world.rows_of("conversations").await.len()), (1, 1));
        ended(served).await;
    }
}

story! {
    /// A client that disconnects does not stop the turn. The same request does not run it again
    /// within a minute, and gets its answer.
    async fn a_repeated_request_gets_the_answer_of_the_first(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        let gate = Gate::new();
        world.model_will(wait(&gate)).will(say("Here."));
        let request = body(&[user("hello?")]);
        let lost = tokio::spawn(post(&served, &token, &request).send());
        gate.reached().await;
        lost.abort();
        let again = tokio::spawn(answered(post(&served, &token, &request)));
        gate.open();
        let (status, first) = again.await.unwrap();
        assert_eq!((status, &first["choices"][0]["message"]["content"]), (StatusCode::OK, &json!("Here.")));
        let (_, second) = answered(post(&served, &token, &request)).await;
        assert_eq!(first, second);
        assert_eq!(world.prompts().len(), 1);

        // Another idempotency key, or a minute later: another request.
        world.model_will(say("Hello.")).will(say("Hello again."));
        let keyed = post(&served, &token, &request).header("idempotency-key", "2");
        assert_eq!(answered(keyed).await.1["choices"][0]["message"]["content"], "Hello.");
        world.clock.advance(TimeDelta::minutes(2));
        let (_, later) = answered(post(&served, &token, &request)).await;
        assert_eq!(later["choices"][0]["message"]["content"], "Hello again.");
        assert_eq!(world.rows_of("conversations").await.len(), 3);
        ended(served).await;
    }
}

story! {
    /// A conversation that went on is not repeated: somebody else may have sent the same first
    /// request.
    async fn a_request_never_gets_the_answers_of_later_turns(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        world.model_will(say("Hello.")).will(say("A secret.")).will(say("Welcome."));
        let hello = [user("hello")];
        assert_eq!(asks(&served, &token, &hello).await, "Hello.");
        let known = [user("hello"), assistant("Hello."), user("tell me")];
        assert_eq!(asks(&served, &token, &known).await, "A secret.");
        assert_eq!(asks(&served, &token, &hello).await, "Welcome.");
        assert_eq!(world.rows_of("conversations").await.len(), 2);
        // Both go on.
        world.model_will(say("More.")).will(say("Other."));
        let more = [&known[..], &[assistant("A secret."), user("more")]].concat();
        assert_eq!(asks(&served, &token, &more).await, "More.");
        let other = [user("hello"), assistant("Welcome."), user("other")];
        assert_eq!(asks(&served, &token, &other).await, "Other.");
        assert_eq!(world.rows_of("conversations").await.len(), 2);
        ended(served).await;
    }
}

story! {
    /// An answered request stays answered when a later turn of its conversation fails.
    async fn a_later_failure_does_not_undo_an_answer(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        world.model_will(say("One.")).will(say("Two."));
        world.model_will(fail(ModelError::Rejected("no such model".into())));
        let first = [user("first"), assistant("One."), user("second")];
        assert_eq!(asks(&served, &token, &first[..1]).await, "One.");
        assert_eq!(asks(&served, &token, &first).await, "Two.");
        let third = [&first[..], &[assistant("Two."), user("third")]].concat();
        assert_eq!(refused(post(&served, &token, &body(&third))).await.0, 502);
        // Repeated within a minute, and continued: the failed turn is not part of the answer.
        assert_eq!(asks(&served, &token, &first).await, "Two.");
        world.model_will(say("Three.")).will(say("Another two."));
        assert_eq!(asks(&served, &token, &third).await, "Three.");
        assert_eq!(world.rows_of("conversations").await.len(), 1);
        // Later it is a branch, which is not added to the conversation.
        world.clock.advance(TimeDelta::minutes(2));
        assert_eq!(asks(&served, &token, &first).await, "Another two.");
        assert_eq!(world.rows_of("conversations").await.len(), 2);
        ended(served).await;
    }
}

story! {
    /// The same request begins a new conversation while the old one is being deleted.
    async fn a_request_is_answered_while_its_conversation_is_deleted(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        world.model_will(say("One.")).will(say("Two."));
        assert_eq!(asks(&served, &token, &[user("hi")]).await, "One.");
        // What the first step of the deletion does.
        world.tampers("UPDATE conversations SET chat = id, thread = 'erased', person = ''").await;
        assert_eq!(asks(&served, &token, &[user("hi")]).await, "Two.");
        ended(served).await;
    }
}

story! {
    /// A turn that failed is an error of the upstream, and the same request runs again.
    async fn a_failed_turn_is_run_again(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        world.model_will(say("One.")).will(fail(ModelError::Rejected("no such model".into())));
        assert_eq!(asks(&served, &token, &[user("first")]).await, "One.");
        let next = [user("first"), assistant("One."), user("second")];
        let failed = refused(post(&served, &token, &body(&next))).await;
        assert_eq!(failed, (502, "turn_failed".to_owned()));
        world.model_will(say("Two."));
        assert_eq!(asks(&served, &token, &next).await, "Two.");
        assert_eq!(world.rows_of("conversations").await.len(), 1);
        world.model_will(fail(ModelError::Rejected("no such model".into())));
        let mut stream = Stream::of(&served, &token, &[user("other")]).await;
        while stream.read().await {}
        assert_eq!(stream.chunks().last().unwrap()["error"]["code"], "turn_failed");
        ended(served).await;
    }
}

story! {
    async fn many_clients_get_each_their_own_answer(world: &mut World) {
        world.config.limits.messages_per_minute = 100;
        let served = running(world).await;
        let mut tokens = Vec::new();
        for number in 0..4 {
            tokens.push(served.token(&format!("client {number}"), Role::Member).await);
        }
        for _ in 0..40 {
            world.model_will(think(|prompt| {
                let asked = format!("{:?}", prompt.messages.last().unwrap());
                Ok(answer(format!("This is {}.", &NUMBER.captures(&asked).unwrap()[1]), vec![]))
            }));
        }
        let asked = (0..40).map(|number| {
            let (served, token) = (&served, &tokens[number % 4]);
            async move {
                let answer = asks(served, token, &[user(&format!("number {number}"))]).await;
                assert_eq!(answer, format!("This is {number}."));
            }
        });
        join_all(asked).await;
        assert_eq!(world.rows_of("conversations").await.len(), 40);
        ended(served).await;
    }
}

story! {
    /// Every error has OpenAI's form and says what is wrong.
    /// Proves S10.
    async fn completion_errors_say_what_is_wrong(world: &mut World) {
        let request = body(&[user("hi")]);
        let closed = Served::of(world).await;
        let token = closed.token("editor", Role::Member).await;
        assert_eq!(refused(post(&closed, &token, &request)).await, (404, "not_enabled".into()));
        world.config.limits.messages_per_minute = 1;
        let served = running(world).await;
        let viewer = served.token("dashboard", Role::Viewer).await;
        assert_eq!(refused(post(&served, "cs_guess", &request)).await, (401, "invalid_api_key".into()));
        assert_eq!(refused(post(&served, &viewer, &request)).await, (403, "insufficient_role".into()));
        let with = |name: &str, value: Value| {
            let mut request = request.clone();
            request[name] = value;
            post(&served, &token, &request)
        };
        assert_eq!(refused(with("model", json!("gpt"))).await, (404, "model_not_found".into()));
        assert_eq!(refused(with("tools", json!([{}]))).await, (400, "unsupported_parameter".into()));
        assert_eq!(refused(with("messages", json!([]))).await, (400, "invalid_value".into()));
        let long = with("user", json!("x".repeat(4 * 1024 * 1024)));
        assert_eq!(refused(long).await, (413, "request_too_large".into()));
        let get = |path: &str| served.request(Method::GET, path).bearer_auth(&token);
        assert_eq!(refused(get("/v1/chat/completions")).await, (405, "method_not_allowed".into()));
        assert_eq!(refused(get("/v1/embeddings")).await, (404, "unknown_url".into()));
        assert_eq!(refused(get("/v1/models/gpt")).await, (404, "model_not_found".into()));
        let models = answered(get("/v1/models")).await.1;
        assert_eq!((models["data"].as_array().unwrap().len(), &models["data"][0]["id"]), (1, &json!("default")));
        assert_eq!(answered(get("/v1/models/default")).await.1, models["data"][0]);
        assert!(world.rows_of("completions").await.is_empty());

        world.model_will(say("Hi."));
        assert_eq!(asks(&served, &token, &[user("hi")]).await, "Hi.");
        let limited = post(&served, &token, &body(&[user("ho")])).send().await.unwrap();
        assert!(limited.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 0);
        assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
        world.clock.advance(TimeDelta::minutes(2));
        world.model_will(say("Ho."));
        assert_eq!(asks(&served, &token, &[user("ho")]).await, "Ho.");
        ended(served).await;
    }
}

story! {
    async fn a_node_that_stops_refuses_what_waits(world: &mut World) {
        let served = running(world).await;
        let token = served.token("editor", Role::Member).await;
        let gate = Gate::new();
        world.model_will(wait(&gate)).will(say("Here."));
        let waits = tokio::spawn(refused(post(&served, &token, &body(&[user("hello?")]))));
        gate.reached().await;
        served.app.gateway.stop.cancel();
        assert_eq!(waits.await.unwrap(), (503, "stopping".to_owned()));
        gate.open();
        ended(served).await;
    }
}
