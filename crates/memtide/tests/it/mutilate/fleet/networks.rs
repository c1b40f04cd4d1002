//! The example of the originals' pages, unchanged but for its length: eight agents and a master,
//! each on its own host (a network namespace), with all agents on the same port.

use super::{Tally, assert_counted, record_at};
use crate::child::{Running, cleared, fresh_folder, memtide, shared, within_turn};
use crate::peer::Peer;
use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HOSTS: usize = 8;
/// Addresses reserved for benchmarks; agents have those from 11 on.
const MASTER: &str = "198.18.7.1";
const PATIENCE: Duration = Duration::from_secs(20);

/// Hosts joined by a bridge. The calling thread, and its children, are the master.
struct Network {
    holders: Vec<Child>,
}

impl Network {
    /// None, and a line on stderr, if networks cannot be created.
    fn new() -> Option<Self> {
        let skipped = |why: &str| {
            drop(writeln!(std::io::stderr(), "skipped: hosts of their own: {why}"));
            None
        };
        // SAFETY: the call affects only this thread.
        if unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) } != 0 {
            return skipped(&std::io::Error::last_os_error().to_string());
        }
        if !ip("link add br0 type bridge") {
            return skipped("ip cannot make a bridge");
        }
        for words in ["link set lo up", &format!("addr add {MASTER}/24 dev br0"), "link set br0 up"]
        {
            assert!(ip(words), "{words}");
        }
        let mut network = Self { holders: Vec::new() };
        let own = fs::read_link("/proc/thread-self/ns/net").unwrap();
        for number in 0..HOSTS {
            let mut holder = Command::new("unshare");
            holder.args(["--net", "sleep", "120"]).stdin(Stdio::null()).stderr(Stdio::null());
            network.holders.push(holder.spawn().ok()?);
            let id = network.holders[number].id();
            let until = Instant::now() + PATIENCE;
            while fs::read_link(format!("/proc/{id}/ns/net")).is_ok_and(|it| it == own) {
                assert!(Instant::now() < until, "unshare --net does not begin");
                std::thread::sleep(Duration::from_millis(5));
            }
            let wire = format!("link add wire{number} type veth peer name eth0 netns {id}");
            assert!(ip(&wire) && ip(&format!("link set wire{number} master br0 up")));
            let address = format!("addr add 198.18.7.{}/24 dev eth0", 11 + number);
            for words in ["link set lo up", &address, "link set eth0 up"] {
                let mut there = network.at(number, "ip");
                assert!(there.args(words.split(' ')).status().is_ok_and(|it| it.success()));
            }
        }
        Some(network)
    }

    /// A command on the host of an agent.
    fn at(&self, number: usize, program: &str) -> Command {
        let mut command = cleared(Command::new("nsenter"));
        let holder = self.holders[number].id();
        command.arg(format!("--net=/proc/{holder}/ns/net")).arg(program);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for holder in &mut self.holders {
            drop(holder.kill());
            drop(holder.wait());
        }
    }
}

fn ip(words: &str) -> bool {
    let mut ip = Command::new("ip");
    ip.args(words.split(' ')).stderr(Stdio::null());
    ip.status().is_ok_and(|status| status.success())
}

/// Defines the page's host names for the children of this thread.
fn name_hosts(folder: &Path) {
    let agents = (1..=HOSTS).map(|number| format!("198.18.7.{} agent{number}\n", 10 + number));
    let names: String = agents.collect();
    let hosts = folder.join("hosts");
    fs::write(&hosts, format!("127.0.0.1 localhost\n{MASTER} memcached_server\n{names}")).unwrap();
    let text = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
    let (from, to) = (text(&hosts), text(Path::new("/etc/hosts")));
    let (root, nothing) = (c"/", std::ptr::null());
    // SAFETY: all paths are texts that outlive the calls; the namespace is this thread's own.
    unsafe {
        let private = libc::MS_REC | libc::MS_PRIVATE;
        assert_eq!(libc::mount(nothing, root.as_ptr(), nothing, private, nothing.cast()), 0);
        let bind = libc::MS_BIND;
        assert_eq!(libc::mount(from.as_ptr(), to.as_ptr(), nothing, bind, nothing.cast()), 0);
    }
}

#[test]
fn the_example_of_the_pages_with_one_file_and_no_change() {
    let _turn = shared();
    for program in ["mutilate", "mcperf"] {
        // A separate thread, which leaves its namespaces behind when it ends.
        std::thread::scope(|scope| {
            scope.spawn(|| within_turn(|| example(program))).join().unwrap();
        });
    }
}

fn example(program: &str) {
    let Some(network) = Network::new() else { return };
    let folder = fresh_folder("example");
    name_hosts(&folder);
    let (key, bin) = (folder.join("key").display().to_string(), folder.join("bin"));
    memtide(&format!("key new {key} --allow-target 198.18.7.0/24:*")).exits(0);
    let bin_name = bin.display();
    memtide(&format!("install-faces --join {key}/agent.join {bin_name}")).exits(0);
    let link = bin.join(program).display().to_string();
    let address: SocketAddr = format!("{MASTER}:11211").parse().unwrap();
    let peer = Peer::memcached_at(address, "-t 2 -c 4096").expect("the address is this host's");
    let agent = |number| {
        let mut command = network.at(number, &link);
        Running::of(command.args(["-T", "16", "-A"]).env("XDG_STATE_HOME", &folder))
    };
    let agents: Vec<Running> = (0..HOSTS).map(agent).collect();
    let json = folder.join("run.json");
    let master = |words: &str| {
        let mut command = cleared(Command::new(&link));
        command.args(words.split_whitespace()).env("XDG_STATE_HOME", &folder);
        Running::of(&mut command).finish().exits(0)
    };
    let before = Tally::of(&[&peer]);
    master("-s memcached_server --loadonly");
    let filled = Tally::of(&[&peer]).minus(before);
    assert_eq!(filled.sets, 10_000);
    let before = Tally::of(&[&peer]);
    let ran = master(&format!(
        "-s memcached_server --noload -B -T 16 -Q 1000 -D 4 -C 4 -a agent1 -a agent2 -a agent3 \
         -a agent4 -a agent5 -a agent6 -a agent7 -a agent8 -c 4 -q 20000 -t 2 --json {}",
        json.display()
    ));
    assert_eq!(ran.err, "", "{ran}");
    let record = record_at(&json);
    assert_counted(before, &peer, &record);
    // 8 x 16 x 4 connections of the agents, and 16 x 4 of the master.
    let own = record.own.as_ref().expect("the master's own load");
    assert_eq!((record.plan.connections, own.plan.connections), (512, 64), "{ran}");
    assert_eq!((record.shards.len(), record.totals.misses + own.totals.misses), (8, 0), "{ran}");
    drop(agents);
}
