//! The OpenID provider: the redirect to it, and the verification of its response. Its endpoints and
//! keys are fetched for each sign-in, so that they are never outdated.
//!
//! A sign-in in progress is a secret in a cookie of the browser. State, nonce and the PKCE verifier
//! are derived from it. The database stores its hash, so that it completes once, on any node.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use openidconnect::{
    AdditionalClaims, AsyncHttpClient, AuthenticationFlow, AuthorizationCode, Client, ClientId,
    ClientSecret, CsrfToken, DiscoveryError, EmptyExtraTokenFields, EndpointMaybeSet,
    EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IdTokenClaims, IdTokenFields,
    IssuerUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope,
    StandardErrorResponse, StandardTokenResponse, TokenResponse as _,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
        CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata,
        CoreResponseType, CoreRevocableToken, CoreRevocationErrorResponse,
        CoreTokenIntrospectionResponse, CoreTokenType,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use url::Url;

use crate::{
    gateway::people,
    journal::role::Role,
    store::people::BrowserSession,
    tools::{
        ToolError,
        web::client::{WebClient, WebRequest},
    },
};

/// The maximum size of a response.
const ANSWER_BYTES: usize = 1024 * 1024;
/// The maximum length of a displayed name.
const NAME_CHARS: usize = 100;

/// The configuration of the provider.
pub struct Issuer {
    pub url: IssuerUrl,
    pub client_id: ClientId,
    pub client_secret: Option<ClientSecret>,
    /// The scopes to request besides `openid`.
    pub scopes: Vec<Scope>,
    pub groups_claim: String,
    /// Roles by `sub:…`, `email:…` in lower case, or `group:…`.
    pub roles: BTreeMap<String, Role>,
    /// The callback URL.
    pub back: RedirectUrl,
    pub web_client: WebClient,
}

/// Why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The provider may answer in a moment.
    #[error("the provider does not answer: {0}")]
    Silent(String),
    /// A response is not valid.
    #[error("{0}")]
    Refused(String),
    /// None of the claims maps to a role.
    #[error("{0} has no role")]
    Unmapped(String),
}

/// Further claims of an ID token.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ExtraClaims {
    #[serde(flatten)]
    claims: Map<String, Value>,
}

impl AdditionalClaims for ExtraClaims {}

type Fields = IdTokenFields<
    ExtraClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

