//! `http_request`: one HTTP request. The result is its response as received.

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};
use url::Url;

use super::{
    address,
    client::{FailedRequest, WebClient, WebRequest, WebResponse},
    credentials::{Credential, Injection},
    hosts::HostRule,
};
use crate::{
    agent::catalog::{ApprovalMode, EffectClass, Rate, Subject, Tier, ToolSpec},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
    },
};

/// The maximum size of a response that is read.
pub const MAX_BYTES: usize = 1024 * 1024;
/// Headers of the connection itself, which must not be set by a model.
const OURS: [&str; 6] =
    ["host", "connection", "content-length", "transfer-encoding", "upgrade", "proxy-authorization"];
/// Headers by which many frameworks replace the method or the path of a request. An approval or a
/// rule would then be for another request than the one that takes effect.
const OVERRIDES: [&str; 5] = [
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];
/// The same for the method, as a parameter of the query or a field of the body.
const OVERRIDE_FIELD: &str = "_method";

/// `http_request`
pub struct HttpRequest {
    pub web_client: WebClient,
    pub access: Arc<Access>,
}

/// The operator's rules and credentials for hosts.
#[derive(Debug, Default)]
pub struct Access {
    pub hosts: Vec<HostRule>,
    pub credentials: Vec<Credential>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The URL, such as https://api.example.org/v1/things?limit=5.
    url: String,
    /// Default GET.
    #[serde(default)]
    method: Verb,
    /// Headers to send besides those of the connection.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The body: text as it is, anything else as JSON.
    #[serde(default)]
    body: Option<Value>,
}

/// Serialized for the default in the schema, and for the rules that match it.
#[derive(Serialize, Deserialize, JsonSchema, Default, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

#[async_trait]
impl Tool for HttpRequest {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            tier: Tier::Extension,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Text("url")),
            rate: Some(Rate::new(30, 500)),
            untrusted: true,
            outward: true,
            ..ToolSpec::read_only(
                "http_request",
                "Sends one HTTP request to a web API.\nReturns status, headers and body. Use \
                    web_fetch to read a page.",
                schema::<Arguments>(),
            )
        }
    }

    /// Deletions need an approval every time, and so do requests that may take effect with another
    /// method than their own. Everything else, reads included, needs one unless a rule allows it:
    /// the rules of `http.hosts` decide where the agent may read.
    fn approval(&self, arguments: &Value) -> ApprovalMode {
        match arguments["method"].as_str() {
            Some("DELETE") => ApprovalMode::Always,
            _ if overrides_method(arguments) => ApprovalMode::Always,
            _ => ApprovalMode::UnlessAllowed,
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let ask = parse(arguments).and_then(ask)?;
        let terms = RequestTerms {
            agent: &context.agent,
            now: context.now,
            has_credentials: true,
            may_go: &|_| true,
        };
        let exchange = self.exchange(ask, &terms).await.map_err(|failed| {
            // A person decides whether it is sent again.
            if failed.may_have_taken_effect { ToolError::Unknown } else { failed.error }
        })?;
        finished(&exchange.answer, exchange.redacted(&shown(&exchange.answer)))
    }
}

/// On whose behalf a request is sent, and where it may lead.
pub struct RequestTerms<'s> {
    /// The id of the acting agent.
    pub agent: &'s str,
    pub now: DateTime<Utc>,
    /// Whether the credential of the host is added.
    pub has_credentials: bool,
    /// Whether a redirect to this URL may be followed, in addition to the rules for hosts.
    pub may_go: &'s (dyn Fn(&Url) -> bool + Send + Sync),
}

/// A response, and the credential that was sent.
pub struct HttpExchange<'c> {
    pub answer: WebResponse,
    injection: Option<Injection<'c>>,
}

