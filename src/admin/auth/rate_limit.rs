//! Rate limits per client address, and limits on open connections; counted in memory, on each node.
//! Also determines the client address behind proxies.

use anyhow::{Context as _, Result};
use axum::http::HeaderMap;
use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

/// The maximum number of addresses; beyond it, the oldest minute is dropped.
const ADDRESSES: usize = 10_000;

/// Counts by address.
#[derive(Debug)]
pub struct AddressLimit {
    limit: u32,
    counts: Mutex<HashMap<IpAddr, (DateTime<Utc>, u32)>>,
}

impl AddressLimit {
    /// A limit per minute.
    pub fn of(limit: u32) -> Self {
        Self { limit, counts: Mutex::default() }
    }

    pub fn is_over(&self, address: IpAddr, now: DateTime<Utc>) -> bool {
        let address = whole(address);
        let counts = self.counts.lock();
        counts.get(&address).is_some_and(|(since, count)| {
            now - *since < TimeDelta::minutes(1) && *count >= self.limit
        })
    }

    pub fn count(&self, address: IpAddr, now: DateTime<Utc>) {
        let address = whole(address);
        let mut counts = self.counts.lock();
        if counts.len() >= ADDRESSES {
            counts.retain(|_, (since, _)| now - *since < TimeDelta::minutes(1));
        }
        if counts.len() >= ADDRESSES {
            counts.clear();
        }
        let entry = counts.entry(address).or_insert((now, 0));
        if now - entry.0 >= TimeDelta::minutes(1) {
            *entry = (now, 0);
        }
        entry.1 += 1;
    }

    /// Counts a request, if it is within the limit.
    pub fn takes(&self, address: IpAddr, now: DateTime<Utc>) -> bool {
        let takes = !self.is_over(address, now);
        if takes {
            self.count(address, now);
        }
        takes
    }
}

/// An IPv6 client usually has a whole /64 network.
fn whole(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        IpAddr::V4(_) => address,
    }
}

/// Who has open connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Client {
    Address(IpAddr),
    /// A person who is signed in.
    Person(String),
}

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Self::Address(whole(address))
    }
}

/// The number of open connections per client, on this node.
#[derive(Debug)]
pub struct OpenConnections {
    limit: usize,
    counts: Arc<Mutex<HashMap<Client, usize>>>,
}

impl OpenConnections {
    pub fn of(limit: usize) -> Self {
        Self { limit, counts: Arc::default() }
    }

    /// Registers a connection until dropped; `None` if there are too many.
    pub fn enter(&self, client: impl Into<Client>) -> Option<Opened> {
        let client = client.into();
        let mut counts = self.counts.lock();
        let count = counts.entry(client.clone()).or_default();
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(Opened { counts: self.counts.clone(), client })
    }
}

/// An open connection.
#[derive(Debug)]
pub struct Opened {
    counts: Arc<Mutex<HashMap<Client, usize>>>,
    client: Client,
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
        }
        counts.retain(|_, count| *count > 0);
    }
}

/// Trusted proxies, whose `X-Forwarded-For` is believed. Only configured ones count: otherwise a
/// local program could choose an address for each attempt.
#[derive(Debug, Default)]
pub struct Proxies(Vec<IpNet>);

impl Proxies {
    /// Parses networks and addresses.
    pub fn from_list(list: &[String]) -> Result<Self> {
        let net = |text: &String| {
            let net = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            net.with_context(|| {
                format!("`{text}` is neither a network such as 10.0.0.0/8 nor an address")
            })
        };
        list.iter().map(net).collect::<Result<_>>().map(Self)
    }

    fn has(&self, address: IpAddr) -> bool {
        self.0.iter().any(|net| net.contains(&address))
    }

    /// The client address: the last one in `X-Forwarded-For` that is not a trusted proxy.
    pub fn address(&self, peer: SocketAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all("x-forwarded-for").into_iter();
        let named: Vec<_> = lines.flat_map(|line| line.as_bytes().split(|b| *b == b',')).collect();
        let mut address = peer.ip().to_canonical();
        for name in named.into_iter().rev() {
            match forwarded(name) {
                Some(named) if self.has(address) => address = named,
                _ => break,
            }
        }
        address
    }
}

