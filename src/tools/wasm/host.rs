//! What a component can call: requests and files within its manifest, log lines, the time.

use bytes::Bytes;
use reqwest::Method;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use wasmtime::ResourceLimiter;

use super::{WasmHost, manifest::Grants};
use crate::{
    agent::paths::normalise,
    journal::event::SeenFile,
    tools::{
        Context, Output, ToolError,
        web::{
            address,
            client::{FailedRequest, WebRequest},
            request::{self, RequestTerms},
        },
        workspace,
    },
};
use bindings::countersign::tool::host::{Header, Host, Level, Request, Response};

/// Generated from `wit/tool.wit`.
pub mod bindings {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "tool",
        imports: { default: async },
        exports: { default: async },
    });
}

const FILE_BYTES: usize = 5_000_000;
/// The maximum number of requests and file accesses of a call.
const MAX_ACCESSES: usize = 200;
const MAX_LOG_LINES: usize = 200;
const LOG_LINE_CHARS: usize = 500;
/// The maximum number of elements in all tables of a component.
const TABLE_ELEMENTS: usize = 100_000;
/// The folder of the gateway's own files in a workspace.
const OWN_FOLDER: &str = ".countersign";

/// The state of one instance.
pub struct HostState {
    pub limiter: MemoryLimiter,
    /// `None` while a component describes its tool.
    call: Option<OngoingCall>,
    log: Vec<String>,
    seen: Vec<SeenFile>,
    accesses: usize,
    /// Whether a request that may have taken effect has no response.
    pub has_lost_request: bool,
}

/// The call for which an instance runs.
pub struct OngoingCall {
    pub tool: String,
    pub grants: Arc<Grants>,
    pub host: Arc<WasmHost>,
    pub context: Context,
}

/// Limits the memory of an instance: of all linear memories, and of all tables.
pub struct MemoryLimiter {
    left_bytes: usize,
    left_elements: usize,
    pub has_refused: bool,
}

/// A request to enlarge a memory or a table.
struct Growth {
    current: usize,
    desired: usize,
    maximum: Option<usize>,
}

impl Growth {
    /// Whether it is allowed. If so, it is subtracted from what is left.
    fn take_from(&self, left: &mut usize) -> bool {
        let more = self.desired.saturating_sub(self.current);
        let may = more <= *left && self.maximum.is_none_or(|limit| self.desired <= limit);
        *left -= if may { more } else { 0 };
        may
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let growth = Growth { current, desired, maximum };
        let may = growth.take_from(&mut self.left_bytes);
        self.has_refused |= !may;
        Ok(may)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let growth = Growth { current, desired, maximum };
        let may = growth.take_from(&mut self.left_elements);
        self.has_refused |= !may;
        Ok(may)
    }

    fn instances(&self) -> usize {
        50
    }

    fn tables(&self) -> usize {
        50
    }

    fn memories(&self) -> usize {
        10
    }
}

impl HostState {
    pub fn new(memory_bytes: usize, call: Option<OngoingCall>) -> Self {
        let limiter = MemoryLimiter {
            left_bytes: memory_bytes,
            left_elements: TABLE_ELEMENTS,
            has_refused: false,
        };
        let (log, seen, accesses, has_lost_request) = <_>::default();
        Self { limiter, call, log, seen, accesses, has_lost_request }
    }

    /// The result of the call.
    pub fn output(self, text: String) -> Output {
        let raw = (!self.log.is_empty()).then(|| self.log.join("\n"));
        Output { raw, seen: self.seen, ..Output::text(text) }
    }

    /// The call that accesses something.
    fn accessing(&mut self) -> Result<&OngoingCall, ToolError> {
        self.accesses += 1;
        if self.accesses > MAX_ACCESSES {
            let why = format!("a call can make {MAX_ACCESSES} requests and file accesses");
            return Err(ToolError::ExecutionFailed(why));
        }
        let why = "nothing can be accessed while a tool is described";
        self.call.as_ref().ok_or_else(|| ToolError::NotAuthorized(why.to_owned()))
    }

    fn has_seen(&mut self, path: String, bytes: &[u8]) {
        self.seen.retain(|seen| seen.path != path);
        self.seen.push(SeenFile { path, digest: hex::encode(Sha256::digest(bytes)) });
    }
}

