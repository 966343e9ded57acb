//! Which network addresses are public, and which are private, special, or those of this machine and
//! its neighbours.

use ipnet::IpNet;
use nix::{
    ifaddrs::{InterfaceAddress, getifaddrs},
    sys::socket::SockaddrStorage,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the address belongs to the public internet, and neither to this machine nor to a network
/// that it is attached to: a service may be reachable there that is not meant for the internet. If
/// the interfaces cannot be read, no address is outside.
pub fn is_outside(address: IpAddr) -> bool {
    attached_networks().is_ok_and(|networks| is_outside_of(&networks, address))
}

fn is_outside_of(networks: &[IpNet], address: IpAddr) -> bool {
    let reached = match address {
        IpAddr::V6(outer) => embedded_v4(outer).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    let is_attached = |network: &IpNet| network.contains(&address) || network.contains(&reached);
    is_public(address) && !networks.iter().any(is_attached)
}

/// The networks that the interfaces of this machine are attached to.
fn attached_networks() -> nix::Result<Vec<IpNet>> {
    let network = |interface: InterfaceAddress| {
        let address = ip(&interface.address?)?;
        Some(attached(address, interface.netmask.as_ref().and_then(ip)))
    };
    Ok(getifaddrs()?.filter_map(network).collect())
}

/// Without a mask, or with one that covers everything, only the address itself counts.
fn attached(address: IpAddr, mask: Option<IpAddr>) -> IpNet {
    let network = mask.and_then(|mask| IpNet::with_netmask(address, mask).ok());
    network.filter(|network| network.prefix_len() > 0).unwrap_or_else(|| address.into())
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| address.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
}

/// Whether the address belongs to the public internet. Unknown ranges count as not public. See the
/// registries of special-purpose addresses,
/// <https://www.iana.org/assignments/iana-ipv4-special-registry> and
/// <https://www.iana.org/assignments/iana-ipv6-special-registry>.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Metadata services of Azure and Alibaba, which have public and carrier-grade NAT addresses.
const METADATA: [Ipv4Addr; 2] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200)];

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = [
        ("0.0.0.0", 8),
        ("10.0.0.0", 8),
        ("100.64.0.0", 10), // carrier-grade NAT
        ("127.0.0.0", 8),
        ("169.254.0.0", 16), // link-local, including cloud metadata services
        ("172.16.0.0", 12),
        ("192.0.0.0", 24),
        ("192.0.2.0", 24),   // documentation
        ("192.88.99.0", 24), // 6to4 relays
        ("192.168.0.0", 16),
        ("198.18.0.0", 15), // benchmarks
        ("198.51.100.0", 24),
        ("203.0.113.0", 24),
        ("224.0.0.0", 3), // multicast and reserved
    ];
    let bits = address.to_bits();
    let within = |(net, length): (&str, u32)| {
        let net: Ipv4Addr = net.parse().expect("a constant");
        (bits ^ net.to_bits()) >> (32 - length) == 0
    };
    !METADATA.contains(&address) && !special.into_iter().any(within)
}

/// Only 2000::/3 is assigned. Within it, an address that embeds an IPv4 address is judged by the
/// embedded one, and addresses for tunnels and documentation are rejected.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(embedded) = embedded_v4(address) {
        return is_public_v4(embedded);
    }
    let [first, second, third, ..] = address.segments();
    match (first, second) {
        // Protocol assignments (including Teredo and ORCHID), and documentation.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        (0x2620, 0x4f) if third == 0x8000 => false,
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

/// The IPv4 address in one that is mapped, translated (NAT64) or for a tunnel (6to4).
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = address.octets();
    let at = match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => 12,
        [0x2002, ..] => 2,
        _ => return None,
    };
    Some(Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves S8.
    #[test]
    fn neighbours_are_not_outside() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        for (address, mask, inside, outside) in [
            ("8.8.8.9", "255.255.255.0", "8.8.8.200", "8.8.9.1"),
            ("8.8.8.9", "255.255.255.0", "::ffff:8.8.8.200", "::ffff:8.8.9.1"),
            ("8.8.8.9", "255.255.255.0", "64:ff9b::8.8.8.200", "64:ff9b::8.8.9.1"),
            ("8.8.8.9", "255.255.255.0", "2002:808:8c8::1", "2002:808:901::1"),
            ("8.8.8.9", "255.255.255.255", "8.8.8.9", "8.8.8.8"),
            ("8.8.8.9", "0.0.0.0", "8.8.8.9", "8.8.8.8"),
            ("2a00:1450:1:2::3", "ffff:ffff:ffff:ffff::", "2a00:1450:1:2:9::", "2a00:1450:1:3::"),
        ] {
            let networks = [attached(ip(address), Some(ip(mask)))];
            assert!(!is_outside_of(&networks, ip(inside)), "{inside}");
            assert!(is_outside_of(&networks, ip(outside)), "{outside}");
        }
        assert_eq!(attached(ip("8.8.8.9"), None).prefix_len(), 32);
        let networks = attached_networks().unwrap();
        assert!(networks.iter().any(|network| network.contains(&ip("127.0.0.1"))));
        assert!(is_outside(ip("1.1.1.1")));
    }

    /// Proves S8.
    #[test]
    fn only_the_public_internet_is_public() {
        let public = "1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.15.255.255 \
             172.32.0.1 192.167.1.1 198.17.0.1 223.255.255.255 2606:4700::1111 \
             2a00:1450:4001::1 2002:0808:0808::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8";
        for public in public.split_whitespace() {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        let inside = "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 \
             100.100.100.200 127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254 \
             169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 \
             192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 \
             239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 \
             ::ffff:169.254.169.254 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 \
             64:ff9b::10.0.0.1 64:ff9b:1::10.0.0.1 100::1 2001::1 2001:db8::1 2001:10::1 \
             2001:20::1 2002:7f00:1::1 2002:a00:1::1 2002:a9fe:a9fe::1 3fff::1 5f00::1 \
             fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1";
        for inside in inside.split_whitespace() {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
    }
}
