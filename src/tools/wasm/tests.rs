//! Components that try to escape their limits and their manifest, and those that do their work.

use fakes::{
    account::{Account, KEY},
    wasm::{Component, Guest},
    web::FakeWeb,
};
use futures::future::join_all;
use secrecy::SecretString;
use serde_json::json;
use tokio::time::timeout;

use super::{manifest::Manifest, runtime::WasmRuntime, *};
use crate::tools::{
    testing::ToolFixture,
    web::{
        client::WebClient,
        credentials::{Credential, SecretPlacement, SecretSource},
        request::Access,
    },
};

const LIMITS: WasmLimits =
    WasmLimits { time: Duration::from_secs(30), memory_bytes: 4 * 1024 * 1024, fuel: 50_000_000 };

fn host_with(access: Access, inside: &[&str], limits: WasmLimits) -> Arc<WasmHost> {
    let inside = inside.iter().map(|&host| host.to_owned()).collect();
    let web_client = WebClient::new(inside).unwrap();
    let http = HttpRequest { web_client, access: Arc::new(access) };
    Arc::new(WasmHost::new(http, limits))
}

fn host() -> Arc<WasmHost> {
    host_with(Access::default(), &["127.0.0.1"], LIMITS)
}

async fn tool(component: Component, manifest: &str) -> WasmTool {
    tool_on(host(), component, manifest).await
}

async fn tool_on(host: Arc<WasmHost>, component: Component, manifest: &str) -> WasmTool {
    let module = WasmRuntime::new().unwrap().load(component.bytes(), &host).await.unwrap();
    let said = module.description();
    let spec = ToolSpec::read_only(&said.name, &said.description, said.parameters.clone());
    let grants = Arc::new(Manifest::parse(manifest).unwrap().grants().unwrap());
    WasmTool { spec, module: Arc::new(module), grants, host }
}

async fn runs(guest: Guest) -> Result<Output, ToolError> {
    let tool = tool(Component::new("sample", guest), "").await;
    tool.run(json!({ "say": "hello" }), &ToolFixture::new().context).await
}

async fn words(guest: Guest) -> String {
    runs(guest).await.unwrap_err().to_string()
}

/// Bytes that are no component, an old kind of module, a component without the tool's functions:
/// each is an error that says what is wrong.
/// Proves IC-43.
#[tokio::test]
async fn an_invalid_component_is_an_error() {
    let (runtime, host) = (WasmRuntime::new().unwrap(), host());
    let whole = Component::new("sample", Guest::Echo).bytes();
    let mut odd = whole.clone();
    odd[8..48].fill(0xff);
    let no_component = "it is not a WebAssembly component: ";
    let unfit = "it does not fit countersign:tool@1.0.0 (wit/tool.wit): ";
    for (bytes, says) in [
        (Vec::new(), no_component),
        (b"#!/bin/sh".to_vec(), no_component),
        (b"\0asm\x01\0\0\0".to_vec(), no_component),
        (whole[..whole.len() / 2].to_vec(), no_component),
        (odd, no_component),
        // The shortest component.
        (b"\0asm\x0d\0\x01\0".to_vec(), unfit),
    ] {
        let problem = runtime.load(bytes, &host).await.map(|_| ()).unwrap_err();
        assert!(problem.starts_with(says) && problem.len() > says.len(), "{problem}");
    }
    let described = runtime.load(whole, &host).await.unwrap();
    assert_eq!(described.description().name, "sample");
}

