//! Signs in to a server that requires a user's authorisation: OAuth's authorization code flow with
//! PKCE (RFC 7636). The server says where (RFC 9728, RFC 8414); an unknown client registers itself
//! (RFC 7591). Hosts in private networks are not contacted, unless the operator says that the server
//! is in one. What its name resolves to does not say so, because the server may control that.
//!
//! The credentials are stored in a private file, for all nodes that share the folder; one node at a
//! time refreshes an expired token.

#![expect(
    clippy::disallowed_types,
    reason = "`returned` awaits nothing but these futures and the next connection"
)]

use futures::{StreamExt as _, stream::FuturesUnordered};
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    OAuthClientConfig,
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{collections::BTreeSet, io, path::PathBuf, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use url::Host;

use super::{
    ConnectionRefused, McpConfig, challenge,
    credentials_file::{CredentialsFile, StoredLogin, add_words, blocking, is_refreshed},
};
use crate::{
    encryption::Encryption,
    tools::{
        ToolError,
        web::{
            address::is_public,
            client::{is_private_name, place},
        },
    },
};

/// The maximum size of a browser's request.
const REQUEST_BYTES: u64 = 16 * 1024;
const CALLBACK: &str = "/callback";
const NOT_PUBLIC: &str =
    "it is in a private network. The operator can allow that (web.allowed_private_hosts)";
/// The timeout for a request after a browser has connected, since some connect in advance.
const SAYS_WITHIN: Duration = Duration::from_secs(10);

/// Where credentials are stored, and the registered client.
#[derive(Debug, Clone)]
pub struct Login {
    pub file: PathBuf,
    /// Encrypts the file.
    pub encryption: Encryption,
    /// A client that the operator has registered; otherwise the gateway registers one at sign-in.
    pub client_id: Option<String>,
    pub client_secret: Option<SecretString>,
    /// The URL of a client metadata document, which servers that support it accept as the client's
    /// id.
    pub client_metadata: Option<String>,
    pub scopes: Vec<String>,
    /// Private hosts that the operator allows, as `host` or `host:port`.
    pub private_hosts: BTreeSet<String>,
}

impl Login {
    /// Remembers scopes that a call requires, for the next sign-in on any node.
    pub(super) async fn require(&self, scopes: &[String]) -> Result<(), AuthError> {
        let (file, scopes) = (self.required_file(), scopes.to_vec());
        blocking(move || add_words(&file, &scopes)).await
    }

    /// The scopes for a sign-in: those of the operator; if calls required further ones, these and
    /// the ones that were granted already, which would be lost otherwise.
    async fn wanted(&self) -> Result<Vec<String>, AuthError> {
        let required = tokio::fs::read_to_string(self.required_file()).await.unwrap_or_default();
        let mut scopes = self.scopes.clone();
        if !required.trim().is_empty() {
            let granted = self.credentials().load().await?;
            scopes.extend(granted.into_iter().flat_map(|stored| stored.granted_scopes));
            scopes.extend(required.split_whitespace().map(str::to_owned));
        }
        Ok(scopes)
    }

    async fn satisfied(&self) {
        // If it stays, the next sign-in requests what was granted.
        let _ = tokio::fs::remove_file(self.required_file()).await;
    }

    /// Whether the operator says that the server is in a private network. Then URLs that it names
    /// may be so as well.
    fn is_inside(&self, url: &Url) -> bool {
        let Some(host) = url.host() else { return false };
        let is_private = match host {
            Host::Ipv4(at) => !is_public(at.into()),
            Host::Ipv6(at) => !is_public(at.into()),
            // No public name is a single word.
            Host::Domain(name) => {
                is_private_name(name) || !name.trim_end_matches('.').contains('.')
            }
        };
        let allows = |allowed: &str| self.private_hosts.contains(allowed);
        is_private || allows(&host.to_string()) || allows(&place(url))
    }

    fn required_file(&self) -> PathBuf {
        self.file.with_extension("scopes")
    }

    fn credentials(&self) -> CredentialsFile {
        CredentialsFile::new(self.file.clone(), self.encryption.clone())
    }

    fn credentials_since(&self, seen: &StoredLogin) -> CredentialsFile {
        CredentialsFile::since(self.file.clone(), self.encryption.clone(), seen.clone())
    }

    /// The credentials as they are stored.
    pub(super) async fn stored(&self) -> StoredLogin {
        self.credentials().stored().await
    }
}

/// A sign-in that a person has to continue in a browser.
pub struct StartedLogin {
    session: AuthorizationSession,
}

impl StartedLogin {
    /// The URL that the person has to open.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits for the browser's callback and returns its URL. Other requests and idle connections
    /// are ignored.
    pub async fn returned(&self, listener: &TcpListener) -> io::Result<String> {
        let query = self.address().split_once('?').map_or("", |(_, query)| query);
        let state = query_parameter(query, "state").unwrap_or_default();
        let mut browsers = FuturesUnordered::new();
        loop {
            tokio::select! {
                browser = listener.accept() => {
                    browsers.push(timeout(SAYS_WITHIN, answered(browser?.0, &state)));
                }
                Some(said) = browsers.next(), if !browsers.is_empty() => {
                    if let Ok(Ok(Some(target))) = said {
                        let port = listener.local_addr()?.port();
                        return Ok(format!("http://127.0.0.1:{port}{target}"));
                    }
                }
            }
        }
    }

    /// Completes the sign-in with the URL of the callback.
    pub async fn end(&self, config: &McpConfig, back: &str) -> Result<(), ToolError> {
        let query = back.split_once('?').map_or("", |(_, query)| query);
        if let Some(error) = query_parameter(query, "error") {
            let why = query_parameter(query, "error_description").unwrap_or(error);
            let why = channels::text::neutralise(&why);
            return Err(config.broken(&format!("is not signed in to: {why}")));
        }
        // Only the command line signs in, and it waits until this is done.
        let done = self.session.handle_callback_url(back).await;
        done.map_err(|error| failed(config, &error))?;
        if let Some(login) = &config.login {
            login.satisfied().await;
        }
        Ok(())
    }
}

/// The value of a query parameter.
fn query_parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The callback URL for a browser on this machine.
pub fn redirect(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://127.0.0.1:{}{CALLBACK}", listener.local_addr()?.port()))
}

/// The callback URL for a browser on another machine, which cannot be loaded: the person pastes it.
pub const NOWHERE: &str = "http://127.0.0.1:33418/callback";

/// Discovers where to sign in, and registers the client.
pub async fn begin(config: &McpConfig, redirect: &str) -> Result<StartedLogin, ToolError> {
    let (Some(url), Some(login)) = (&config.url, &config.login) else {
        return Err(
            config.broken("does not support signing in: that requires a `url` without a token")
        );
    };
    let mut manager =
        manager(url, login, login.credentials()).await.map_err(|error| failed(config, &error))?;
    let challenge = challenge::of(url).await;
    let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
    manager.set_metadata(found.map_err(|error| failed(config, &error))?.metadata);
    let mut request = AuthorizationRequest::new(redirect).with_client_name("Countersign");
    // What the server requires, besides what the operator wants and what calls required.
    let required = challenge.map(|challenge| challenge::scopes(&challenge, url));
    let mut scopes: Vec<String> = Vec::new();
    let wanted = login.wanted().await.map_err(|error| failed(config, &error))?;
    for scope in wanted.into_iter().chain(required.into_iter().flatten()) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    request = request.with_scopes(scopes).with_initial_scope_selection();
    if let Some(metadata) = &login.client_metadata {
        request = request.with_client_metadata_url(metadata);
    }
    if let Some(id) = &login.client_id {
        request = request.with_preregistered_client(id);
    }
    if let Some(secret) = &login.client_secret {
        request = request.with_client_secret(secret.expose_secret());
    }
    let begun = AuthorizationSession::new(manager, request).await;
    let session = begun.map_err(|(_, error)| failed(config, &error))?;
    Ok(StartedLogin { session })
}

async fn answered(mut browser: TcpStream, state: &str) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let (read, mut write) = browser.split();
    let mut read = read.take(REQUEST_BYTES);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && read.read_buf(&mut head).await? > 0 {}
    let head = String::from_utf8_lossy(&head);
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split_whitespace().next());
    let ours = |target: &&str| {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        path == CALLBACK && query_parameter(query, "state").as_deref() == Some(state)
    };
    let target = target.filter(ours);
    let (status, said) = match target {
        Some(_) => ("200 OK", "You can close this page and return to the terminal."),
        None => ("404 Not Found", "Page not found."),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{said}",
        said.len()
    );
    write.write_all(answer.as_bytes()).await?;
    write.shutdown().await?;
    Ok(target.map(str::to_owned))
}

