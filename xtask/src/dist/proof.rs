//! Tests the products in a root that holds nothing else, as the user of the image: a first run,
//! names by `/etc/hosts` and DNS, merged shares, an agent. Without root it only prints that it is
//! skipped.

use super::image;
use crate::commands::told;
use crate::files::{at, emptied, put};
use crate::{bench, names, setup};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The name that only `/etc/hosts` has, and the one that only DNS has.
const NAMES: [&str; 2] = ["cache.hosts.test", "cache.dns.test"];
/// The name server in the guest's `/etc/resolv.conf`.
const RESOLVER: &str = "127.0.0.77";
/// The largest exposure of the unit by `systemd-analyze security`, in tenths of 10.
const EXPOSURE_MAX: u32 = 20;
/// The time limit of every command of a proof.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tests the static program in a root that holds nothing but it.
///
/// # Errors
/// If a command fails there.
pub(super) fn program(folder: &Path, program: &Path) -> Result<(), String> {
    let Some(root) = emptied_if_root(folder, "the program")? else { return Ok(()) };
    put(&root.join("usr/bin/memtide"), &[])?;
    fs::copy(program, root.join("usr/bin/memtide")).map_err(at(program))?;
    fs::create_dir(root.join("tmp")).map_err(at(&root))?;
    told(Command::new("chmod").arg("1777").arg(root.join("tmp")))?;
    everything(&root)
}

/// Unpacks the image in `file` and tests the program in it.
///
/// # Errors
/// If the image cannot be unpacked or a command fails in it.
pub(super) fn image(folder: &Path, file: &Path) -> Result<(), String> {
    let Some(root) = emptied_if_root(folder, "the image")? else { return Ok(()) };
    image::unpack(file, &root)?;
    everything(&root)
}

/// Installs the package in `file` below an empty root, runs it there and removes it.
///
/// # Errors
/// If dpkg fails, a command fails, or files are left behind.
pub(super) fn package(folder: &Path, file: &Path) -> Result<(), String> {
    let Some(root) = emptied_if_root(folder, "the package")? else { return Ok(()) };
    for path in ["status", "available"] {
        put(&root.join("var/lib/dpkg").join(path), b"")?;
    }
    for path in ["info", "updates", "triggers"] {
        let path = root.join("var/lib/dpkg").join(path);
        fs::create_dir_all(&path).map_err(at(&path))?;
    }
    let dpkg = |words: &[&str]| {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", root.display())).args(words);
        told(&mut command)
    };
    dpkg(&["--install", &file.display().to_string()])?;
    if !root.join("usr/lib/systemd/system/memtide-agent.service").is_file() {
        return Err("the package has no unit memtide-agent.service".to_owned());
    }
    if root.join("etc").exists() {
        return Err("the package puts files into /etc, or enables its unit".to_owned());
    }
    unit(&root)?;
    first_run(&root)?;
    dpkg(&["--purge", "memtide"])?;
    let left = told(Command::new("find").arg(&root).args(["-name", "*memtide*"]))?;
    if !left.is_empty() {
        return Err(format!("the removed package leaves {left}"));
    }
    println!("the package: installed, run and removed");
    Ok(())
}

/// Checks the installed unit by systemd's own tool, if this machine has it.
fn unit(root: &Path) -> Result<(), String> {
    let Some(program) = setup::find("systemd-analyze") else {
        eprintln!("xtask: the unit is not checked: this machine has no systemd-analyze");
        return Ok(());
    };
    let analyze = |line: &str| {
        let mut command = Command::new(&program);
        command.args(line.split_whitespace()).arg(format!("--root={}", root.display()));
        told(command.arg("memtide-agent.service"))
    };
    analyze("verify --man=no --recursive-errors=no")?;
    let found = analyze(&format!("security --no-pager --offline=true --threshold={EXPOSURE_MAX}"))?;
    let found = found.lines().last().unwrap_or_default();
    println!("the unit: {}", found.trim_start_matches("→ "));
    Ok(())
}

/// An empty root; `None`, with a message, if this user may not change root.
fn emptied_if_root(folder: &Path, what: &str) -> Result<Option<PathBuf>, String> {
    if geteuid().is_root() {
        return emptied(folder.join("root")).map(Some);
    }
    eprintln!("xtask: {what} is not tried in an empty root: chroot needs root");
    Ok(None)
}

