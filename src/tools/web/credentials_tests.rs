//! Tests of credentials over real sockets: the requests that an API receives, and the results.

use fakes::account::{Account, CLIENT, CLIENT_SECRET, KEY};
use parking_lot::Mutex;
use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;
use std::sync::Arc;

use super::{
    client::{WebClient, place},
    credentials::{Credential, OAuthClient, SecretPlacement as Where, SecretSource},
    hosts::{HostPattern, HostRule},
    request::{Access, HttpRequest},
};
use crate::tools::{ToolError, testing::ToolFixture};

fn web_client() -> WebClient {
    WebClient::new(["127.0.0.1".to_owned(), "localhost".to_owned()].into()).unwrap()
}

fn fixed(url: &str, place: Where) -> Credential {
    let secret = SecretSource::Fixed(SecretString::from(KEY));
    Credential { url: url.parse().unwrap(), agents: vec![], place, secret }
}

fn header(name: &str, prefix: &str) -> Where {
    Where::Header { name: name.parse().unwrap(), prefix: prefix.into() }
}

fn oauth(api: &Account) -> Credential {
    let client = OAuthClient {
        token_url: format!("{}/token", api.url()).parse().unwrap(),
        id: CLIENT.into(),
        secret: SecretString::from(CLIENT_SECRET),
        scopes: vec!["read".into(), "list".into()],
        web_client: web_client(),
        kept: Mutex::default(),
    };
    let place = header("authorization", "Bearer ");
    Credential { secret: SecretSource::Client(Box::new(client)), ..fixed(api.url(), place) }
}

fn tool(credential: Credential) -> HttpRequest {
    let access = Access { hosts: vec![], credentials: vec![credential] };
    HttpRequest { web_client: web_client(), access: Arc::new(access) }
}

fn is_clean(text: &str) -> bool {
    let letters: String = text.to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
    !letters.contains("canary")
}

/// In a header, in another header, in the query, as a token: the secret arrives, and a response
/// that repeats it in several encodings does not show it.
#[tokio::test]
async fn a_credential_is_sent_and_never_shown() {
    let api = Account::start().await;
    for credential in [
        fixed(api.url(), header("authorization", "Bearer ")),
        fixed(api.url(), header("x-api-key", "")),
        fixed(api.url(), Where::Query("api_key".into())),
        oauth(&api),
    ] {
        let (mut place, tool) = (ToolFixture::new(), tool(credential));
        let url = format!("{}/data?x=1", api.url());
        let text = place.runs(&tool, json!({ "url": url })).await.unwrap().text;
        assert!(text.starts_with("HTTP 200") && text.contains("x=1"), "{text}");
        assert!(is_clean(&text), "{text}");
        for (status, kind) in [(404, "HTTP 404"), (503, "External service: HTTP 503")] {
            let url = format!("{}/data?status={status}", api.url());
            let error = place.runs(&tool, json!({ "url": url })).await.unwrap_err().to_string();
            assert!(error.starts_with(kind) && is_clean(&error), "{error}");
        }
    }
    let mut sent = api.requests().into_iter().filter(|request| request.contains("/data"));
    assert!(sent.all(|request| !is_clean(&request)), "each had its credential");
}

/// Only the origin gets the credential: no other scheme, port or agent does, and the caller cannot
/// set the header.
#[tokio::test]
async fn a_credential_is_for_its_origin_alone() {
    let (api, other) = (Account::start().await, Account::start().await);
    let tool = tool(fixed(api.url(), header("x-api-key", "")));
    let mut place = ToolFixture::new();
    let elsewhere = json!({ "url": format!("{}/open", other.url()) });
    place.runs(&tool, elsewhere).await.unwrap();
    let alias = api.url().replace("127.0.0.1", "localhost");
    place.runs(&tool, json!({ "url": format!("{alias}/open") })).await.unwrap();
    assert!(is_clean(&other.requests()[0]) && is_clean(&api.requests()[0]));
    let url = format!("{}/data", api.url());
    let own = json!({ "url": url, "headers": { "X-Api-Key": "mine" } });
    let refused = place.runs(&tool, own).await.unwrap_err();
    assert!(matches!(&refused, ToolError::InvalidParameters(why) if why.contains("leave it out")));
    let query = super::credentials_tests::tool(fixed(api.url(), Where::Query("api_key".into())));
    let own = json!({ "url": format!("{url}?api_key=mine") });
    let refused = place.runs(&query, own).await.unwrap_err();
    assert!(matches!(&refused, ToolError::InvalidParameters(why) if why.contains("leave it out")));
    assert_eq!(api.requests().len(), 1);

    let credential = fixed(api.url(), header("x-api-key", ""));
    let credential = Credential { agents: vec!["other".into()], ..credential };
    let tool = super::credentials_tests::tool(credential);
    let refused = place.runs(&tool, json!({ "url": url })).await.unwrap_err().to_string();
    assert!(refused.starts_with("HTTP 401"), "{refused}");
}

/// Nothing is sent over HTTP to a host whose credential is for HTTPS.
#[tokio::test]
async fn a_host_configured_for_https_is_not_asked_over_http() {
    let api = Account::start().await;
    let secure = api.url().replace("http://", "https://");
    let tool = tool(fixed(&secure, header("x-api-key", "")));
    let url = format!("{}/open", api.url());
    let refused = ToolFixture::new().runs(&tool, json!({ "url": url })).await.unwrap_err();
    assert!(matches!(&refused, ToolError::InvalidParameters(why) if why.contains("use https")));
    assert!(api.requests().is_empty());
}