/// A token, if somebody has signed in. An expired one is refreshed.
pub(super) async fn token(
    config: &McpConfig,
    url: &Url,
    login: &Login,
) -> Result<Option<SecretString>, ConnectionRefused> {
    if !tokio::fs::try_exists(&login.file).await.unwrap_or(false) {
        return Ok(None);
    }
    let (url, stored) = (url.clone(), login.clone());
    let token = to_its_end(async move {
        let mut is_first = true;
        loop {
            let credentials = stored.credentials();
            let Some(manager) = known(&url, &stored, credentials).await? else { return Ok(None) };
            match manager.get_access_token().await {
                Ok(token) => return Ok(Some(token.into())),
                Err(error) if is_first && is_refreshed(&error) => is_first = false,
                Err(error) => return Err(error),
            }
        }
    });
    token.await.map_err(|error| refused(config, &error))
}

/// Refreshes the token after the server has rejected the one in `rejected`. Returns whether there is
/// a new one. If others do the same at the same time, on any node, only one of them refreshes it.
pub(super) async fn refresh(
    config: &McpConfig,
    url: &Url,
    login: &Login,
    rejected: &StoredLogin,
) -> Result<bool, ConnectionRefused> {
    let (url, stored) = (url.clone(), login.clone());
    let credentials = login.credentials_since(rejected);
    let refreshed = to_its_end(async move {
        let Some(manager) = known(&url, &stored, credentials).await? else { return Ok(false) };
        match manager.refresh_token().await {
            Ok(_) => Ok(true),
            Err(error) if is_refreshed(&error) => Ok(true),
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(false),
            Err(error) => Err(error),
        }
    });
    refreshed.await.map_err(|error| refused(config, &error))
}

