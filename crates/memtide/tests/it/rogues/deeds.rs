//! The misdeeds of servers, and how a run ends for each stage.

use super::Stage::{self, Farewell, Fill, Greeting, Load, Probe, Stats};
use crate::prelude::*;
use rustix::net::sockopt::set_socket_linger;
use std::io::{Error, ErrorKind, Result};
use std::net::TcpStream;

/// One way to misbehave.
pub(super) struct Deed {
    pub(super) name: &'static str,
    pub(super) act: fn(&Stand<'_>) -> Result<()>,
    /// Expected end at each stage.
    expect: Ends,
}

/// Any exit code for a result or a fault: the effect of a surplus reply depends on whether it is
/// read before the next request or after it.
pub(super) const ANY: i32 = -1;

/// Expected end of a run.
#[derive(Clone, Copy)]
pub(super) struct Expect {
    /// The exit code; [`ANY`] if it depends on timing.
    pub(super) code: i32,
    /// A word that the output contains; or alternatives, separated by bars.
    pub(super) word: &'static str,
}

impl Deed {
    pub(super) fn at(&self, stage: Stage) -> Expect {
        self.expect.0[stage as usize]
    }
}

/// A request that awaits a reply.
pub(super) struct Stand<'a> {
    pub(super) stream: &'a TcpStream,
    /// The reply of a good server.
    pub(super) honest: &'a [u8],
    pub(super) line: &'a str,
    /// True when the run is over.
    pub(super) over: &'a AtomicBool,
}

impl Stand<'_> {
    pub(super) fn say(&self, bytes: &[u8]) -> Result<()> {
        let mut stream = self.stream;
        stream.write_all(bytes)
    }

    fn leave(&self) -> Result<()> {
        Err(Error::from(ErrorKind::ConnectionAborted))
    }

    fn reset(&self) -> Result<()> {
        set_socket_linger(self.stream, Some(Duration::ZERO))?;
        self.leave()
    }

    /// Sends `bytes` until the connection is closed.
    fn forever(&self, bytes: &[u8]) -> Result<()> {
        let bytes = bytes.repeat(65_536 / bytes.len());
        while !self.over.load(Ordering::Acquire) {
            self.say(&bytes)?;
        }
        Ok(())
    }

    fn half(&self) -> Result<()> {
        self.say(&self.honest[..self.honest.len() / 2])
    }

    /// Sends a value of one byte under the requested key, with the length that `head` claims.
    fn value(&self, head: &str, rest: &[u8]) -> Result<()> {
        let key = self.line.split(' ').nth(1).unwrap_or("key");
        self.say(format!("VALUE {key} 0 {head}\r\n").as_bytes())?;
        self.say(rest)
    }
}

/// Expected ends, by stage.
struct Ends([Expect; 6]);

/// This end at every stage, except that the record stands if only statistics are refused.
const fn all(code: i32, word: &'static str) -> Ends {
    let (expect, stands) = (Expect { code, word }, Expect { code: 0, word });
    Ends([expect, stands, expect, expect, expect, stands])
}

impl Ends {
    /// Another end at `stage`.
    const fn but(mut self, stage: Stage, code: i32, word: &'static str) -> Self {
        self.0[stage as usize] = Expect { code, word };
        self
    }
}

/// Messages about required answers that do not come in time.
const SLOW: &str = "for longer than the timeout of 1.5 s|operations within the timeout";

/// The message about a server that does not answer stats.
const MUTE: &str = "did not answer stats within 1 s";

macro_rules! deeds {
    ($($name:literal: $act:expr => $expect:expr;)*) => {
        /// Every misdeed.
        pub(super) const DEEDS: &[Deed] =
            &[$(Deed { name: $name, act: $act, expect: $expect }),*];
    };
}