impl HttpExchange<'_> {
    /// A text of the response without the credential.
    pub fn redacted(&self, text: &str) -> String {
        self.injection.as_ref().map_or_else(|| text.to_owned(), |it| it.redacted(text))
    }

    /// The body without the credential. With one, the body has to be text.
    pub fn redacted_body(&self) -> Result<Vec<u8>, ToolError> {
        if self.injection.is_none() {
            return Ok(self.answer.body.clone());
        }
        let text = match std::str::from_utf8(&self.answer.body) {
            Ok(text) => text,
            // Only the end of a text is missing.
            Err(problem) if self.answer.is_cut && problem.error_len().is_none() => {
                std::str::from_utf8(&self.answer.body[..problem.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => {
                let why = "a response to a request with a credential has to be text";
                return Err(ToolError::ExternalService(why.to_owned()));
            }
        };
        Ok(self.redacted(text).into_bytes())
    }
}

impl HttpRequest {
    /// Sends a request, with the credential of its host if there is one.
    pub async fn exchange(
        &self,
        ask: WebRequest,
        terms: &RequestTerms<'_>,
    ) -> Result<HttpExchange<'_>, FailedRequest> {
        let own = self.access.credentials.iter().filter(|_| terms.has_credentials);
        let credential = own.clone().find(|own| own.is_for(&ask.url, terms.agent));
        let Some(credential) = credential else {
            if own.clone().any(|own| own.is_for_https_of(&ask.url)) {
                let why = "this host is configured for https: use https in the address";
                return Err(ToolError::InvalidParameters(why.into()).into());
            }
            let (first, method) = (ask.url.clone(), ask.method.clone());
            let may_follow = |next: &mut Url| {
                (terms.may_go)(next) && self.access.may_follow(&method, &first, next)
            };
            let answer = self.web_client.send_where(ask, &may_follow).await?;
            return Ok(HttpExchange { answer, injection: None });
        };
        self.exchange_with(credential, ask, terms).await
    }

    /// Sends the request with the credential. If a token is rejected, a request without side
    /// effects is sent once more with a new token.
    async fn exchange_with<'c>(
        &self,
        credential: &'c Credential,
        ask: WebRequest,
        terms: &RequestTerms<'_>,
    ) -> Result<HttpExchange<'c>, FailedRequest> {
        let fetches = matches!(ask.method, Method::GET | Method::HEAD);
        let mut is_last = !fetches;
        loop {
            let injection = credential.injection(terms.now).await?;
            let (first, method) = (ask.url.clone(), ask.method.clone());
            let mut ask = ask.clone();
            injection.apply(&mut ask)?;
            let may_follow = |next: &mut Url| {
                (terms.may_go)(next)
                    && self.access.may_follow(&method, &first, next)
                    && injection.may_follow(next)
            };
            let mut answer = self.web_client.send_where(ask, &may_follow).await?;
            if credential.renews(answer.status) && !is_last {
                is_last = true;
                continue;
            }
            if answer.is_cut {
                let kept = answer.body.len().saturating_sub(injection.longest());
                answer.body.truncate(kept);
            }
            return Ok(HttpExchange { answer, injection: Some(injection) });
        }
    }
}

impl Access {
    /// Whether a redirect may be followed. From a host with a rule or credential, redirects lead
    /// only to the same origin and to hosts at which the agent needs no approval.
    fn may_follow(&self, method: &Method, first: &Url, next: &Url) -> bool {
        let is_configured = self.hosts.iter().any(|rule| rule.pattern.is_match(first))
            || self.credentials.iter().any(|own| own.url.origin() == first.origin());
        !is_configured
            || first.origin() == next.origin()
            || self.hosts.iter().any(|rule| rule.covers(method, next))
    }
}

fn ask(arguments: Arguments) -> Result<WebRequest, ToolError> {
    let Arguments { url, method, headers, body } = arguments;
    let mut headers = written(&headers)?;
    let body = body.map(|body| match body {
        Value::String(text) => Bytes::from(text),
        json => {
            let is_json = HeaderValue::from_static("application/json");
            headers.entry("content-type").or_insert(is_json);
            Bytes::from(json.to_string())
        }
    });
    let (url, method) = (address(&url)?, method.method());
    Ok(WebRequest { method, url, headers, body, max_bytes: MAX_BYTES })
}

impl Verb {
    pub fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Head => Method::HEAD,
            Self::Post => Method::POST,
            Self::Put => Method::PUT,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }
}

/// Whether the query or the body has a field that replaces the method. The agent chooses the content
/// type, so a body is read as JSON and as a form. One that is no JSON object is searched as text.
fn overrides_method(arguments: &Value) -> bool {
    let query = arguments["url"].as_str().and_then(|url| address(url).ok());
    let query = query.as_ref().and_then(Url::query).unwrap_or_default();
    let sent = match &arguments["body"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        json => json.to_string(),
    };
    is_override_in(query)
        || is_override_in(&sent)
        || match serde_json::from_str(&sent) {
            Ok(Value::Object(fields)) => fields.keys().any(|name| is_override(name)),
            _ => sent.to_lowercase().contains(OVERRIDE_FIELD),
        }
}

