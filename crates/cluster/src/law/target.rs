//! A target that an operator allows: a network and a port, or a unix socket.
//!
//! An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) is converted to its IPv4 address first, both in
//! limits and in requests. Host names are refused, because their addresses can change.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The destination of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint<'a> {
    /// An address and its port, over TCP or UDP.
    Ip(SocketAddr),
    /// The path of a unix socket.
    Unix(&'a str),
}

impl fmt::Display for Endpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

/// A target that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AllowedTarget {
    /// The addresses of a network, at one port or at every port.
    Net {
        /// The network; never an IPv6 network of IPv4-mapped addresses.
        network: IpNet,
        port: Option<u16>,
    },
    /// A unix socket's absolute path.
    Unix(String),
}

/// Bits before the IPv4 address in an IPv4-mapped IPv6 address.
const MAPPED_BITS: u8 = 96;

impl AllowedTarget {
    /// Every port of this machine's loopback addresses.
    pub(super) fn loopback() -> Vec<Self> {
        let v4 = Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8);
        let v6 = Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128);
        [IpNet::V4(v4), IpNet::V6(v6)].map(|network| Self::Net { network, port: None }).to_vec()
    }

    /// True if a connection to `endpoint` is allowed.
    pub(super) fn allows(&self, endpoint: &Endpoint<'_>) -> bool {
        match (self, endpoint) {
            (Self::Net { network, port }, Endpoint::Ip(address)) => {
                network.contains(&address.ip().to_canonical())
                    && port.is_none_or(|port| port == address.port())
            }
            (Self::Unix(allowed), Endpoint::Unix(path)) => allowed == path,
            _ => false,
        }
    }

    /// The target that both allow; `None` if they have nothing in common.
    fn common(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Net { network: one, port }, Self::Net { network: two, port: other }) => {
                let network = match (one.contains(two), two.contains(one)) {
                    (true, _) => *two,
                    (_, true) => *one,
                    _ => return None,
                };
                let port = match (*port, *other) {
                    (Some(one), Some(two)) if one != two => return None,
                    (one, two) => one.or(two),
                };
                Some(Self::Net { network, port })
            }
            (Self::Unix(one), Self::Unix(two)) if one == two => Some(self.clone()),
            _ => None,
        }
    }
}

/// The targets that both lists allow.
pub(super) fn common(one: &[AllowedTarget], other: &[AllowedTarget]) -> Vec<AllowedTarget> {
    let mut both = Vec::new();
    for target in one.iter().flat_map(|own| other.iter().filter_map(|other| own.common(other))) {
        if !both.contains(&target) {
            both.push(target);
        }
    }
    both
}

impl fmt::Display for AllowedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net { network, port } => {
                match network {
                    IpNet::V4(net) => write!(f, "{net}:")?,
                    IpNet::V6(net) => write!(f, "[{}]/{}:", net.addr(), net.prefix_len())?,
                }
                match port {
                    Some(port) => port.fmt(f),
                    None => f.write_str("*"),
                }
            }
            Self::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

impl FromStr for AllowedTarget {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if let Some(path) = word.strip_prefix("unix:") {
            let is_path = path.starts_with('/') && !path.contains('\0');
            return match is_path {
                true => Ok(Self::Unix(path.to_owned())),
                false => Err(wrong(word, "a unix socket needs its absolute path")),
            };
        }
        let (place, port) =
            word.rsplit_once(':').ok_or_else(|| wrong(word, "its port is missing"))?;
        let port = match port {
            "*" => None,
            digits => Some(parse_port(digits).ok_or_else(|| {
                wrong(word, &format!("'{digits}' is neither a port from 1 to 65535 nor *"))
            })?),
        };
        let network = parse_network(place).map_err(|why| wrong(word, &why))?;
        Ok(Self::Net { network, port })
    }
}

fn wrong(word: &str, why: &str) -> String {
    format!(
        "{word:?} is not a target: {why}; allowed are a network and a port, such as \
         10.1.0.0/16:11211 or [fd00::]/8:11211 (* for every port), and unix:/path"
    )
}

/// The number type's own parser would accept a sign.
fn parse_port(digits: &str) -> Option<u16> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|&port| is_plain && port > 0)
}

/// Parses a network such as `10.0.0.0/8` or `[fd00::]/8`; a single address is a network of one.
fn parse_network(place: &str) -> Result<IpNet, String> {
    let (address, length) = match place.rsplit_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (place, None),
    };
    let inner = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let ip = match inner {
        Some(v6) => v6.parse().map(IpAddr::V6),
        None if address.contains(':') => {
            return Err(format!("'{address}' has colons and needs brackets"));
        }
        None => address.parse().map(IpAddr::V4),
    };
    let ip = ip.map_err(|_| {
        format!("'{address}' is not an address, and names are not allowed because they can change")
    })?;
    let bits = if ip.is_ipv4() { 32 } else { 128 };
    let length = match length {
        None => bits,
        Some(digits) => parse_length(digits, bits)
            .ok_or_else(|| format!("'/{digits}' is not a length from /0 to /{bits}"))?,
    };
    let network = IpNet::new(ip, length).map_err(|error| error.to_string())?;
    if network.trunc() != network {
        return Err(format!("{ip} is an address within the network {}", network.trunc()));
    }
    Ok(canonical(network))
}

fn parse_length(digits: &str, bits: u8) -> Option<u8> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|&length| is_plain && length <= bits)
}

/// Converts an IPv6 network of IPv4-mapped addresses to the IPv4 network.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network };
    let (v4, length) = (v6.addr().to_ipv4_mapped(), v6.prefix_len().checked_sub(MAPPED_BITS));
    match (v4, length) {
        (Some(v4), Some(length)) => IpNet::V4(Ipv4Net::new_assert(v4, length)),
        _ => network,
    }
}
