//! Validates the `Host` header. With DNS rebinding, a page of another site whose name resolves to
//! this machine sends its own name as `Host`, and is rejected.

use axum::{
    extract::{Request, State},
    http::{StatusCode, header::HOST, uri::Authority},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use crate::admin::{Admin, problem::Problem};

/// The host names that are accepted.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    /// In lower case, without ports.
    names: BTreeSet<String>,
    listen: Option<IpAddr>,
}

impl Hosts {
    pub fn new<'n>(
        listen: SocketAddr,
        public_url: Option<&url::Url>,
        more: impl IntoIterator<Item = &'n String>,
    ) -> Self {
        let public = public_url.and_then(url::Url::host_str).map(str::to_lowercase);
        let more = more.into_iter().map(|name| name.trim_end_matches('.').to_lowercase());
        Self { names: public.into_iter().chain(more).collect(), listen: Some(listen.ip()) }
    }

    /// Accepts loopback, `listen`, `public_url` and the configured hosts.
    fn admit(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host().trim_end_matches('.').to_lowercase();
        if authority.as_str().contains('@') {
            return false;
        }
        if name == "localhost" || name.ends_with(".localhost") || self.names.contains(&name) {
            return true;
        }
        let Ok(address) = name.trim_matches(['[', ']']).parse::<IpAddr>() else { return false };
        let address = address.to_canonical();
        // An address is not a name that an attacker could point here; when listening on all
        // addresses of the machine, each of them is accepted.
        address.is_loopback()
            || self.listen.is_some_and(|own| own.is_unspecified() || own.to_canonical() == address)
    }
}

const REFUSED: &str = "This gateway does not serve this host name. Set `admin.public_url` to the \
    public URL, or add the host to `admin.hosts`.";

/// Used by probes that know an address only; the responses contain no data.
const HEALTH: [&str; 2] = ["/healthz", "/readyz"];
/// Authenticated by a signature or by the embedding site, and reached through other names; and
/// static files.
const OPEN: [&str; 5] = ["/assets/", "/channels/", "/hooks/", "/widget/", "/widget.js"];

/// Rejects requests for other host names.
pub async fn known_only(State(admin): State<Arc<Admin>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_free = HEALTH.contains(&path) || OPEN.iter().any(|start| path.starts_with(start));
    let headers = request.headers().get_all(HOST).into_iter();
    let named = headers.map(|value| value.to_str().unwrap_or_default());
    let mut named = named.chain(request.uri().authority().map(Authority::as_str));
    if is_free || named.all(|host| admin.hosts.admit(host)) {
        return next.run(request).await;
    }
    Problem::new(StatusCode::MISDIRECTED_REQUEST, REFUSED).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_gateway_are_answered_to() {
        let public = "https://Chat.example/".parse().unwrap();
        let more = ["gateway".to_owned()];
        let local = Hosts::new("127.0.0.1:8642".parse().unwrap(), Some(&public), &more);
        let lan = Hosts::new("192.0.2.7:80".parse().unwrap(), None, &[]);
        let all = Hosts::new("[::]:80".parse().unwrap(), None, &[]);
        for (host, of_local, of_lan, of_all) in [
            ("127.0.0.1:8642", true, true, true),
            ("localhost", true, true, true),
            ("LocalHost:1", true, true, true),
            ("a.localhost", true, true, true),
            ("[::1]:8642", true, true, true),
            ("[::ffff:127.0.0.1]", true, true, true),
            ("chat.example", true, false, false),
            ("CHAT.example.:443", true, false, false),
            ("gateway:8642", true, false, false),
            ("192.0.2.7", false, true, true),
            ("10.1.2.3:8642", false, false, true),
            ("evil.example", false, false, false),
            ("chat.example.evil.example", false, false, false),
            ("127.0.0.1.evil.example", false, false, false),
            ("localhost.evil.example", false, false, false),
            ("evil.example@localhost", false, false, false),
            ("2130706433", false, false, false),
            ("", false, false, false),
            ("a b", false, false, false),
        ] {
            assert_eq!(local.admit(host), of_local, "{host:?}");
            assert_eq!(lan.admit(host), of_lan, "{host:?}");
            assert_eq!(all.admit(host), of_all, "{host:?}");
        }
    }
}
