//! The programs that the tests use, and their Debian packages.
//!
//! Installs only as root or with a sudo that needs no password; otherwise it prints the command.

use crate::files;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program that tests start, its package, and what it is for.
pub(crate) type Need = (&'static str, &'static str, &'static str);

const MEMCACHED: Need = ("memcached", "memcached", "the server under test");

/// The programs that the tests use.
pub(crate) const TESTS: &[Need] = &[
    MEMCACHED,
    ("saslpasswd2", "sasl2-bin", "it makes users for servers with SASL"),
    ("influxd", "influxdb", "points of runs are written there"),
    ("openssl", "openssl", "it makes certificates as people make them"),
];
/// The programs that the tests on a cluster use. These tests need root, and report that they were
/// skipped without it.
const CLUSTER: &[Need] = &[
    ("slurmctld", "slurmctld", "the controller of a cluster"),
    ("slurmd", "slurmd", "a node of a cluster"),
    ("srun", "slurm-client", "it starts shares of a run"),
    ("munged", "munge", "the nodes of a cluster trust its key"),
    ("ip", "iproute2", "each node has a network of its own"),
    ("nsenter", "util-linux", "each node has namespaces of its own"),
    ("faketime", "faketime", "a machine's time of day is wrong"),
];
/// The programs that make a Python environment, if Python cannot.
const PYTHON: &[Need] = &[("python3", "python3", "others' readers of our files run in it")];
/// The list of Python packages with which tests read memtide's files, below the root.
const READERS: &str = "crates/memtide/tests/it/readers/requirements.txt";
/// The folder in which they are installed, below the root.
const READERS_FOLDER: &str = "target/readers";
/// The checker of pages for readers with special needs, as npm names it, and the folder below the
/// root in which the tests look for it. It is under MPL-2.0 and never part of memtide.
const AXE: &str = "axe-core@4.10.3";
const AXE_FOLDER: &str = "target/axe";
/// The programs for counting instructions.
pub(crate) const INSTRUCTIONS: &[Need] = &[("valgrind", "valgrind", "it counts instructions")];
/// The programs for `cargo xtask pictures`.
pub(crate) const PICTURES: &[Need] = &[("chromium", "chromium", "it shows the HTML page")];
/// The programs for `cargo xtask dist`.
pub(crate) const STATIC: &[Need] =
    &[("musl-gcc", "musl-tools", "it compiles the C of the cryptography for a static program")];
/// The programs for `cargo xtask kubernetes`, other than compilers.
pub(crate) const KUBERNETES: &[Need] = &[
    MEMCACHED,
    ("containerd", "containerd", "it runs the containers of pods"),
    ("runc", "runc", "containerd starts containers by it"),
    ("/usr/lib/cni/bridge", "containernetworking-plugins", "it gives pods their network"),
    ("ip", "iproute2", "the node has a network of its own"),
    ("unshare", "util-linux", "the node has namespaces of its own"),
    ("openssl", "openssl", "it makes the keys of the cluster"),
];

/// Packaged servers live outside an ordinary user's PATH on some systems.
const MORE_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Makes sure that every needed program is installed.
///
/// # Errors
/// If a program is missing and may not be installed from here; the message is the command to type.
pub(crate) fn install_missing(needs: &[Need]) -> Result<(), String> {
    let missing: Vec<&Need> = needs.iter().filter(|need| find(need.0).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for (program, _, why) in &missing {
        eprintln!("xtask: {program} is missing ({why})");
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.1).collect();
    match privilege() {
        Some(prefix) => apt_install(prefix, &packages),
        None => Err(format!("please run\n\n    {}\n\nand then this again", by_hand(&packages))),
    }
}

/// Installs the programs for the tests on a cluster if these can run: as root on a system with
/// apt-get. If the installation fails, the tests are skipped.
pub(crate) fn install_cluster() {
    let root = answers("id", &["-u"]).as_deref() == Some("0");
    if !root || find("apt-get").is_none() {
        eprintln!("xtask: tests on a Slurm cluster need root and, to install it, apt-get");
    } else if let Err(error) = install_missing(CLUSTER) {
        eprintln!("xtask: tests on a Slurm cluster will be skipped: {error}");
    }
}

/// Makes a Python environment with other projects' readers of files, unless it is up to date. If it
/// cannot be made, the tests with them are skipped.
pub(crate) fn install_readers(root: &Path) {
    if let Err(error) = make_readers(root) {
        eprintln!("xtask: tests with others' readers will be skipped: {error}");
    }
}

fn make_readers(root: &Path) -> Result<(), String> {
    let folder = root.join(READERS_FOLDER);
    // The list of the wanted packages, and that of the installed ones, written after their
    // installation.
    let (wanted, installed) = (root.join(READERS), folder.join("requirements.txt"));
    let text = files::read(&wanted)?;
    if fs::read(&installed).is_ok_and(|there| there == text) {
        return Ok(());
    }
    install_missing(PYTHON)?;
    if answers("python3", &["-c", "import ensurepip"]).is_none() {
        match privilege() {
            Some(prefix) => apt_install(prefix, &["python3-venv"])?,
            None => return Err(format!("please run {}", by_hand(&["python3-venv"]))),
        }
    }
    crate::commands::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let words = ["--quiet", "--disable-pip-version-check", "install", "--requirement"];
    crate::commands::run(Command::new(folder.join("bin/pip")).args(words).arg(&wanted))?;
    files::put(&installed, &text)
}

/// Fetches the checker of pages, if there is a browser for it, unless it is there. If it cannot be
/// fetched, the tests with it are skipped.
pub(crate) fn install_page_checker(root: &Path) {
    let [(browser, package, _)] = PICTURES else { unreachable!("pages need a browser alone") };
    if find(browser).is_none() {
        eprintln!("xtask: tests of pages in a browser will be skipped without Debian's {package}");
    } else if let Err(error) = fetch_axe(root) {
        eprintln!("xtask: pages will not be checked by axe-core: {error}");
    }
}

fn fetch_axe(root: &Path) -> Result<(), String> {
    let folder = root.join(AXE_FOLDER);
    if folder.join("package/axe.min.js").exists() {
        return Ok(());
    }
    let npm = find("npm").ok_or("npm, which fetches axe-core, is not installed")?;
    fs::create_dir_all(&folder).map_err(files::at(&folder))?;
    let mut pack = Command::new(npm);
    pack.current_dir(&folder).args(["pack", "--silent", AXE]);
    let file = crate::commands::told(&mut pack)?;
    let mut unpack = Command::new("tar");
    unpack.current_dir(&folder).args(["-xzf", file.trim(), "package/axe.min.js"]);
    crate::commands::run(&mut unpack)
}

/// The path of `program`, if it is installed.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(MORE_FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// The words before `apt-get` that install packages without a question; `None` if that is not
/// possible.
fn privilege() -> Option<&'static [&'static str]> {
    find("apt-get")?;
    if answers("id", &["-u"]).as_deref() == Some("0") {
        return Some(&["env"]);
    }
    answers("sudo", &["-n", "true"])?;
    Some(&["sudo", "-n", "env"])
}

fn apt_install(prefix: &[&str], packages: &[&str]) -> Result<(), String> {
    let apt_get = |words: &[&str]| {
        let mut command = Command::new(prefix[0]);
        command.args(&prefix[1..]).args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]);
        command.args(words).stdin(Stdio::null());
        crate::commands::run(&mut command)
    };
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    let by_hand = || by_hand(packages);
    apt_get(&["update"])
        .and_then(|()| apt_get(&install))
        .map_err(|error| format!("{error}\nplease run\n\n    {}\n\nand then this again", by_hand()))
}

fn by_hand(packages: &[&str]) -> String {
    if Path::new("/etc/debian_version").exists() {
        format!("sudo apt-get update && sudo apt-get install -y {}", packages.join(" "))
    } else {
        format!("the package manager of this system, to install: {}", packages.join(" "))
    }
}

/// The trimmed output of a command, if it can be started and succeeds.
fn answers(program: &str, words: &[&str]) -> Option<String> {
    crate::commands::told(Command::new(program).args(words)).ok()
}

#[cfg(test)]
mod tests;
