//! `cargo xtask kubernetes`: the manifests of `deploy/kubernetes` on a real cluster of one node, on
//! this machine. The cluster has processes, mounts and network of its own, which end with this
//! process in any case. It needs root; without it, it prints that it is skipped.

mod binary;
mod cluster;
mod records;
mod steps;

use crate::commands::told;
use crate::dist::{self, image};
use crate::files::{self, at, emptied, removed};
use crate::setup;
use cluster::Cluster;
use rustix::process::geteuid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use steps::Proof;

/// The image that holds a pod's namespaces.
const PAUSE: &str = "localhost/pause:latest";
/// The image of memtide that exits with 1 in the pod of one index.
const FAILS: &str = "localhost/memtide-fails:latest";
/// Folders of the machine in which programs of a cluster leave files. In its namespaces they are
/// empty.
const EMPTY: [&str; 4] = ["/run", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers"];
const CGROUPS: &str = "/sys/fs/cgroup";
/// The control group in which containerd puts containers, below each hierarchy.
const GROUP: &str = "k8s.io";
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
        None => binary::built(root, &folder)?,
    };
    sweep(&folder)?;
    write_images(root, &folder, &program)?;
    let before = Traces::found()?;
    let outcome = isolated(&built, &program);
    let swept = sweep(&folder).and_then(|()| before.restore());
    outcome.and(swept)
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
    tools.or_else(|| options.cluster.is_none().then(binary::missing).flatten())
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
    for place in EMPTY {
        fs::create_dir_all(place).map_err(at(Path::new(place)))?;
        told(Command::new("mount").args(["-t", "tmpfs", "tmpfs", place]))?;
    }
    for words in [
        "link set lo up".to_owned(),
        "link add node0 type veth peer name node1".to_owned(),
        "link set node1 up".to_owned(),
        format!("address add {}/24 dev node0", cluster::NODE),
        "link set node0 up".to_owned(),
        "route add default dev node0".to_owned(),
    ] {
        told(Command::new("ip").args(words.split(' ')))?;
    }
    let folder = root.join("target/kubernetes");
    let (state, logs) = (emptied(folder.join("run"))?, emptied(folder.join("logs"))?);
    let images = files::inside(&folder.join("images"))?;
    let mut cluster = Cluster::start([state.clone(), logs], built, &images, PAUSE)?;
    std::os::unix::fs::symlink(program, state.join("bin/memtide")).map_err(at(program))?;
    println!("{:>6.1} s  a cluster of one node is up", began.elapsed().as_secs_f64());
    Proof::new(&mut cluster, root, emptied(folder.join("work"))?)?.all()?;
    println!("{:>6.1} s  all of it", began.elapsed().as_secs_f64());
    Ok(())
}

/// The traces of a cluster that outlast its processes: in the kernel and in the file system.
struct Traces {
    groups: Vec<PathBuf>,
    folders: Vec<&'static str>,
}

impl Traces {
    /// The traces that exist now.
    fn found() -> Result<Self, String> {
        let mut groups = Vec::new();
        let hierarchies = files::inside(Path::new(CGROUPS))?.into_iter();
        for hierarchy in hierarchies.chain([PathBuf::from(CGROUPS)]) {
            let group = hierarchy.join(GROUP);
            if group.is_dir() {
                let inner = files::inside(&group)?.into_iter().filter(|path| path.is_dir());
                groups.extend(inner);
                groups.push(group);
            }
        }
        let folders = EMPTY.into_iter().filter(|place| Path::new(place).exists()).collect();
        Ok(Self { groups, folders })
    }

    /// Removes traces that exist now and did not exist then.
    fn restore(&self) -> Result<(), String> {
        let end = Instant::now() + SWEEP_MAX;
        let now = Self::found()?;
        let folders = now.folders.iter().filter(|place| !self.folders.contains(place));
        let groups = now.groups.iter().filter(|group| !self.groups.contains(group));
        for place in groups.cloned().chain(folders.map(PathBuf::from)) {
            // The kernel refuses to remove a group that still has a process.
            while let Err(error) = fs::remove_dir(&place) {
                if Instant::now() > end {
                    return Err(format!("{}: {error}", place.display()));
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }
}

/// Removes the files of a cluster, except its logs and the results of the proof.
fn sweep(folder: &Path) -> Result<(), String> {
    removed(&folder.join("run"))?;
    removed(&folder.join("images"))
}
