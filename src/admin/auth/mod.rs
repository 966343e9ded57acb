//! Who may send a request: browser sessions, an OpenID provider, host names, rate limits.
//!
//! - [`web_session`]: signing in with a one-time link; browser sessions
//! - [`oidc`], [`oidc_provider`]: signing in with an OpenID provider
//! - [`hosts`]: validates the `Host` header
//! - [`rate_limit`]: rate limits by client address
//! - [`security_headers`]: checks of requests, and headers of all responses

pub mod hosts;
pub mod oidc;
pub mod oidc_provider;
pub mod rate_limit;
pub mod security_headers;
pub mod web_session;
