//! Well-behaved servers: memcached and the embedded one, each on a free port of loopback, stopped
//! with its handle. Misbehaving ones are in `rogue`.

pub(crate) mod rogue;

use crate::child::program;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for a server's start, and for a reply.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time limit until a run is in progress.
const BEGINNING_MAX: Duration = Duration::from_secs(120);
/// Number of ports to try: other programs may use some.
const ATTEMPTS: usize = 50;
/// Below the ports that systems assign (from 32768 on Linux).
const FIRST_PORT: u16 = 12_000;
const PORT_PAIRS: u32 = 10_000;

/// A server in a separate process.
pub(crate) struct Peer {
    child: Child,
    /// Its name for `--server`.
    pub(crate) name: String,
    dial: Dial,
    /// Kept open, so that the server can continue to write to it.
    _err: Option<BufReader<ChildStderr>>,
}

enum Dial {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

impl Peer {
    /// A memcached with these arguments, at 127.0.0.1.
    pub(crate) fn memcached(arguments: &str) -> Self {
        Self::memcached_anywhere(IpAddr::V4(Ipv4Addr::LOCALHOST), arguments)
    }

    /// A memcached at 127.0.0.1 that answers UDP at the same port.
    pub(crate) fn memcached_udp(arguments: &str) -> Self {
        for port in ports() {
            let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
            // The last of two ports counts.
            let arguments = format!("{arguments} -U {port}");
            if let Some(peer) = Self::memcached_at(address, &arguments) {
                return peer;
            }
        }
        panic!("memcached {arguments} could not be started with UDP");
    }

    /// A memcached at ::1; none on a machine without it.
    pub(crate) fn memcached_v6(arguments: &str) -> Option<Self> {
        let address = IpAddr::V6(Ipv6Addr::LOCALHOST);
        TcpListener::bind((address, 0)).ok()?;
        Some(Self::memcached_anywhere(address, arguments))
    }

    fn memcached_anywhere(address: IpAddr, arguments: &str) -> Self {
        for port in ports() {
            if let Some(peer) = Self::memcached_at(SocketAddr::new(address, port), arguments) {
                return peer;
            }
        }
        panic!("memcached {arguments} could not be started at {address}");
    }

    /// A memcached at this address; none if another server is there already.
    pub(crate) fn memcached_at(address: SocketAddr, arguments: &str) -> Option<Self> {
        let mut command = memcached(arguments);
        command.args(["-l", &address.ip().to_string(), "-p", &address.port().to_string()]);
        Self::started(command, address.to_string(), Dial::Tcp(address))
    }

    /// A memcached at 127.0.0.1 that speaks TLS alone: no question is asked of it here.
    pub(crate) fn memcached_tls(arguments: &str) -> Self {
        let at = |port| Self::memcached_tls_at((Ipv4Addr::LOCALHOST, port).into(), arguments);
        ports().find_map(at).expect("memcached could not be started on any port")
    }

