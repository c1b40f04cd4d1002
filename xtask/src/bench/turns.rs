//! Clients that take turns of 50 ms against one server, so that a machine whose speed drifts does
//! so for all of them alike. Signals stop and continue them; what one did in its turn is told by
//! the kernel, which counts its CPU time, and by the server, which counts its operations.
//!
//! Which client is whose, and what it says of itself, is no matter of this file.

use super::server::{Counters, on_cpu};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a client goes on at a time.
pub(super) const TURN: Duration = Duration::from_millis(50);
/// What was under way when a client was stopped is answered and counted after this.
const SETTLING: Duration = Duration::from_millis(2);
/// What may come between beside the turns, which are counted with half their length again.
const MARGIN_S: u64 = 60;
/// The longest duration that all clients understand: one is told calls, 150 000 for each second,
/// and their number must fit into 32 bits.
const DURATION_MAX_S: u64 = 20_000;

/// A client that is about to take turns.
pub(super) struct Order {
    /// What starts it.
    pub(super) program: String,
    pub(super) words: Vec<String>,
    /// How long it goes on before its first turn.
    pub(super) start: Duration,
    /// Whether what it says on stderr is for the user.
    pub(super) speaks: bool,
}

/// What a client did in its turns.
#[derive(Clone, Copy, Default)]
pub(super) struct Did {
    pub(super) ran: Duration,
    pub(super) cpu: Duration,
    /// Operations that the server counted.
    pub(super) ops: u64,
}

/// Clients that were started and stand still but for the one whose turn it is. All of them end
/// with this value.
pub(super) struct Turns {
    /// Or why it is out of the game.
    clients: Vec<Result<Process, String>>,
    counters: Counters,
    /// The client that begins the next cycle.
    first: usize,
}

impl Turns {
    /// Starts the clients that are not out already, on `cpu`, for turns against the server at
    /// `address`.
    pub(super) fn start(
        orders: Vec<Result<Order, String>>,
        address: SocketAddr,
        cpu: u32,
    ) -> Result<Self, String> {
        let counters = Counters::of(address)?;
        let mut turns = Self { clients: Vec::new(), counters, first: 0 };
        // One after the other: a client that starts has the CPU for itself.
        for order in orders {
            turns.clients.push(order.and_then(|order| Process::start(&order, cpu)));
        }
        // The first turn after a long stand is another load than all later ones.
        for number in 0..turns.clients.len() {
            turns.turn(number, &mut Did::default());
        }
        Ok(turns)
    }

    /// Gives each client turns of so many seconds in all; what it did, or why it is out.
    pub(super) fn round(&mut self, seconds: u32) -> Vec<Result<Did, String>> {
        let wanted = Duration::from_secs(u64::from(seconds));
        let mut did = vec![Did::default(); self.clients.len()];
        let mut is_over = false;
        while !is_over {
            is_over = true;
            for number in cycle(self.clients.len(), self.first) {
                if self.clients[number].is_ok() && did[number].ran < wanted {
                    self.turn(number, &mut did[number]);
                    is_over = false;
                }
            }
            self.first += 1;
        }
        let idle = |did: &Did| did.ops == 0 || did.cpu.is_zero();
        for (client, did) in self.clients.iter_mut().zip(&did) {
            if client.is_ok() && idle(did) {
                *client = Err(format!("it did nothing in {seconds} s of turns"));
            }
        }
        let told = self.clients.iter().zip(did);
        told.map(|(client, did)| client.as_ref().map(|_| did).map_err(Clone::clone)).collect()
    }

    /// One turn of a client that is not out; it is afterwards when the turn fails.
    fn turn(&mut self, number: usize, did: &mut Did) {
        let Ok(client) = &mut self.clients[number] else { return };
        match client.turn(&mut self.counters) {
            Ok(more) => {
                did.ran += more.ran;
                did.cpu += more.cpu;
                did.ops += more.ops;
            }
            Err(why) => self.clients[number] = Err(why),
        }
    }
}

/// The turns of a cycle that begins with client `first`.
pub(super) fn cycle(clients: usize, first: usize) -> impl Iterator<Item = usize> {
    (0..clients).map(move |turn| (first + turn) % clients)
}

/// For how many seconds clients have to go on, so that none ends by itself before all have had
/// `rounds` rounds of `seconds` seconds; `starts` is how long they take until their first turns.
pub(super) fn duration_s(starts: &[Duration], rounds: u32, seconds: u32) -> Result<u32, String> {
    let started_s = starts.iter().sum::<Duration>().as_secs() + 1;
    let turns_s = starts.len() as u64 * u64::from(rounds) * u64::from(seconds);
    let wall_s = started_s + turns_s * 3 / 2 + MARGIN_S;
    if wall_s > DURATION_MAX_S {
        return Err(format!(
            "{rounds} rounds in which {} clients have {seconds} s each could take {wall_s} s; at \
             most {DURATION_MAX_S} s are allowed: ask for fewer --rounds or --seconds",
            starts.len()
        ));
    }
    Ok(u32::try_from(wall_s).expect("it is below the limit"))
}

