//! Calls to the Bot API, using teloxide's client. This is the only module that uses the token, and
//! it redacts the token in all texts.
//!
//! teloxide's own request functions are not used: on a 5xx they sleep for ten seconds, they hide
//! the status, and they treat a response that they cannot parse as a failure although the request
//! was carried out.

use std::{
    borrow::Cow,
    fmt::{self, Write},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide::{Bot, net::default_reqwest_settings, requests::Payload};
use url::Url;

/// The timeout for requests that are neither a long poll nor a file.
pub(super) const USUAL: Duration = Duration::from_secs(20);
/// The timeout for a file of the maximum size on a slow connection.
pub(super) const LARGE: Duration = Duration::from_mins(3);

/// The result of a failed call. The texts never contain the token.
#[derive(Debug)]
pub(super) enum Failure {
    /// The platform rejected the request.
    Refused { code: u16, description: String, after: Option<Duration>, moved: Option<i64> },
    /// The request was certainly not sent.
    Unsent(String),
    /// The request may have been sent, but no valid response arrived.
    Lost(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { code, description, .. } => write!(f, "{code}: {description}"),
            Self::Unsent(reason) | Self::Lost(reason) => f.write_str(reason),
        }
    }
}

pub(super) struct Api {
    bot: Bot,
    token: SecretString,
}

/// A file to upload, as a part of a form.
pub(super) struct Upload {
    pub(super) field: String,
    pub(super) name: String,
    pub(super) media_type: String,
    pub(super) bytes: Bytes,
}

#[derive(Deserialize)]
struct Answer {
    ok: bool,
    result: Option<Value>,
    error_code: Option<u16>,
    description: Option<String>,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Deserialize, Default)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

impl Api {
    pub(super) fn new(token: SecretString, url: Url) -> Self {
        let client = default_reqwest_settings()
            .build()
            .expect("a client with built-in roots has nothing to load that could fail");
        let bot = Bot::with_client(token.expose_secret(), client).set_api_url(url);
        Self { bot, token }
    }

    /// Calls the method with JSON, with a timeout of `within`.
    pub(super) async fn call<P>(&self, payload: &P, within: Duration) -> Result<Value, Failure>
    where
        P: Payload + Serialize + Sync,
    {
        let body = serde_json::to_vec(payload).map_err(|e| Failure::Unsent(e.to_string()))?;
        self.post(P::NAME, "application/json".into(), body.into(), within).await
    }

    /// Calls the method with a form that contains files.
    pub(super) async fn upload(
        &self,
        method: &str,
        fields: &[(&str, String)],
        files: &[Upload],
    ) -> Result<Value, Failure> {
        let (content_type, body) = form(fields, files);
        self.post(method, content_type, body, LARGE).await
    }

    async fn post(
        &self,
        method: &str,
        content_type: String,
        body: Bytes,
        within: Duration,
    ) -> Result<Value, Failure> {
        let url = self.url(&[&format!("bot{}", self.token.expose_secret()), method]);
        let request = self.bot.client().post(url).header("content-type", content_type);
        let sent = request.timeout(within).body(body).send().await;
        let response = sent.map_err(|e| self.failure(e.is_connect(), &e.without_url()))?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|e| self.failure(false, &e.without_url()))?;
        self.read(status, &text)
    }

    fn read(&self, status: u16, text: &str) -> Result<Value, Failure> {
        let refused = |description: String| Failure::Refused {
            code: status,
            description,
            after: None,
            moved: None,
        };
        let Ok(answer) = serde_json::from_str::<Answer>(text) else {
            return Err(match status {
                200..300 => Failure::Lost("the response is not valid".to_owned()),
                _ => refused(format!("status {status} without a valid response")),
            });
        };
        if answer.ok {
            return Ok(answer.result.unwrap_or_default());
        }
        Err(Failure::Refused {
            code: answer.error_code.unwrap_or(status),
            description: self.redact(&answer.description.unwrap_or_default()).into_owned(),
            after: answer.parameters.retry_after.map(Duration::from_secs),
            moved: answer.parameters.migrate_to_chat_id,
        })
    }

    /// The contents of a path that `getFile` returned; `None` if they exceed `limit`.
    pub(super) async fn download(&self, path: &str, limit: u64) -> Result<Option<Bytes>, Failure> {
        let bot = format!("bot{}", self.token.expose_secret());
        let mut segments = vec!["file", bot.as_str()];
        segments.extend(path.split('/'));
        let sent = self.bot.client().get(self.url(&segments)).timeout(LARGE).send().await;
        let mut response = sent.map_err(|e| self.failure(true, &e.without_url()))?;
        let status = response.status().as_u16();
        if status != 200 {
            let description = format!("status {status} for the file");
            return Err(Failure::Refused { code: status, description, after: None, moved: None });
        }
        let mut bytes = BytesMut::new();
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|e| self.failure(true, &e.without_url()))?;
            let Some(chunk) = chunk else { return Ok(Some(bytes.freeze())) };
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Ok(None);
            }
            bytes.extend_from_slice(&chunk);
        }
    }

    fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.bot.api_url();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    fn failure(&self, unsent: bool, error: &dyn std::error::Error) -> Failure {
        let mut reason = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let _ = write!(reason, ": {cause}");
            source = cause.source();
        }
        let reason = self.redact(&reason).into_owned();
        if unsent { Failure::Unsent(reason) } else { Failure::Lost(reason) }
    }

    /// The text without the token, whether it contains all of it or only the secret half, plain or
    /// as in a URL.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let token = self.token.expose_secret();
        let half = token.split_once(':').map_or(token, |(_, half)| half);
        if half.is_empty() || !text.contains(half) {
            return Cow::Borrowed(text);
        }
        let text = text.replace(token, "<token>");
        Cow::Owned(text.replace(half, "<token>"))
    }
}

