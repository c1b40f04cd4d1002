//! Masters that are killed at each stage of a run by agents: their agents are free for the next
//! master at once, and its run is whole.

use super::{Agent, Tally, User, answered, assert_counted, assert_intended};
use crate::child::{fresh, shared, within_turn};
use crate::peer::Peer;
use rustix::process::Signal;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time until a stage is reached.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Time without any change after which something has ended.
const STILL: Duration = Duration::from_millis(300);
/// Number of stages at a time.
const LANES: usize = 5;

/// Waits until a stage is reached.
type Reach = fn(&Scene);

/// Name of a stage, the words of its master, and how it is awaited. The master reaches its first
/// agent through a gate.
const STAGES: [(&str, &str, Reach); 9] = [
    ("dial", "mutilate @A -t 300", Scene::await_dial),
    ("hello", "mcperf @A @N -t 300", Scene::await_hello),
    ("prepare", "mcperf-dynamic @A -t 300 -r 5000000", Scene::await_fill),
    ("armed", "mutilate @A -t 300 --noload -c 8", Scene::await_connections),
    ("warm-up", "mcperf @A -t 300 -w 200 -q 1000 --noload", Scene::await_load),
    ("load", "mcperf-dynamic @A -t 300 -q 1000 --noload", Scene::await_load),
    ("end of the window", "mutilate @A -t 1 -q 1000 --noload", Scene::await_end),
    ("hand-over", "mcperf @A -t 3 -q 1000 --noload", Scene::await_record),
    ("after", "mcperf-dynamic @A -t 1 -q 1000 --noload --json @J", Scene::await_result),
];

#[test]
fn a_killed_master_leaves_its_agents_to_the_next_one() {
    let _turn = shared();
    let next = AtomicUsize::new(0);
    let lane = || {
        while let Some((stage, words, reach)) = STAGES.get(next.fetch_add(1, Ordering::Relaxed)) {
            within_turn(|| check(stage, words, *reach));
        }
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().for_each(|lane| lane.join().unwrap());
    });
}

fn check(stage: &str, words: &str, reach: Reach) {
    let scene = Scene::new(stage == "dial");
    let master = scene.user.master(&scene.line(words));
    reach(&scene);
    master.signal(Signal::KILL);
    let died = master.finish();
    // A short run may end by itself before a busy machine gets to the kill.
    let is_over = words.contains("-t 1 ") && died.code == Some(0);
    assert!(is_over || died.signal == Some(Signal::KILL.as_raw()), "{stage}: {died}");
    let Scene { user, peer, agents, .. } = &scene;
    scene.await_still();
    let before = Tally::of(&[peer]);
    let line = format!("mcperf -s {} {} --noload -t 1 -q 1000", peer.name, super::listed(agents));
    let (ran, report, record) = user.run(&line);
    assert_counted(before, peer, &record);
    let (theirs, own) = answered(&record);
    assert_eq!(report.total.ops, theirs + own, "{stage}: {ran}");
    assert_eq!((record.shards.len(), record.partial), (2, false), "{stage}: {ran}");
    assert_intended(&record, 1000.0, &ran);
}

/// A server, two agents, and a gate before the first of them.
struct Scene {
    user: User,
    peer: Peer,
    agents: [Agent; 2],
    gate: Arc<Gate>,
    json: PathBuf,
    /// Accepts connections, and is no agent.
    silent: TcpListener,
}

impl Scene {
    fn new(is_dial: bool) -> Self {
        let user = User::new();
        let agents = [user.agent("mutilate -A"), user.agent("mcperf -A -T 2")];
        let gate = Gate::before(agents[0].port, is_dial);
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { peer: Peer::memcached(""), user, agents, gate, json: fresh("killed.json"), silent }
    }

    fn line(&self, words: &str) -> String {
        let at = |port: u16| format!("-a 127.0.0.1:{port}");
        let agents = format!("{} {}", at(self.gate.port), self.agents[1].at());
        let silent = at(self.silent.local_addr().unwrap().port());
        let words = words.replace("@A", &agents).replace("@N", &silent);
        format!("{words} -s {}", self.peer.name).replace("@J", &self.json.display().to_string())
    }

    fn await_dial(&self) {
        until("no master dials", || self.gate.came(THEIRS) > 0);
    }