/// An address as proxies write it: some add the port, or write an IPv4 address as one of IPv6.
fn forwarded(name: &[u8]) -> Option<IpAddr> {
    let name = str::from_utf8(name).ok()?.trim();
    let address = name.parse::<IpAddr>();
    let address = address.or_else(|_| name.parse::<SocketAddr>().map(|named| named.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn seen(proxies: &[&str], peer: &str, headers: &HeaderMap) -> String {
        let proxies: Vec<_> = proxies.iter().map(|&proxy| proxy.to_owned()).collect();
        let peer = SocketAddr::new(peer.parse().unwrap(), 1);
        Proxies::from_list(&proxies).unwrap().address(peer, headers).to_string()
    }

    /// Proves S13.
    #[test]
    fn so_much_is_open_for_each_network_and_no_more() {
        let open = OpenConnections::of(1);
        let at = |address: &str| address.parse::<IpAddr>().unwrap();
        let ann = || Client::Person("ann".to_owned());
        let page = open.enter(ann());
        assert!(page.is_some() && open.enter(ann()).is_none());
        assert!(open.enter(Client::Person("bob".to_owned())).is_some());
        let first = open.enter(at("2001:db8::1"));
        assert!(first.is_some() && open.enter(at("2001:db8::2")).is_none());
        assert!(
            open.enter(at("2001:db8:0:1::1")).is_some() && open.enter(at("192.0.2.1")).is_some()
        );
        drop(first);
        assert!(open.enter(at("2001:db8::2")).is_some());
        let (limit, now) = (AddressLimit::of(1), DateTime::UNIX_EPOCH);
        assert!(limit.takes(at("2001:db8::1"), now) && !limit.takes(at("2001:db8::2"), now));
    }

    #[test]
    fn proxies_that_are_named_are_believed_as_far_as_they_reach() {
        let mut headers = HeaderMap::new();
        let line = HeaderValue::from_static("192.0.2.1, 203.0.113.7, 10.1.2.3");
        headers.append("x-forwarded-for", line);
        for (proxies, peer, asks) in [
            (&["10.0.0.0/8"][..], "10.9.9.9", "203.0.113.7"),
            (&["10.9.9.9"], "10.9.9.9", "10.1.2.3"),
            (&["10.0.0.0/8", "203.0.113.7"], "::ffff:10.9.9.9", "192.0.2.1"),
            (&["10.0.0.0/8"], "198.51.100.2", "198.51.100.2"),
            (&["2001:db8::/32"], "2001:db8::1", "10.1.2.3"),
        ] {
            assert_eq!(seen(proxies, peer, &headers), asks, "{proxies:?} {peer}");
        }
        for odd in ["ten", "10.0.0.0/40", ""] {
            assert!(Proxies::from_list(&[odd.to_owned()]).is_err(), "{odd}");
        }
    }

    /// Otherwise all clients with IPv4 addresses would share one limit.
    #[test]
    fn a_client_has_one_address_however_proxies_write_it() {
        for (line, asks) in [
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("192.0.2.1:50123", "192.0.2.1"),
            ("[2001:db8::1]:50123", "2001:db8::1"),
            ("192.0.2.1, ::ffff:10.1.2.3", "192.0.2.1"),
        ] {
            let mut headers = HeaderMap::new();
            headers.append("x-forwarded-for", HeaderValue::from_static(line));
            assert_eq!(seen(&["10.0.0.0/8"], "10.9.9.9", &headers), asks, "{line}");
        }
    }

    #[test]
    fn a_proxy_on_this_machine_is_believed_only_if_it_is_named() {
        let mut headers = HeaderMap::new();
        let own = ["127.0.0.1"];
        assert_eq!(seen(&own, "127.0.0.1", &headers), "127.0.0.1");
        for line in ["192.0.2.1, 203.0.113.7", "nonsense"] {
            headers.append("x-forwarded-for", HeaderValue::from_static(line));
            let named = if line == "nonsense" { "127.0.0.1" } else { "203.0.113.7" };
            assert_eq!(seen(&own, "127.0.0.1", &headers), named);
            assert_eq!(seen(&own, "198.51.100.2", &headers), "198.51.100.2");
            assert_eq!(seen(&[], "127.0.0.1", &headers), "127.0.0.1");
        }
    }
}
