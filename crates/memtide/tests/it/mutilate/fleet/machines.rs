//! Machines: namespaces of networks, processes, mounts and names, each with a home of its own,
//! joined by a bridge. Commands run on them as over ssh: in a shell without a terminal and with an
//! empty environment. The calling thread is another machine, on which servers run.

use super::super::containers::child_of;
use crate::child::{Running, cleared, fresh_folder};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{chown, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Addresses reserved for benchmarks: the server's, and that of the first machine.
pub(super) const SERVER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(198, 18, 7, 1)), 11_211);
const FIRST: usize = 11;
/// User and group of the places that begin with `other@`.
const OTHER: u32 = 65_534;

/// What the first process of a machine does, which then collects processes that lost their parents;
/// its arguments are the machine's name and hosts file.
const BOOT: &str = "hostname \"$1\" && mount --bind \"$2\" /etc/hosts && echo up && sleep 600; :";
/// What precedes each command line; `agents` lists the processes of agents.
const PRELUDE: &str = r#"cd "$HOME"
agents() {
    ps -e -o pid=,args= |
        awk '$2 ~ /(mutilate|mcperf)(-dynamic)?$/ && / -A|--agentmode/ { print $1 }'
}
"#;

/// Machines on one network. All their processes end with this value.
pub(super) struct Machines {
    all: Vec<Machine>,
    folder: PathBuf,
}

struct Machine {
    /// The name, behind the user if that is not root: `other@a1`.
    place: String,
    holder: Child,
    /// The first process.
    first: i32,
}

impl Machine {
    fn name(&self) -> &str {
        self.place.rsplit('@').next().unwrap_or_default()
    }
}

