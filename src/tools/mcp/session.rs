//! Opens a connection to a server, with either generation of the protocol.

use chrono::{DateTime, Utc};
use reqwest::{StatusCode, Url, header};
use rmcp::{
    model::{ErrorCode, ProtocolVersion},
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService,
        ServiceError,
    },
    transport::{
        StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::{
            HttpStatusError, StreamableHttpClientTransportConfig, StreamableHttpError,
        },
    },
};
use secrecy::{ExposeSecret, SecretString};
use std::{
    collections::HashMap, ffi::OsString, future::Future, process::Stdio, sync::Arc, time::Duration,
};
use tokio::{process::Command, sync::Notify, time};

use super::{
    CONNECT_FOR, ConnectionRefused, McpConfig, Protocol,
    bounded_transport::BoundedTransport,
    challenge::InsufficientScope,
    client_handler::ClientEvents,
    login, oauth,
    stderr::{LastLines, LocalServer},
};
use crate::{clock::Clock, retry_after::retry_after, tools::ToolError};

/// The variables that a server's process inherits, without secrets.
const INHERITED: [&str; 3] = ["PATH", "HOME", "LANG"];

/// What the library reports for a call that waited for its answer when the session was replaced.
/// The error has no code of its own.
const SESSION_REPLACED: &str =
    "streamable HTTP session was re-initialized before the response arrived";

/// An open connection.
pub(super) type McpSession = RunningService<RoleClient, ClientEvents>;

/// What all connections of a server share.
#[derive(Clone)]
pub(super) struct Link {
    /// Notified when the server's tools may have changed.
    pub changed: Arc<Notify>,
    /// The standard error of its process.
    pub stderr: Arc<LastLines>,
    clock: Arc<dyn Clock>,
}

impl Link {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (changed, stderr) = <_>::default();
        Self { changed, stderr, clock }
    }
}

/// Connects once.
pub(super) async fn open(config: &McpConfig, link: &Link) -> Result<McpSession, ConnectionRefused> {
    let opened = time::timeout(CONNECT_FOR, Box::pin(connect_with_fallback(config, link))).await;
    opened.unwrap_or_else(|_| {
        let error = config.broken(&format!("did not answer within {CONNECT_FOR:?}"));
        Err(ConnectionRefused { error, is_permanent: false })
    })
}