    /// A memcached at this address that speaks TLS alone; none if it ends at once.
    pub(crate) fn memcached_tls_at(address: SocketAddr, arguments: &str) -> Option<Self> {
        let mut command = memcached(&format!("-Z {arguments}"));
        command.args(["-l", &address.ip().to_string(), "-p", &address.port().to_string()]);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("memcached is installed");
        let (name, dial) = (address.to_string(), Dial::Tcp(address));
        let mut peer = Self { child, name, dial, _err: None };
        let started = Instant::now();
        while peer.child.try_wait().unwrap().is_none() && started.elapsed() < PATIENCE {
            if TcpStream::connect(address).is_ok() {
                return Some(peer);
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Two memcacheds at neighbouring ports, and the range that names both.
    pub(crate) fn memcached_pair() -> (Self, Self, String) {
        for port in ports() {
            let at = |port| Self::memcached_at((Ipv4Addr::LOCALHOST, port).into(), "");
            if let (Some(first), Some(second)) = (at(port), at(port + 1)) {
                return (first, second, format!("127.0.0.1:{port}-{}", port + 1));
            }
        }
        panic!("no two neighbouring ports are free");
    }

    /// A memcached at a unix socket; `name` distinguishes it from those of other tests.
    pub(crate) fn memcached_unix(name: &str) -> Self {
        let (command, name, dial) = memcached_at_socket(name);
        Self::started(command, name, dial).expect("nobody else has this path")
    }

    /// A memcached at 127.0.0.1 that requires authentication.
    pub(crate) fn memcached_guarded(
        arguments: &[&OsStr],
        environment: Option<(&str, &Path)>,
    ) -> Self {
        Self::memcached_unasked(|command| {
            command.args(arguments).envs(environment).stderr(Stdio::null());
        })
    }

    /// A memcached of one thread at 127.0.0.1 that logs each command to `log`.
    pub(crate) fn memcached_recording(log: &Path) -> Self {
        Self::memcached_unasked(|command| {
            command.args(["-t", "1", "-vv"]).stderr(File::create(log).unwrap());
        })
    }

    /// A memcached at 127.0.0.1, started as `change` modifies it; its counters are not read.
    fn memcached_unasked(change: impl Fn(&mut Command)) -> Self {
        let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        for port in ports().filter(free) {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let mut command = memcached(&format!("-l 127.0.0.1 -p {port}"));
            change(&mut command);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            let child =
                command.spawn().expect("memcached is installed (apt-get install memcached)");
            let dial = Dial::Tcp(address);
            let mut peer = Self { child, name: address.to_string(), dial, _err: None };
            let started = Instant::now();
            // Its counters cannot be read, but what it does with a request while its process runs
            // is its own. That a connection opens says less: a process that another test starts
            // holds the listener of `free` open until it executes its program.
            while reaction(address).is_err() && peer.child.try_wait().unwrap().is_none() {
                assert!(started.elapsed() < PATIENCE, "{} takes no connection", peer.name);
                thread::sleep(Duration::from_millis(10));
            }
            if peer.child.try_wait().unwrap().is_none() {
                return peer;
            }
        }
        panic!("memcached could not be started on any port");
    }

    /// The embedded server as a separate process.
    pub(crate) fn embedded(arguments: &str) -> Self {
        let mut command = program();
        command.args(["serve", "--port", "0"]).args(arguments.split_whitespace());
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        err.read_line(&mut line).unwrap();
        // A description of unusual behaviour may follow the address.
        let told = line.trim_end().split(',').next().unwrap();
        let name = told.rsplit(' ').next().unwrap().to_owned();
        let address = name.parse().unwrap_or_else(|_| panic!("no address in '{line}'"));
        Self { child, name, dial: Dial::Tcp(address), _err: Some(err) }
    }

    fn started(mut command: Command, name: String, dial: Dial) -> Option<Self> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("memcached is installed (apt-get install memcached)");
        let mut peer = Self { child, name, dial, _err: None };
        let started = Instant::now();
        let pid = peer.child.id().to_string();
        while started.elapsed() < PATIENCE {
            if peer.child.try_wait().unwrap().is_some() {
                return None;
            }
            // The reply may come from another server at the same address.
            if peer.try_ask("stats").is_ok_and(|lines| lines.contains(&format!("STAT pid {pid}"))) {
                return Some(peer);
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{} does not answer", peer.name);
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        match &self.dial {
            Dial::Tcp(address) => *address,
            Dial::Unix(path) => panic!("{} is no address", path.display()),
        }
    }

    /// The reply to the lines of `request`, up to the line that ends it.
    pub(crate) fn ask(&self, request: &str) -> Vec<String> {
        self.try_ask(request).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    fn try_ask(&self, request: &str) -> std::io::Result<Vec<String>> {
        let mut stream: Box<dyn Stream> = match &self.dial {
            Dial::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Box::new(stream)
            }
            Dial::Unix(path) => Box::new(UnixStream::connect(path)?),
        };
        write!(stream, "{request}\r\n")?;
        let mut lines = Vec::new();
        for line in BufReader::new(stream).lines() {
            lines.push(line?);
            if lines.last().is_some_and(|line| line == "END") {
                break;
            }
        }
        Ok(lines)
    }

    /// All of its counters, by name.
    pub(crate) fn figures(&self) -> BTreeMap<String, String> {
        let lines = self.ask("stats");
        let figure = |line: &String| {
            let (name, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
            Some((name.to_owned(), value.to_owned()))
        };
        lines.iter().filter_map(figure).collect()
    }

    /// One of its counters.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        let figures = self.figures();
        let figure = figures.get(name).unwrap_or_else(|| panic!("it does not count {name}"));
        figure.parse().unwrap()
    }

    /// Number of faults of this kind that the embedded server has done.
    pub(crate) fn faults(&self, kind: &str) -> u64 {
        let wanted = format!("STAT fault_{} ", kind.replace('-', "_"));
        let lines = self.ask("stats faults");
        let count = lines.iter().find_map(|line| line.strip_prefix(&wanted));
        count.unwrap_or_else(|| panic!("{kind} in {lines:?}")).parse().unwrap()
    }

    /// Waits until one of its counters is at least `least`.
    pub(crate) fn await_figure(&self, name: &str, least: u64) {
        let started = Instant::now();
        while self.figure(name) < least {
            assert!(started.elapsed() < BEGINNING_MAX, "the run does not get under way");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Stops, continues or ends the whole process.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills it at once, as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if let Dial::Unix(path) = &self.dial {
            drop(std::fs::remove_file(path));
        }
    }
}

/// Debian's memcached, or the one that `MEMTIDE_TEST_MEMCACHED` names.
fn memcached(arguments: &str) -> Command {
    let installed = Path::new("/usr/bin/memcached");
    let program = if installed.exists() { installed } else { Path::new("memcached") };
    let named = std::env::var_os("MEMTIDE_TEST_MEMCACHED");
    let mut command = Command::new(named.as_deref().unwrap_or(program.as_os_str()));
    command.args(["-u", "nobody", "-U", "0"]).args(arguments.split_whitespace());
    command
}

/// Command, server name and address of a memcached at a socket of this name.
fn memcached_at_socket(name: &str) -> (Command, String, Dial) {
    // A socket's path must be short, and the server's own user must be able to write to its folder.
    let file = format!("memtide-{}-{name}.sock", std::process::id());
    let path = std::env::temp_dir().join(file);
    drop(std::fs::remove_file(&path));
    let mut command = memcached("-a 0777");
    command.arg("-s").arg(&path);
    let name = format!("unix:{}", path.display());
    (command, name, Dial::Unix(path))
}

/// Waits until the server at `address` answers a request, or ends the connection because of it.
fn reaction(address: SocketAddr) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    // At least 24 bytes: a server of the binary protocol waits for a whole header.
    stream.write_all(b"version\r\nversion\r\nversion\r\n")?;
    stream.read(&mut [0; 256])
}

/// A port of 127.0.0.1 on which no server listens.
pub(crate) fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports().find(is_free).expect("a port is free")
}

/// Ports that are probably free, each with its neighbour. The system never assigns them to the
/// client side of a connection, so a server can return to its own.
fn ports() -> impl Iterator<Item = u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(97);
    (0..ATTEMPTS).map(move |_| {
        let nth = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        FIRST_PORT + 2 * (nth % PORT_PAIRS) as u16
    })
}
