//! `http_request`: one request to an interface of the web, and its answer as it came.

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    address,
    client::{Answer, Ask, Outside},
};
use crate::{
    agent::catalog::{Approval, EffectClass, Rate, Subject, Tier, ToolSpec},
    tools::{
        Context, Output, Tool, ToolError,
        arguments::{parse, schema},
    },
};

const MAX_BYTES: usize = 1024 * 1024;
/// Headers of the connection itself: whoever sets them speaks for somebody else.
const OURS: [&str; 6] =
    ["host", "connection", "content-length", "transfer-encoding", "upgrade", "proxy-authorization"];

/// `http_request`
pub struct HttpRequest {
    pub outside: Outside,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The address, such as https://api.example.org/v1/things?limit=5.
    url: String,
    /// GET if left out.
    #[serde(default)]
    method: Verb,
    /// Headers to send besides those of the connection.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The body: a text as it is, anything else as JSON.
    #[serde(default)]
    body: Option<Value>,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
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
            approval: Approval::UnlessAllowed,
            subject: Some(Subject::Text("url")),
            rate: Some(Rate::new(30, 500)),
            untrusted: true,
            outward: true,
            ..ToolSpec::read_only(
                "http_request",
                "Sends one HTTP request to an interface of the public web and shows status, \
                 headers and body of the answer. Use web_fetch to read a page.",
                schema::<Arguments>(),
            )
        }
    }

    /// To read is as free as with `web_fetch`; to delete asks every time.
    fn approval(&self, arguments: &Value) -> Approval {
        match arguments["method"].as_str().unwrap_or("GET") {
            "GET" | "HEAD" => Approval::Never,
            "DELETE" => Approval::Always,
            _ => Approval::UnlessAllowed,
        }
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let Arguments { url, method, headers, body } = parse(arguments)?;
        let method = match method {
            Verb::Get => Method::GET,
            Verb::Head => Method::HEAD,
            Verb::Post => Method::POST,
            Verb::Put => Method::PUT,
            Verb::Patch => Method::PATCH,
            Verb::Delete => Method::DELETE,
        };
        let mut headers = written(&headers)?;
        let body = body.map(|body| match body {
            Value::String(text) => Bytes::from(text),
            json => {
                let is_json = HeaderValue::from_static("application/json");
                headers.entry("content-type").or_insert(is_json);
                Bytes::from(json.to_string())
            }
        });
        let (url, at_most_bytes) = (address(&url)?, MAX_BYTES);
        let answer = self.outside.send(Ask { method, url, headers, body, at_most_bytes }).await?;
        let text = shown(&answer);
        if answer.status.is_server_error() {
            return Err(ToolError::ExternalService(text));
        }
        if answer.status.is_client_error() {
            return Err(ToolError::ExecutionFailed(text));
        }
        Ok(Output::text(text))
    }
}

fn written(headers: &BTreeMap<String, String>) -> Result<HeaderMap, ToolError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || ToolError::InvalidParameters(format!("`{name}` is no header to send"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        if OURS.contains(&key.as_str()) {
            return Err(invalid());
        }
        map.insert(key, HeaderValue::from_str(value).map_err(|_| invalid())?);
    }
    Ok(map)
}

fn shown(answer: &Answer) -> String {
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
    let rest = if answer.is_cut { "\n[the body goes on; only the first MiB was read]" } else { "" };
    format!("{text}\n{body}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Place;
    use fakes::web::FakeWeb;
    use serde_json::json;

    fn tool() -> HttpRequest {
        HttpRequest { outside: Outside::new(["127.0.0.1".to_owned()].into()).unwrap() }
    }

    /// Within its limits.
    /// Proves IC-48.
    #[tokio::test]
    async fn a_request_is_sent_as_it_was_written() {
        let (server, mut place) = (FakeWeb::start().await, Place::new());
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

    /// What changes something is sent once, and to nobody else.
    #[tokio::test]
    async fn a_post_does_not_follow_a_redirect() {
        let (server, mut place) = (FakeWeb::start().await, Place::new());
        let url = format!("{}/redirect?to=/echo", server.url());
        let text = place.runs(&tool(), json!({ "url": url, "method": "POST" })).await.unwrap().text;
        assert!(
            text.starts_with("HTTP 302 — 0 bytes") && text.contains("location: /echo"),
            "{text}"
        );
        assert_eq!(server.asked().len(), 1);
    }

    /// Below 400 is a success; a network that fails is told as such.
    /// Proves CV-05, CV-06.
    #[tokio::test]
    async fn the_status_says_whether_it_worked() {
        let (server, mut place) = (FakeWeb::start().await, Place::new());
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
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let closed = place.runs(&tool(), json!({ "url": format!("http://{gone}/") })).await;
        assert!(
            matches!(&closed, Err(ToolError::ExternalService(text)) if text.starts_with("Request failed: ")),
            "{closed:?}"
        );
    }

    #[tokio::test]
    async fn the_connections_own_headers_are_refused() {
        let (server, mut place) = (FakeWeb::start().await, Place::new());
        for name in ["Host", "content-length", "Transfer-Encoding", "bad name", "x\r\ny"] {
            let arguments = json!({ "url": server.url(), "headers": { (name): "1" } });
            let error = place.runs(&tool(), arguments).await.unwrap_err().to_string();
            assert!(error.contains("is no header to send"), "{error}");
        }
        assert!(server.asked().is_empty());
    }
}