pub(super) async fn bounded<T>(
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, ToolError> {
    time::timeout(limit, work).await.map_err(|_| ToolError::Timeout(limit))
}

/// With the old handshake, otherwise the new one. Each on its own connection, because a server may
/// close it after an unknown message.
async fn connect_with_fallback(
    config: &McpConfig,
    link: &Link,
) -> Result<McpSession, ConnectionRefused> {
    let new = || ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let old = ClientLifecycleMode::Initialize;
    let first = if config.protocol == Protocol::Discover { new() } else { old };
    let stored = match &config.login {
        Some(login) => Some(login.stored().await),
        None => None,
    };
    let mut begun = begin(config, link, first.clone()).await?;
    // The token may have been revoked before its expiry.
    if let (Err(error), Some(url), Some(login)) = (&begun, &config.url, &config.login)
        && error.is_authorization_required()
        && let Some(stored) = &stored
        && login::refresh(config, url, login, stored).await?
    {
        begun = begin(config, link, first).await?;
    }
    let error = match begun {
        Ok(session) => return Ok(session),
        Err(error) => error,
    };
    if config.protocol == Protocol::Auto
        && !error.is_authorization_required()
        && let Ok(session) = begin(config, link, new()).await?
    {
        return Ok(session);
    }
    Err(refused(config, &error))
}

fn refused(config: &McpConfig, error: &ClientInitializeError) -> ConnectionRefused {
    let reason = error.to_string();
    // Servers report missing authentication in different ways.
    if error.is_authorization_required() || reason.contains("HTTP 401") {
        let what = format!(
            "requires authentication (401): sign in with `countersign mcp login {}`, or set \
                `bearer`, or `token_url`, `client_id` and `client_secret` or `client_key`, for its \
                [[mcp]]",
            config.name
        );
        return ConnectionRefused { error: config.broken(&what), is_permanent: true };
    }
    let is_permanent = reason.contains("HTTP 403") || reason.contains("HTTP 404");
    let error = config.broken(&format!("does not answer like an MCP server: {reason}"));
    ConnectionRefused { error, is_permanent }
}

async fn begin(
    config: &McpConfig,
    link: &Link,
    mode: ClientLifecycleMode,
) -> Result<Result<McpSession, ClientInitializeError>, ConnectionRefused> {
    let is_permanent = |error| ConnectionRefused { error, is_permanent: true };
    let events = || ClientEvents::notifying(link.changed.clone());
    match (&config.command, &config.url) {
        (Some(command), None) => {
            let process = process(config, command, link).map_err(is_permanent)?;
            let transport = BoundedTransport::new(process, &config.name);
            Ok(events().serve_with_lifecycle(transport, mode).await)
        }
        (None, Some(url)) => {
            let transport = BoundedTransport::new(http(config, url, link).await?, &config.name);
            Ok(events().serve_with_lifecycle(transport, mode).await)
        }
        _ => Err(is_permanent(config.broken("needs either `command` or `url`"))),
    }
}

fn process(config: &McpConfig, command: &[String], link: &Link) -> Result<LocalServer, ToolError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(config.broken("has an empty `command`"));
    };
    let proxy = match &config.sandbox {
        Some(sandbox) => sandbox.network.open()?,
        None => None,
    };
    let mut command = if let Some(sandbox) = &config.sandbox {
        sandbox.command(command, proxy.as_ref()).map_err(|error| {
            let error = ToolError::from(error);
            let name = &config.name;
            let remedy = match config.checked_client {
                None => format!(" mcp.{name}.sandbox = false runs it without a sandbox"),
                Some(_) => String::new(),
            };
            config.broken(&format!("is disabled. {error}.{remedy}"))
        })?
    } else {
        let mut command = Command::new(program);
        command.args(arguments).env_clear();
        let kept = |name: &OsString| INHERITED.iter().any(|i| name == i);
        command.envs(std::env::vars_os().filter(|(name, _)| kept(name)));
        command
    };
    command.kill_on_drop(true);
    command.envs(config.env.iter().map(|(name, value)| (name, value.expose_secret())));
    link.stderr.clear();
    let spawned = TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn();
    let (process, stderr) =
        spawned.map_err(|e| config.broken(&format!("cannot be started (`{program}`): {e}")))?;
    Ok(LocalServer::new(process, stderr, link.stderr.clone(), proxy))
}

async fn http(
    config: &McpConfig,
    url: &Url,
    link: &Link,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, ConnectionRefused> {
    let is_permanent = |error| ConnectionRefused { error, is_permanent: true };
    let client = client(config, url).map_err(is_permanent)?;
    let token = match &config.oauth {
        Some(credentials) => {
            let (client, now) = (&client, link.clock.now());
            let wanted = oauth::TokenRequest { client, resource: url, now };
            Some(oauth::token(config, credentials, &wanted).await?)
        }
        None => match &config.login {
            Some(login) => login::token(config, url, login).await?,
            None => config.bearer.clone(),
        },
    };
    let mut wanted = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers(config).map_err(is_permanent)?);
    if let Some(token) = &token {
        wanted = wanted.auth_header(token.expose_secret());
    }
    Ok(StreamableHttpClientTransport::with_client(client, wanted))
}

/// A client that follows no redirects, which would send the headers to another host.
fn client(config: &McpConfig, url: &Url) -> Result<reqwest::Client, ToolError> {
    if let Some(web_client) = &config.checked_client {
        return web_client.client_for(url);
    }
    let builder = crate::tls::client_builder().connect_timeout(CONNECT_FOR);
    let client = builder.redirect(reqwest::redirect::Policy::none()).build();
    client.map_err(|error| config.broken(&format!("cannot be reached: {error}")))
}