/// The library's client with those claims.
type OidcClient = Client<
    ExtraClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<Fields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Issuer {
    /// The URL to which the browser with this secret is redirected.
    pub async fn begin(&self, secret: &str) -> Result<Url, SignInError> {
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier(secret));
        let client = self.oidc_client().await?;
        let (state, nonce) = (CsrfToken::new(state(secret)), nonce(secret));
        let request = client.authorize_url(flow, || state, || nonce);
        let request = request.add_scopes(self.scopes.iter().cloned());
        Ok(request.set_pkce_challenge(challenge).url().0)
    }

    /// The person who returned with this code to the browser with this secret.
    pub async fn end(
        &self,
        secret: &str,
        code: String,
        now: DateTime<Utc>,
    ) -> Result<BrowserSession, SignInError> {
        let client = self.oidc_client().await?;
        let request = client.exchange_code(AuthorizationCode::new(code));
        let request = request.map_err(refused)?.set_pkce_verifier(verifier(secret));
        let answer = request.request_async(self).await.map_err(|error| match error {
            RequestTokenError::Request(problem) => SignInError::Silent(problem.to_string()),
            other => refused(other),
        })?;
        let token =
            answer.id_token().ok_or_else(|| refused("the response contains no ID token"))?;
        let believes = client.id_token_verifier().set_time_fn(move || now);
        let claims = token.claims(&believes, &nonce(secret)).map_err(refused)?;
        self.session(claims)
    }

    /// The highest role that the claims map to.
    pub fn role(&self, claims: &[String]) -> Option<Role> {
        claims.iter().filter_map(|claim| self.roles.get(claim)).max().copied()
    }

    /// The provider's endpoints and keys.
    pub async fn discover(&self) -> Result<CoreProviderMetadata, SignInError> {
        let oidc_client = CoreProviderMetadata::discover_async(self.url.clone(), self).await;
        oidc_client.map_err(|error| match error {
            DiscoveryError::Request(problem) => SignInError::Silent(problem.to_string()),
            DiscoveryError::Response(status, ..) => {
                SignInError::Silent(format!("the response has the status {status}"))
            }
            other => refused(other),
        })
    }

    async fn oidc_client(&self) -> Result<OidcClient, SignInError> {
        let (id, secret) = (self.client_id.clone(), self.client_secret.clone());
        let client = OidcClient::from_provider_metadata(self.discover().await?, id, secret);
        Ok(client.set_redirect_uri(self.back.clone()))
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ToolError> {
        let (head, body) = request.into_parts();
        let url = head.uri.to_string().parse();
        let url = url.map_err(|_| {
            ToolError::ExternalService("the metadata contains no such endpoint".to_owned())
        })?;
        let ask = WebRequest {
            method: head.method,
            url,
            headers: head.headers,
            body: Some(body.into()),
            max_bytes: ANSWER_BYTES,
        };
        let answer = self.web_client.send(ask).await?;
        let mut response = HttpResponse::new(answer.body);
        (*response.status_mut(), *response.headers_mut()) = (answer.status, answer.headers);
        Ok(response)
    }

    fn session(
        &self,
        claims: &IdTokenClaims<ExtraClaims, CoreGenderClaim>,
    ) -> Result<BrowserSession, SignInError> {
        let sub = claims.subject().as_str();
        let person = format!("{}{sub}", people::OIDC);
        // An unverified address may have been entered by anybody.
        let email = claims.email().filter(|_| claims.email_verified() == Some(true));
        let email = email.map(|email| email.as_str().to_owned());
        let user = claims.preferred_username().map(|user| user.as_str().to_owned());
        let name = email.clone().or(user).unwrap_or_else(|| sub.to_owned());
        let groups = claims.additional_claims().claims.get(&self.groups_claim);
        let groups = groups.into_iter().flat_map(|groups| match groups {
            Value::Array(groups) => groups.as_slice(),
            one => std::slice::from_ref(one),
        });
        let groups = groups.filter_map(Value::as_str).map(|group| format!("group:{group}"));
        let mut said = vec![format!("sub:{sub}")];
        said.extend(email.map(|email| format!("email:{}", email.to_lowercase())));
        said.extend(groups);
        said.retain(|claim| self.roles.contains_key(claim));
        if said.is_empty() {
            return Err(SignInError::Unmapped(person));
        }
        let name = channels::text::neutralise(&name).chars().take(NAME_CHARS).collect();
        Ok(BrowserSession { person, name, claims: Some(said) })
    }
}

/// The HTTP client for the library.
impl<'c> AsyncHttpClient<'c> for Issuer {
    type Error = ToolError;
    type Future = BoxFuture<'c, Result<HttpResponse, ToolError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

fn refused(why: impl ToString) -> SignInError {
    SignInError::Refused(channels::text::neutralise(&why.to_string()))
}

/// The state, which identifies the sign-in.
pub fn state(secret: &str) -> String {
    derived("state", secret)
}

/// The nonce that the ID token must contain.
fn nonce(secret: &str) -> Nonce {
    Nonce::new(derived("nonce", secret))
}

/// The PKCE verifier, which only the browser that began the sign-in can present.
fn verifier(secret: &str) -> PkceCodeVerifier {
    PkceCodeVerifier::new(derived("verifier", secret))
}

fn derived(what: &str, secret: &str) -> String {
    hex::encode(Sha256::digest(format!("{what} {secret}")))
}
