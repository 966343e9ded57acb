//! Which network addresses are public, and which are private, special, or those of this machine and
//! its neighbours.

use nix::{ifaddrs::getifaddrs, sys::socket::SockaddrStorage};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network that an interface of this machine is attached to.
#[derive(Debug, Clone, Copy)]
struct AttachedNetwork {
    address: IpAddr,
    mask: IpAddr,
}

/// Whether the address belongs to the public internet, and neither to this machine nor to a network
/// that it is attached to: a service may be reachable there that is not meant for the internet. If
/// the interfaces cannot be read, no address is outside.
pub fn is_outside(address: IpAddr) -> bool {
    is_public(address)
        && attached_networks()
            .is_ok_and(|networks| !networks.iter().any(|network| network.contains(address)))
}

fn attached_networks() -> nix::Result<Vec<AttachedNetwork>> {
    let network = |address: Option<SockaddrStorage>, mask: Option<SockaddrStorage>| {
        let address = ip(&address?)?;
        // Without a mask, or with one that covers everything, only the address itself counts.
        let whole = if address.is_ipv4() {
            IpAddr::V4(Ipv4Addr::BROADCAST)
        } else {
            IpAddr::V6(Ipv6Addr::from_bits(u128::MAX))
        };
        let mask = mask.as_ref().and_then(ip).filter(|mask| !mask.is_unspecified());
        Some(AttachedNetwork { address, mask: mask.unwrap_or(whole) })
    };
    let interfaces = getifaddrs()?;
    Ok(interfaces.filter_map(|interface| network(interface.address, interface.netmask)).collect())
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| address.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
}

impl AttachedNetwork {
    fn contains(self, other: IpAddr) -> bool {
        match (self.address, self.mask, other.to_canonical()) {
            (IpAddr::V4(address), IpAddr::V4(mask), IpAddr::V4(other)) => {
                address & mask == other & mask
            }
            (IpAddr::V6(address), IpAddr::V6(mask), IpAddr::V6(other)) => {
                address & mask == other & mask
            }
            _ => false,
        }
    }
}

/// Whether the address belongs to the public internet. Unknown ranges count as not public. See the
/// registries of special-purpose addresses,
/// <https://www.iana.org/assignments/iana-ipv4-special-registry> and
/// <https://www.iana.org/assignments/iana-ipv6-special-registry>.
fn is_public(address: IpAddr) -> bool {
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
    let [first, second, third, ..] = address.segments();
    let inner = |at: usize| {
        let octets = address.octets();
        is_public_v4(Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]))
    };
    match (first, second) {
        // An embedded IPv4 address: mapped, and translated (NAT64).
        (0, 0) if address.to_ipv4_mapped().is_some() => inner(12),
        (0x64, 0xff9b) if address.segments()[2..6] == [0; 4] => inner(12),
        (0x2002, _) => inner(2),
        // Protocol assignments (including Teredo and ORCHID), and documentation.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        (0x2620, 0x4f) if third == 0x8000 => false,
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves S8.
    #[test]
    fn neighbours_are_not_outside() {
        for (address, mask, inside, outside) in [
            ("8.8.8.9", "255.255.255.0", "8.8.8.200", "8.8.9.1"),
            ("8.8.8.9", "255.255.255.0", "::ffff:8.8.8.200", "::ffff:8.8.9.1"),
            ("8.8.8.9", "255.255.255.255", "8.8.8.9", "8.8.8.8"),
            ("2a00:1450:1:2::3", "ffff:ffff:ffff:ffff::", "2a00:1450:1:2:9::", "2a00:1450:1:3::"),
        ] {
            let [address, mask] = [address, mask].map(|text| text.parse().unwrap());
            let network = AttachedNetwork { address, mask };
            assert!(network.contains(inside.parse().unwrap()), "{inside}");
            assert!(!network.contains(outside.parse().unwrap()), "{outside}");
        }
        let networks = attached_networks().unwrap();
        assert!(networks.iter().any(|network| network.contains("127.0.0.1".parse().unwrap())));
        assert!(is_outside("1.1.1.1".parse().unwrap()));
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