/// `multipart/form-data` of RFC 7578. The boundary must not occur in any part.
fn form(fields: &[(&str, String)], files: &[Upload]) -> (String, Bytes) {
    let mut boundary = "countersign-form".to_owned();
    while files.iter().any(|file| contains(&file.bytes, boundary.as_bytes()))
        || fields.iter().any(|(_, value)| value.contains(&boundary))
    {
        boundary.push_str("-x");
    }
    let mut body = BytesMut::new();
    for (name, value) in fields {
        let _ =
            write!(body, "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        let _ = write!(body, "{value}\r\n");
    }
    for file in files {
        let _ = write!(
            body,
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\n\
             Content-Type: {}\r\n\r\n",
            file.field,
            in_quotes(&file.name),
            in_quotes(&file.media_type),
        );
        body.extend_from_slice(&file.bytes);
        body.extend_from_slice(b"\r\n");
    }
    let _ = write!(body, "--{boundary}--\r\n");
    (format!("multipart/form-data; boundary={boundary}"), body.freeze())
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Percent-encodes characters that would end the line or the quotes, as browsers do.
fn in_quotes(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api() -> Api {
        let url = Url::parse("http://127.0.0.1:1/prefix/").expect("a URL");
        Api::new("12345:AAsecretsecret".to_owned().into(), url)
    }

    /// Proves O1.
    #[test]
    fn the_token_is_taken_out_of_any_text() {
        let api = api();
        assert_eq!(api.redact("x bot12345:AAsecretsecret/getMe"), "x bot<token>/getMe");
        assert_eq!(api.redact("12345%3AAAsecretsecret"), "12345%3A<token>");
        assert_eq!(api.redact("nothing"), "nothing");
    }

    #[test]
    fn a_base_url_may_have_a_path() {
        assert_eq!(api().url(&["botT", "getMe"]).as_str(), "http://127.0.0.1:1/prefix/botT/getMe");
    }

    #[test]
    fn a_form_escapes_names_and_avoids_its_boundary() {
        let file = Upload {
            field: "file".to_owned(),
            name: "a\"\r\nb.txt".to_owned(),
            media_type: "text/plain".to_owned(),
            bytes: Bytes::from_static(b"--countersign-form--"),
        };
        let (content_type, body) = form(&[("chat_id", "1".to_owned())], &[file]);
        assert_eq!(content_type, "multipart/form-data; boundary=countersign-form-x");
        let body = String::from_utf8(body.to_vec()).expect("text");
        assert!(body.contains("filename=\"a%22%0D%0Ab.txt\""));
        assert!(body.ends_with("\r\n--countersign-form-x--\r\n"));
    }

    #[test]
    fn a_response_that_is_not_the_platforms_is_classified_by_its_status() {
        let api = api();
        assert!(matches!(api.read(200, "<html>"), Err(Failure::Lost(_))));
        assert!(matches!(api.read(502, "<html>"), Err(Failure::Refused { code: 502, .. })));
        let flood =
            r#"{"ok":false,"error_code":429,"description":"d","parameters":{"retry_after":7}}"#;
        let Err(Failure::Refused { after, .. }) = api.read(429, flood) else { panic!("refused") };
        assert_eq!(after, Some(Duration::from_secs(7)));
    }
}
