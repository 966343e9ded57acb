//! The address to listen on: an address or host name with a port, or a port alone.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};

const EXPECTED: &str = "must be an address with a port such as 127.0.0.1:8642, or a port";

/// Parses `127.0.0.1:8642`, `localhost:8642` or `8642`. A host name is resolved.
pub fn parse(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let is_name =
        |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    let Some((host, port)) =
        parts.filter(|(host, _): &(&str, u16)| !host.is_empty() && is_name(host))
    else {
        return Err(EXPECTED.to_owned());
    };
    let known: Vec<SocketAddr> =
        (host, port).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let first = known.iter().find(|address| address.is_ipv4()).or(known.first());
    first.copied().ok_or_else(|| format!("the host name `{host}` is not known on this machine"))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawListen {
    Port(u16),
    Text(String),
}

pub(super) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    match RawListen::deserialize(from).map_err(|_| D::Error::custom(EXPECTED))? {
        RawListen::Port(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        RawListen::Text(text) => parse(&text).map_err(D::Error::custom),
    }
}

pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "string" }, { "type": "integer", "format": "uint16" }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_people_write_it() {
        for (text, address) in [
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("[::1]:1", "[::1]:1"),
            ("8642", "127.0.0.1:8642"),
            (" localhost:8642 ", "127.0.0.1:8642"),
        ] {
            assert_eq!(parse(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["", "localhost", "127.0.0.1", ":8642", "a:b", "70000", "x:70000", "http://x:1"]
        {
            assert_eq!(parse(text), Err(EXPECTED.to_owned()), "{text}");
        }
        assert!(parse("no-such-host.invalid:1").unwrap_err().contains("no-such-host.invalid"));
    }
}