deeds! {
    "closes": |it| it.leave() =>
        all(3, "closed the connection|reset the connection")
            .but(Stats, 0, "closed the connection|reset the connection").but(Load, ANY, "was gone");
    "resets": |it| it.reset() =>
        all(3, "reset the connection").but(Stats, 0, "reset the connection")
            .but(Load, ANY, "was gone");
    "is silent": |_| Ok(()) =>
        all(3, "not answer within").but(Stats, 0, MUTE).but(Probe, 3, SLOW).but(Fill, 3, SLOW)
            .but(Load, 0, "timed out");
    "says half, then nothing": |it| it.half() =>
        all(3, "did not end its answer").but(Stats, 0, MUTE).but(Probe, 3, "'ENEN")
            .but(Fill, 3, "'STOR").but(Load, 3, "'ENEN");
    "says half, then closes": |it| { it.half()?; it.leave() } =>
        all(3, "closed the connection|reset the connection").but(Load, ANY, "was gone|were gone");
    "says half, then resets": |it| { it.half()?; it.reset() } =>
        all(3, "reset the connection").but(Stats, 0, "reset the connection")
            .but(Load, ANY, "was gone|were gone");
    "a line without an end": |it| it.forever(b"x") => all(3, "x");
    "a reply without an end": |it| { it.say(b"VERSION ")?; it.forever(b"v") } => all(3, "VERSION");
    "rows without an end": |it| it.forever(b"STAT a 1\r\n") =>
        all(3, "STAT").but(Stats, 0, "without an end").but(Farewell, 0, "without an end");
    "values without an end": |it| it.forever(b"VALUE a 0 1\r\nx\r\n") => all(3, "VALUE");
    "ends without an end": |it| it.forever(b"END\r\n") =>
        all(3, "END").but(Stats, 0, "").but(Probe, 3, "sent END although nothing was asked")
            .but(Fill, 3, "rules out|although nothing was asked")
            .but(Load, 0, "the servers counted").but(Farewell, 0, "");
    "a length that is too short": |it| it.value("1", b"long\r\nEND\r\n") =>
        all(3, "VALUE|after the last byte of a value");
    "a length that is too long": |it| it.value("9", b"x\r\nEND\r\n") =>
        all(3, "VALUE|after the last byte of a value");
    "a negative length": |it| it.value("-5", b"x\r\nEND\r\n") => all(3, "-5");
    "a length of 2^63": |it| it.value("9223372036854775808", b"x\r\n") =>
        all(3, "9223372036854775808");
    "a gibibyte": |it| { it.value("1073741824", b"")?; it.forever(b"\0") } =>
        all(3, "VALUE|after the last byte of a value")
            .but(Load, ANY, "timed out|after the last byte of a value")
            .but(Probe, 3, "VALUE|after the last byte of a value|within the timeout");
    "no END": |it| it.value("1", b"x\r\n") => all(3, "VALUE");
    "another key": |it| it.say(b"VALUE another 0 1\r\nx\r\nEND\r\n") =>
        all(3, "VALUE").but(Probe, 1, "wrong").but(Load, 1, "wrong");
    "no key at all": |it| it.say(b"VALUE \r\nEND\r\n") => all(3, "VALUE");
    "each reply twice": |it| { it.say(it.honest)?; it.say(it.honest) } =>
        all(3, "although nothing was asked|rules out").but(Stats, ANY, "")
            .but(Probe, ANY, "").but(Fill, ANY, "")
            .but(Load, ANY, "the servers counted|although nothing was asked|wrong")
            .but(Farewell, 0, "");
    "a reply that nobody asked for": |it| {
        it.say(it.honest)?;
        thread::sleep(Duration::from_millis(2));
        it.say(b"END\r\n")
    } =>
        all(ANY, "").but(Load, ANY, "timed out|the servers counted|END").but(Farewell, 0, "");
    "another command's reply": |it| match it.line.starts_with("get") {
        true => it.say(b"STORED\r\n"),
        false => it.say(b"TOUCHED\r\n"),
    } => all(3, "rules out");
    "ERROR": |it| it.say(b"ERROR\r\n") =>
        all(3, "'ERROR'").but(Greeting, 3, "it answered 'ERROR'").but(Stats, 0, "'ERROR'")
            .but(Load, 0, "'ERROR'");
    "SERVER_ERROR": |it| it.say(b"SERVER_ERROR out of memory storing object\r\n") =>
        all(3, "out of memory").but(Greeting, 3, "'SERVER_ERROR out of memory")
            .but(Stats, 0, "out of memory").but(Load, 0, "out of memory");
    "CLIENT_ERROR": |it| it.say(b"CLIENT_ERROR bad command line format\r\n") =>
        all(3, "bad command").but(Greeting, 3, "'CLIENT_ERROR bad command")
            .but(Stats, 0, "bad command").but(Load, 0, "bad command");
    "HTTP": |it| it.say(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") =>
        all(3, "HTTP/1.1 400");
    "HTTP, then closes": |it| {
        it.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
        it.leave()
    } => all(3, "HTTP/1.1 400").but(Fill, 3, "HTTP/1.1 400|reset the connection");
    "a TLS alert": |it| it.say(b"\x15\x03\x01\x00\x02\x02\x46") => all(3, "TLS");
    "a TLS handshake, then closes": |it| {
        it.say(b"\x16\x03\x03\x00\x7a\x02")?;
        it.leave()
    } => all(3, "TLS").but(Fill, 3, "TLS|reset the connection");
    "Redis": |it| it.say(b"-ERR unknown command\r\n") => all(3, "Redis");
    "SSH": |it| it.say(b"SSH-2.0-OpenSSH_9.2\r\n") => all(3, "SSH");
    "NUL bytes": |it| it.say(&[0; 1000]) => all(3, "\\x00");
    "0xFF bytes": |it| it.say(&[0xff; 1000]) => all(3, "\\xff");
    "the binary protocol": |it| it.say(&[0x81; 24]) => all(3, "--protocol binary");
    "byte by byte": |it| {
        let (first, rest) = it.honest.split_at(it.honest.len().min(5));
        for byte in first.chunks(1) {
            it.say(byte)?;
            thread::sleep(Duration::from_micros(200));
        }
        rest.chunks(1).try_for_each(|byte| it.say(byte))
    } => all(0, "");
    "later than the timeout": |it| {
        thread::sleep(Duration::from_secs(4));
        it.say(it.honest)
    } =>
        all(3, "not answer within").but(Stats, 0, MUTE).but(Probe, 3, SLOW).but(Fill, 3, SLOW)
            .but(Load, 0, "timed out");
    "a line that is too long": |it| it.say(&[&[b'a'; 5000][..], b"\r\n"].concat()) => all(3, "aaa");
    "a STAT line that is too long": |it| {
        it.say(b"STAT ")?;
        it.say(&[&[b'a'; 5000][..], b"\r\n"].concat())
    } => all(3, "STAT aaa");
    "VERSION": |it| it.say(b"VERSION \xff\xfe\r\n") =>
        all(3, "VERSION").but(Stats, 0, "answered").but(Farewell, 0, "answered");
    "a number that is too long": |it| it.say(b"123456789012345678901234\r\n") =>
        all(3, "1234567890");
    "empty lines": |it| it.say(b"\r\n\r\n") => all(3, "\\r");
    "lines without CR": |it| it.say(b"END\n") => all(3, "END");
    "closes after each reply": |it| { it.say(it.honest)?; it.leave() } =>
        all(3, "closed the connection|reset the connection").but(Stats, 0, "")
            .but(Load, ANY, "was gone|\"lost\"").but(Farewell, 0, "");
    "odd figures": |it| it.say(
        b"STAT pid abc\r\nSTAT cmd_get -5\r\nSTAT cmd_set 1e400\r\nSTAT curr_items \xff\xfe\r\n\
          STAT  \r\nSTAT evictions 99999999999999999999\r\nSTAT threads -1\r\nEND\r\n",
    ) => all(3, "STAT");
    "figures of another process": |it| it.say(
        b"STAT pid 2\r\nSTAT uptime 1\r\nSTAT cmd_get 0\r\nSTAT cmd_set 0\r\nEND\r\n",
    ) => all(3, "STAT").but(Stats, 0, "").but(Farewell, 0, "restart");
    "a million rows": |it| {
        let rows = b"STAT a 1\r\n".repeat(10_000);
        (0..100).try_for_each(|_| it.say(&rows))?;
        it.say(b"END\r\n")
    } => all(3, "STAT").but(Stats, 0, "without an end").but(Farewell, 0, "without an end");
}
