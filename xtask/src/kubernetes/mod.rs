//! `cargo xtask kubernetes`: the manifests of `deploy/kubernetes` on a real cluster of one node, on
//! this machine. The cluster has processes, mounts and network of its own, which end with this
//! process in any case. It needs root; without it, it prints that it is skipped.

mod services;
mod steps;

use crate::commands::told;
use crate::dist::{self, image};
use crate::files::{at, emptied, removed};
use crate::setup;
use rustix::process::geteuid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use steps::Proof;

/// The image that holds a pod's namespaces.
const PAUSE: &str = "localhost/pause:latest";
/// The image of memtide that exits with 1 in the pod of one index.
const FAILS: &str = "localhost/memtide-fails:latest";
/// Folders of the machine that are mounted empty in a cluster's namespaces.
const MADE: [&str; 3] = ["/var/lib/cni", "/var/lib/kubelet", "/var/log/containers"];
/// The address of the node, which pods reach.
const NODE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const SOCKET: &str = "/run/memtide-containerd.sock";
const CGROUPS: &str = "/sys/fs/cgroup";
const NO_GO: &str = "a cluster is built with Go 1.24 or later, which is not on PATH; or name one \
                     that is built with --cluster";
/// The time that the kernel may take to remove the last process of a control group.
const SWEEP_MAX: Duration = Duration::from_secs(10);

/// Programs that exist and need not be built.
pub(crate) struct Options {
    /// All programs of a cluster in one, as `xtask/kubernetes` builds it.
    pub(crate) cluster: Option<PathBuf>,
    /// A static memtide.
    pub(crate) program: Option<PathBuf>,
}

/// Builds missing programs, runs a cluster, and proves the manifests in it.
///
/// # Errors
/// If something cannot be built or does not start, or a proof fails.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    if let Some(why) = missing(options) {
        println!("skipped: {why}");
        return Ok(());
    }
    let folder = root.join("target/kubernetes");
    let absolute = |path: &PathBuf| fs::canonicalize(path).map_err(at(path));
    let program = match &options.program {
        Some(program) => absolute(program)?,
        None => {
            dist::run(root, &dist::Options { image: true, deb: false })?;
            root.join("target/dist/memtide")
        }
    };
    let built = match &options.cluster {
        Some(built) => absolute(built)?,
        None => built(root, &folder)?,
    };
    sweep(&folder)?;
    write_images(root, &folder, &program)?;
    let before = traces()?;
    let outcome = isolated(&built, &program);
    outcome.and(sweep(&folder)).and(remove_traces(&before))
}

/// The reason why nothing can be proved here, if there is one.
fn missing(options: &Options) -> Option<String> {
    if !geteuid().is_root() {
        return Some("a cluster needs root: namespaces, mounts and control groups".to_owned());
    }
    if !Path::new(CGROUPS).is_dir() {
        return Some(format!("{CGROUPS} has no control groups"));
    }
    let tools = setup::install_missing(setup::KUBERNETES).err();
    let needs_go = options.cluster.is_none() && setup::find("go").is_none();
    tools.or_else(|| needs_go.then(|| NO_GO.to_owned()))
}

/// The program that contains a whole cluster, in `folder`. A build takes 12 minutes of one CPU, and
/// 4 GB for the modules and the compiler's cache, which are deleted at its end.
fn built(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let program = folder.join("cluster");
    if !program.is_file() {
        let mut build = Command::new(root.join("xtask/kubernetes/build.sh"));
        crate::commands::run(build.arg(folder))?;
    }
    Ok(program)
}

/// Writes the images that the node has, so that nothing is fetched.
fn write_images(root: &Path, folder: &Path, program: &Path) -> Result<(), String> {
    let images = emptied(folder.join("images"))?;
    dist::add_target(root)?;
    let pod = images.join("pod");
    let mut rustc = Command::new("rustc");
    rustc.current_dir(root).args(["--edition", "2024", "-O", "-C", "strip=symbols"]);
    rustc.args(["--target", dist::TARGET, "xtask/kubernetes/pod.rs", "-o"]).arg(&pod);
    crate::commands::run(&mut rustc)?;
    image::write(&images.join("pause.tar"), PAUSE, &[("pause", &pod)])?;
    image::write(&images.join("fails.tar"), FAILS, &[("fails", &pod), ("memtide", program)])?;
    image::write(&images.join("memtide.tar"), image::NAME, &[("memtide", program)])?;
    fs::remove_file(&pod).map_err(at(&pod))
}

