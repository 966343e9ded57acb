//! An MCP server that records each execution of its tools.

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::post,
};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpListener, task::AbortHandle, time::Instant};

/// One execution of a tool.
#[derive(Debug, Clone)]
pub struct Execution {
    pub tool: String,
    pub arguments: Value,
    /// By which of the server's addresses it was called.
    pub caller: usize,
    pub began: Instant,
    /// `None` where the caller had hung up before the result was there.
    pub ended: Option<Instant>,
}

/// How long the next execution takes.
type Takes = Box<dyn FnMut() -> Duration + Send>;

struct Shared {
    /// As `tools/list` returns them.
    tools: Vec<Value>,
    executions: Mutex<Vec<Execution>>,
    takes: Mutex<Takes>,
}

impl Shared {
    fn executions(&self) -> MutexGuard<'_, Vec<Execution>> {
        self.executions.lock()
    }
}

/// A running server; it ends when this is dropped.
pub struct ToolServer {
    base: String,
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A tool with one argument, a text, which it needs.
pub fn tool(name: &str, description: &str, argument: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": { argument: { "type": "string" } },
            "required": [argument],
        },
    })
}

impl ToolServer {
    /// Each execution takes as long as `takes` says; its effect is at its beginning.
    pub async fn start(
        tools: Vec<Value>,
        takes: impl FnMut() -> Duration + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let takes = Mutex::new(Box::new(takes) as Takes);
        let shared = Arc::new(Shared { tools, executions: Mutex::default(), takes });
        let app = Router::new().route("/{caller}/mcp", post(serve)).with_state(shared.clone());
        let server = async move { axum::serve(listener, app).await };
        let task = tokio::spawn(server).abort_handle();
        Self { base, shared, task }
    }

    /// A URL of the server. Each caller has its own, so that executions can be distinguished.
    pub fn url(&self, caller: usize) -> String {
        format!("{}/{caller}/mcp", self.base)
    }

    pub fn executions(&self) -> Vec<Execution> {
        self.shared.executions().clone()
    }

    /// How many executions have begun.
    pub fn count(&self) -> usize {
        self.shared.executions().len()
    }

    /// Who asked for the last execution.
    pub fn last_caller(&self) -> Option<usize> {
        self.shared.executions().last().map(|execution| execution.caller)
    }
}

/// As much of the Model Context Protocol as tools need.
async fn serve(
    State(shared): State<Arc<Shared>>,
    Path(caller): Path<usize>,
    Json(body): Json<Value>,
) -> Response {
    let Some(id) = body.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match body["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "tools", "version": "1" },
        }),
        "tools/list" => json!({ "tools": shared.tools }),
        "tools/call" => execute(&shared, caller, &body["params"]).await,
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return Json(json!({ "jsonrpc": "2.0", "id": id, "error": error })).into_response();
        }
    };
    Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}

async fn execute(shared: &Shared, caller: usize, params: &Value) -> Value {
    let index = {
        let mut executions = shared.executions();
        executions.push(Execution {
            tool: params["name"].as_str().unwrap_or_default().to_owned(),
            arguments: params["arguments"].clone(),
            caller,
            began: Instant::now(),
            ended: None,
        });
        executions.len() - 1
    };
    let time = {
        let mut takes = shared.takes.lock();
        (*takes)()
    };
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
    shared.executions()[index].ended = Some(Instant::now());
    json!({ "content": [{ "type": "text", "text": "Done." }] })
}
