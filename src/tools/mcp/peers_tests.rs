//! The MCP client against servers of other projects: the official SDK in Python, and the project's
//! own servers in TypeScript.

use super::{
    testing::{McpFixture, config, named, run},
    *,
};
use crate::tools::{Tool, ToolError, testing::ToolFixture};
use fakes::ports::ReservedPort;
use serde_json::{Value, json};
use std::{process::Stdio, sync::Arc};
use tokio::{
    process::{Child, Command},
    time,
};

fn variable(name: &str) -> Option<String> {
    std::env::vars().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// A Python that has the package `mcp`.
fn python() -> String {
    variable("COUNTERSIGN_TEST_PYTHON").expect("tests/run names a Python")
}

/// The entry point of one of the MCP reference servers.
fn server_of_the_project(name: &str) -> String {
    let folder = variable("COUNTERSIGN_TEST_MCP").expect("the script names a folder");
    format!("{folder}/node_modules/@modelcontextprotocol/{name}/dist/index.js")
}

fn peer() -> String {
    format!("{}/tests/peers/mcp_server.py", env!("CARGO_MANIFEST_DIR"))
}

fn over_stdio(name: &str, command: &[&str]) -> McpConfig {
    let command = command.iter().map(|&word| word.to_owned()).collect();
    McpConfig { command: Some(command), ..config(name) }
}

fn started(command: &mut Command) -> Child {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().expect("it starts")
}

/// Waits until it listens.
async fn tools_at(fixture: &McpFixture, config: McpConfig) -> Vec<Arc<dyn Tool>> {
    let mut ticks = time::interval(Duration::from_millis(250));
    loop {
        ticks.tick().await;
        if let Ok(tools) = fixture.tools(config.clone()).await {
            return tools;
        }
    }
}

async fn uses_the_peer(tools: &[Arc<dyn Tool>]) {
    assert_eq!(run(tools, "py_add", json!({ "a": 2, "b": 3 })).await.expect("a sum"), "5");
    let boom = run(tools, "py_boom", json!({})).await;
    assert!(
        matches!(&boom, Err(ToolError::ExecutionFailed(why)) if why.contains("boom")),
        "{boom:?}"
    );
    assert_eq!(run(tools, "py_big", json!({ "n": 100_000 })).await.expect("text").len(), 100_000);
    let wrong = run(tools, "py_add", json!({ "a": "two" })).await;
    assert!(wrong.is_err(), "{wrong:?}");
    let place = ToolFixture::new();
    let progress = place.context.progress.subscribe();
    let slow = named(tools, "py_slow").run(json!({ "seconds": 2 }), &place.context).await;
    assert_eq!(slow.expect("a result").text, "done");
    assert_eq!(*progress.borrow(), "⏳ `py_slow` 1/2");
}

/// With the official SDK, in both generations of the protocol.
/// Proves CA-31.
#[tokio::test]
async fn the_official_server_is_used_over_stdio() {
    let python = python();
    for (protocol, spoken) in
        [(Protocol::Initialize, "2025-11-25"), (Protocol::Discover, "2026-07-28")]
    {
        let fixture = McpFixture::new().await;
        let config = McpConfig { protocol, ..over_stdio("py", &[&python, &peer(), "stdio"]) };
        let server = fixture.server(config);
        let tools = server.tools().await.expect("tools");
        assert_eq!(server.health().protocol.as_deref(), Some(spoken));
        uses_the_peer(&tools).await;
    }
}

/// A call that reaches nobody has not run, so no approval is needed.
/// Proves CA-31.
#[tokio::test]
async fn the_official_server_is_used_over_http() {
    let python = python();
    let port = ReservedPort::new();
    let mut command = Command::new(python);
    let command = command.args([peer(), "streamable-http".into(), port.number().to_string()]);
    let mut server = started(command);
    let url: Option<Url> = format!("http://127.0.0.1:{}/mcp", port.number()).parse().ok();
    let mut tools = Vec::new();
    for protocol in [Protocol::Initialize, Protocol::Discover] {
        let fixture = McpFixture::new().await;
        let config = McpConfig { url: url.clone(), protocol, ..config("py") };
        tools = tools_at(&fixture, config).await;
        uses_the_peer(&tools).await;
    }
    server.kill().await.expect("it ends");
    let unreached = run(&tools, "py_add", json!({ "a": 2, "b": 3 })).await;
    assert!(
        matches!(&unreached, Err(ToolError::ExternalService(why)) if why.contains("`py`")),
        "{unreached:?}"
    );
}

async fn uses_everything(tools: &[Arc<dyn Tool>]) {
    let place = ToolFixture::new();
    let said = async |name: &str, arguments: Value| {
        let output = named(tools, name).run(arguments, &place.context).await;
        output.unwrap_or_else(|error| panic!("{name}: {error}")).text
    };
    assert_eq!(said("all_echo", json!({ "message": "hi" })).await, "Echo: hi");
    assert!(said("all_get_sum", json!({ "a": 2, "b": 3 })).await.contains("is 5"));
    let image = said("all_get_tiny_image", json!({})).await;
    assert!(image.contains("in .countersign/results/call1-2.png]"), "{image}");
    assert!(place.path(".countersign/results/call1-2.png").exists());
    let weather = said("all_get_structured_content", json!({ "location": "New York" })).await;
    assert!(weather.contains("temperature"), "{weather}");
    let links = said("all_get_resource_links", json!({ "count": 2 })).await;
    assert_eq!(links.matches("[resource: ").count(), 2, "{links}");
    let reference = json!({ "resourceType": "Text", "resourceId": 1 });
    let embedded = said("all_get_resource_reference", reference).await;
    assert!(embedded.contains("[resource: "), "{embedded}");
    let note = json!({ "messageType": "error", "includeImage": true });
    assert!(said("all_get_annotated_message", note).await.contains("[image: image/png, "));
    let wrong = run(tools, "all_get_sum", json!({ "a": "two" })).await;
    assert!(wrong.is_err(), "{wrong:?}");
    let progress = place.context.progress.subscribe();
    said("all_trigger_long_running_operation", json!({ "duration": 1, "steps": 4 })).await;
    assert_eq!(*progress.borrow(), "⏳ `all_trigger_long_running_operation` 4/4");
}

/// Every kind of content, over stdio and HTTP.
/// Proves CA-31, CA-33.
#[tokio::test]
#[ignore = "needs the MCP reference servers: tests/peers/mcp_check.sh installs them and runs this"]
async fn the_reference_server_everything_is_used() {
    let entry = server_of_the_project("server-everything");
    let fixture = McpFixture::new().await;
    let tools = fixture.tools(over_stdio("all", &["node", &entry, "stdio"])).await.expect("tools");
    uses_everything(&tools).await;
    let port = ReservedPort::new();
    let mut command = Command::new("node");
    let command = command.args([&entry, "streamableHttp"]).env("PORT", port.number().to_string());
    let _server = started(command);
    let url: Option<Url> = format!("http://127.0.0.1:{}/mcp", port.number()).parse().ok();
    let fixture = McpFixture::new().await;
    uses_everything(&tools_at(&fixture, McpConfig { url, ..config("all") }).await).await;
}

#[tokio::test]
#[ignore = "needs the MCP reference servers: tests/peers/mcp_check.sh installs them and runs this"]
async fn the_reference_server_filesystem_is_used() {
    let entry = server_of_the_project("server-filesystem");
    let fixture = McpFixture::new().await;
    let folder = fixture.folder.path().canonicalize().expect("a folder");
    let (folder, file) = (folder.display().to_string(), folder.join("a.txt"));
    let path = file.display().to_string();
    let tools =
        fixture.tools(over_stdio("files", &["node", &entry, &folder])).await.expect("tools");
    let write = json!({ "path": path, "content": "one\ntwo\n" });
    run(&tools, "files_write_file", write).await.expect("it is written");
    let edit = json!({ "path": path, "edits": [{ "oldText": "two", "newText": "2" }] });
    assert!(run(&tools, "files_edit_file", edit).await.expect("a diff").contains("+2"));
    assert_eq!(std::fs::read_to_string(&file).expect("it"), "one\n2\n");
    let read = run(&tools, "files_read_text_file", json!({ "path": path })).await;
    assert_eq!(read.expect("its text"), "one\n2\n");
    let listed = run(&tools, "files_list_directory", json!({ "path": folder })).await;
    assert!(listed.expect("a list").contains("[FILE] a.txt"));
    let web_client = run(&tools, "files_read_text_file", json!({ "path": "/etc/passwd" })).await;
    assert!(matches!(web_client, Err(ToolError::ExecutionFailed(_))), "{web_client:?}");
}
