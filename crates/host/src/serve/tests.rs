//! Real sockets: answers never leave before their instants, and a client that checks values counts
//! exactly the faults that the server made.

use super::*;
use crate::machine::pin::inherited;
use memtide_server::FaultKind;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Longer than any answer takes in a test that passes.
const PATIENCE: Duration = Duration::from_secs(20);
const KEYS: u64 = 50;

fn serve(threads: usize, behaviour: &str, faults: &str) -> Serving {
    let options = ServeOptions {
        filter: None,
        listen: "127.0.0.1:0".parse().unwrap(),
        udp: true,
        threads,
        memory_bytes_max: 64 << 20,
        item_bytes_max: 1 << 20,
    };
    let behaviour = behaviour.parse().unwrap();
    let profile = ServerProfile { behaviour, faults: faults.parse().unwrap(), seed: 1 };
    Serving::start(&options, profile).unwrap()
}

/// A client with a few commands.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn connect(serving: &Serving) -> Self {
        let stream = TcpStream::connect(serving.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    fn send(&mut self, request: &str) {
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
    }

    fn line(&mut self) -> Result<String, ErrorKind> {
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line) {
            Ok(0) => Err(ErrorKind::UnexpectedEof),
            Ok(_) => Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
            Err(error) => Err(error.kind()),
        }
    }

    /// The value of `key`; `None` for a miss.
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, Wrong> {
        self.send(&format!("get {key}\r\n"));
        let head = self.line().map_err(Wrong::Broken)?;
        if head == "END" {
            return Ok(None);
        }
        let Some(bytes) = head.strip_prefix(&format!("VALUE {key} 0 ")) else {
            return Err(Wrong::Answer(head));
        };
        let mut value = vec![0; bytes.parse::<usize>().unwrap() + 2];
        self.stream.read_exact(&mut value).map_err(|error| Wrong::Broken(error.kind()))?;
        value.truncate(value.len() - 2);
        assert_eq!(self.line().as_deref(), Ok("END"));
        Ok(Some(value))
    }
}

#[derive(Debug)]
enum Wrong {
    Answer(String),
    Broken(ErrorKind),
}

/// The server's own counts, without those that are zero.
fn counted(serving: &Serving) -> HashMap<String, u64> {
    let mut client = Client::connect(serving);
    client.send("stats faults\r\n");
    let lines = std::iter::from_fn(|| client.line().ok().filter(|line| line != "END"));
    let pair = |line: String| {
        let (name, count) = line.strip_prefix("STAT fault_")?.split_once(' ')?;
        Some((name.replace('_', "-"), count.parse().ok()?))
    };
    lines.map(|line| pair(line).expect("a counter")).filter(|(_, count)| *count > 0).collect()
}

/// All values have equal lengths, and no bit flip turns one into another.
fn value(key: u64, version: u64) -> Vec<u8> {
    format!("value of key {key:04} in version {version:08}, key {key:04}").into_bytes()
}

/// The kind of fault that made `wrong` of the second version of a value.
fn classify(wrong: &[u8], key: u64) -> FaultKind {
    let right = value(key, 2);
    if wrong.len() < right.len() {
        FaultKind::Truncate
    } else if wrong == value(key, 1) {
        FaultKind::Stale
    } else if (0..KEYS).any(|other| wrong == value(other, 2)) {
        FaultKind::OtherKey
    } else {
        assert_eq!(wrong.iter().zip(&right).filter(|(a, b)| a != b).count(), 1);
        FaultKind::Flip
    }
}

fn stored(client: &mut Client, key: u64, version: u64) {
    let value = String::from_utf8(value(key, version)).unwrap();
    client.send(&format!("set k{key} 0 0 {}\r\n{value}\r\n", value.len()));
    assert_eq!(client.line().as_deref(), Ok("STORED"));
}

#[test]
fn a_client_counts_exactly_the_faults_that_were_done() {
    let faults = "truncate:1%@get,flip:1%@get,other-key:1%@get,stale:1%@get,expire-early:1%@get,\
                  server-error:1%@get,garbage:1%@get,reset:1%@get,stall:0.01%@get";
    let serving = serve(2, "instant", faults);
    let mut client = Client::connect(&serving);
    for version in [1, 2] {
        (0..KEYS).for_each(|key| stored(&mut client, key, version));
    }
    // Only a version replaced some time ago counts as an older one.
    std::thread::sleep(Duration::from_millis(150));
    let mut seen: HashMap<String, u64> = HashMap::new();
    for number in 0..20_000 {
        let key = number % KEYS;
        client.stream.get_mut().set_read_timeout(Some(Duration::from_secs(4))).unwrap();
        let kind = match client.get(&format!("k{key}")) {
            Ok(Some(found)) if found == value(key, 2) => continue,
            Ok(Some(found)) => classify(&found, key),
            Ok(None) => FaultKind::ExpireEarly,
            Err(Wrong::Answer(line)) if line.starts_with("SERVER_ERROR ") => FaultKind::ServerError,
            Err(Wrong::Answer(_)) => FaultKind::Garbage,
            Err(Wrong::Broken(ErrorKind::ConnectionReset)) => FaultKind::Reset,
            Err(Wrong::Broken(ErrorKind::WouldBlock | ErrorKind::TimedOut)) => FaultKind::Stall,
            Err(Wrong::Broken(kind)) => panic!("the connection ended with {kind:?}"),
        };
        *seen.entry(kind.word().to_owned()).or_default() += 1;
        if matches!(kind, FaultKind::Reset | FaultKind::Stall) {
            client = Client::connect(&serving);
        }
    }
    assert_eq!(seen, counted(&serving));
    assert_eq!(seen.len(), 9, "{seen:?}");
}