/// A redirect within the origin is followed with the credential. A redirect to another origin is
/// followed only if the operator has listed that host, without the credential, and never if the URL
/// contains the credential.
#[tokio::test]
async fn a_redirect_to_another_host_is_sent_without_the_credential() {
    let listed = |url: &str| HostRule {
        pattern: HostPattern::parse(url).unwrap(),
        methods: vec![Method::GET],
        unasked: true,
    };
    for way in [header("x-api-key", ""), Where::Query("api_key".into())] {
        let (api, other) = (Account::start().await, Account::start().await);
        let mut tool = tool(fixed(api.url(), way));
        let mut place = ToolFixture::new();
        let within = json!({ "url": format!("{}/moved?to=/data", api.url()) });
        assert!(place.runs(&tool, within).await.unwrap().text.starts_with("HTTP 200"));

        let away = json!({ "url": format!("{}/moved?to={}/open", api.url(), other.url()) });
        let text = place.runs(&tool, away.clone()).await.unwrap().text;
        assert!(text.starts_with("HTTP 302") && is_clean(&text), "{text}");
        assert!(other.requests().is_empty());

        Arc::get_mut(&mut tool.access).unwrap().hosts = vec![listed(other.url())];
        let text = place.runs(&tool, away).await.unwrap().text;
        assert!(text.starts_with("HTTP 200"), "{text}");
        assert!(is_clean(&other.requests().pop().unwrap()));

        let leak = format!("{}/moved?leak=1&to={}/open", api.url(), other.url());
        let before = other.requests().len();
        let text = place.runs(&tool, json!({ "url": leak })).await.unwrap().text;
        assert!(text.starts_with("HTTP 302") && is_clean(&text), "{text}");
        assert_eq!(other.requests().len(), before);
    }
}

/// A host that needs no approval cannot redirect to one that needs it.
#[tokio::test]
async fn a_listed_host_redirects_only_to_listed_hosts() {
    let (api, other) = (Account::start().await, Account::start().await);
    let pattern = HostPattern::parse(api.url()).unwrap();
    let rule = HostRule { pattern, methods: vec![Method::GET], unasked: true };
    let access = Access { hosts: vec![rule], credentials: vec![] };
    let tool = HttpRequest { web_client: web_client(), access: Arc::new(access) };
    let away = json!({ "url": format!("{}/moved?to={}/open", api.url(), other.url()) });
    let text = ToolFixture::new().runs(&tool, away).await.unwrap().text;
    assert!(text.starts_with("HTTP 302") && text.contains(&place(&other.url().parse().unwrap())));
    assert!(other.requests().is_empty());
}

/// A token is cached until shortly before it expires and replaced when it is rejected. Errors of
/// the token endpoint do not contain secrets.
#[tokio::test]
async fn a_token_is_fetched_once_and_renewed() {
    let api = Account::start().await;
    let (mut place, oauth_tool) = (ToolFixture::new(), tool(oauth(&api)));
    let get = json!({ "url": format!("{}/data", api.url()) });
    for _ in 0..3 {
        place.runs(&oauth_tool, get.clone()).await.unwrap();
    }
    assert_eq!(api.issued(), 1);
    place.context.now += chrono::TimeDelta::seconds(575);
    place.runs(&oauth_tool, get.clone()).await.unwrap();
    assert_eq!(api.issued(), 2, "it would have expired on the way");
    api.revoke();
    place.runs(&oauth_tool, get).await.unwrap();
    assert_eq!(api.issued(), 3, "asked once more with another token");
    api.revoke();
    let post = json!({ "url": format!("{}/data", api.url()), "method": "POST" });
    let refused = place.runs(&oauth_tool, post.clone()).await.unwrap_err().to_string();
    assert!(refused.starts_with("HTTP 401") && is_clean(&refused), "{refused}");
    assert_eq!(api.issued(), 3, "what may change something is sent once");
    place.runs(&oauth_tool, post).await.unwrap();
    assert_eq!(api.issued(), 4);

    let mut wrong = oauth(&api);
    if let SecretSource::Client(client) = &mut wrong.secret {
        client.scopes.clear();
    }
    let refused = json!({ "url": format!("{}/data", api.url()) });
    let refused = place.runs(&tool(wrong), refused).await.unwrap_err();
    let expected = "the token endpoint 127.0.0.1 answered 401";
    assert!(matches!(&refused, ToolError::ExternalService(why) if why == expected), "{refused}");
}

/// A writer that collects log lines.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The secret is in no log line, not even at level TRACE before redaction.
#[tokio::test]
async fn a_credential_is_not_logged() {
    let api = Account::start().await;
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    for credential in [fixed(api.url(), header("x-api-key", "")), oauth(&api)] {
        let tool = tool(credential);
        for path in ["/data", "/data?status=503", "/moved?leak=1&to=http://127.0.0.1:1/"] {
            let url = format!("{}{path}", api.url());
            let _ = ToolFixture::new().runs(&tool, json!({ "url": url })).await;
        }
    }
    tracing::info!("the end");
    let logged = String::from_utf8(lines.0.lock().clone()).unwrap();
    assert!(logged.contains("the end") && is_clean(&logged), "{logged}");
    assert_eq!(api.issued(), 1);
}
