//! OAuth client credentials (RFC 6749, 4.4) for one server (RFC 8707). The operator configures the
//! authorization server, because a server's own metadata is not trusted.

use chrono::{DateTime, Utc};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::time::Duration;

use super::{
    ConnectionRefused, McpConfig,
    client_key::{ASSERTION_TYPE, AssertionClaims, ClientKey},
};

/// The timeout for the metadata of the authorization server, and their maximum size.
const METADATA_FOR: Duration = Duration::from_secs(5);
const METADATA_BYTES: usize = 64 * 1024;

/// The client's credentials.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub token_url: Url,
    pub client_id: String,
    pub proof: ClientProof,
    pub scopes: Vec<String>,
}

/// How the client proves who it is.
#[derive(Debug, Clone)]
pub enum ClientProof {
    /// `client_secret_basic` or `client_secret_post`.
    Secret(SecretString),
    /// `private_key_jwt`.
    Key(ClientKey),
}

#[derive(Deserialize)]
struct Granted {
    access_token: SecretString,
}

/// The metadata of an authorization server (RFC 8414), as far as they concern the authentication.
#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    issuer: String,
    token_endpoint: Option<Url>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
}

impl Metadata {
    /// Empty if the server has none, or if they are those of another token endpoint.
    async fn of(client: &reqwest::Client, token_url: &Url) -> Self {
        let Ok(address) = token_url.join("/.well-known/oauth-authorization-server") else {
            return Self::default();
        };
        let asked = async {
            let mut answer = client.get(address).timeout(METADATA_FOR).send().await.ok()?;
            let mut bytes = Vec::new();
            while let Some(chunk) = answer.chunk().await.ok()? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > METADATA_BYTES {
                    return None;
                }
            }
            let metadata: Self = serde_json::from_slice(&bytes).ok()?;
            (metadata.token_endpoint.as_ref() == Some(token_url)).then_some(metadata)
        };
        asked.await.unwrap_or_default()
    }

    fn supports(&self, method: &str) -> bool {
        let mut methods = self.token_endpoint_auth_methods_supported.iter().flatten();
        methods.any(|supported| supported == method)
    }

    /// For whom an assertion is. An issuer elsewhere than the metadata (RFC 8414, section 3.3)
    /// could pass the assertion on to the server that it names.
    fn audience<'a>(&'a self, token_url: &'a Url) -> &'a str {
        let own = token_url.origin().ascii_serialization();
        let is_own = self.issuer.strip_suffix('/').unwrap_or(&self.issuer) == own;
        if is_own { &self.issuer } else { token_url.as_str() }
    }

    /// The algorithm to sign with, unless the server supports none of this key, or no keys at all.
    fn algorithm(&self, key: &ClientKey) -> Result<&'static str, String> {
        if let Some(methods) = &self.token_endpoint_auth_methods_supported
            && !self.supports("private_key_jwt")
        {
            let methods = channels::text::neutralise(&methods.join(", "));
            return Err(format!(
                "does not support `private_key_jwt`, but {methods}. Set `client_secret` in place \
                    of `client_key`"
            ));
        }
        let own = key.algorithms();
        let Some(supported) = &self.token_endpoint_auth_signing_alg_values_supported else {
            return Ok(own[0]);
        };
        let fitting = own.iter().find(|own| supported.iter().any(|name| name == *own));
        fitting.copied().ok_or_else(|| {
            let supported = channels::text::neutralise(&supported.join(", "));
            format!(
                "supports signatures with {supported}, but `client_key` signs with {}",
                own.join(" or ")
            )
        })
    }
}

/// The fields and headers with which the client authenticates.
#[derive(Default)]
struct Authentication {
    form: Vec<(&'static str, String)>,
    basic: Option<(String, String)>,
}

impl Authentication {
    /// With a secret by HTTP Basic, which every server has to support and is the default, unless
    /// the server's metadata name other methods only.
    fn of(
        credentials: &Credentials,
        metadata: &Metadata,
        now: DateTime<Utc>,
    ) -> Result<Self, String> {
        let id = &credentials.client_id;
        let key = match &credentials.proof {
            ClientProof::Key(key) => key,
            ClientProof::Secret(secret) => return Ok(Self::by_secret(id, secret, metadata)),
        };
        let algorithm = metadata.algorithm(key)?;
        let audience = metadata.audience(&credentials.token_url);
        let claims = AssertionClaims { client_id: id, audience, now };
        let assertion = key.assertion(algorithm, &claims);
        let assertion = assertion.ok_or("needs a signature, and `client_key` cannot sign")?;
        // The assertion names the client.
        let form = vec![
            ("client_assertion_type", ASSERTION_TYPE.to_owned()),
            ("client_assertion", assertion),
        ];
        Ok(Self { form, basic: None })
    }

