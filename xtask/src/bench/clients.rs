//! The programs under comparison, ours and other load generators if they are on PATH: which loads
//! each makes, and its command line. `readings` has the parsers of their figures; `process` and
//! `turns` run them.

use super::readings::{Figures, of_cannon, of_memtier, of_table};
use super::{Shape, Which};
use crate::files::put;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A line under comparison: a program, and the load that it makes. Others of a list are compared
/// with its first.
pub(super) struct Client {
    /// Its name in tables.
    pub(super) name: &'static str,
    pub(super) program: &'static Program,
    /// True if it can make this load.
    can: Can,
    /// What it is called with, beside what follows from the shape.
    words: &'static str,
}

/// A part of a command line or a file, with values in braces, for the shapes that need it.
type Part = (Can, &'static str);

/// True if a load is of a kind.
type Can = fn(&Shape) -> bool;

/// A program, and how it is called.
pub(super) struct Program {
    /// The name of its file.
    pub(super) file: &'static str,
    words: &'static [Part],
    /// The content of the file that it reads, if it needs one.
    reads: &'static [Part],
    /// Its key by number, below 1 000, if it requests keys that it does not store itself.
    keys: Option<fn(u32) -> String>,
    pub(super) figures: Figures,
}

const fn client(
    name: &'static str,
    program: &'static Program,
    can: Can,
    words: &'static str,
) -> Client {
    Client { name, program, can, words }
}

/// All clients in the order of tables. Those with "whole" in their names send again only after all
/// replies of a window. No other client makes this load; its figures are for information.
pub(super) const CLIENTS: &[Client] = &[
    client("bare-epoll", &BARE_EPOLL, Shape::is_closed_loop, ""),
    client("bare-uring", &BARE_URING, Shape::is_closed_loop, ""),
    client("bare, whole batches", &BARE_EPOLL, Shape::is_deep, "--whole-batches"),
    client("memtide, epoll", &MEMTIDE, Shape::is_closed_loop, "--io epoll --wait sleep"),
    client("memtide, uring", &MEMTIDE, Shape::is_closed_loop, "--io uring --wait sleep"),
    client("memtide, epoll, whole", &MEMTIDE, Shape::is_deep, EPOLL_WHOLE),
    client("memtide, uring, whole", &MEMTIDE, Shape::is_deep, URING_WHOLE),
    client("bare-tls", &BARE_TLS, Shape::is_tls, ""),
    client("memtide, epoll", &MEMTIDE, TLS_STAYS, "--io epoll --wait sleep"),
    client("memtide, uring", &MEMTIDE, TLS_STAYS, "--io uring --wait sleep"),
    client("memtier_benchmark", &MEMTIER, TLS_STAYS, ""),
    client("bare-churn", &BARE_CHURN, PLAIN_CHURN, ""),
    client("memtide, epoll", &MEMTIDE, Shape::is_churn, "--io epoll"),
    client("memtide, uring", &MEMTIDE, Shape::is_churn, "--io uring"),
    client("bare, sleep", &BARE_PACED, Shape::is_paced, "--wait sleep"),
    client("bare, spin", &BARE_PACED, Shape::is_paced, "--wait spin"),
    client("epoll, sleep", &MEMTIDE, Shape::is_paced, "--io epoll --wait sleep"),
    client("epoll, hybrid", &MEMTIDE, Shape::is_paced, "--io epoll --wait hybrid"),
    client("epoll, spin", &MEMTIDE, Shape::is_paced, "--io epoll --wait spin"),
    client("uring, sleep", &MEMTIDE, Shape::is_paced, "--io uring --wait sleep"),
    client("uring, hybrid", &MEMTIDE, Shape::is_paced, "--io uring --wait hybrid"),
    client("uring, spin", &MEMTIDE, Shape::is_paced, "--io uring --wait spin"),
    client("mutilate", &MUTILATE, ONE_KEY, ""),
    client("mcperf", &MCPERF, Shape::suits_peers, ""),
    client("memtier_benchmark", &MEMTIER, ONE_KEY, ""),
    client("memcaslap", &MEMCASLAP, ONE_REQUEST, ""),
    client("memaslap", &MEMASLAP, ONE_REQUEST, ""),
    client("twemperf", &TWEMPERF, SHORT_LIVED, ""),
    client("mc-crusher", &CRUSHER, GETS, ""),
    client("cachecannon", &CANNON, ONE_KEY, ""),
];

const EPOLL_WHOLE: &str = "--io epoll --wait sleep --refill whole";
const URING_WHOLE: &str = "--io uring --wait sleep --refill whole";

/// The loads that some other load generators can make.
const ONE_KEY: Can = |it| it.suits_peers() && !it.is_multiget();
const ONE_REQUEST: Can = |it| it.suits_peers() && it.depth == 1 && it.rate == 0;
const GETS: Can = |it| it.suits_peers() && it.server == Which::Memcached && it.rate == 0;
/// It uses keys of its own, which only the null server has, and only gets.
const SHORT_LIVED: Can =
    |it| it.server == Which::Null && (it.is_churn() || ONE_KEY(it) && it.depth == 1);
const ALL: Can = |_| true;
const STAYS: Can = |it| !it.is_churn();
const TLS_STAYS: Can = |it| it.is_tls() && !it.is_churn();
const PLAIN_CHURN: Can = |it| it.is_churn() && !it.is_tls();

const MEMTIDE: Program = Program {
    file: "memtide",
    words: &[
        (ALL, "run --quiet --server {server} --connections {connections}"),
        (STAYS, "--rate {rate} --multiget {multiget} --mix {mix}"),
        (Shape::is_churn, "--calls {calls} --linger 0 --mix get=1"),
        (
            ALL,
            "--depth {depth} --threads 1 --key-size fixed:30 --value-size fixed:200 --keys 1000 \
             --duration {seconds}s --json -",
        ),
        (Shape::is_tls, "--tls --tls-ca {folder}/server.pem"),
        (Shape::is_full, "--tls-resume off"),
    ],
    reads: &[],
    keys: None,
    figures: Figures::Printed,
};

const SERVER: Part = (ALL, "--server {server} --connections {connections} --seconds {seconds}");
const BARE_EPOLL: Program = Program {
    file: "bare-epoll",
    words: &[
        SERVER,
        (ALL, "--depth {depth} --multiget {multiget} --set-every {set_every} --keys 1000"),
    ],
    ..MEMTIDE
};
const BARE_URING: Program = Program { file: "bare-uring", ..BARE_EPOLL };
const BARE_CHURN: Program =
    Program { file: "bare-churn", words: &[SERVER, (ALL, "--calls {calls}")], ..BARE_EPOLL };
const BARE_TLS: Program = Program {
    file: "bare-tls",
    words: &[
        SERVER,
        (STAYS, "--depth {depth} --set-every {set_every} --keys 1000"),
        (Shape::is_churn, "--churn --calls {calls}"),
        (Shape::is_full, "--full"),
        (ALL, "--folder {folder}"),
    ],
    ..MEMTIDE
};
const BARE_PACED: Program = Program {
    file: "bare-paced",
    words: &[SERVER, (ALL, "--rate {rate} --keys 1000")],
    ..BARE_EPOLL
};

const MUTILATE: Program = Program {
    file: "mutilate",
    words: &[
        (
            ALL,
            "-s {server} -t {seconds} -T 1 -c {connections} -d {depth} -u {sets} -K 30 -V 200 \
             -r 1000 -B",
        ),
        // Without `-i` the original is killed by a signal when it has a rate.
        (Shape::is_paced, "-q {rate} -i exponential:1"),
        // Only mcperf has multigets.
        (Shape::is_multiget, "-g 1 -G {multiget}"),
    ],
    figures: Figures::Counted(None),
    ..MEMTIDE
};
const MCPERF: Program =
    Program { file: "mcperf", figures: Figures::Counted(Some(of_table)), ..MUTILATE };

const MEMTIER: Program = Program {
    file: "memtier_benchmark",
    words: &[
        (
            ALL,
            "-s {host} -p {port} -P memcache_text -t 1 -c {connections} --pipeline {depth} \
             --ratio {ratio} -d 200 --key-prefix mmmmmmmmmmmmmmmmmmmmmmmmmm --key-minimum 1000 \
             --key-maximum 1999 --test-time {seconds} --hide-histogram --json-out-file {file}",
        ),
        (Shape::is_paced, "--rate-limiting {rate_each}"),
        (Shape::is_tls, "--tls --cacert {folder}/server.pem"),
    ],
    keys: Some(|number| format!("{}{}", "m".repeat(26), 1_000 + number)),
    figures: Figures::Counted(Some(of_memtier)),
    ..MEMTIDE
};

const MEMASLAP: Program = Program {
    file: "memaslap",
    words: &[
        (ALL, "-s {server} -T 1 -c {connections} -t {seconds}s -w 1k -F {file}"),
        (Shape::is_multiget, "-d {multiget}"),
    ],
    reads: &[(ALL, "key\n30 30 1\nvalue\n200 200 1\ncmd\n0 {sets}\n1 {gets}\n")],
    ..MUTILATE
};
const MEMCASLAP: Program = Program { file: "memcaslap", ..MEMASLAP };

/// It ends after a number of calls, not after a time, and makes about this many per second.
const CALLS_PER_S: u32 = 150_000;
/// Without a rate it opens one connection at a time.
const CONNECTIONS_PER_S: u32 = 5_000;
const TWEMPERF: Program = Program {
    file: "twemperf",
    words: &[
        (ALL, "--server={host} --port={port} --method=get --prefix=mcp:"),
        (
            Shape::is_churn,
            "--num-conns={opened} --conn-rate=5000 --num-calls={calls} --call-rate=0 --linger=0",
        ),
        (
            STAYS,
            "--num-conns={connections} --conn-rate=100000 --num-calls={calls_each} \
             --call-rate={rate_each}",
        ),
    ],
    ..MUTILATE
};

const CRUSHER: Program = Program {
    file: "mc-crusher",
    words: &[(ALL, "--conf {file} --ip {host} --port {port} --timeout {seconds}")],
    reads: &[
        (|it| !it.is_multiget(), "send=ascii_get,pipelines={depth}"),
        (Shape::is_multiget, "send=ascii_mget,mget_count={multiget}"),
        (
            ALL,
            ",recv=blind_read,conns={connections},key_prefix=ccccccccccccccccccccccccccc,\
             key_prealloc=1,key_count=1000\n",
        ),
    ],
    keys: Some(|number| format!("{}{number}", "c".repeat(27))),
    ..MUTILATE
};

const CANNON: Program = Program {
    file: "cachecannon",
    words: &[(ALL, "{file}")],
    reads: &[(
        ALL,
        "[general]\nduration = \"{seconds}s\"\nwarmup = \"0s\"\nthreads = 1\n\
         [target]\nendpoints = [\"{server}\"]\nprotocol = \"memcache\"\n\
         [connection]\nconnections = {connections}\npipeline_depth = {depth}\n\
         [workload]\nrate_limit = {rate}\nprefill = true\n\
         [workload.keyspace]\nlength = 30\ncount = 1000\n\
         [workload.commands]\nget = {gets_percent}\nset = {sets_percent}\n\
         [workload.values]\nlength = 200\n[admin]\nformat = \"json\"\n",
    )],
    figures: Figures::Counted(Some(of_cannon)),
    ..MEMTIDE
};

/// The load that a client makes.
pub(super) struct Load<'a> {
    pub(super) shape: &'a Shape,
    pub(super) address: SocketAddr,
    /// Where the server speaks plain text.
    pub(super) plain: SocketAddr,
    pub(super) seconds: u32,
    /// The path of the file that it reads or writes.
    pub(super) file: PathBuf,
}