    /// Both agents have come, and the master waits for a third.
    fn await_hello(&self) {
        until("no agent says hello", || self.gate.came(ITS) > 0);
        until("the master does not wait", || self.gate.is_still());
    }

    fn await_fill(&self) {
        self.peer.await_figure("cmd_set", 5_000);
    }

    /// All connections are open: the load begins 2 s after clocks are compared. On a busy machine
    /// it may have begun.
    fn await_connections(&self) {
        // Three threads of agents.
        until("no agent connects", || self.peer.figure("curr_connections") > 3 * 8);
        thread::sleep(STILL);
    }

    fn await_load(&self) {
        self.peer.await_figure("cmd_get", 300);
    }

    fn await_end(&self) {
        self.peer.await_figure("cmd_get", 1);
        thread::sleep(Duration::from_secs(1));
    }

    /// The load is over, and the master gets no record.
    fn await_record(&self) {
        self.await_load();
        self.gate.are_shut[ITS].store(true, Ordering::Relaxed);
        self.await_still();
    }

    fn await_result(&self) {
        until("there is no record", || self.json.exists());
    }

    /// Waits until the server counts nothing any more.
    fn await_still(&self) {
        let count = || self.peer.figure("cmd_get") + self.peer.figure("cmd_set");
        let mut last = (count(), Instant::now());
        until("the load does not end", || {
            let now = count();
            if now != last.0 {
                last = (now, Instant::now());
            }
            last.1.elapsed() >= STILL
        });
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// The ways from masters and from the agent.
const THEIRS: usize = 0;
const ITS: usize = 1;

/// A gate before an agent: what masters and the agent send passes it, unless that way is shut. A
/// death passes it in any case.
struct Gate {
    port: u16,
    are_shut: [AtomicBool; 2],
    /// Bytes that came.
    bytes: [AtomicU64; 2],
    /// The instant of the last ones.
    at: Mutex<Instant>,
}

impl Gate {
    fn before(agent: u16, is_shut: bool) -> Arc<Self> {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let gate = Arc::new(Self {
            port: door.local_addr().unwrap().port(),
            are_shut: [is_shut, is_shut].map(AtomicBool::new),
            bytes: Default::default(),
            at: Mutex::new(Instant::now()),
        });
        let kept = Arc::clone(&gate);
        thread::spawn(move || {
            for master in door.incoming().flatten() {
                let Ok(agent) = TcpStream::connect(("127.0.0.1", agent)) else { return };
                let is_over = Arc::new(AtomicBool::new(false));
                for (way, from, to) in [(THEIRS, &master, &agent), (ITS, &agent, &master)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (gate, is_over) = (Arc::clone(&kept), Arc::clone(&is_over));
                    thread::spawn(move || {
                        gate.pass(way, &from, &to, &is_over);
                        // The other way ends, too.
                        is_over.store(true, Ordering::Relaxed);
                        drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
                    });
                }
            }
        });
        gate
    }

    fn pass(&self, way: usize, mut from: &TcpStream, mut to: &TcpStream, is_over: &AtomicBool) {
        from.set_read_timeout(Some(LOOK_EVERY)).unwrap();
        let is_shut = || self.are_shut[way].load(Ordering::Relaxed);
        let mut bytes = vec![0; 1 << 16];
        while !is_over.load(Ordering::Relaxed) {
            let count = match from.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => count,
                Err(error) if is_nothing(&error) => continue,
                Err(_) => return,
            };
            self.bytes[way].fetch_add(count as u64, Ordering::Relaxed);
            *self.at.lock().unwrap() = Instant::now();
            while is_shut() {
                let has_died = match from.peek(&mut [0]) {
                    Ok(more) => more == 0,
                    Err(error) => !is_nothing(&error),
                };
                if has_died || is_over.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(LOOK_EVERY);
            }
            if to.write_all(&bytes[..count]).is_err() {
                return;
            }
        }
    }

    /// Number of bytes that came.
    fn came(&self, way: usize) -> u64 {
        self.bytes[way].load(Ordering::Relaxed)
    }

    fn is_still(&self) -> bool {
        self.at.lock().unwrap().elapsed() >= STILL
    }
}

/// True if there was nothing to read.
fn is_nothing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