/// Runs `inside` in namespaces of its own. They end with it, and it ends with this process.
fn isolated(built: &Path, program: &Path) -> Result<(), String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let registered = signal_hook::flag::register(signal, Arc::clone(&stop));
        registered.map_err(|error| format!("signal {signal}: {error}"))?;
    }
    let this = env::current_exe().map_err(|error| format!("the path of xtask: {error}"))?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private"]);
    command.args(["--net", "--pid", "--mount-proc", "--fork", "--kill-child=KILL"]);
    command.arg(this).args(["kubernetes", "--inside", "--cluster"]).arg(built);
    command.arg("--program").arg(program);
    // A terminal's Ctrl-C reaches only this process, which then ends all others.
    let child = command.stdin(Stdio::null()).process_group(0).spawn();
    let mut child = child.map_err(|error| format!("cannot start setpriv: {error}"))?;
    loop {
        let ended = child.try_wait().map_err(|error| format!("cannot wait: {error}"))?;
        match ended {
            Some(status) if status.success() => return Ok(()),
            Some(_) => return Err("the proof on the cluster has failed".to_owned()),
            None if stop.load(Ordering::Relaxed) => {
                drop(child.kill());
                drop(child.wait());
                return Err("interrupted".to_owned());
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Runs a cluster, and the proof in it, within the separate namespaces.
///
/// # Errors
/// If the cluster does not start, or a proof fails.
pub(crate) fn inside(root: &Path, options: &Options) -> Result<(), String> {
    let (Some(built), Some(program)) = (&options.cluster, &options.program) else {
        return Err("--inside needs --cluster and --program".to_owned());
    };
    let began = Instant::now();
    let folder = root.join("target/kubernetes");
    let (state, logs) = (emptied(folder.join("run"))?, emptied(folder.join("logs"))?);
    let mut start = Command::new(root.join("xtask/kubernetes/cluster.sh"));
    start.args([&state, &logs, built, &folder.join("images")]);
    crate::commands::run(start.args([&NODE.to_string(), SOCKET]))?;
    services::answer(&state)?;
    std::os::unix::fs::symlink(program, state.join("bin/memtide")).map_err(at(program))?;
    println!("{:>6.1} s  a cluster of one node is up", began.elapsed().as_secs_f64());
    Proof { root: root.to_owned(), cluster: state, folder: emptied(folder.join("work"))? }.all()?;
    println!("{:>6.1} s  all of it", began.elapsed().as_secs_f64());
    Ok(())
}

/// What outlasts a cluster's processes: control groups of containers, inner ones first; folders.
fn traces() -> Result<Vec<PathBuf>, String> {
    let find = ["-depth", "-type", "d", "-path", "*/k8s.io*"];
    let groups = told(Command::new("find").arg(CGROUPS).args(find))?;
    let folders = MADE.into_iter().filter(|place| Path::new(place).exists());
    Ok(groups.lines().chain(folders).map(PathBuf::from).collect())
}

/// Removes traces that were not there before.
fn remove_traces(before: &[PathBuf]) -> Result<(), String> {
    let end = Instant::now() + SWEEP_MAX;
    for place in traces()?.iter().filter(|place| !before.contains(place)) {
        // The kernel refuses to remove a group that still has a process.
        while let Err(error) = fs::remove_dir(place) {
            if Instant::now() > end {
                return Err(format!("{}: {error}", place.display()));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

/// Removes the files of a cluster, except its logs and the results of the proof.
fn sweep(folder: &Path) -> Result<(), String> {
    removed(&folder.join("run"))?;
    removed(&folder.join("images"))
}