/// Like [`overrides_method`], for a request that a program has made.
pub fn overrides_method_of(ask: &WebRequest) -> bool {
    let body = ask.body.as_ref().map(|body| String::from_utf8_lossy(body).into_owned());
    overrides_method(&serde_json::json!({ "url": ask.url.as_str(), "body": body }))
}

fn is_override_in(form: &str) -> bool {
    url::form_urlencoded::parse(form.as_bytes()).any(|(name, _)| is_override(&name))
}

fn is_override(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    name == OVERRIDE_FIELD || OVERRIDES.contains(&name.replace('_', "-").as_str())
}

/// Distinguishes errors of the caller from errors of the service.
fn finished(answer: &WebResponse, text: String) -> Result<Output, ToolError> {
    match answer.status {
        status if status.is_server_error() => Err(ToolError::ExternalService(text)),
        status if status.is_client_error() => Err(ToolError::ExecutionFailed(text)),
        _ => Ok(Output::text(text)),
    }
}

/// The headers as sent. Rejects those of the connection, and those that replace the method.
pub fn written(headers: &BTreeMap<String, String>) -> Result<HeaderMap, ToolError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || ToolError::InvalidParameters(format!("the header `{name}` cannot be set"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        // Gateways pass on headers with underscores as the same with hyphens.
        let plain = key.as_str().replace('_', "-");
        if OURS.contains(&plain.as_str()) || OVERRIDES.contains(&plain.as_str()) {
            return Err(invalid());
        }
        map.insert(key, HeaderValue::from_str(value).map_err(|_| invalid())?);
    }
    Ok(map)
}

