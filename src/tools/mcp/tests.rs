//! The MCP client against a server in this process, one in a shell, and one in Python.

use super::{
    listed_tools::ListedTools,
    testing::{McpFixture, config, named, run},
    *,
};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, ToolSource},
        naming::{of_server, sanitise},
    },
    tools::{ToolError, testing::ToolFixture},
};
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::Notify;

/// Serves it for the duration of the test.
async fn served(app: Router) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    #[expect(clippy::disallowed_methods, reason = "ends with the test")]
    tokio::spawn(async move { axum::serve(listener, app).await });
    url.parse().expect("a URL")
}

/// A server over HTTP with two pages of tools, which records its requests.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Vec<(HeaderMap, Value)>>>);

impl Fake {
    async fn start() -> (Self, Url) {
        let fake = Self::default();
        let app = Router::new().route("/mcp", post(answer)).with_state(fake.clone());
        (fake, served(app).await)
    }

    fn sent(&self, method: &str) -> Vec<(HeaderMap, Value)> {
        let sent = self.0.lock();
        sent.iter().filter(|(_, body)| body["method"] == method).cloned().collect()
    }
}

async fn answer(State(fake): State<Fake>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    fake.0.lock().push((headers, body.clone()));
    let Some(id) = body.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match body["method"].as_str().unwrap_or_default() {
        "initialize" => Ok(json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "fake", "version": "1" },
        })),
        "tools/list" => Ok(page(body["params"]["cursor"].as_str())),
        "tools/call" => called(body["params"]["name"].as_str().unwrap_or_default()),
        _ => Err(json!({ "code": -32601, "message": "no such method" })),
    };
    let mut answer = json!({ "jsonrpc": "2.0", "id": id });
    match result {
        Ok(result) => answer["result"] = result,
        Err(error) => answer["error"] = error,
    }
    Json(answer).into_response()
}

fn page(cursor: Option<&str>) -> Value {
    let tool = |name: &str, more: Value| {
        let mut tool = json!({ "name": name, "inputSchema": { "type": "object" } });
        for (key, value) in more.as_object().into_iter().flatten() {
            tool[key] = value.clone();
        }
        tool
    };
    if cursor.is_none() {
        let read = json!({ "description": " Reads it. ", "annotations": { "readOnlyHint": true } });
        let put = json!({ "annotations": { "idempotentHint": true } });
        return json!({ "tools": [tool("readAll", read), tool("put", put)], "nextCursor": "2" });
    }
    json!({ "tools": [tool("read all", json!({})), tool("fail", json!({})), tool("odd", json!({}))] })
}

fn called(name: &str) -> Result<Value, Value> {
    let text = |text: &str| json!({ "type": "text", "text": text });
    match name {
        "readAll" => Ok(json!({ "content": [
            text("one"),
            { "type": "image", "mimeType": "image/png", "data": "AAAAAAAA" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "inside" } },
            { "type": "resource_link", "uri": "file:///b", "name": "b" },
        ], "structuredContent": { "rows": 2 } })),
        "put" => Ok(json!({ "content": [text("7")], "structuredContent": { "result": 7 } })),
        "fail" => Ok(json!({ "content": [text("the disk is full")], "isError": true })),
        "odd" => Err(json!({ "code": -32602, "message": "`path` is missing" })),
        _ => Err(json!({ "code": -32603, "message": "out of order" })),
    }
}

/// A server's claim that a tool is harmless counts once an operator trusts the tool.
/// Proves CA-31, CV-04, IC-40 … IC-42.
#[tokio::test]
async fn the_tools_of_a_server_are_listed_over_all_pages() {
    let (fake, url) = Fake::start().await;
    let fixture = McpFixture::new().await;
    let config = McpConfig { url: Some(url), ..config("My Files") };
    let tools = fixture.tools(config.clone()).await.expect("tools");
    for tool in &tools {
        let spec = tool.spec();
        assert_eq!(spec.effect, EffectClass::AtMostOnce, "{}", spec.name);
        assert_eq!(spec.approval, ApprovalMode::UnlessAllowed, "{}", spec.name);
    }
    fixture.trusts("My Files", None).await;
    let tools = fixture.tools(config).await.expect("tools");
    let names: Vec<String> = tools.iter().map(|t| t.spec().name).collect();
    let read = tool::own_name("my_files_read_all", "readAll");
    let other = tool::own_name("my_files_read_all", "read all");
    assert_eq!(names, ["my_files_fail", "my_files_odd", "my_files_put", &other, &read]);
    let read = named(&tools, &read).spec();
    let original_name = "readAll".to_owned();
    assert_eq!(read.source, ToolSource::Mcp { server: "My Files".into(), original_name });
    assert_eq!((read.effect, read.approval), (EffectClass::ReadOnly, ApprovalMode::Never));
    assert_eq!((read.description.as_str(), read.tier), ("Reads it.", Tier::Extension));
    let put = named(&tools, "my_files_put").spec();
    assert_eq!((put.effect, put.approval), (EffectClass::Idempotent, ApprovalMode::UnlessAllowed));
    assert_eq!(put.description, "Tool put from My Files");
    let fail = named(&tools, "my_files_fail").spec();
    assert_eq!(
        (fail.effect, fail.approval),
        (EffectClass::AtMostOnce, ApprovalMode::UnlessAllowed)
    );
    assert!(tools.iter().all(|t| t.spec().untrusted));
    assert_eq!(fake.sent("initialize").len(), 2, "one session for all of it");
}

