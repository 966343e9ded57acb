//! How often an address may do something within a minute: counted in memory, on each node by itself.

use axum::http::HeaderMap;
use chrono::{DateTime, TimeDelta, Utc};
use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Mutex, PoisonError},
};

/// The most addresses remembered; a flood from more of them forgets the oldest minute.
const ADDRESSES: usize = 10_000;

/// What is counted, by address.
#[derive(Debug)]
pub struct Pace {
    most: u32,
    counts: Mutex<HashMap<IpAddr, (DateTime<Utc>, u32)>>,
}

impl Pace {
    /// So often within a minute, then that address waits.
    pub fn of(most: u32) -> Self {
        Self { most, counts: Mutex::default() }
    }

    pub fn is_over(&self, address: IpAddr, now: DateTime<Utc>) -> bool {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(&address).is_some_and(|(since, count)| {
            now - *since < TimeDelta::minutes(1) && *count >= self.most
        })
    }

    pub fn count(&self, address: IpAddr, now: DateTime<Utc>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Counts it, if there is room for it.
    pub fn takes(&self, address: IpAddr, now: DateTime<Utc>) -> bool {
        let takes = !self.is_over(address, now);
        if takes {
            self.count(address, now);
        }
        takes
    }
}

/// Who asks: behind a proxy on this machine, whom that names last in `X-Forwarded-For`.
pub fn address(peer: SocketAddr, headers: &HeaderMap) -> IpAddr {
    let forwarded = headers.get_all("x-forwarded-for").into_iter().next_back();
    let forwarded = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next());
    let named = forwarded.and_then(|last| last.trim().parse().ok());
    named.filter(|_| peer.ip().is_loopback()).unwrap_or_else(|| peer.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_a_proxy_on_this_machine_says_for_whom_it_asks() {
        let mut headers = HeaderMap::new();
        let of = |peer: &str, headers: &HeaderMap| {
            address(SocketAddr::new(peer.parse().unwrap(), 1), headers).to_string()
        };
        assert_eq!(of("127.0.0.1", &headers), "127.0.0.1");
        for line in ["192.0.2.1, 203.0.113.7", "nonsense"] {
            headers.append("x-forwarded-for", HeaderValue::from_static(line));
            let named = if line == "nonsense" { "127.0.0.1" } else { "203.0.113.7" };
            assert_eq!(of("127.0.0.1", &headers), named);
            assert_eq!(of("198.51.100.2", &headers), "198.51.100.2");
        }
    }
}