impl Client {
    /// The clients that make this load, ours first; others only `with_peers`, if they are
    /// installed.
    pub(super) fn all(shape: &Shape, with_peers: bool) -> Vec<&'static Self> {
        let is_here = |it: &&Self| {
            it.program.is_ours() || with_peers && crate::setup::find(it.program.file).is_some()
        };
        CLIENTS.iter().filter(|it| (it.can)(shape)).filter(is_here).collect()
    }

    /// Its command line for a load, after preparing its file and keys.
    pub(super) fn ready(&self, load: &Load<'_>) -> Result<Vec<String>, String> {
        if let Some(key) = self.program.keys.filter(|_| load.shape.server != Which::Null) {
            fill(load.plain, key)?;
        }
        if !self.program.reads.is_empty() {
            put(&load.file, load.filled(self.program.reads, "").as_bytes())?;
        }
        let line = format!("{} {}", load.filled(self.program.words, " "), self.words);
        Ok(line.split_whitespace().map(str::to_owned).collect())
    }
}

impl Program {
    /// True if this workspace builds it; others are found on PATH.
    pub(super) fn is_ours(&self) -> bool {
        !matches!(self.figures, Figures::Counted(_))
    }

    /// Its path, or its name on PATH; ours are in `folder`.
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        if self.is_ours() { folder.join(self.file) } else { self.file.into() }
    }

    /// The time that it runs before it is measured: some programs fill the server first.
    pub(super) fn start(&self) -> Duration {
        Duration::from_secs(if self.is_ours() { 1 } else { 3 })
    }
}