/// Completes an exchange of credentials, and stores the new ones, also if the caller is dropped: a
/// call is stopped, or the connection takes too long. The server accepts the earlier ones only
/// once.
async fn to_its_end<T: Send + 'static>(
    exchange: impl Future<Output = Result<T, AuthError>> + Send + 'static,
) -> Result<T, AuthError> {
    #[expect(clippy::disallowed_methods, reason = "it ends with the HTTP client's time limit")]
    let exchange = tokio::spawn(exchange);
    exchange.await.map_err(|problem| AuthError::InternalError(problem.to_string()))?
}

/// If the credentials are rejected, a person has to sign in again; other problems are temporary.
fn refused(config: &McpConfig, error: &AuthError) -> ConnectionRefused {
    let is_permanent = matches!(error, AuthError::AuthorizationRequired);
    ConnectionRefused { error: failed(config, error), is_permanent }
}

async fn manager(
    url: &Url,
    login: &Login,
    credentials: CredentialsFile,
) -> Result<AuthorizationManager, AuthError> {
    let mut manager = if login.is_inside(url) {
        AuthorizationManager::new_allowing_private_addresses(url.clone()).await?
    } else if leads_inside(url).await {
        return Err(AuthError::MetadataError(NOT_PUBLIC.to_owned()));
    } else {
        AuthorizationManager::new(url.clone()).await?
    };
    manager.set_credential_store(credentials);
    Ok(manager)
}

/// Whether its name resolves to private addresses only, so that nothing there may be contacted.
async fn leads_inside(url: &Url) -> bool {
    let Some(host) = url.host_str().zip(url.port_or_known_default()) else { return false };
    let found = tokio::net::lookup_host(host).await;
    found.is_ok_and(|found| {
        let mut found = found.peekable();
        found.peek().is_some() && found.all(|at| !is_public(at.ip()))
    })
}