/// Three attempts if a server may recover, after one and two seconds; a single one if
/// authentication is missing or the request is unknown.
/// Proves CA-32.
#[tokio::test]
async fn a_server_that_fails_is_tried_three_times() {
    for (status, tries) in [
        (StatusCode::SERVICE_UNAVAILABLE, 3),
        (StatusCode::UNAUTHORIZED, 1),
        (StatusCode::FORBIDDEN, 1),
        (StatusCode::NOT_FOUND, 1),
    ] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let answer = move || {
            count.fetch_add(1, Ordering::SeqCst);
            async move { status }
        };
        let url = served(Router::new().route("/mcp", post(answer))).await;
        let protocol = Protocol::Initialize;
        let config = McpConfig { url: Some(url), protocol, ..config("flaky") };
        let mut server = McpFixture::new().await.server(config);
        let ours = Arc::get_mut(&mut server).expect("nobody else has it");
        let pauses = std::mem::replace(&mut ours.pauses, [Duration::ZERO; 2]);
        assert_eq!(pauses.map(|pause| pause.as_secs()), [1, 2]);
        assert!(server.session().await.is_err());
        assert_eq!(asked.load(Ordering::SeqCst), tries, "{status}");
    }
}

/// Each call has a connection of its own, also at the same time, and the tools are listed over
/// another one. While they are current, they are not listed again.
/// Proves CA-32.
#[tokio::test]
async fn a_call_can_have_a_connection_of_its_own() {
    for (connection, opened) in [(ConnectionMode::Shared, 1), (ConnectionMode::PerCall, 4)] {
        let (fake, url) = Fake::start().await;
        let protocol = Protocol::Initialize;
        let config = McpConfig { url: Some(url), protocol, connection, ..config("f") };
        let fixture = McpFixture::new().await;
        let server = fixture.server(config);
        let mut seen = ListedTools::default();
        let tools = server.changed_tools(&mut seen).await.expect("tools").expect("new ones");
        run(&tools, "f_put", json!({})).await.expect("a result");
        let together = (0..2).map(|_| run(&tools, "f_put", json!({})));
        for result in futures::future::join_all(together).await {
            result.expect("a result");
        }
        assert!(
            server.changed_tools(&mut seen).await.expect("no failure").is_none(),
            "nothing is new"
        );
        assert_eq!(fake.sent("initialize").len(), opened, "{connection:?}");
        assert_eq!(fake.sent("tools/list").len(), 2, "both pages once: {connection:?}");
        assert_eq!(fake.sent("tools/call").len(), 3);
    }
}

/// Proves CA-33.
#[tokio::test]
async fn a_result_is_all_of_its_content() {
    let (fake, url) = Fake::start().await;
    let config = McpConfig {
        url: Some(url),
        bearer: Some("t0ken".into()),
        headers: BTreeMap::from([("x-team".to_owned(), "bees".into())]),
        ..config("f")
    };
    let fixture = McpFixture::new().await;
    let tools = fixture.tools(config).await.expect("tools");
    let place = ToolFixture::new();
    let read = tool::own_name("f_read_all", "readAll");
    let all = named(&tools, &read).run(json!({ "path": "a" }), &place.context).await;
    let all = all.expect("a result").text;
    let expected = "one\n[image: image/png, 6 bytes, in .countersign/results/call1-2.png]\n[resource: file:///a]\ninside\n\
                    [resource: b at file:///b]\n{\"rows\":2}";
    assert_eq!(all, expected);
    assert_eq!(std::fs::read(place.path(".countersign/results/call1-2.png")).expect("it"), [0; 6]);
    assert_eq!(run(&tools, "f_put", json!({})).await.expect("a result"), "7", "told once");
    let (headers, body) = &fake.sent("tools/call")[0];
    assert_eq!(headers["authorization"], "Bearer t0ken");
    assert_eq!(headers["x-team"], "bees");
    assert_eq!(body["params"]["name"], "readAll");
    assert_eq!(body["params"]["arguments"], json!({ "path": "a" }));
}