impl Load<'_> {
    /// The folder of certificates, and of the files of all clients.
    fn folder(&self) -> String {
        self.file.parent().unwrap_or(Path::new(".")).display().to_string()
    }

    /// The parts for this shape, joined, with values in place of their names.
    fn filled(&self, parts: &[Part], between: &str) -> String {
        let &Shape { connections, depth, multiget, rate, calls, .. } = self.shape;
        let has_sets = multiget == 1 && rate == 0;
        let of = |sets: &str, gets: &str| if has_sets { sets } else { gets }.to_owned();
        let calls_each = if rate == 0 { CALLS_PER_S } else { rate } * self.seconds / connections;
        let values = [
            ("{server}", self.address.to_string()),
            ("{host}", self.address.ip().to_string()),
            ("{port}", self.address.port().to_string()),
            ("{seconds}", self.seconds.to_string()),
            ("{file}", self.file.display().to_string()),
            ("{folder}", self.folder()),
            ("{connections}", connections.to_string()),
            ("{depth}", depth.to_string()),
            ("{multiget}", multiget.to_string()),
            ("{rate}", rate.to_string()),
            ("{rate_each}", (rate / connections).to_string()),
            ("{calls}", calls.to_string()),
            ("{calls_each}", calls_each.to_string()),
            ("{opened}", (self.seconds * CONNECTIONS_PER_S).to_string()),
            ("{mix}", of("get=9,set=1", "get=1")),
            ("{set_every}", of("10", "0")),
            ("{sets}", of("0.1", "0.0")),
            ("{gets}", of("0.9", "1.0")),
            ("{ratio}", of("1:9", "0:1")),
            ("{sets_percent}", of("10", "0")),
            ("{gets_percent}", of("90", "100")),
        ];
        let parts = parts.iter().filter(|(is_for, _)| is_for(self.shape));
        let text = parts.map(|(_, text)| *text).collect::<Vec<_>>().join(between);
        values.iter().fold(text, |text, (name, value)| text.replace(name, value))
    }
}

/// Stores a value of 200 bytes under each of 1 000 keys.
fn fill(address: SocketAddr, key: fn(u32) -> String) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot fill {address}: {error}");
    let value = "v".repeat(200);
    let set = |number| format!("set {} 0 0 200 noreply\r\n{value}\r\n", key(number));
    let sets: String = (0..1_000).map(set).chain(["quit\r\n".to_owned()]).collect();
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.write_all(sets.as_bytes()).map_err(failed)?;
    stream.read_to_end(&mut Vec::new()).map(drop).map_err(failed)
}

#[cfg(test)]
mod tests;