/// The stored credentials.
async fn known(
    url: &Url,
    login: &Login,
    credentials: CredentialsFile,
) -> Result<Option<AuthorizationManager>, AuthError> {
    let mut manager = manager(url, login, credentials).await?;
    if !manager.initialize_from_store().await? {
        return Ok(None);
    }
    if let (Some(id), Some(secret)) = (&login.client_id, &login.client_secret) {
        let client = OAuthClientConfig::new(id, NOWHERE).with_client_secret(secret.expose_secret());
        manager.configure_client(client)?;
    }
    Ok(Some(manager))
}

fn failed(config: &McpConfig, error: &AuthError) -> ToolError {
    if matches!(error, AuthError::AuthorizationRequired) {
        let how =
            format!("has rejected the stored sign-in: `countersign mcp login {}`", config.name);
        return config.broken(&how);
    }
    let why = channels::text::neutralise(&error.to_string());
    config.broken(&format!("cannot be signed in to: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        texts::Language,
        tools::{
            contract::elicit::{ElicitationRequest, Elicitor},
            mcp::testing::{McpFixture, config as usual, named, run},
            testing::ToolFixture,
        },
    };
    use fakes::guarded::Guarded;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt as _;
    use tokio::sync::mpsc;

    fn config(state: &Guarded, file: PathBuf) -> McpConfig {
        let url = state.url().parse().ok();
        let (client_id, client_secret, scopes) = (None, None, vec!["read".to_owned()]);
        let encryption = Encryption::default();
        let (client_metadata, private_hosts) = (None, BTreeSet::new());
        let login = Login {
            file,
            encryption,
            client_id,
            client_secret,
            client_metadata,
            scopes,
            private_hosts,
        };
        McpConfig { url, login: Some(login), ..usual("g") }
    }

    /// Simulates a person's browser.
    async fn opens(address: &str) {
        let browser = reqwest::Client::builder().build().expect("a client");
        let page = browser.get(address).send().await.expect("an answer");
        assert!(page.text().await.expect("a page").starts_with("You can close this page"));
    }

    async fn signs_in(config: &McpConfig) {
        let begun = begin(config, NOWHERE).await.expect("begun");
        let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let page = browser.build().expect("a client").get(begun.address()).send().await;
        let page = page.expect("an answer");
        let back = page.headers()["location"].to_str().expect("text");
        begun.end(config, back).await.expect("signed in");
    }

    /// A server that requires signing in says where; the credentials are stored privately and
    /// refreshed without a person.
    /// Proves CA-32.
    #[tokio::test]
    async fn a_sign_in_is_needed_once() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let file = fixture.folder.path().join("logins/g.json");
        let config = config(&state, file.clone());
        let refused =
            fixture.tools(config.clone()).await.err().expect("nobody signed in").to_string();
        assert!(refused.contains("countersign mcp login g"), "{refused}");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let begun = begin(&config, &redirect(&listener).expect("bound")).await.expect("begun");
        let address = begun.address().to_owned();
        // Idle connections and other requests are ignored.
        let at = listener.local_addr().expect("bound");
        let silent = TcpStream::connect(at).await.expect("connected");
        let stray = format!("http://{at}{CALLBACK}?code=k2&state=another");
        let person = async {
            let browser = reqwest::Client::builder().build().expect("a client");
            let page = browser.get(stray).send().await.expect("an answer");
            assert_eq!(page.status(), reqwest::StatusCode::NOT_FOUND);
            opens(&address).await;
        };
        let (back, ()) = tokio::join!(begun.returned(&listener), person);
        drop(silent);
        begun.end(&config, &back.expect("it comes back")).await.expect("signed in");
        let asked = state.asked();
        assert_eq!((&*asked["client_id"], &asked["resource"]), ("c7", &state.url()));
        // What the operator wants, and what the server's refusal says that it requires.
        assert!(asked["scope"].starts_with("read act"), "{asked:?}");
        let mode = std::fs::metadata(&file).expect("it is kept").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let tools = fixture.tools(config.clone()).await.expect("tools");
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done by t1");
        state.expires(1);
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done by t2");
        assert_eq!(state.refreshed(), 1);
        // A token that is about to expire is not used.
        state.is_brief();
        state.expires(2);
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done by t4");
        let tools = fixture.tools(config.clone()).await.expect("tools");
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done by t5");
        assert_eq!(state.refreshed(), 4);
        state.expires(9);
        let refused = fixture.tools(config).await.err().expect("it is over").to_string();
        assert!(refused.contains("countersign mcp login g"), "{refused}");
    }

    /// A call that needs a further scope has not run, and nobody is asked whether to run it again:
    /// the error says which scope it is, and the person is told in one sentence what to do. The next
    /// sign-in requests that scope besides the earlier ones, and then the same call succeeds over
    /// the same server, without a restart.
    #[tokio::test]
    async fn a_call_that_needs_a_further_scope_says_so() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let config = config(&state, fixture.folder.path().join("g.json"));
        signs_in(&config).await;
        let tools = fixture.tools(config.clone()).await.expect("tools");
        state.is_strict();
        let mut place = ToolFixture::new();
        let (requests, mut told) = mpsc::unbounded_channel();
        place.context.people = Elicitor::reached_by(requests, Language::English);
        for _ in 0..2 {
            let call = named(&tools, "g_act").run(json!({}), &place.context);
            let (refused, notice) = tokio::join!(call, async {
                let Some(ElicitationRequest::Notice(notice)) = told.recv().await else {
                    panic!("no notice");
                };
                let _ = notice.recorded.send(());
                notice.markdown
            });
            let Err(ToolError::ExternalService(why)) = refused else { panic!("{refused:?}") };
            assert!(why.contains("has not run: it requires the scope `act delete`"), "{why}");
            assert!(why.contains("countersign mcp login g"), "{why}");
            assert!(notice.contains("`act delete`"), "{notice}");
            assert!(notice.contains("`countersign mcp login g`"), "{notice}");
        }
        signs_in(&config).await;
        assert_eq!(state.asked()["scope"], "read act delete");
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done by t2");
        assert!(!fixture.folder.path().join("g.scopes").exists());
    }

    /// Connections that find their token rejected at the same time refresh it once.
    #[tokio::test]
    async fn concurrent_refreshes_are_one() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let config = config(&state, fixture.folder.path().join("g.json"));
        signs_in(&config).await;
        state.expires(1);
        let connect = || fixture.tools(config.clone());
        let (one, two, three) = tokio::join!(connect(), connect(), connect());
        for tools in [one, two, three] {
            let result = run(&tools.expect("tools"), "g_act", json!({})).await;
            assert_eq!(result.expect("a result"), "done by t2");
        }
        assert_eq!(state.refreshed(), 1);
    }

    /// A connection that learns of a rejected token after another has refreshed it does not refresh it
    /// again.
    #[tokio::test]
    async fn a_token_that_was_refreshed_meanwhile_is_used() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let config = config(&state, fixture.folder.path().join("g.json"));
        signs_in(&config).await;
        let (url, login) = (config.url.as_ref().expect("a URL"), config.login.as_ref());
        let login = login.expect("a login");
        let rejected = login.stored().await;
        for _ in 0..2 {
            let refreshed = refresh(&config, url, login, &rejected).await;
            assert!(refreshed.unwrap_or_else(|refused| panic!("{}", refused.error)));
        }
        assert_eq!(state.refreshed(), 1);
    }

    /// Encrypting a token again, here because there is a key now, is not taken for a refresh.
    #[tokio::test]
    async fn a_rejected_token_is_refreshed_although_its_file_has_changed() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let config = config(&state, fixture.folder.path().join("g.json"));
        signs_in(&config).await;
        let (url, login) = (config.url.as_ref().expect("a URL"), config.login.clone());
        let login = login.expect("a login");
        let rejected = login.stored().await;
        let key = SecretString::from(format!("{}=", "A".repeat(43)));
        let login = Login { encryption: Encryption::new([&key]).expect("a key"), ..login };
        let refreshed = refresh(&config, url, &login, &rejected).await;
        assert!(refreshed.unwrap_or_else(|refused| panic!("{}", refused.error)));
        assert_eq!(state.refreshed(), 1);
    }

    /// A call that is stopped while the token is refreshed does not lose the new one, although the
    /// earlier one is void.
    #[tokio::test]
    async fn a_stopped_call_does_not_lose_a_refreshed_token() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let config = config(&state, fixture.folder.path().join("g.json"));
        signs_in(&config).await;
        let tools = fixture.tools(config.clone()).await.expect("tools");
        state.expires(1);
        state.holds_next_token();
        tokio::select! {
            result = run(&tools, "g_act", json!({})) => panic!("{result:?}"),
            () = state.has_rotated() => {}
        }
        state.hands_over();
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done by t2");
        assert_eq!(state.refreshed(), 1);
    }

    /// With a key the tokens are encrypted, including those that were stored before there was one.
    #[tokio::test]
    async fn tokens_are_encrypted_where_there_is_a_key() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let file = fixture.folder.path().join("g.json");
        let config = config(&state, file.clone());
        signs_in(&config).await;
        let stored = || std::fs::read_to_string(&file).expect("a file");
        assert!(stored().contains("access_token"), "{}", stored());
        let with = |key: char| {
            let key = SecretString::from(format!("{}=", key.to_string().repeat(43)));
            let encryption = Encryption::new([&key]).expect("a key");
            let login = Login { encryption, ..config.login.clone().expect("a login") };
            McpConfig { login: Some(login), ..config.clone() }
        };
        assert!(!fixture.tools(with('A')).await.expect("tools").is_empty());
        assert!(stored().starts_with("enc1:") && !stored().contains("access_token"));
        assert!(!fixture.tools(with('A')).await.expect("tools").is_empty());
        let refused = fixture.tools(with('E')).await.err().expect("another key").to_string();
        assert!(refused.contains("store.previous_encryption_key"), "{refused}");
        assert!(stored().starts_with("enc1:"), "it is still there");
    }

    /// Only the operator says that a server is in a private network. Its own name may resolve to
    /// anything, to public and private addresses at the same time too.
    #[tokio::test]
    async fn the_name_of_a_server_does_not_open_private_networks() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let login = config(&state, fixture.folder.path().join("g.json")).login.expect("a login");
        let private_hosts = ["mcp.corp.example", "10-0-0-1.example:8443"].map(str::to_owned).into();
        let login = Login { private_hosts, ..login };
        for (url, is_inside) in [
            ("https://evil.example/mcp", false),
            ("https://8.8.8.8/mcp", false),
            ("https://10-0-0-1.example/mcp", false),
            ("https://10-0-0-1.example:8443/mcp", true),
            ("https://MCP.corp.example/mcp", true),
            ("https://10.0.0.7/mcp", true),
            ("http://127.0.0.1:8080/mcp", true),
            ("http://[::1]/mcp", true),
            ("http://localhost:8080/mcp", true),
            ("http://tickets:8080/mcp", true),
            ("http://tickets.internal/mcp", true),
        ] {
            assert_eq!(login.is_inside(&url.parse().expect("a URL")), is_inside, "{url}");
        }
    }

    /// A wrong state, or a denial, does not sign in.
    #[tokio::test]
    async fn a_callback_with_an_unknown_state_is_rejected() {
        let (state, fixture) = (Guarded::start().await, McpFixture::new().await);
        let config = config(&state, fixture.folder.path().join("g.json"));
        let begun = begin(&config, NOWHERE).await.expect("begun");
        for (back, why) in [
            (format!("{NOWHERE}?code=k1&state=forged"), "cannot be signed in to"),
            (format!("{NOWHERE}?error=access_denied"), "access_denied"),
            ("nonsense".to_owned(), "cannot be signed in to"),
        ] {
            let refused = begun.end(&config, &back).await.expect_err(&back).to_string();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(!fixture.folder.path().join("g.json").exists());
        let local = McpConfig { login: None, ..config };
        assert!(begin(&local, NOWHERE).await.is_err());
    }
}
