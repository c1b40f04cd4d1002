//! The servers of a benchmark, their counters, and the CPUs of both sides.

use crate::commands::Kept;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time that a server may take to accept connections.
const PATIENCE: Duration = Duration::from_secs(30);

/// The CPU of each side; equal if there is only one.
#[derive(Clone, Copy)]
pub(crate) struct Cpus {
    pub(crate) client: u32,
    pub(crate) server: u32,
}

impl Cpus {
    /// The first two CPUs that this process may use.
    pub(crate) fn inherited() -> Result<Self, String> {
        let status = fs::read_to_string("/proc/self/status")
            .map_err(|error| format!("cannot read the CPU mask: {error}"))?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let cpus = list.and_then(parse_cpus).ok_or("cannot understand the CPU mask")?;
        Ok(Self { client: cpus[0], server: *cpus.get(1).unwrap_or(&cpus[0]) })
    }
}

/// Parses `0-1,4` as 0, 1, 4; `None` for an invalid or empty list.
fn parse_cpus(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    (!cpus.is_empty()).then_some(cpus)
}

/// A server on a free loopback port. Dropping this value ends it.
pub(crate) struct Server {
    child: Kept,
    pub(crate) address: SocketAddr,
    /// Where its counters can be asked for in plain text.
    pub(crate) plain: SocketAddr,
}

impl Server {
    /// Debian's memcached with one thread.
    pub(crate) fn memcached(cpus: &Cpus) -> Result<Self, String> {
        let address = free_address()?;
        Self::memcached_at(cpus, (address, address), &[])
    }

    /// Debian's memcached at the first address and with these words. It speaks plain text at the
    /// second, which may be the first.
    pub(super) fn memcached_at(
        cpus: &Cpus,
        (address, plain): (SocketAddr, SocketAddr),
        words: &[&str],
    ) -> Result<Self, String> {
        let memcached = crate::setup::find("memcached").ok_or("memcached is not installed")?;
        let port = address.port().to_string();
        let mut command = on_cpu(cpus.server);
        // A server that changes its user would outlive this program.
        command.arg(memcached).args(["-l", "127.0.0.1", "-p", &port, "-U", "0", "-t", "1"]);
        command.args(["-u", "root", "-c", "20000"]).args(words);
        let mut child = Kept::spawn(command.stdin(Stdio::null()))?;
        let began = Instant::now();
        while TcpStream::connect(plain).is_err() {
            let ended = child.0.try_wait().map_err(|error| error.to_string())?;
            if let Some(status) = ended {
                return Err(format!("memcached ended at once: {status}"));
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("memcached does not accept at {address}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { child, address, plain })
    }

    /// Stops the server for this long; it goes on in any case.
    pub(crate) fn stop_for(&self, length: Duration) -> Result<(), String> {
        self.signal(Signal::STOP)?;
        std::thread::sleep(length);
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(Pid::from_child(&self.child.0), signal)
            .map_err(|error| format!("cannot signal the server at {}: {error}", self.address))
    }

    /// A server of ours that prints its address.
    pub(super) fn of_ours(cpus: &Cpus, programs: &Path, name: &str) -> Result<Self, String> {
        let mut command = on_cpu(cpus.server);
        command.arg(programs.join(name)).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = Kept::spawn(&mut command)?;
        let mut line = String::new();
        let out = child.0.stdout.take().expect("it is piped");
        BufReader::new(out)
            .read_line(&mut line)
            .map_err(|error| format!("{name} said nothing: {error}"))?;
        let address = line.trim().strip_prefix("listening on ").and_then(|it| it.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address, plain: address }),
            None => Err(format!("{name} said '{line}' and not where it listens")),
        }
    }
}

/// The beginning of a command whose program stays on one CPU and is killed when this process dies;
/// without that, nothing would end a server then, or continue a stopped one. `taskset` and
/// `setpriv` replace themselves by the program and keep its process id.
pub(super) fn on_cpu(cpu: u32) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "taskset", "--cpu-list", &cpu.to_string()]);
    command
}

/// A server's counters, requested over one connection.
pub(crate) struct Counters {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Counters {
    pub(crate) fn of(address: SocketAddr) -> Result<Self, String> {
        let prepared = TcpStream::connect(address).and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(BufReader::new(stream))
        });
        let stream =
            prepared.map_err(|error| format!("cannot ask {address} for its counters: {error}"))?;
        Ok(Self { address, stream })
    }

    /// Requested keys and sets, of all connections since the server's start.
    pub(crate) fn commands(&mut self) -> Result<u64, String> {
        let text = self.answer("stats")?;
        let of = |name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        of("STAT cmd_get ")
            .zip(of("STAT cmd_set "))
            .map(|(gets, sets): (u64, u64)| gets + sets)
            .ok_or_else(|| format!("{} counts no gets and sets: {text}", self.address))
    }

    /// Removes all items.
    pub(crate) fn flush(&mut self) -> Result<(), String> {
        self.answer("flush_all").map(drop)
    }

    /// The whole answer to a command.
    fn answer(&mut self, command: &str) -> Result<String, String> {
        let failed = |error| format!("{} did not answer to {command}: {error}", self.address);
        let words = format!("{command}\r\n");
        self.stream.get_mut().write_all(words.as_bytes()).map_err(failed)?;
        let (mut text, mut line) = (String::new(), String::new());
        // An error is a single line.
        while !(matches!(line.as_str(), "END\r\n" | "OK\r\n") || line.starts_with("ERROR")) {
            line.clear();
            if self.stream.read_line(&mut line).map_err(failed)? == 0 {
                return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
            }
            text += &line;
        }
        Ok(text)
    }
}

/// A loopback port that was free a moment ago.
pub(crate) fn free_address() -> Result<SocketAddr, String> {
    Ok(free_addresses(1)?[0])
}

/// Loopback addresses whose ports were free a moment ago. No two are equal, as two that are asked
/// for one after the other may be.
pub(crate) fn free_addresses(count: usize) -> Result<Vec<SocketAddr>, String> {
    let bound = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listeners = (0..count).map(|_| bound()).collect::<Result<Vec<_>, _>>();
    let addresses = listeners.and_then(|all| all.iter().map(TcpListener::local_addr).collect());
    addresses.map_err(|error| format!("no free port on loopback: {error}"))
}

#[cfg(test)]
mod tests {
    use super::parse_cpus;

    #[test]
    fn cpu_lists_are_read() {
        assert_eq!(parse_cpus("\t0-1,4"), Some(vec![0, 1, 4]));
        assert_eq!(parse_cpus("3"), Some(vec![3]));
        assert_eq!(parse_cpus(""), None);
        assert_eq!(parse_cpus("0-x"), None);
    }
}