impl Machines {
    /// Machines for these places, `NAME` or `other@NAME`. All of them know each other and `cache`,
    /// the server, by name, and the first of them knows `more`, lines of a hosts file. None, and a
    /// line on stderr, if machines cannot be made.
    pub(super) fn new(places: &[&str], more: &str) -> Option<Self> {
        let skipped = |why: &str| {
            drop(writeln!(std::io::stderr(), "skipped: machines of their own: {why}"));
            None
        };
        // SAFETY: the call affects only this thread.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return skipped(&std::io::Error::last_os_error().to_string());
        }
        for program in ["ps", "pgrep", "setpriv", "taskset", "bash"] {
            let found = Command::new(program).arg("--version").output();
            if !found.is_ok_and(|found| found.status.success()) {
                return skipped(&format!("there is no {program}"));
            }
        }
        if !ip("link add br0 type bridge") {
            return skipped("ip cannot make a bridge");
        }
        let address = format!("addr add {}/24 dev br0", SERVER.ip());
        for words in ["link set lo up", &address, "link set br0 up"] {
            assert!(ip(words), "{words}");
        }
        let mut machines = Self { all: Vec::new(), folder: fresh_folder("machines") };
        let names = places.iter().enumerate().map(|(number, place)| {
            let name = place.rsplit('@').next().unwrap_or_default();
            format!("198.18.7.{} {name}\n", FIRST + number)
        });
        let names: String = names.collect();
        let known = format!("127.0.0.1 localhost\n{} cache\n{names}", SERVER.ip());
        for (number, place) in places.iter().enumerate() {
            let more = if number == 0 { more } else { "" };
            if let Err(why) = machines.add(place, &format!("{known}{more}")) {
                return skipped(&why);
            }
        }
        let programs = machines.folder.join("programs");
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_memtide"), programs.join("memtide")).unwrap();
        Some(machines)
    }

    fn add(&mut self, place: &str, known: &str) -> Result<(), String> {
        let number = self.all.len();
        let hosts = self.folder.join(format!("hosts-{number}"));
        fs::write(&hosts, known).unwrap();
        let name = place.rsplit('@').next().unwrap_or_default();
        let mut holder = Command::new("unshare");
        holder.args(["--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        holder.args(["sh", "-c", BOOT, "sh", name]).arg(&hosts);
        holder.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = holder.spawn().map_err(|error| format!("unshare: {error}"))?;
        let mut line = String::new();
        drop(BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line));
        if line != "up\n" {
            drop(holder.wait());
            return Err("unshare makes no namespaces here".to_owned());
        }
        let first = child_of(holder.id()).as_raw_nonzero().get();
        self.all.push(Machine { place: place.to_owned(), holder, first });
        let home = self.home(place);
        fs::create_dir(&home).unwrap();
        if place.starts_with("other@") {
            chown(&home, Some(OTHER), Some(OTHER)).unwrap();
        }
        let wire = format!("link add wire{number} type veth peer name eth0 netns {first}");
        assert!(ip(&wire) && ip(&format!("link set wire{number} master br0 up")), "{wire}");
        let address = format!("ip addr add 198.18.7.{}/24 dev eth0", FIRST + number);
        let line = format!("ip link set lo up && {address} && ip link set eth0 up");
        let mut there = self.enter(place);
        assert!(there.args(["sh", "-c", &line]).status().is_ok_and(|it| it.success()), "{line}");
        Ok(())
    }

    /// The home of the user of `place`.
    pub(super) fn home(&self, place: &str) -> PathBuf {
        self.folder.join(place)
    }

    /// Its place, by the name of a machine.
    fn place(&self, name: &str) -> &str {
        let found = self.all.iter().find(|machine| machine.name() == name);
        &found.unwrap_or_else(|| panic!("no machine is called {name}")).place
    }

    fn enter(&self, place: &str) -> Command {
        let machine = self.all.iter().find(|machine| machine.place == place);
        let machine = machine.unwrap_or_else(|| panic!("there is no {place}"));
        let mut command = cleared(Command::new("nsenter"));
        command.arg(format!("--target={}", machine.first));
        command.args(["--net", "--uts", "--pid", "--mount"]);
        command
    }

    /// A command line in a shell at `place`.
    pub(super) fn shell(&self, place: &str, line: &str) -> Running {
        let mut command = self.enter(place);
        if place.starts_with("other@") {
            command.arg("setpriv").args(["--clear-groups", "--regid=65534", "--reuid=65534"]);
        }
        let (home, programs) = (self.home(place), self.folder.join("programs"));
        let path =
            format!("{}/bin:{}:/usr/sbin:/usr/bin:/sbin:/bin", home.display(), programs.display());
        command.args(["env", "-i", &format!("HOME={}", home.display()), &format!("PATH={path}")]);
        command.args(["sh", "-c", &format!("{PRELUDE}{line}")]);
        Running::of(&mut command)
    }

    /// Does what a master's message about agents on other machines says, and nothing else: the
    /// first place is the master, and the others are the agents, which `tool` enlists.
    pub(super) fn join_by_message(&self, tool: &str) {
        let here = &self.all[0].place;
        let agents: Vec<&str> = self.all[1..].iter().map(Machine::name).collect();
        let line = format!("memtide {tool} -s cache -a {} -t 1", agents.join(","));
        let refused = self.shell(here, &line).finish().exits(255);
        let commands: Vec<&str> = refused.err.split('\'').skip(1).step_by(2).collect();
        let [key, copy, install_here, install_there] = commands[..] else { panic!("{refused}") };
        self.shell(here, key).finish().exits(0);
        let (file, host) =
            copy.strip_prefix("scp -p ").and_then(|it| it.split_once(' ')).expect(copy);
        assert_eq!(host, "HOST:", "{refused}");
        self.shell(here, install_here).finish().exits(0);
        for name in agents {
            let place = self.place(name);
            let to = self.home(place).join("agent.join");
            // No machine has a server of ssh.
            fs::copy(self.home(here).join(file), &to).unwrap();
            if place.starts_with("other@") {
                chown(&to, Some(OTHER), Some(OTHER)).unwrap();
            }
            self.shell(place, install_there).finish().exits(0);
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for machine in &mut self.all {
            drop(machine.holder.kill());
            drop(machine.holder.wait());
        }
    }
}

fn ip(words: &str) -> bool {
    let mut ip = Command::new("ip");
    ip.args(words.split(' ')).stderr(Stdio::null());
    ip.status().is_ok_and(|status| status.success())
}
