//! Servers under a test's control: they record, refuse, lie, fall silent or close connections. They
//! know only single lines, and store nothing.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// More connections than the shortest listen backlog holds.
const QUEUE_MAX: usize = 16;

/// Reaction of a rogue to a request line.
pub(crate) enum Answer {
    /// Sends this.
    Say(String),
    /// Nothing.
    Silence,
    /// Sends this and closes the connection.
    Leave(&'static str),
}

/// The answer that sends `words`.
pub(crate) fn say(words: &str) -> Answer {
    Answer::Say(words.to_owned())
}

/// A server in threads of the test.
pub(crate) struct Rogue {
    /// Its name for `--server`.
    pub(crate) name: String,
    address: SocketAddr,
    accepted: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Rogue {
    /// A server that answers each line by `behave`, including `version` and `stats`, which come
    /// first, each on its own connection.
    pub(crate) fn new(behave: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::raw(move |stream| drop(converse(stream, &behave)))
    }

    /// A server that greets correctly and answers all else by `behave`.
    pub(crate) fn polite(behave: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::new(move |line| match line {
            "version" => say("VERSION 1.6.0\r\n"),
            "stats" => say("STAT pid 1\r\nSTAT curr_connections 1\r\nEND\r\n"),
            _ => behave(line),
        })
    }

    /// A server that passes each connection to `serve`.
    pub(crate) fn raw(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicU64::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let (count, end, serve) = (Arc::clone(&accepted), Arc::clone(&over), Arc::new(serve));
        let listener = thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Acquire) {
                    return;
                }
                count.fetch_add(1, Ordering::AcqRel);
                let (stream, serve) = (stream.unwrap(), Arc::clone(&serve));
                drop(thread::spawn(move || serve(stream)));
            }
        });
        Self { name: address.to_string(), address, accepted, over, listener: Some(listener) }
    }

    /// Number of connections accepted.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Acquire)
    }
}

impl Drop for Rogue {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // A last connection wakes the listener.
        if TcpStream::connect(self.address).is_ok()
            && let Some(listener) = self.listener.take()
        {
            drop(listener.join());
        }
    }
}

fn converse(stream: TcpStream, behave: &impl Fn(&str) -> Answer) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
    let mut writer = BufWriter::with_capacity(1 << 16, stream);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        skip_value(&line, &mut reader)?;
        match behave(line.trim_end()) {
            Answer::Say(words) => writer.write_all(words.as_bytes())?,
            Answer::Silence => {}
            Answer::Leave(words) => {
                writer.write_all(words.as_bytes())?;
                return writer.flush();
            }
        }
        if reader.buffer().is_empty() {
            writer.flush()?;
        }
    }
}

/// Skips the value of a storage command.
fn skip_value(line: &str, reader: &mut impl Read) -> std::io::Result<()> {
    let words = line.split_whitespace().collect::<Vec<_>>();
    if let ["set" | "add" | "replace" | "append" | "prepend" | "cas", _, _, _, bytes, ..] =
        words[..]
    {
        let mut value = vec![0; bytes.parse::<usize>().unwrap() + 2];
        reader.read_exact(&mut value)?;
    }
    Ok(())
}

/// A machine too busy to accept connections: connects to it are neither accepted nor refused.
pub(crate) struct Crowded {
    /// Its name for `--server`.
    pub(crate) name: String,
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Crowded {
    /// A new one.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        // It accepts no connection, and its listen backlog is as short as the system allows.
        rustix::net::listen(&listener, 0).unwrap();
        let wait = || TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
        let waiting: Vec<TcpStream> = std::iter::from_fn(wait).take(QUEUE_MAX).collect();
        assert!(waiting.len() < QUEUE_MAX, "the queue has no end");
        Self { name: address.to_string(), _listener: listener, _waiting: waiting }
    }
}

/// True if something can be read within a moment.
pub(crate) fn readable(from: &impl AsRawFd) -> bool {
    let mut poll = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the call receives one entry, which lives as long as the call.
    let ready = unsafe { libc::poll(&mut poll, 1, 20) };
    ready == 1 && poll.revents & libc::POLLIN != 0
}
