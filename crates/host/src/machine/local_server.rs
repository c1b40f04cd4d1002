//! The threads of a server on this machine, and how long they wait for a CPU, as far as this user
//! may see them. Nothing here judges.

use super::pin;
use super::programs::{PROGRAMS_MAX, cpus_of, numbers};
use memtide_base::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// The state of a listening socket in the kernel's lists.
const LISTENING: &str = "0A";
/// The length of a line in the kernel's list. Listening sockets stand first. The kernel walks its
/// whole table of connections, which takes milliseconds, only for a reader that asks for more.
const LINE_BYTES: usize = 150;

/// A server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Its process id.
    pub process: u32,
    /// Its threads; empty for all threads of the process.
    threads: Vec<u32>,
}

impl LocalServer {
    /// These threads of this process.
    pub fn within(threads: Vec<u32>) -> Self {
        Self { process: std::process::id(), threads }
    }

    /// The server that listens at `address` of this machine; none if it runs elsewhere, in another
    /// network namespace, or for another user.
    pub fn at(address: SocketAddr) -> Option<Self> {
        let lists = ["/proc/net/tcp", "/proc/net/tcp6"];
        let mut lists = lists.iter().filter_map(|path| File::open(path).ok());
        let socket =
            lists.find_map(|list| listener(BufReader::with_capacity(LINE_BYTES, list), address))?;
        let socket = format!("socket:[{socket}]");
        let process = numbers("/proc").take(PROGRAMS_MAX).find(|process| {
            let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
            let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
            links.any(|link| link == Path::new(&socket))
        });
        Some(Self { process: process?, threads: Vec::new() })
    }

    /// The processors that its threads may use together, ascending; empty if the kernel does not
    /// say.
    pub fn cpus(&self) -> Vec<usize> {
        if self.threads.is_empty() {
            return cpus_of(self.process);
        }
        let all: BTreeSet<usize> = self.threads.iter().flat_map(|&id| pin::of(id)).collect();
        all.into_iter().collect()
    }

    /// For how long each thread has been ready to run without a CPU so far, by the thread's id;
    /// empty if the kernel does not say.
    pub fn waits(&self) -> BTreeMap<u32, Span> {
        let folder = format!("/proc/{}/task", self.process);
        let own =
            numbers(&folder).filter(|id| self.threads.is_empty() || self.threads.contains(id));
        let waits = own.filter_map(|id| {
            let text = fs::read_to_string(format!("{folder}/{id}/schedstat")).ok()?;
            let waited = text.split_whitespace().nth(1)?.parse().ok()?;
            Some((id, Span::from_ns(waited)))
        });
        waits.collect()
    }

    /// The longest wait of a thread since `before`.
    pub fn longest_since(&self, before: &BTreeMap<u32, Span>) -> Option<Span> {
        let waits = self.waits().into_iter();
        waits.filter_map(|(id, now)| Some(now.saturating_sub(*before.get(&id)?))).max()
    }
}

/// The socket in the kernel's list of sockets that listens at `address`, or at all addresses if
/// that is a loopback address.
fn listener(list: impl BufRead, address: SocketAddr) -> Option<u64> {
    list.lines().map_while(Result::ok).skip(1).find_map(|line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let (host, port) = cells.get(1)?.split_once(':')?;
        let is_port = u16::from_str_radix(port, 16).ok()? == address.port();
        let is_all = address.ip().is_loopback() && host.bytes().all(|digit| digit == b'0');
        let is_there = is_port && (is_all || host == written(address.ip()));
        (is_there && *cells.get(3)? == LISTENING).then(|| cells.get(9)?.parse().ok())?
    })
}

/// An address as the kernel's list has it: words of 32 bits in the machine's order of bytes.
fn written(address: IpAddr) -> String {
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let words = bytes.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]);
    words.map(|word| format!("{:08X}", u32::from_ne_bytes(word))).collect()
}

#[cfg(test)]
mod tests;