/// Proves IC-44.
#[tokio::test]
async fn a_component_returns_its_result_or_its_error() {
    assert_eq!(runs(Guest::Echo).await, Ok(Output::text(r#"{"say":"hello"}"#)));
    let failed = ToolError::ExecutionFailed(r#"{"say":"hello"}"#.to_owned());
    assert_eq!(runs(Guest::Fail).await, Err(failed));
    let now = ToolFixture::new().context.now.timestamp_millis().to_string();
    assert_eq!(runs(Guest::Now).await, Ok(Output::text(now)));
}

/// An endless loop ends when its instructions are used up. While it runs, other tasks go on, and it
/// ends as soon as its call is given up.
/// Proves IC-44, IC-25.
#[tokio::test]
async fn an_endless_loop_ends() {
    let says = "Sandbox: The call ended before it had a result: it used up the instructions of \
        one call (wasm.max_instructions)";
    assert_eq!(words(Guest::Loop).await, says);
    let limits = WasmLimits { fuel: u64::MAX / 2, ..LIMITS };
    let host = host_with(Access::default(), &[], limits);
    let tool = tool_on(host, Component::new("sample", Guest::Loop), "").await;
    let place = ToolFixture::new();
    // This test has one thread only.
    let run = tool.run(json!({}), &place.context);
    assert!(timeout(Duration::from_millis(100), run).await.is_err());
}

/// Proves IC-44, IC-25.
#[tokio::test]
async fn memory_and_stack_are_limited() {
    let says = "Sandbox: The call ended before it had a result: it needs more memory than one call \
        may use (wasm.memory_mb)";
    assert_eq!(words(Guest::GrowMemory).await, says);
    let says = "Sandbox: The call ended before it had a result: its recursion is too deep for the \
        stack";
    assert_eq!(words(Guest::Recurse).await, says);
}

/// A list of a thousand headers that all are the same megabyte takes no gigabyte here.
#[tokio::test]
async fn a_component_cannot_exhaust_the_memory_of_the_host() {
    let before = resident_bytes();
    let text = words(Guest::FloodHost).await;
    assert!(text.starts_with("Sandbox: The call ended before it had a result: "), "{text}");
    assert!(resident_bytes() < before + 200 * 1024 * 1024);
}

/// A host, a method or an address that the manifest does not grant gets no request, also not by a
/// redirect; an address in a private network gets none although the manifest grants it.
/// Proves IC-44, S8.
#[tokio::test]
async fn requests_go_only_where_the_manifest_lets_them() {
    let (server, other) = (FakeWeb::start().await, FakeWeb::start().await);
    let manifest = format!("[[hosts]]\nhost = '{}'", server.url());
    let asks = async |guest: Guest, url: String| {
        let tool = tool(Component::new("sample", guest).about(url), &manifest).await;
        tool.run(json!({}), &ToolFixture::new().context).await.map(|output| output.text)
    };
    server.says("/ok", "text/plain", "the page");
    assert_eq!(asks(Guest::Get, format!("{}/ok", server.url())).await.unwrap(), "the page");
    for (guest, url) in [
        (Guest::Get, format!("{}/ok", other.url())),
        (Guest::Post, format!("{}/ok", server.url())),
        (Guest::Get, "https://example.org/".to_owned()),
        (Guest::Get, "file:///etc/passwd".to_owned()),
    ] {
        let refused = asks(guest, url).await.unwrap_err().to_string();
        assert!(refused.contains("manifest does not grant"), "{refused}");
    }
    let away = format!("{}/redirect?to={}/ok", server.url(), other.url());
    assert_eq!(asks(Guest::Get, away).await.unwrap(), "", "the redirect is the response");
    let private = host_with(Access::default(), &[], LIMITS);
    let component = Component::new("sample", Guest::Get).about(format!("{}/ok", server.url()));
    let tool = tool_on(private, component, &manifest).await;
    let refused = tool.run(json!({}), &ToolFixture::new().context).await.unwrap_err().to_string();
    assert!(refused.contains("not on the public internet"), "{refused}");
    assert_eq!(server.asked(), ["GET /ok", "GET /redirect"]);
    assert!(other.asked().is_empty());
}

/// A request whose response is lost may have taken effect. If its call must not run twice and fails,
/// the outcome is unknown.
#[tokio::test]
async fn the_outcome_of_a_call_that_loses_a_response_is_unknown() {
    let server = FakeWeb::start().await;
    server.hangs("/slow");
    let web_client = WebClient::new(["127.0.0.1".to_owned()].into()).unwrap();
    let web_client = web_client.answering_within(Duration::from_millis(200));
    let http = HttpRequest { web_client, access: Arc::default() };
    let host = Arc::new(WasmHost::new(http, LIMITS));
    let manifest = format!("[[hosts]]\nhost = '{}'\nmethods = ['GET', 'POST']", server.url());
    for (guest, effect, is_unknown) in [
        (Guest::Post, EffectClass::AtMostOnce, true),
        (Guest::Post, EffectClass::Idempotent, false),
        (Guest::Get, EffectClass::AtMostOnce, false),
    ] {
        let component = Component::new("sample", guest).about(format!("{}/slow", server.url()));
        let mut tool = tool_on(host.clone(), component, &manifest).await;
        tool.spec.effect = effect;
        let ended = tool.run(json!({}), &ToolFixture::new().context).await;
        assert!(ended.is_err(), "{ended:?}");
        assert_eq!(ended == Err(ToolError::Unknown), is_unknown, "{guest:?}: {ended:?}");
    }
}

/// The gateway adds the credential of a host if the manifest says so. The component never sees it.
/// Proves IC-44.
#[tokio::test]
async fn a_credential_is_added_and_not_seen() {
    let api = Account::start().await;
    let asks = async |more: &str| {
        let secret = SecretSource::Fixed(SecretString::from(KEY));
        let (name, prefix) = ("x-api-key".parse().unwrap(), String::new());
        let place = SecretPlacement::Header { name, prefix };
        let (url, agents) = (api.url().parse().unwrap(), vec![]);
        let credentials = vec![Credential { url, agents, place, secret }];
        let access = Access { hosts: vec![], credentials };
        let host = host_with(access, &["127.0.0.1"], LIMITS);
        let component = Component::new("sample", Guest::Get).about(format!("{}/data", api.url()));
        let manifest = format!("[[hosts]]\nhost = '{}'\n{more}", api.url());
        let tool = tool_on(host, component, &manifest).await;
        tool.run(json!({}), &ToolFixture::new().context).await.unwrap().text
    };
    let shown = asks("credential = true").await;
    assert!(!shown.is_empty() && !shown.contains(KEY), "{shown}");
    assert!(api.requests().concat().contains(KEY), "it was sent");
    let sent = api.requests().len();
    asks("").await;
    assert!(!api.requests()[sent..].concat().contains(KEY), "the manifest does not grant it");
}

/// Proves IC-44, FO-28.
#[tokio::test]
async fn only_files_of_the_manifest_are_read_and_written() {
    let manifest = "read = ['in/*.txt', 'link']\nwrite = ['out/**']";
    let place = ToolFixture::new();
    place.has("in/a.txt", "a file");
    place.has("secret.txt", "a secret");
    place.has(".countersign/results/x", "a result");
    std::os::unix::fs::symlink("/etc/hostname", place.path("link")).unwrap();
    let on = async |guest: Guest, path: &str| {
        let tool = tool(Component::new("sample", guest).about(path), manifest).await;
        tool.run(json!({ "say": "hello" }), &place.context).await
    };
    let read = on(Guest::Read, "/workspace/in/a.txt").await.unwrap();
    assert_eq!((read.text.as_str(), read.seen[0].path.as_str()), ("a file", "in/a.txt"));
    for path in [
        "secret.txt",
        "in/../secret.txt",
        "in/sub/a.txt",
        "/etc/hostname",
        "../workspace/in/a.txt",
        ".countersign/results/x",
        "link",
    ] {
        let refused = on(Guest::Read, path).await.unwrap_err().to_string();
        let says = ["does not grant", "not allowed"];
        assert!(says.iter().any(|says| refused.contains(says)), "{path}: {refused}");
        assert!(on(Guest::Write, path).await.is_err(), "{path}");
    }
    on(Guest::Write, "out/deep/b.txt").await.unwrap();
    assert_eq!(place.content("out/deep/b.txt"), r#"{"say":"hello"}"#);
    assert!(on(Guest::Write, "in/a.txt").await.is_err());
    assert_eq!(place.content("in/a.txt"), "a file");
    let nothing = tool(Component::new("sample", Guest::Read).about("in/a.txt"), "").await;
    assert!(nothing.run(json!({}), &place.context).await.is_err());
}

/// What a call has done before it traps stays done; the next call runs in a new instance.
#[tokio::test]
async fn a_trap_ends_one_call() {
    let place = ToolFixture::new();
    let component = Component::new("sample", Guest::WriteAndTrap).about("a.txt");
    let tool = tool(component, "write = ['*']").await;
    for say in ["one", "two"] {
        let trapped = tool.run(json!({ "say": say }), &place.context).await.unwrap_err();
        assert!(matches!(&trapped, ToolError::Sandbox(why) if why.contains("unreachable")));
        assert!(place.content("a.txt").contains(say));
    }
}

/// Log lines are kept for operators if the manifest says so. No model reads them.
#[tokio::test]
async fn log_lines_are_for_operators() {
    for (manifest, kept) in [("log = true", Some(r#"info: {"say":"hello"}"#)), ("", None)] {
        let tool = tool(Component::new("sample", Guest::Log), manifest).await;
        let output =
            tool.run(json!({ "say": "hello" }), &ToolFixture::new().context).await.unwrap();
        assert_eq!(output.raw.as_deref(), kept);
    }
}

/// A thousand calls, forty at a time, leave nothing behind.
/// Proves IC-44.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_leave_nothing_behind() {
    let (tool, place) = (tool(Component::new("sample", Guest::Echo), "").await, ToolFixture::new());
    let forty = async || {
        let calls = (0..40).map(|n| tool.run(json!({ "say": n.to_string() }), &place.context));
        for (n, output) in join_all(calls).await.into_iter().enumerate() {
            assert_eq!(output.unwrap().text, format!(r#"{{"say":"{n}"}}"#));
        }
    };
    for _ in 0..5 {
        forty().await;
    }
    let (before, maps) = (resident_bytes(), mappings());
    for _ in 0..25 {
        forty().await;
    }
    assert!(resident_bytes() < before + 16 * 1024 * 1024, "{before} → {}", resident_bytes());
    assert!(mappings() < maps + 50, "{maps} → {}", mappings());
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}