#[tokio::test]
async fn errors_tell_the_model_what_to_do() {
    let (_fake, url) = Fake::start().await;
    let fixture = McpFixture::new().await;
    let tools = fixture.tools(McpConfig { url: Some(url), ..config("f") }).await.expect("tools");
    let full = ToolError::ExecutionFailed("the disk is full".into());
    assert_eq!(run(&tools, "f_fail", json!({})).await, Err(full));
    let missing = ToolError::InvalidParameters("`path` is missing".into());
    assert_eq!(run(&tools, "f_odd", json!({})).await, Err(missing));
    let order = ToolError::ExecutionFailed("out of order".into());
    assert_eq!(run(&tools, &tool::own_name("f_read_all", "read all"), json!({})).await, Err(order));
    let raw = run(&tools, "f_put", json!("{")).await;
    assert!(matches!(raw, Err(ToolError::InvalidParameters(_))), "{raw:?}");
}

/// A call that the server refuses because there were too many has not run: nobody is asked whether to
/// run it again, the error says when to try again, and the connection is kept.
#[tokio::test]
async fn a_call_that_is_refused_by_a_rate_limit_has_not_run() {
    let (fake, refusals) = (Fake::default(), Arc::new(AtomicUsize::new(1)));
    let limited = move |state: State<Fake>, headers: HeaderMap, body: Json<Value>| {
        let is_refused = body["method"] == "tools/call" && refusals.swap(0, Ordering::SeqCst) > 0;
        async move {
            if is_refused {
                return (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")]).into_response();
            }
            answer(state, headers, body).await
        }
    };
    let url = served(Router::new().route("/mcp", post(limited)).with_state(fake.clone())).await;
    let fixture = McpFixture::new().await;
    let server = fixture.server(McpConfig { url: Some(url), ..config("f") });
    let tools = server.tools().await.expect("tools");
    let refused = run(&tools, "f_put", json!({})).await;
    let Err(ToolError::ExternalService(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("`f`") && why.ends_with("has not run: try again in 7 s"), "{why}");
    assert!(server.health().connected);
    assert_eq!(run(&tools, "f_put", json!({})).await.expect("a result"), "7");
    assert_eq!(fake.sent("initialize").len(), 1, "the same connection");
    assert_eq!(fake.sent("tools/call").len(), 1, "not made twice");
}

/// A server that ends its session while a call waits for its answer may have run it: nobody knows.
/// Another call that it refuses for that reason is made in the new session.
#[tokio::test]
async fn the_outcome_of_a_call_whose_session_ends_is_unknown() {
    let (fake, calls) = (Fake::default(), Arc::new(AtomicUsize::new(0)));
    let begun = Arc::new(Notify::new());
    let begins = begun.clone();
    let forgetful = move |state: State<Fake>, headers: HeaderMap, body: Json<Value>| {
        let is_call = body["method"] == "tools/call";
        let call = is_call.then(|| calls.fetch_add(1, Ordering::SeqCst));
        if call == Some(0) {
            begins.notify_one();
        }
        async move {
            match call {
                // Its answer follows on a stream.
                Some(0) => StatusCode::ACCEPTED.into_response(),
                // There is no such session any more.
                Some(1) => StatusCode::NOT_FOUND.into_response(),
                _ => {
                    ([("mcp-session-id", "s")], answer(state, headers, body).await).into_response()
                }
            }
        }
    };
    let app = Router::new().route("/mcp", post(forgetful)).with_state(fake.clone());
    let fixture = McpFixture::new().await;
    let config = McpConfig { url: Some(served(app).await), ..config("f") };
    let tools = fixture.tools(config).await.expect("tools");
    let other = async {
        begun.notified().await;
        run(&tools, "f_put", json!({})).await
    };
    let (lost, other) = tokio::join!(run(&tools, "f_put", json!({})), other);
    assert_eq!(lost, Err(ToolError::Unknown));
    assert_eq!(other.expect("a result"), "7");
    assert_eq!(fake.sent("tools/call").len(), 1, "not made twice");
}

/// A server says in seconds or with a date when to try again.
#[test]
fn a_refusal_by_a_rate_limit_says_when_to_try_again() {
    let now = "2026-11-21T10:01:00.5Z".parse().expect("a time");
    for (after, expected) in [
        (Some("7"), "in 7 s"),
        (Some("Sat, 21 Nov 2026 10:01:30 GMT"), "in 30 s"),
        (Some("Sat, 21 Nov 2026 10:00:00 GMT"), "in 0 s"),
        (Some("soon"), "later"),
        (None, "later"),
    ] {
        let why = config("f").rate_limited(after, now).to_string();
        assert!(why.ends_with(&format!(": try again {expected}")), "{why}");
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once() {
    let (fake, url) = Fake::start().await;
    let fixture = McpFixture::new().await;
    let tools = fixture.tools(McpConfig { url: Some(url), ..config("f") }).await.expect("tools");
    let place = ToolFixture::new();
    place.context.cancelled.cancel();
    let ended = named(&tools, "f_put").run(json!({}), &place.context).await;
    assert!(matches!(&ended, Err(ToolError::ExecutionFailed(why)) if why.contains("Stopped")));
    assert_eq!(fake.sent("tools/call").len(), 0);
}

#[tokio::test]
async fn a_server_that_is_down_is_named() {
    let fixture = McpFixture::new().await;
    let url = "http://127.0.0.1:1/mcp".parse().ok();
    for (what, broken) in [
        ("does not answer", McpConfig { url, ..config("files") }),
        (
            "cannot be started",
            McpConfig { command: Some(vec!["/nowhere".into()]), ..config("files") },
        ),
        ("does not answer", McpConfig { command: Some(vec!["true".into()]), ..config("files") }),
        ("empty `command`", McpConfig { command: Some(vec![]), ..config("files") }),
        ("either `command` or `url`", config("files")),
    ] {
        let error = fixture.tools(broken).await.err().expect("no tools").to_string();
        assert!(error.contains("the MCP server `files`") && error.contains(what), "{error}");
    }
}

/// A server in a shell, which returns its environment and exits after each call.
const SHELL: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"env","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) names=$(env | cut -d= -f1 | sort | tr '\n' ' ')
      result="{\"content\":[{\"type\":\"text\",\"text\":\"$names\"}]}" ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
  case "$line" in *'"tools/call"'*) exit 0 ;; esac
done
"#;

#[tokio::test]
async fn a_process_gets_a_bare_environment_and_is_started_again_when_it_died() {
    let config = McpConfig {
        command: Some(vec!["/bin/sh".into(), "-c".into(), SHELL.into()]),
        env: BTreeMap::from([("GREETING".to_owned(), "hello".into())]),
        ..config("sh")
    };
    let fixture = McpFixture::new().await;
    let tools = fixture.tools(config).await.expect("tools");
    let first = run(&tools, "sh_env", json!({})).await.expect("a result");
    let names: Vec<&str> = first.split_whitespace().collect();
    assert!(names.contains(&"GREETING") && names.contains(&"PATH"), "{names:?}");
    assert!(!names.iter().any(|n| n.starts_with("CARGO")), "{names:?}");
    let mut again = run(&tools, "sh_env", json!({})).await;
    if again == Err(ToolError::Unknown) {
        // Its death was noticed only by this call; a call that must not run twice is not repeated.
        again = run(&tools, "sh_env", json!({})).await;
    }
    assert_eq!(again.expect("a result"), first);
}

#[test]
fn a_name_is_made_of_plain_letters() {
    // Names are sanitised.
    for (name, clean) in [
        ("WebSearch", "web_search"),
        ("web_search", "web_search"),
        ("'read' \"file\"", "read_file"),
        ("a--b..c", "a_b_c"),
        ("_x_", "x"),
        ("HTTPGet2Now", "httpget2_now"),
        ("größe", "gr_e"),
        ("日本", ""),
    ] {
        assert_eq!(sanitise(name), clean, "{name}");
    }
}

#[test]
fn a_shared_name_gets_a_sign_and_none_is_too_long() {
    let long = of_server("m", &"x".repeat(80));
    assert_eq!((long.len(), of_server("_", "_")), (64, String::new()));
    let (one, other) = (tool::own_name(&long, "a"), tool::own_name(&long, "b"));
    assert!(one.len() == 64 && other.len() == 64 && one != other, "{one} {other}");
    assert_eq!(tool::own_name("", "日本"), "cf2abf0c");
}