    fn by_secret(id: &str, secret: &SecretString, metadata: &Metadata) -> Self {
        let secret = secret.expose_secret();
        if metadata.supports("client_secret_post") && !metadata.supports("client_secret_basic") {
            let form = vec![("client_id", id.to_owned()), ("client_secret", secret.to_owned())];
            return Self { form, basic: None };
        }
        // Both are form-encoded first (RFC 6749, section 2.3.1).
        let encoded = |text: &str| -> String {
            url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
        };
        Self { form: Vec::new(), basic: Some((encoded(id), encoded(secret))) }
    }
}

/// Where a token is used, how it is requested, and when.
pub(super) struct TokenRequest<'a> {
    pub client: &'a reqwest::Client,
    pub resource: &'a Url,
    pub now: DateTime<Utc>,
}

/// A new token. It is requested for each connection and not stored; an expired token ends its
/// connection.
pub(super) async fn token(
    config: &McpConfig,
    credentials: &Credentials,
    wanted: &TokenRequest<'_>,
) -> Result<SecretString, ConnectionRefused> {
    let refused = |what: String, is_permanent| ConnectionRefused {
        error: config.broken(&format!("cannot be used: its authorization server {what}")),
        is_permanent,
    };
    let metadata = Metadata::of(wanted.client, &credentials.token_url).await;
    let authentication = Authentication::of(credentials, &metadata, wanted.now);
    let authentication = authentication.map_err(|what| refused(what, true))?;
    let scopes = credentials.scopes.join(" ");
    let mut form = vec![
        ("grant_type", "client_credentials".to_owned()),
        ("resource", wanted.resource.to_string()),
    ];
    if !scopes.is_empty() {
        form.push(("scope", scopes));
    }
    form.extend(authentication.form);
    let mut request = wanted
        .client
        .post(credentials.token_url.clone())
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json");
    if let Some((id, secret)) = authentication.basic {
        request = request.basic_auth(id, Some(secret));
    }
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = request.body(body);
    let answer = request.send().await.map_err(|_| refused("cannot be reached".into(), false))?;
    let status = answer.status();
    if !status.is_success() {
        return Err(refused(
            format!("refuses to issue a token ({status})"),
            status.is_client_error(),
        ));
    }
    let granted = answer.json().await.map(|granted: Granted| granted.access_token);
    granted.map_err(|_| refused("returns no token".into(), true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::mcp::client_key;
    use crate::tools::mcp::testing::{McpFixture, config as usual, run};
    use axum::{
        Form, Json, Router,
        extract::State,
        http::{HeaderMap, StatusCode},
        response::{IntoResponse as _, Response},
        routing::{get, post},
    };
    use serde_json::{Value, json};
    use std::{
        collections::{BTreeMap, BTreeSet},
        sync::{
            Arc, Mutex, OnceLock,
            atomic::{AtomicUsize, Ordering},
        },
    };

    /// A server for tools and tokens, of which the first ones have expired.
    #[derive(Default)]
    struct Guarded {
        granted: AtomicUsize,
        expired: AtomicUsize,
        calls: AtomicUsize,
        /// The methods that its metadata names; without any, there are no metadata.
        methods: Mutex<Vec<&'static str>>,
        at: OnceLock<String>,
    }

    async fn grant(
        State(state): State<Arc<Guarded>>,
        headers: HeaderMap,
        form: String,
    ) -> Response {
        let by_form = "&client_id=us&client_secret=s3%2Bcret";
        // us:s3%2Bcret
        let by_header = "Basic dXM6czMlMkJjcmV0";
        let wants_form = *state.methods.lock().expect("not poisoned") == ["client_secret_post"];
        let begins =
            form.starts_with("grant_type=client_credentials&resource=http%3A%2F%2F127.0.0.1");
        let known = if wants_form {
            form.ends_with(by_form) && !headers.contains_key("authorization")
        } else {
            headers.get("authorization").is_some_and(|value| value == by_header)
                && !form.contains("client_id")
        };
        if !begins || !known || !form.contains("&scope=a+b") {
            return StatusCode::BAD_REQUEST.into_response();
        }
        let n = state.granted.fetch_add(1, Ordering::SeqCst) + 1;
        Json(json!({ "access_token": format!("t{n}"), "token_type": "Bearer" })).into_response()
    }

    async fn metadata(State(state): State<Arc<Guarded>>) -> Response {
        let methods = state.methods.lock().expect("not poisoned").clone();
        if methods.is_empty() {
            return StatusCode::NOT_FOUND.into_response();
        }
        let at = state.at.get().expect("it runs");
        Json(json!({
            "issuer": at, "token_endpoint": format!("{at}/token"),
            "token_endpoint_auth_methods_supported": methods,
        }))
        .into_response()
    }

    async fn answer(
        State(state): State<Arc<Guarded>>,
        headers: HeaderMap,
        Json(body): Json<Value>,
    ) -> Response {
        let expired = state.expired.load(Ordering::SeqCst);
        fakes::guarded::answer(&headers, &body, expired, |_| {
            format!("done {}", state.calls.fetch_add(1, Ordering::SeqCst) + 1)
        })
    }

    /// A token is requested for each connection. When it has expired, the call has not run, and is
    /// repeated once over a new connection. Without a token, or with a wrong secret, the error says
    /// what to do.
    #[tokio::test]
    async fn a_token_is_got_and_got_again_when_it_has_expired() {
        let state = Arc::<Guarded>::default();
        let app = Router::new()
            .route("/mcp", post(answer))
            .route("/token", post(grant))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = format!("http://{}", listener.local_addr().expect("an address"));
        #[expect(clippy::disallowed_methods, reason = "ends with the test")]
        tokio::spawn(async move { axum::serve(listener, app).await });
        state.at.set(at.clone()).expect("once");
        let url: Option<Url> = format!("{at}/mcp").parse().ok();
        let credentials = |secret: &str| Credentials {
            token_url: format!("{at}/token").parse().expect("a URL"),
            client_id: "us".into(),
            proof: ClientProof::Secret(secret.into()),
            scopes: vec!["a".into(), "b".into()],
        };
        let fixture = McpFixture::new().await;
        let config = McpConfig { url, ..usual("g") };
        let refused =
            fixture.tools(config.clone()).await.err().expect("it wants a token").to_string();
        assert!(refused.contains("401") && refused.contains("token_url"), "{refused}");
        let wrong = McpConfig { oauth: Some(credentials("wrong")), ..config.clone() };
        let refused = fixture.tools(wrong).await.err().expect("no token").to_string();
        assert!(refused.contains("refuses to issue a token (400"), "{refused}");
        let right = McpConfig { oauth: Some(credentials("s3+cret")), ..config };
        for methods in
            [vec!["client_secret_post"], vec!["client_secret_post", "client_secret_basic"]]
        {
            *state.methods.lock().expect("not poisoned") = methods;
            fixture.tools(right.clone()).await.expect("tools");
        }
        state.methods.lock().expect("not poisoned").clear();
        let before = state.granted.load(Ordering::SeqCst);
        state.granted.store(0, Ordering::SeqCst);
        assert_eq!(before, 2);
        let tools = fixture.tools(right).await.expect("tools");
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done 1");
        state.expired.store(1, Ordering::SeqCst);
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done 2");
        assert_eq!(state.granted.load(Ordering::SeqCst), 2);
    }
    /// An authorization server that knows the public key of one client and is strict about its
    /// assertions.
    struct KeyIssuer {
        key: ClientKey,
        at: OnceLock<String>,
        /// What its metadata say besides its address.
        says: Mutex<Value>,
        used: Mutex<BTreeSet<String>>,
    }

    const NOW: i64 = 1_800_000_000;

    impl KeyIssuer {
        /// What is wrong with a token request.
        fn problem(&self, headers: &HeaderMap, form: &BTreeMap<String, String>) -> Option<String> {
            let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
            if headers.contains_key("authorization") || form.contains_key("client_secret") {
                return Some("more than one authentication".into());
            }
            if field("grant_type") != "client_credentials" || !field("resource").ends_with("/mcp") {
                return Some("grant or resource".into());
            }
            if field("client_assertion_type") != ASSERTION_TYPE {
                return Some("type of the assertion".into());
            }
            let assertion = client_key::tests::verified(&self.key, field("client_assertion"));
            let Some((head, claims)) = assertion else { return Some("signature".into()) };
            let at = self.at.get().expect("it runs");
            let named = self.says.lock().expect("not poisoned")["issuer"].clone();
            let audience = if named == *at { at.clone() } else { format!("{at}/token") };
            let right = head["kid"] == "k1"
                && claims["iss"] == "us"
                && claims["sub"] == "us"
                && claims["aud"] == audience
                && claims["iat"] == NOW
                && claims["exp"].as_i64().is_some_and(|at| at > NOW && at <= NOW + 300);
            let once = claims["jti"].as_str().unwrap_or_default().to_owned();
            let is_new = self.used.lock().expect("not poisoned").insert(once);
            (!right || !is_new).then(|| format!("claims: {head} {claims}"))
        }
    }

    async fn grant_by_key(
        State(issuer): State<Arc<KeyIssuer>>,
        headers: HeaderMap,
        Form(form): Form<BTreeMap<String, String>>,
    ) -> Response {
        match issuer.problem(&headers, &form) {
            Some(problem) => (StatusCode::UNAUTHORIZED, problem).into_response(),
            None => Json(json!({ "access_token": "t1", "token_type": "Bearer" })).into_response(),
        }
    }

    async fn says(State(issuer): State<Arc<KeyIssuer>>) -> Response {
        let mut metadata = issuer.says.lock().expect("not poisoned").clone();
        if metadata.is_null() {
            return StatusCode::NOT_FOUND.into_response();
        }
        let at = issuer.at.get().expect("it runs");
        metadata["token_endpoint"] = format!("{at}/token").into();
        Json(metadata).into_response()
    }

    /// A running authorization server, and the credentials for it.
    async fn by_key(made_by: &[&str]) -> (Arc<KeyIssuer>, Credentials) {
        let key = client_key::tests::pem(made_by);
        let key = ClientKey::read(&key, Some("k1".into())).expect("a key");
        let (at, says_nothing, used) = <_>::default();
        let issuer = Arc::new(KeyIssuer { key: key.clone(), at, says: says_nothing, used });
        let app = Router::new()
            .route("/token", post(grant_by_key))
            .route("/.well-known/oauth-authorization-server", get(says))
            .with_state(issuer.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = format!("http://{}", listener.local_addr().expect("an address"));
        #[expect(clippy::disallowed_methods, reason = "ends with the test")]
        tokio::spawn(async move { axum::serve(listener, app).await });
        issuer.at.set(at.clone()).expect("once");
        let credentials = Credentials {
            token_url: format!("{at}/token").parse().expect("a URL"),
            client_id: "us".into(),
            proof: ClientProof::Key(key),
            scopes: vec![],
        };
        (issuer, credentials)
    }

    async fn requested(credentials: &Credentials) -> Result<SecretString, String> {
        let config = usual("g");
        let client = reqwest::Client::builder().build().expect("a client");
        let resource = "https://g.example/mcp".parse().expect("a URL");
        let now = DateTime::from_timestamp(NOW, 0).expect("a time");
        let wanted = TokenRequest { client: &client, resource: &resource, now };
        let token = token(&config, credentials, &wanted).await;
        token.map_err(|refused| refused.error.to_string())
    }

    /// A client with a key sends an assertion instead of a secret: for the issuer, if the metadata
    /// name it and are its own, otherwise for the token endpoint; with an algorithm that the server
    /// supports. Without one, the error says what does not fit.
    #[tokio::test]
    async fn a_client_authenticates_with_its_key() {
        let (issuer, credentials) = by_key(&client_key::tests::RSA).await;
        let at = issuer.at.get().expect("it runs").clone();
        let algorithms = "token_endpoint_auth_signing_alg_values_supported";
        let methods = "token_endpoint_auth_methods_supported";
        for metadata in [
            Value::Null,
            json!({ "issuer": at }),
            json!({ "issuer": "https://elsewhere.example" }),
            json!({ "issuer": at, methods: ["private_key_jwt", "client_secret_basic"] }),
            json!({ "issuer": at, algorithms: ["ES256", "PS256"] }),
        ] {
            *issuer.says.lock().expect("not poisoned") = metadata.clone();
            let token = requested(&credentials).await;
            assert!(token.is_ok(), "{metadata}: {token:?}");
        }
        for (metadata, why) in [
            (json!({ methods: ["client_secret_post"] }), "does not support `private_key_jwt`"),
            (json!({ algorithms: ["ES256"] }), "`client_key` signs with RS256 or PS256"),
        ] {
            *issuer.says.lock().expect("not poisoned") = metadata;
            let refused = requested(&credentials).await.expect_err("it does not fit");
            assert!(refused.contains(why), "{refused}");
        }
        let (_, other) = by_key(&client_key::tests::P256).await;
        *issuer.says.lock().expect("not poisoned") = Value::Null;
        let wrong = Credentials { proof: other.proof, ..credentials };
        let refused = requested(&wrong).await.expect_err("another key");
        assert!(refused.contains("refuses to issue a token (401"), "{refused}");
    }
}