fn headers(
    config: &McpConfig,
) -> Result<HashMap<header::HeaderName, header::HeaderValue>, ToolError> {
    let read = |(name, value): (&String, &SecretString)| {
        let value = header::HeaderValue::from_str(value.expose_secret()).ok()?;
        Some((header::HeaderName::from_bytes(name.as_bytes()).ok()?, value))
    };
    let headers: Option<_> = config.headers.iter().map(read).collect();
    headers.ok_or_else(|| config.broken("has a header that HTTP does not allow"))
}

impl McpConfig {
    pub(super) fn broken(&self, what: &str) -> ToolError {
        ToolError::ExternalService(format!("the MCP server `{}` {what}", self.name))
    }

    /// The error for a request that the server refused because there were too many, with this
    /// `Retry-After`.
    pub(super) fn rate_limited(&self, after: Option<&str>, now: DateTime<Utc>) -> ToolError {
        let wait = after.and_then(|after| {
            let after = header::HeaderValue::from_str(after).ok()?;
            let headers: header::HeaderMap = [(header::RETRY_AFTER, after)].into_iter().collect();
            retry_after(&headers, Some(now))
        });
        let seconds = |wait: Duration| format!("in {} s", wait.as_millis().div_ceil(1_000));
        let when = wait.map_or("later".to_owned(), seconds);
        self.broken(&format!(
            "limits the rate of requests and has refused this one (429), which has not run: try \
                again {when}"
        ))
    }
}

/// Why a call has no result.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection was lost; it is unknown whether the call ran.
    Broken,
    /// The call was not received.
    NotRun,
    /// The server showed no progress for [`super::SILENT_FOR`], or the call took longer than
    /// [`super::EXECUTE_FOR`]; it is unknown whether the call ran.
    TimedOut(Duration),
    /// The token has too few scopes; the call has not run.
    Insufficient(InsufficientScope),
    /// There were too many requests (429); the call has not run. With the header `Retry-After`.
    RateLimited(Option<String>),
    Reported(ToolError),
}

impl Fault {
    pub(super) fn of(config: &McpConfig, error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) if error.code == ErrorCode::INVALID_PARAMS => {
                Self::Reported(ToolError::InvalidParameters(error.message.into_owned()))
            }
            ServiceError::McpError(error)
                if error.code == ErrorCode::INTERNAL_ERROR && error.message == SESSION_REPLACED =>
            {
                Self::Broken
            }
            ServiceError::McpError(error) => {
                Self::Reported(ToolError::ExecutionFailed(error.message.into_owned()))
            }
            ServiceError::TransportSend(error) => {
                let error = error.error.as_ref();
                if let Some(insufficient) = InsufficientScope::of(error) {
                    return Self::Insufficient(insufficient);
                }
                if let Some(refused) = too_many_requests(error) {
                    return Self::RateLimited(refused.retry_after.clone());
                }
                if was_not_sent(error) { Self::NotRun } else { Self::Broken }
            }
            ServiceError::TransportClosed => Self::Broken,
            ServiceError::Timeout { timeout } => Self::TimedOut(timeout),
            other => Self::Reported(config.broken(&format!("sent an unexpected answer: {other}"))),
        }
    }
}

/// The refusal of a request by the server, or by a proxy before it, because there were too many.
fn too_many_requests<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> Option<&'e HttpStatusError> {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::HttpStatus(refused))
            if refused.status == StatusCode::TOO_MANY_REQUESTS =>
        {
            Some(refused)
        }
        _ => None,
    }
}

/// Whether nobody received the call, or it was rejected for missing authentication.
fn was_not_sent(error: &(dyn std::error::Error + 'static)) -> bool {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => {
            error.is_connect() || error.status() == Some(StatusCode::UNAUTHORIZED)
        }
        Some(StreamableHttpError::AuthRequired(_)) => true,
        _ => false,
    }
}
