//! The proof of what goes over the wire: a server that compares every byte of every request with
//! what was meant, over both kernel interfaces, with pipelines and socket buffers that are always
//! full. It writes each request anew from its key, by code of its own.

use super::released;
use crate::commands::{output, text, written};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// The connections of each load.
const CONNECTIONS: u64 = 100;
/// The receive buffer of the server's sockets, in bytes: small, so that it is always full.
const RECEIVE_BYTES: usize = 4_096;

/// A load whose every request follows from its key.
struct Load {
    name: &'static str,
    /// The words of memtide's command line, but for server and number of operations.
    words: &'static str,
    prefix: &'static str,
    value_bytes: usize,
    /// What stands before the end of a line.
    blank: &'static str,
    /// True if each connection makes its calls and is closed.
    is_churn: bool,
}

/// Small and large values, alone and mixed with deletes; and what twemperf's face makes.
const LOADS: [Load; 4] = [
    Load {
        name: "deep pipelines of small sets",
        words: "--mix set=1 --value-size fixed:100 --depth 64 --rate 0",
        prefix: "k:",
        value_bytes: 100,
        blank: "",
        is_churn: false,
    },
    Load {
        name: "deletes and sets, far more than are answered",
        words: "--mix delete=1,set=1 --value-size fixed:700 --depth 16 --rate 2M",
        prefix: "k:",
        value_bytes: 700,
        blank: "",
        is_churn: false,
    },
    Load {
        name: "values that are sent from where they lie",
        words: "--mix delete=1,set=1 --value-size fixed:9000 --depth 16 --rate 0",
        prefix: "k:",
        value_bytes: 9_000,
        blank: "",
        is_churn: false,
    },
    Load {
        name: "twemperf's load, permanently overloaded",
        words: "--mix set=1 --value-size fixed:100 --trailing-space --send-buffer 4096 \
                --receive-buffer 16384 --connection-rate 10k --connection-arrival fixed \
                --call-rate 1M --arrival fixed --depth 65536 --linger 0 --wait sleep",
        prefix: "mcp:",
        value_bytes: 100,
        blank: " ",
        is_churn: true,
    },
];

/// Sends `operations` operations of each load over each kernel interface, and checks every byte.
///
/// # Errors
/// If memtide cannot be built or run, or a byte is not the one that was meant.
pub fn wire(root: &Path, operations: u64) -> Result<(), String> {
    let memtide = released(root)?;
    println!("requests    bytes           interface  load");
    for load in &LOADS {
        for interface in ["epoll", "uring"] {
            let heard = one(&memtide, load, interface, operations)?;
            let Heard { requests, bytes, .. } = heard;
            println!("{requests:<10}  {bytes:<14}  {interface:<9}  {}", load.name);
        }
    }
    Ok(())
}

/// One run of memtide against a checking server; all that was heard is right.
fn one(memtide: &Path, load: &Load, interface: &str, operations: u64) -> Result<Heard, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    set_socket_recv_buffer_size(&listener, RECEIVE_BYTES).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let mut command = Command::new(memtide);
    command.args(["run", "--server", &address.to_string(), "--io", interface, "--threads", "1"]);
    command.args(["--keys", &operations.to_string(), "--key-form", "hex", "--value-fill", "0"]);
    command.args(["--key-prefix", load.prefix, "--popularity", "sequential", "--load", "never"]);
    command.args(["--key-size", &format!("fixed:{}", load.prefix.len() + 8), "--no-stats"]);
    command.args(["--connections", &CONNECTIONS.to_string(), "--timeout", "1h", "--quiet"]);
    command.args(["--warmup", "0", "--cooldown", "drain"]).args(load.words.split_whitespace());
    match load.is_churn {
        true => command.args(["--connections-total", &CONNECTIONS.to_string(), "--calls"]),
        false => command.args(["--ops-max"]),
    };
    let each = if load.is_churn { operations / CONNECTIONS } else { operations };
    command.arg(each.to_string());
    let heard = Mutex::new(Heard::of(each * if load.is_churn { CONNECTIONS } else { 1 }));
    let ended = thread::scope(|scope| {
        scope.spawn(|| serve(scope, &listener, load, &heard));
        let ended = output(&mut command);
        // It wakes the thread that accepts.
        heard.lock().expect("no thread panics").is_over = true;
        drop(TcpStream::connect(address));
        ended
    })?;
    let heard = heard.into_inner().expect("no thread panics");
    let said = || format!("`{}`: {}", written(&command), text(&ended.stderr));
    match (&heard.wrong, heard.requests == heard.seen.len() as u64) {
        (Some(wrong), _) => Err(format!("{wrong}\n{}", said())),
        (None, false) => Err(format!("{} requests were heard\n{}", heard.requests, said())),
        (None, true) => Ok(heard),
    }
}

/// What the server heard.
struct Heard {
    requests: u64,
    bytes: u64,
    /// For each operation: true if it was heard.
    seen: Vec<bool>,
    /// The first byte that was not meant.
    wrong: Option<String>,
    is_over: bool,
}

impl Heard {
    /// Nothing of `operations` operations.
    fn of(operations: u64) -> Self {
        let seen = vec![false; operations as usize];
        Self { requests: 0, bytes: 0, seen, wrong: None, is_over: false }
    }

