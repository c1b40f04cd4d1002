//! A stub database: it checks requests against InfluxDB's documentation, and answers as a test
//! wants.

use crate::prelude::*;
use flate2::read::GzDecoder;
use rcgen::generate_simple_self_signed;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

/// One request.
pub(crate) struct Request {
    /// Path and query.
    pub(crate) target: String,
    /// Headers, with lower-case names.
    pub(crate) headers: BTreeMap<String, String>,
    /// Lines of the body, decompressed.
    pub(crate) lines: Vec<String>,
}

/// A reply.
pub(crate) enum Reply {
    /// A status, additional headers (each with its line break), and a body.
    Whole(u16, &'static str, &'static str),
    /// The beginning of a reply, then the end of the connection.
    Half,
    /// No reply, on a connection that stays open.
    Never,
}

pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Stub {
    /// A stub whose replies depend on the number of the request.
    pub(crate) fn start(reply: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::over(reply, Some)
    }

    /// A stub that speaks TLS, and its certificate.
    pub(super) fn with_tls(
        reply: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
    ) -> (Self, String) {
        let own = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![own.cert.der().clone()], key).unwrap());
        let stub = Self::over(reply, move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).ok()?;
            Some(StreamOwned::new(connection, stream))
        });
        (stub, own.cert.pem())
    }

    /// A stub that serves the connections that `wrap` returns.
    fn over<S: Read + Write>(
        reply: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (known, reply, wrap) = (Arc::clone(&seen), Arc::new(reply), Arc::new(wrap));
        // The thread ends with the process of the tests.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (known, reply) = (Arc::clone(&known), Arc::clone(&reply));
                let wrap = Arc::clone(&wrap);
                thread::spawn(move || {
                    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                    let Some(mut stream) = wrap(stream) else { return };
                    drop(serve(&mut stream, &known, &*reply));
                });
            }
        });
        Self { address, seen }
    }

    /// The URL of `path` on this stub.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn serve(
    mut stream: impl Read + Write,
    seen: &Mutex<Vec<Request>>,
    reply: &dyn Fn(usize, &Request) -> Reply,
) -> io::Result<()> {
    let request = read(&mut BufReader::new(&mut stream))?;
    let answer = {
        let mut seen = seen.lock().unwrap();
        let answer = reply(seen.len(), &request);
        seen.push(request);
        answer
    };
    match answer {
        Reply::Whole(status, headers, body) => write!(
            stream,
            "HTTP/1.1 {status} Word\r\nConnection: close\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?,
        Reply::Half => write!(stream, "HTTP/1.1 204 No Con")?,
        Reply::Never => drop(stream.read_to_end(&mut Vec::new())?),
    }
    stream.flush()
}

fn read(from: &mut impl BufRead) -> io::Result<Request> {
    let line = |from: &mut dyn BufRead| {
        let mut line = String::new();
        from.read_line(&mut line)?;
        Ok::<_, io::Error>(line.trim_end().to_owned())
    };
    let first = line(from)?;
    let target = first.strip_prefix("POST ").and_then(|rest| rest.strip_suffix(" HTTP/1.1"));
    let target = target.ok_or_else(|| io::Error::other(first.clone()))?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let line = line(from)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    let mut text = String::new();
    GzDecoder::new(&body[..]).read_to_string(&mut text)?;
    assert!(text.ends_with('\n'), "the last line is whole");
    Ok(Request { target, headers, lines: text.lines().map(str::to_owned).collect() })
}

/// A point, parsed by the line protocol's rules: measurement, tags, fields, time.
pub(crate) type Point = (String, BTreeMap<String, String>, BTreeMap<String, f64>, u64);

/// Parses a line strictly.
pub(crate) fn point(line: &str) -> Option<Point> {
    let [head, fields, time] = split(line, ' ').try_into().ok()?;
    let mut head = split(&head, ',').into_iter();
    let measurement = head.next().filter(|name| !name.is_empty())?;
    let mut tags = BTreeMap::new();
    for tag in head {
        let [name, value] = split(&tag, '=').try_into().ok()?;
        let is_full = !name.is_empty() && !value.is_empty();
        (is_full && tags.insert(name, value).is_none()).then_some(())?;
    }
    let mut values = BTreeMap::new();
    for field in split(&fields, ',') {
        let [name, value] = split(&field, '=').try_into().ok()?;
        // A word of ours has few values, as a tag.
        if let Some(word) = value.strip_prefix('"').and_then(|word| word.strip_suffix('"')) {
            tags.insert(name, word.to_owned()).is_none().then_some(())?;
            continue;
        }
        let value = match value.strip_suffix('i') {
            Some(whole) => whole.parse::<i64>().ok()? as f64,
            None => value.parse().ok()?,
        };
        values.insert(name, value).is_none().then_some(())?;
    }
    Some((measurement, tags, values, time.parse().ok()?))
}

/// Splits a text at separators that are not escaped.
fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let part = parts.last_mut().expect("there is one part at least");
        if letter == '\\' {
            part.push(letter);
            part.extend(letters.next());
        } else if letter == separator {
            parts.push(String::new());
        } else {
            part.push(letter);
        }
    }
    parts
}
