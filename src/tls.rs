//! One TLS configuration for all HTTP clients of a process.

use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;
use std::sync::{Arc, OnceLock};

/// Builds an HTTP client that trusts the system's certificate authorities. They are read once per
/// process, because parsing them takes longer than anything else at startup and each client would
/// otherwise do it. If they cannot be read, building the client reports why.
pub fn client_builder() -> reqwest::ClientBuilder {
    static SHARED: OnceLock<Option<ClientConfig>> = OnceLock::new();
    match SHARED.get_or_init(|| read().ok()) {
        Some(config) => reqwest::Client::builder().tls_backend_preconfigured(config.clone()),
        None => reqwest::Client::builder(),
    }
}

fn read() -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_verify_certificates_and_speak_http_2() {
        let config = read().expect("the system has certificate authorities");
        assert_eq!(config.alpn_protocols, [&b"h2"[..], b"http/1.1"]);
        assert!(client_builder().build().is_ok());
    }
}