    /// Notes that operation `id` was heard, which happens once.
    fn note(&mut self, id: u64, bytes: usize) -> Result<(), String> {
        self.requests += 1;
        self.bytes += bytes as u64;
        let seen = self.seen.get_mut(id as usize).ok_or(format!("there is no operation {id}"))?;
        match std::mem::replace(seen, true) {
            true => Err(format!("operation {id} came twice")),
            false => Ok(()),
        }
    }
}

/// Accepts connections until the run is over; each has a thread.
fn serve<'s>(
    scope: &'s thread::Scope<'s, '_>,
    listener: &'s TcpListener,
    load: &'s Load,
    heard: &'s Mutex<Heard>,
) {
    for (number, stream) in (0..).zip(listener.incoming()) {
        if heard.lock().expect("no thread panics").is_over {
            return;
        }
        let Ok(stream) = stream else { continue };
        scope.spawn(move || {
            if let Err(wrong) = hear(stream, number, load, heard) {
                heard.lock().expect("no thread panics").wrong.get_or_insert(wrong);
            }
        });
    }
}

/// Answers one connection and compares each of its bytes. It reads pieces of many lengths. After a
/// wrong byte the connection ends, and the run goes on.
fn hear(
    mut stream: TcpStream,
    number: u64,
    load: &Load,
    heard: &Mutex<Heard>,
) -> Result<(), String> {
    let (mut room, mut bytes) = (vec![0; RECEIVE_BYTES], Vec::new());
    let (mut turn, mut last) = (number, None);
    loop {
        turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = 1 + (turn >> 33) as usize % RECEIVE_BYTES;
        match stream.read(&mut room[..length]) {
            Ok(0) | Err(_) => break,
            Ok(read) => bytes.extend_from_slice(&room[..read]),
        }
        let (mut taken, mut answers) = (0, Vec::new());
        while let Some(request) = front(&bytes[taken..], load)? {
            if let Some(id) = request.id {
                if last >= Some(id) {
                    return Err(format!("operation {id} came after {last:?} on its connection"));
                }
                last = Some(id);
                heard.lock().expect("no thread panics").note(id, request.bytes)?;
            }
            taken += request.bytes;
            answers.extend_from_slice(request.answer);
        }
        bytes.drain(..taken);
        if stream.write_all(&answers).is_err() {
            break;
        }
    }
    match bytes.as_slice() {
        [] => Ok(()),
        rest => Err(format!("a connection ended behind '{}'", rest.escape_ascii())),
    }
}

/// A request that has arrived whole.
struct Request {
    /// The operation; `None` for memtide's own questions.
    id: Option<u64>,
    bytes: usize,
    answer: &'static [u8],
}

/// The request at the front of `bytes`; `None` if it is not whole. An error if it is not the one
/// that was meant.
fn front(bytes: &[u8], load: &Load) -> Result<Option<Request>, String> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return match bytes.len() > RECEIVE_BYTES {
            true => Err(format!("no line begins '{}'", bytes[..80].escape_ascii())),
            false => Ok(None),
        };
    };
    let line = &bytes[..=end];
    let asked = |answer| Ok(Some(Request { id: None, bytes: line.len(), answer }));
    match line {
        b"version\r\n" => return asked(b"VERSION 1.6.0\r\n"),
        b"get memtide\r\n" => return asked(b"END\r\n"),
        _ => {}
    }
    let wrong = || format!("'{}' was not meant", line.escape_ascii());
    let text = std::str::from_utf8(line).map_err(|_| wrong())?;
    let mut words = text.split(' ').map(str::trim_end);
    let (verb, key) = words.next().zip(words.next()).ok_or_else(wrong)?;
    let digits = key.strip_prefix(load.prefix).ok_or_else(wrong)?;
    let id = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
    let (meant, answer): (_, &[u8]) = match verb {
        "set" => (set(load, id), b"STORED\r\n"),
        "delete" => (short(load, verb, id), b"NOT_FOUND\r\n"),
        // memtide's own question, whether the key is there.
        _ => (short(load, "get", id), b"END\r\n"),
    };
    let common = meant.len().min(bytes.len());
    if bytes[..common] != meant[..common] {
        let at = (0..common).position(|at| bytes[at] != meant[at]).unwrap_or_default();
        let around = &bytes[at.saturating_sub(40)..bytes.len().min(at + 40)];
        return Err(format!("{}; byte {at} differs: '{}'", wrong(), around.escape_ascii()));
    }
    let id = Some(id).filter(|_| verb != "get");
    Ok((common == meant.len()).then_some(Request { id, bytes: common, answer }))
}

fn short(load: &Load, verb: &str, id: u64) -> Vec<u8> {
    format!("{verb} {}{id:08x}{}\r\n", load.prefix, load.blank).into_bytes()
}

fn set(load: &Load, id: u64) -> Vec<u8> {
    let Load { prefix, value_bytes, blank, .. } = load;
    let mut request = format!("set {prefix}{id:08x} 0 0 {value_bytes}{blank}\r\n").into_bytes();
    request.resize(request.len() + value_bytes, b'0');
    request.extend_from_slice(b"\r\n");
    request
}
