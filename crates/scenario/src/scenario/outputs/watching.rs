//! How a run is watched while it is under way: progress on stderr, and a page for browsers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Longest path of a page, in bytes.
const PATH_BYTES_MAX: usize = 64;

/// How progress is shown on stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressForm {
    /// Not at all.
    Off,
    /// A line that is overwritten; without a terminal, a line every 10 s.
    #[default]
    Line,
    /// The whole screen of the terminal; without one, as `Line`.
    Ui,
}

impl FromStr for ProgressForm {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word.trim() {
            "off" => Ok(Self::Off),
            "line" => Ok(Self::Line),
            "ui" => Ok(Self::Ui),
            other => Err(format!("'{other}' is not off, line or ui")),
        }
    }
}

impl fmt::Display for ProgressForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Line => "line",
            Self::Ui => "ui",
        })
    }
}

/// The address of the page on which a run can be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebPlace {
    /// Address and port; port 0 for any free one.
    pub address: SocketAddr,
    /// The path; none for a random one, which cannot be guessed.
    pub path: Option<String>,
}

impl Default for WebPlace {
    fn default() -> Self {
        Self { address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0), path: None }
    }
}

impl FromStr for WebPlace {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{word}' is not an address such as 8080, 127.0.0.1:8080 or 127.0.0.1:8080/path"
            )
        };
        let (place, path) = match word.trim().split_once('/') {
            Some((place, path)) => (place, Some(path.to_owned())),
            None => (word.trim(), None),
        };
        let local = place.parse().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let address = place.parse().or(local).map_err(|_| wrong())?;
        if path.as_ref().is_some_and(|path| !is_plain(path)) {
            return Err(wrong());
        }
        Ok(Self { address, path })
    }
}

fn is_plain(path: &str) -> bool {
    path.len() <= PATH_BYTES_MAX
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

impl fmt::Display for WebPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        self.path.as_ref().map_or(Ok(()), |path| write!(f, "/{path}"))
    }
}

/// Parses `true`, which stands for a free port of this machine, `false`, or an address.
///
/// # Errors
/// If it is none of them.
pub(crate) fn parse_web(word: &str) -> Result<Option<WebPlace>, String> {
    match super::super::parse_switch(word) {
        // `1` is a port that only a privileged user has, and it means "true" everywhere else.
        Ok(on) => Ok(on.then(WebPlace::default)),
        Err(_) => word.parse().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_page_is_a_port_or_an_address_with_a_path() {
        let of = |word: &str| parse_web(word).map(|place| place.map(|place| place.to_string()));
        assert_eq!(of("true"), Ok(Some("127.0.0.1:0".to_owned())));
        assert_eq!(of("false"), Ok(None));
        assert_eq!(of("8080"), Ok(Some("127.0.0.1:8080".to_owned())));
        assert_eq!(of("[::]:80/a-b"), Ok(Some("[::]:80/a-b".to_owned())));
        assert_eq!(of("0.0.0.0:80/"), Ok(Some("0.0.0.0:80/".to_owned())));
        for wrong in ["localhost:80", "99999", "127.0.0.1", "80/a/b", "80/%41", ""] {
            assert!(of(wrong).unwrap_err().contains("is not an address"), "{wrong}");
        }
    }
}