fn shown(answer: &WebResponse) -> String {
    let status = answer.status.as_u16();
    let mut text = format!("HTTP {status} — {} bytes\n", answer.body.len());
    for (name, value) in &answer.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let _ = writeln!(text, "{name}: {value}");
    }
    let body = match std::str::from_utf8(&answer.body) {
        Ok(body) => body.to_owned(),
        Err(_) if answer.is_cut => String::from_utf8_lossy(&answer.body).into_owned(),
        Err(_) => format!("[{} bytes that are no text]", answer.body.len()),
    };
    let rest =
        if answer.is_cut { "\n[the body is longer; only the first MiB was read]" } else { "" };
    format!("{text}\n{body}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;
    use fakes::web::FakeWeb;
    use serde_json::json;
    use std::time::Duration;
    use tokio::net::TcpListener;

    fn tool() -> HttpRequest {
        let web_client = WebClient::new(["127.0.0.1".to_owned()].into()).unwrap();
        HttpRequest { web_client, access: Arc::default() }
    }

    /// The request is sent as given, within the limits.
    /// Proves IC-48.
    #[tokio::test]
    async fn a_request_is_sent_as_it_was_written() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        assert_eq!(tool().spec().rate, Some(Rate::new(30, 500)));
        let arguments = json!({
            "url": format!("{}/echo?x=1", server.url()),
            "method": "POST",
            "headers": { "X-Trace": "7" },
            "body": { "name": "Ann" },
        });
        let text = place.runs(&tool(), arguments).await.unwrap().text;
        assert!(text.starts_with("HTTP 200 — "), "{text}");
        for part in ["POST /echo?x=1", "x-trace: 7", "content-type: application/json"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.ends_with(r#"{"name":"Ann"}"#), "{text}");
    }

    /// A request with side effects is sent once, to one host only.
    #[tokio::test]
    async fn a_post_does_not_follow_a_redirect() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        let url = format!("{}/redirect?to=/echo", server.url());
        let text = place.runs(&tool(), json!({ "url": url, "method": "POST" })).await.unwrap().text;
        assert!(
            text.starts_with("HTTP 302 — 0 bytes") && text.contains("location: /echo"),
            "{text}"
        );
        assert_eq!(server.asked().len(), 1);
    }

    /// A status below 400 is a success; a network error is reported as such.
    /// Proves CV-05, CV-06, IC-24.
    #[tokio::test]
    async fn the_status_says_whether_it_worked() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        let found = place.runs(&tool(), json!({ "url": format!("{}/echo", server.url()) })).await;
        let text = found.unwrap().text;
        let (first, rest) = text.split_once('\n').unwrap();
        let body = rest.split_once("\n\n").unwrap().1;
        assert_eq!(first, format!("HTTP 200 — {} bytes", body.len()));
        let missing = json!({ "url": format!("{}/nowhere", server.url()) });
        let refused = place.runs(&tool(), missing).await.unwrap_err();
        assert!(
            matches!(&refused, ToolError::ExecutionFailed(text) if text.starts_with("HTTP 404 — ")),
            "{refused}"
        );
        server.fails("/down", 503);
        let down = json!({ "url": format!("{}/down", server.url()) });
        let broken = place.runs(&tool(), down).await.unwrap_err();
        assert!(
            matches!(&broken, ToolError::ExternalService(text) if text.starts_with("HTTP 503 — ")),
            "{broken}"
        );
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let closed = place.runs(&tool(), json!({ "url": format!("http://{gone}/") })).await;
        assert!(
            matches!(&closed, Err(ToolError::ExternalService(text)) if text.starts_with("Request failed: ")),
            "{closed:?}"
        );
    }

    /// A request that may have taken effect has not failed, because the agent could repeat it: its
    /// outcome is unknown. One that was not sent, or has no effect, has failed.
    #[tokio::test]
    async fn the_outcome_of_a_request_without_a_response_is_unknown() {
        let (server, place) = (FakeWeb::start().await, ToolFixture::new());
        server.hangs("/slow");
        let web_client = tool().web_client.answering_within(Duration::from_millis(200));
        let (tool, hasty) = (tool(), HttpRequest { web_client, access: Arc::default() });
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (slow, broken) = (format!("{}/slow", server.url()), listener.local_addr().unwrap());
        let (closed, broken) = (format!("http://{gone}/"), format!("http://{broken}/"));
        let breaks = async {
            while let Ok((stream, _)) = listener.accept().await {
                stream.readable().await.unwrap();
            }
        };
        let asks = async {
            for (tool, url, arrives) in
                [(&hasty, &slow, true), (&tool, &broken, true), (&tool, &closed, false)]
            {
                for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] {
                    let arguments = json!({ "url": url, "method": method });
                    let ended = tool.run(arguments, &place.context).await;
                    let is_unknown = arrives && !["GET", "HEAD"].contains(&method);
                    assert!(ended.is_err(), "{method} {url}");
                    assert_eq!(
                        ended == Err(ToolError::Unknown),
                        is_unknown,
                        "{method} {url}: {ended:?}"
                    );
                }
            }
        };
        tokio::select! {
            () = asks => {}
            () = breaks => unreachable!(),
        }
    }

    /// A request that may take effect as a deletion needs the approval of one.
    #[test]
    fn a_replaced_method_needs_an_approval_every_time() {
        let post = |url: &str, body: Value| json!({ "url": url, "method": "POST", "body": body });
        let plain = "https://api.example.org/things";
        for (arguments, is_always) in [
            (post(plain, json!({ "name": "a method" })), false),
            (post(&format!("{plain}?method=DELETE"), Value::Null), false),
            (json!({ "url": plain, "method": "DELETE" }), true),
            (post(&format!("{plain}?a=1&_method=DELETE"), Value::Null), true),
            // What is sent has a scheme, whether or not the arguments have one.
            (post(" api.example.org/x?_method=DELETE", Value::Null), true),
            (post("api.example.org:8443/x?_method=DELETE", Value::Null), true),
            (post(&format!("{plain}?%5fMETHOD=put"), Value::Null), true),
            (post(&format!("{plain}?X-HTTP-Method-Override=DELETE"), Value::Null), true),
            (post(plain, json!({ "_method": "delete" })), true),
            (post(plain, json!("a=1&%5Fmethod=DELETE")), true),
            (post(plain, json!(r#"{"\u005fmethod":"DELETE"}"#)), true),
            (post(plain, json!("--b\r\nContent-Disposition: form-data; name=\"_method\"")), true),
            (post(plain, json!({ "payment_method": "a=1" })), false),
            (post(plain, json!({ "a&_method=DELETE&x": 1 })), true),
            (post(plain, json!(r#"{"a&_method=DELETE&x":1}"#)), true),
            (post(plain, json!({ "n": "a&_method=DELETE&" })), true),
            (post(plain, json!(["a&_method=DELETE&"])), true),
        ] {
            let approval = tool().approval(&arguments);
            assert_eq!(approval == ApprovalMode::Always, is_always, "{arguments}");
        }
    }

    #[tokio::test]
    async fn the_connections_own_headers_are_refused() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "bad name",
            "x\r\ny",
            "X-HTTP-Method-Override",
            "x_http_method",
            "X-Method-Override",
            "X-Original-URL",
        ] {
            let arguments = json!({ "url": server.url(), "headers": { (name): "1" } });
            let error = place.runs(&tool(), arguments).await.unwrap_err().to_string();
            assert!(error.contains("cannot be set"), "{error}");
        }
        assert!(server.asked().is_empty());
    }
}