impl Host for HostState {
    async fn log(&mut self, level: Level, message: String) {
        let Some(call) = self.call.as_ref().filter(|call| call.grants.log) else { return };
        if self.log.len() >= MAX_LOG_LINES {
            return;
        }
        let message: String = message.chars().take(LOG_LINE_CHARS).collect();
        let level = format!("{level:?}").rsplit(':').next().unwrap_or_default().to_lowercase();
        let id = &call.context.call;
        tracing::debug!(tool.name = call.tool, call = %id, level, message, "a WASM tool logged");
        self.log.push(format!("{level}: {}", channels::text::neutralise(&message)));
    }

    async fn send(&mut self, request: Request) -> Result<Response, String> {
        let call = self.accessing().map_err(|error| error.to_string())?;
        let sent = call.send(request).await;
        self.has_lost_request |= sent.as_ref().is_err_and(|failed| failed.may_have_taken_effect);
        sent.map_err(|failed| failed.error.to_string())
    }

    async fn read_file(&mut self, path: String) -> Result<Vec<u8>, String> {
        let read = async {
            let call = self.accessing()?;
            let path = granted(&call.grants.read, &path)?;
            let wanted = path.clone();
            let read = workspace::beneath(&call.context, move |workspace, _| {
                workspace.bytes(&wanted, FILE_BYTES as u64)
            });
            Ok::<_, ToolError>((path, read.await?))
        };
        let (path, bytes) = read.await.map_err(|error| error.to_string())?;
        self.has_seen(path, &bytes);
        Ok(bytes)
    }

    async fn write_file(&mut self, path: String, content: Vec<u8>) -> Result<(), String> {
        let written = async {
            let call = self.accessing()?;
            let path = granted(&call.grants.write, &path)?;
            if content.len() > FILE_BYTES {
                let why = format!("{path}: a file can have {FILE_BYTES} bytes at most");
                return Err(ToolError::InvalidParameters(why));
            }
            let (wanted, bytes) = (path.clone(), content.clone());
            let write = workspace::beneath(&call.context, move |workspace, cancelled| {
                workspace.replace(&wanted, &bytes, cancelled)
            });
            write.await.map(|()| path)
        };
        let path = written.await.map_err(|error| error.to_string())?;
        self.has_seen(path, &content);
        Ok(())
    }

    async fn now(&mut self) -> u64 {
        let now = self.call.as_ref().map(|call| call.context.now.timestamp_millis());
        now.and_then(|now| now.try_into().ok()).unwrap_or_default()
    }
}

/// The normalised path, if the manifest grants it.
fn granted(grants: &globset::GlobSet, path: &str) -> Result<String, ToolError> {
    let path = normalise(path)?;
    let is_own = path.split('/').next() == Some(OWN_FOLDER);
    if is_own || !grants.is_match(&path) {
        let why = format!("the tool's manifest does not grant the file {path}");
        return Err(ToolError::NotAuthorized(why));
    }
    Ok(path)
}

impl OngoingCall {
    async fn send(&self, request: Request) -> Result<Response, FailedRequest> {
        let Request { method, url, headers, body } = request;
        let url = address(&url)?;
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| ToolError::InvalidParameters(format!("`{method}` is no method")))?;
        let Some(host) = self.grants.host(&method, &url) else {
            let host = url.host_str().unwrap_or_default();
            let why = format!("the tool's manifest does not grant {method} at {host}");
            return Err(ToolError::NotAuthorized(why).into());
        };
        let headers = headers.into_iter().map(|Header { name, value }| (name, value)).collect();
        let ask = WebRequest {
            method: method.clone(),
            url,
            headers: request::written(&headers)?,
            body: body.map(Bytes::from),
            max_bytes: request::MAX_BYTES,
        };
        if request::overrides_method_of(&ask) {
            let why = "a field of the request would replace its method: leave it out";
            return Err(ToolError::NotAuthorized(why.to_owned()).into());
        }
        let terms = RequestTerms {
            agent: &self.context.agent,
            now: self.context.now,
            has_credentials: host.credential,
            may_go: &|next| self.grants.host(&method, next).is_some(),
        };
        let exchange = self.host.http.exchange(ask, &terms).await?;
        let headers = exchange.answer.headers.iter().map(|(name, value)| Header {
            name: name.as_str().to_owned(),
            value: exchange.redacted(&String::from_utf8_lossy(value.as_bytes())),
        });
        let (status, headers) = (exchange.answer.status.as_u16(), headers.collect());
        Ok(Response { status, headers, body: exchange.redacted_body()? })
    }
}
