//! Checks of all requests, and security headers of all responses.

use axum::{
    extract::Request,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY,
            X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::admin::problem::{CROSS_SITE, Problem};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Marks a response that other sites may show in a frame, as far as its policy allows.
#[derive(Debug, Clone, Copy)]
pub struct Framed;

/// The policy of a page that these sites may show in a frame; it fetches its files itself.
pub fn policy_in(origins: &[String]) -> String {
    let framed = format!("frame-ancestors {}", origins.join(" "));
    POLICY
        .replace("frame-ancestors 'none'", &framed)
        .replace("img-src 'self'", "img-src 'self' blob:")
}

/// Sets the headers of all responses, unless the response has stricter ones.
pub async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let defaults = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let framed = response.extensions().get::<Framed>().is_some();
    for (name, value) in defaults {
        if framed && name == X_FRAME_OPTIONS {
            continue;
        }
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Rejects requests that another site made a browser send.
pub async fn own_pages_only(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if reads || is_own(request.headers()) {
        return next.run(request).await;
    }
    Problem::new(StatusCode::FORBIDDEN, CROSS_SITE).into_response()
}

/// Browsers name the site that a request comes from. A client that does not is not a browser, and
/// sends only cookies that it was given on purpose.
pub fn is_own(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
    if let Some(site) = text(HeaderName::from_static("sec-fetch-site")) {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = text(ORIGIN) else { return true };
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    host.is_some() && host == text(HOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter()
            .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)))
            .collect()
    }

    /// Proves S10.
    #[test]
    fn only_our_own_pages_may_change_something() {
        let host = ("host", "chat.example:8080");
        assert!(is_own(&headers(&[host])));
        assert!(is_own(&headers(&[host, ("origin", "https://chat.example:8080")])));
        assert!(is_own(&headers(&[host, ("origin", "null"), ("sec-fetch-site", "same-origin")])));
        assert!(!is_own(&headers(&[host, ("origin", "https://chat.example")])));
        assert!(!is_own(&headers(&[host, ("origin", "https://evil.example")])));
        assert!(!is_own(&headers(&[host, ("origin", "null")])));
        assert!(!is_own(&headers(&[
            host,
            ("origin", "https://chat.example:8080"),
            ("sec-fetch-site", "cross-site")
        ])));
        assert!(!is_own(&headers(&[host, ("sec-fetch-site", "same-site")])));
    }
}