fn everything(root: &Path) -> Result<(), String> {
    first_run(root)?;
    start_resolver()?;
    put(&root.join("etc/hosts"), format!("127.0.0.1 {}\n", NAMES[0]).as_bytes())?;
    put(&root.join("etc/resolv.conf"), format!("nameserver {RESOLVER}\n").as_bytes())?;
    let port = free_port()?;
    let serve = format!("serve --port {port}");
    let _server = spawn(root, &serve)?;
    await_port(port)?;
    for name in NAMES {
        let words = format!("run --server {name}:{port} --keys 100 --rate 500 --duration 1s");
        inside(root, &format!("{words} --quiet"))?;
    }
    shares(root, port)?;
    agent(root, port)?;
    println!("in an empty root: first run, names by hosts and DNS, two shares merged, an agent");
    Ok(())
}

fn first_run(root: &Path) -> Result<(), String> {
    inside(root, "run --duration 1s --quiet").map(drop)
}

fn shares(root: &Path, port: u16) -> Result<(), String> {
    let start = told(Command::new("date").args(["+%s", "--date", "3 seconds"]))?;
    let words = |i| {
        format!(
            "run --shard {i}/2 --start-at @{start} --server 127.0.0.1:{port} --keys 100 \
             --rate 500 --duration 1s --quiet --json /tmp/{i}.json"
        )
    };
    let first = spawn(root, &words(0))?;
    inside(root, &words(1))?;
    first.finish(&words(0))?;
    inside(root, "merge /tmp/0.json /tmp/1.json --json /tmp/merged.json").map(drop)
}

fn agent(root: &Path, port: u16) -> Result<(), String> {
    let master = free_port()?;
    inside(
        root,
        &format!(
            "key new /tmp/lab --address 127.0.0.1:{master} --allow-target 127.0.0.1/32:{port}"
        ),
    )?;
    let words = "agent --join /tmp/lab/agent.join --records /tmp/kept --once --quiet";
    let agent = spawn(root, words)?;
    let run = format!(
        "run --agents 1 --key /tmp/lab --server 127.0.0.1:{port} --keys 100 --rate 500 \
         --duration 1s --quiet --json /tmp/agents.json"
    );
    inside(root, &run)?;
    agent.finish(words)
}

/// The program in `root`, as the user of the image and with the image's environment. It ends when
/// its time is over.
fn command(root: &Path, words: &str) -> Command {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE.as_secs().to_string()).arg("chroot");
    command.arg(format!("--userspec={0}:{0}", image::USER)).arg(root).arg("/usr/bin/memtide");
    command.args(words.split_whitespace()).current_dir("/").stdin(Stdio::null());
    command.env_clear().env("PATH", "/usr/bin:/usr/sbin:/bin:/sbin").env("HOME", "/tmp");
    command
}

fn inside(root: &Path, words: &str) -> Result<String, String> {
    told(&mut command(root, words))
}

fn spawn(root: &Path, words: &str) -> Result<Running, String> {
    let mut command = command(root, words);
    let child = command.stdout(Stdio::null()).spawn();
    child.map(Running).map_err(|error| format!("cannot start `timeout`: {error}"))
}

/// A child that is ended when dropped.
struct Running(Child);

impl Running {
    fn finish(mut self, words: &str) -> Result<(), String> {
        match self.0.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`memtide {words}` ended with {status}")),
            Err(error) => Err(format!("cannot wait for `memtide {words}`: {error}")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // `timeout` passes this signal on, unlike the one that `Child::kill` sends.
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

fn free_port() -> Result<u16, String> {
    bench::server::free_address().map(|address| address.port())
}

fn await_port(port: u16) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Err(format!("memtide serve does not listen on port {port}"))
}

/// A name server that answers 127.0.0.1 for the one name that it has, until the process ends.
fn start_resolver() -> Result<(), String> {
    match UdpSocket::bind((RESOLVER, 53)) {
        Ok(socket) => {
            names::serve(socket, |name| (name == NAMES[1]).then(|| vec![Ipv4Addr::LOCALHOST]));
            Ok(())
        }
        // An earlier proof in this process has started it.
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Ok(()),
        Err(error) => Err(format!("{RESOLVER}:53: {error}")),
    }
}