/// A client that stands still but in its turns.
struct Process {
    /// Waited for only by this value, so its number is nobody else's for as long.
    child: Child,
    /// As one would type it.
    line: String,
}

impl Process {
    /// Starts a client and stops it when it has had its start-up.
    fn start(order: &Order, cpu: u32) -> Result<Self, String> {
        let Order { program, words, start, speaks } = order;
        let line = format!("{program} {}", words.join(" "));
        let quiet = Stdio::null;
        let child = dies_with_us(on_cpu(cpu))
            .arg(program)
            .args(words)
            .stdin(quiet())
            .stdout(quiet())
            .stderr(if *speaks { Stdio::inherit() } else { quiet() })
            .spawn()
            .map_err(|error| format!("cannot start `setpriv taskset {line}`: {error}"))?;
        let mut process = Self { child, line };
        std::thread::sleep(*start);
        process.signal(Signal::STOP)?;
        process.is_there().map(|()| process)
    }

    /// Lets it go on for a turn.
    fn turn(&mut self, counters: &mut Counters) -> Result<Did, String> {
        let (cpu_before, ops_before) = (self.cpu()?, counters.commands()?);
        let began = Instant::now();
        self.signal(Signal::CONT)?;
        std::thread::sleep(TURN);
        self.signal(Signal::STOP)?;
        let ran = began.elapsed();
        std::thread::sleep(SETTLING);
        self.is_there()?;
        Ok(Did {
            ran,
            cpu: self.cpu()?.saturating_sub(cpu_before),
            ops: counters.commands()? - ops_before,
        })
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(Pid::from_child(&self.child), signal)
            .map_err(|error| format!("cannot stop and continue `{}`: {error}", self.line))
    }

    fn is_there(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("`{}` ended before its time: {status}", self.line)),
            Err(error) => Err(format!("cannot look after `{}`: {error}", self.line)),
        }
    }

    /// CPU time of all its threads so far.
    fn cpu(&self) -> Result<Duration, String> {
        cpu_of(&Path::new("/proc").join(self.child.id().to_string()).join("task"))
            .map_err(|error| format!("no CPU time is known of `{}`: {error}", self.line))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already. A kill also ends what is stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The same command, whose program is killed when this one dies: nobody would continue what a
/// dead one has stopped. Like taskset, setpriv becomes the program and keeps its number.
fn dies_with_us(command: Command) -> Command {
    let mut all = Command::new("setpriv");
    all.args(["--pdeathsig", "KILL"]).arg(command.get_program()).args(command.get_args());
    all
}

/// CPU time of the threads in a folder of /proc.
fn cpu_of(tasks: &Path) -> std::io::Result<Duration> {
    let mut sum = Duration::ZERO;
    for task in fs::read_dir(tasks)? {
        // A thread may end between the look at the folder and the look at it.
        let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        sum += on_cpu_of(&text).unwrap_or_default();
    }
    Ok(sum)
}

/// The first of the kernel's three numbers: nanoseconds on a CPU.
fn on_cpu_of(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cycle_begins_with_another_client() {
        let cycles: Vec<Vec<usize>> = (0..4).map(|first| cycle(3, first).collect()).collect();
        assert_eq!(cycles, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }

    #[test]
    fn time_on_a_cpu_is_the_first_of_three_numbers() {
        assert_eq!(on_cpu_of("1500 20 3\n"), Some(Duration::from_nanos(1_500)));
        assert_eq!(on_cpu_of(""), None);
        let own = cpu_of(Path::new("/proc/self/task")).expect("this process is there");
        assert!(own > Duration::ZERO);
    }

    #[test]
    fn clients_outlast_all_turns_or_are_not_started() {
        let starts = [1, 1, 3].map(Duration::from_secs);
        let bound_s = duration_s(&starts, 11, 2).expect("it is short enough");
        assert!((5 + 3 * 11 * 2..=200).contains(&bound_s), "{bound_s}");
        assert!(duration_s(&starts, 10_000, 1).is_err_and(|why| why.contains("--rounds")));
    }

    #[test]
    fn a_client_is_stopped_and_ends_with_its_value() {
        let order = Order {
            program: "sleep".to_owned(),
            words: vec!["1000".to_owned()],
            start: Duration::from_millis(10),
            speaks: false,
        };
        let cpu = super::super::server::Cpus::inherited().expect("there is a CPU").client;
        let mut client = Process::start(&order, cpu).expect("it goes on");
        client.signal(Signal::KILL).expect("it is ours");
        let why = loop {
            if let Err(why) = client.is_there() {
                break why;
            }
        };
        assert!(why.starts_with("`sleep 1000` ended before its time"), "{why}");
        let stopped = Process::start(&order, cpu).expect("it goes on");
        let place = Path::new("/proc").join(stopped.child.id().to_string());
        drop(stopped);
        assert!(!place.exists());
    }
}
