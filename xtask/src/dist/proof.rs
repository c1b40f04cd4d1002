//! Tests the products in a root that holds nothing else, as the user of the image: a first run,
//! names by `/etc/hosts` and DNS, merged shares, an agent. Without root it only prints that it is
//! skipped.

use super::image;
use crate::bench::server::free_address;
use crate::commands::told;
use crate::files::{at, emptied, put};
use crate::{names, setup};
use rustix::process::geteuid;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name that only `/etc/hosts` has, and the one that only DNS has.
const NAMES: [&str; 2] = ["cache.hosts.test", "cache.dns.test"];
/// The name server in the guest's `/etc/resolv.conf`.
const RESOLVER: &str = "127.0.0.77";
/// The largest exposure of the unit by `systemd-analyze security`, in tenths of 10.
const EXPOSURE_MAX: u32 = 20;

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
    tried(&root, &[])?;
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
    tried(root, &[])?;
    start_resolver()?;
    put(&root.join("etc/hosts"), format!("127.0.0.1 {}\n", NAMES[0]).as_bytes())?;
    put(&root.join("etc/resolv.conf"), format!("nameserver {RESOLVER}\n").as_bytes())?;
    tried(root, &NAMES)?;
    println!("in an empty root: first run, names by hosts and DNS, two shares merged, an agent");
    Ok(())
}

/// Tries the program in `root` with servers of these names; a first run alone without any.
fn tried(root: &Path, names: &[&str]) -> Result<(), String> {
    let [port, master] = [free_address()?, free_address()?].map(|it| it.port().to_string());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/proof.sh");
    let mut proof = Command::new(script);
    proof.arg(root).args([&image::USER.to_string(), &port, &master]).args(names);
    told(&mut proof).map(drop)
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
