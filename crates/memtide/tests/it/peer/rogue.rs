//! Servers that do as a test says: they record, refuse, lie, fall silent or hang up. They know
//! single lines only and store nothing.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// More connections than wait for a server with the shortest queue.
const QUEUE_MAX: usize = 16;

/// What a rogue does about a request line.
pub(crate) enum Answer {
    /// Writes this.
    Say(String),
    /// Nothing.
    Silence,
    /// Writes this and closes the connection.
    Leave(&'static str),
}

/// Says `words`.
pub(crate) fn say(words: &str) -> Answer {
    Answer::Say(words.to_owned())
}

/// A server in threads of the test.
pub(crate) struct Rogue {
    /// How `--server` names it.
    pub(crate) name: String,
    address: SocketAddr,
    accepted: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Rogue {
    /// A server whose every line is answered by `behave`, which also sees who asks: `version` and
    /// `stats` come first, each on a connection of its own.
    pub(crate) fn new(behave: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::raw(move |stream| drop(converse(stream, &behave)))
    }

    /// A server that greets as it should and does to all else what `behave` says.
    pub(crate) fn polite(behave: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::new(move |line| match line {
            "version" => say("VERSION 1.6.0\r\n"),
            "stats" => say("STAT pid 1\r\nSTAT curr_connections 1\r\nEND\r\n"),
            _ => behave(line),
        })
    }

    /// A server that does this to each connection.
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

    /// How many connections it has taken.
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

/// Reads past the value of a storage command.
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

/// A machine that is too busy to take connections: connects to it are neither taken nor refused.
pub(crate) struct Crowded {
    /// How `--server` names it.
    pub(crate) name: String,
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Crowded {
    /// A new one.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        // It accepts no connection, and its queue is as short as the system allows.
        rustix::net::listen(&listener, 0).unwrap();
        let wait = || TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
        let waiting: Vec<TcpStream> = std::iter::from_fn(wait).take(QUEUE_MAX).collect();
        assert!(waiting.len() < QUEUE_MAX, "the queue has no end");
        Self { name: address.to_string(), _listener: listener, _waiting: waiting }
    }
}

/// A server that has nothing, takes everything, and remembers what it was asked.
pub(crate) struct Recorder {
    /// The server.
    pub(crate) rogue: Rogue,
    asked: Arc<Mutex<HashMap<String, u64>>>,
}

impl Recorder {
    /// A new one.
    pub(crate) fn new() -> Self {
        let asked = Arc::new(Mutex::new(HashMap::new()));
        let book = Arc::clone(&asked);
        let rogue = Rogue::polite(move |line| {
            let mut words = line.split(' ');
            let (verb, key) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            *book.lock().unwrap().entry(format!("{verb} {key}")).or_default() += 1;
            say(if verb == "get" { "END\r\n" } else { "STORED\r\n" })
        });
        Self { rogue, asked }
    }

    /// How often each `verb key` was asked since the last look.
    pub(crate) fn take(&self) -> HashMap<String, u64> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// How often each key was asked, the most first, since the last look.
    pub(crate) fn take_counts(&self) -> Vec<u64> {
        let mut counts = self.take().into_values().collect::<Vec<_>>();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }
}