#[test]
fn a_refused_client_is_reset() {
    let serving = serve(1, "instant", "refuse:50%");
    let outcome = |_| {
        // The reset may come while it connects, and before or after these bytes.
        let Ok(stream) = TcpStream::connect(serving.address()) else { return 1 };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let sent = (&stream).write_all(b"version\r\n");
        let answer = sent.and_then(|()| (&stream).read(&mut [0; 100]));
        u64::from(!matches!(answer, Ok(1..)))
    };
    let mut refused: u64 = (0..200).map(outcome).sum();
    assert!((60..140).contains(&refused));
    loop {
        let Ok(stream) = TcpStream::connect(serving.address()) else {
            refused += 1;
            continue;
        };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Client { stream: BufReader::new(stream) };
        if client.stream.get_mut().write_all(b"stats faults\r\n").is_ok() && client.line().is_ok() {
            let told: Vec<String> = (0..2).map_while(|_| client.line().ok()).collect();
            assert_eq!(told.last().unwrap(), &format!("STAT fault_refuse {refused}"));
            return;
        }
        refused += 1;
    }
}

#[test]
fn answers_do_not_leave_early() {
    let serving = serve(1, "fixed:5ms", "none");
    let mut client = Client::connect(&serving);
    let start = Instant::now();
    for _ in 0..20 {
        assert!(client.get("a").unwrap().is_none());
    }
    assert!(start.elapsed() >= Duration::from_millis(100));
    // Requests that arrive together wait together.
    client.send(&"get a\r\n".repeat(1000));
    (0..1000).for_each(|_| assert_eq!(client.line().as_deref(), Ok("END")));
}

#[test]
fn all_threads_serve_one_queue() {
    let serving = serve(2, "queue:1,fixed:2ms", "none");
    let mut clients: Vec<_> = (0..8).map(|_| Client::connect(&serving)).collect();
    let start = Instant::now();
    clients.iter_mut().for_each(|client| client.send(&"get a\r\n".repeat(10)));
    for client in &mut clients {
        (0..10).for_each(|_| assert_eq!(client.line().as_deref(), Ok("END")));
    }
    assert!(start.elapsed() >= Duration::from_millis(160));
}

#[test]
fn a_client_that_has_said_everything_gets_every_answer() {
    for behaviour in ["instant", "fixed:20ms", "pause:1ms,20ms,once"] {
        let serving = serve(1, behaviour, "garbage:0");
        let mut client = Client::connect(&serving);
        client.send("get a\r\nget a\r\n");
        client.stream.get_mut().shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "END\r\nEND\r\n", "{behaviour}");
    }
}

#[test]
fn a_client_that_takes_nothing_for_a_while_loses_nothing() {
    let serving = serve(1, "fixed:1ms", "none");
    let mut client = Client::connect(&serving);
    let large = "v".repeat(500_000);
    client.send(&format!("set a 0 0 {}\r\n{large}\r\n", large.len()));
    assert_eq!(client.line().as_deref(), Ok("STORED"));
    client.send(&"get a\r\n".repeat(40));
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..40 {
        assert_eq!(client.line().as_deref(), Ok("VALUE a 0 500000"));
        assert!(client.line().as_ref() == Ok(&large));
        assert_eq!(client.line().as_deref(), Ok("END"));
    }
}

#[test]
fn datagrams_are_answered_at_the_same_port_from_the_same_store() {
    for behaviour in ["instant", "fixed:2ms"] {
        let serving = serve(2, behaviour, "none");
        let mut client = Client::connect(&serving);
        client.send(&format!("set large 0 0 3000\r\n{}\r\n", "v".repeat(3000)));
        assert_eq!(client.line().unwrap(), "STORED");
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.connect(serving.address()).unwrap();
        let before = Instant::now();
        socket.send(b"\x12\x34\0\0\0\x01\0\0get large\r\n").unwrap();
        let mut answer = Vec::new();
        for number in 0..3 {
            let mut datagram = [0; 2000];
            let len = socket.recv(&mut datagram).unwrap();
            assert_eq!(datagram[..8], [0x12, 0x34, 0, number, 0, 3, 0, 0]);
            answer.extend_from_slice(&datagram[8..len]);
        }
        let head = b"VALUE large 0 3000\r\n";
        assert!(answer.starts_with(head) && answer.ends_with(b"v\r\nEND\r\n"), "{behaviour}");
        assert_eq!(answer.len(), head.len() + 3000 + 7);
        assert!(behaviour == "instant" || before.elapsed() >= Duration::from_millis(2));
    }
}

#[test]
fn all_threads_of_a_server_are_kept_on_the_cpu_that_it_is_told() {
    let serving = serve(3, "instant", "none");
    let cpu = inherited()[0];
    serving.keep_on(cpu).unwrap();
    assert_eq!(serving.ids.len(), 3);
    for &id in &serving.ids {
        let mask = rustix::thread::sched_getaffinity(Some(id)).unwrap();
        assert!(mask.is_set(cpu) && mask.count() == 1, "{mask:?}");
    }
    let mut client = Client::connect(&serving);
    assert!(client.get("a").unwrap().is_none(), "it still serves");
}
