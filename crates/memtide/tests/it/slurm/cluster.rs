//! A real Slurm of four nodes on this machine, each a network and UTS namespace. It changes nothing
//! outside its temporary folder and namespaces, and ends with its handle: also if a test panics, if
//! it only half starts, and if the tests' process is killed.

use crate::child::{Turn, cleared};
use crate::prelude::*;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Child;

/// Number of nodes of a cluster, named `n1`, `n2` and so on.
pub(super) const NODES: u32 = 4;
/// Host of the controller, `srun` and servers, beside the nodes.
pub(super) const HEAD: &str = "10.77.1.254";

/// Programs that a cluster needs, each with its Debian package.
const PROGRAMS: &[(&str, &str)] = &[
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("srun", "slurm-client"),
    ("munged", "munge"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("unshare", "util-linux"),
];
/// A PID namespace ends with its first process, which is in the other namespaces too.
const NAMESPACES: &[&str] =
    &["--mount", "--pid", "--fork", "--net", "--uts", "--mount-proc", "--kill-child"];
const INIT: &str = include_str!("cluster.sh");

/// Commands that test, in namespaces of their own, whether a cluster is possible here.
const PROBE: &str = "mount -t tmpfs none /run && ip link add br0 type bridge && \
                     ip netns add n1 && ip link add v1 type veth peer name eth0 netns n1";
const SERVER: &str = "memcached -u nobody -U 0 -l $HEAD >/dev/null 2>&1 </dev/null & disown
     until (exec 3<>/dev/tcp/$HEAD/11211) 2>/dev/null; do sleep 0.05; done";
/// Some shells have no administrators' programs in PATH.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A running cluster.
pub(super) struct Cluster {
    /// `unshare`, whose only child is the cluster's first process, which ends at the end of its
    /// stdin.
    holder: Child,
    folder: Folder,
    _turn: Turn,
}

impl Cluster {
    /// A cluster with all nodes idle; none, with a sentence on stderr, if there cannot be one.
    pub(super) fn up(test: &str) -> Option<Self> {
        if let Err(why) = possible() {
            // Not a macro, because the test harness hides their output in a test that passes.
            drop(writeln!(std::io::stderr(), "slurm::{test} is skipped: {why}"));
            return None;
        }
        Some(Self::with(""))
    }

    /// A cluster with these lines in its configuration. Panics, with the output of its parts, if it
    /// does not start.
    pub(super) fn with(lines: &str) -> Self {
        let turn = shared();
        let folder = Folder::new();
        let configuration = folder.0.join("slurm.conf");
        fs::write(&configuration, slurm_conf(&folder.0) + lines).unwrap();
        write_key(&folder.0.join("munge.key"));
        let mut command = Command::new("unshare");
        command.args(NAMESPACES).args(["sh", "-c", INIT, "sh"]).arg(&folder.0);
        command.arg(NODES.to_string()).env("SLURM_CONF", configuration).env("PATH", PATH);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut cluster = Self { holder: command.spawn().unwrap(), folder, _turn: turn };
        let mut line = String::new();
        BufReader::new(cluster.holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line != "up\n" {
            // Only the first process holds the other end, and it has ended.
            let mut said = String::new();
            drop(cluster.holder.stderr.take().unwrap().read_to_string(&mut said));
            panic!("Slurm did not come up: {said}");
        }
        cluster
    }

    /// The kernel's name for its PID namespace, which contains all of its processes.
    pub(super) fn namespace(&self) -> PathBuf {
        let path = format!("/proc/{}/ns/pid_for_children", self.holder.id());
        fs::read_link(path).unwrap()
    }

    /// Its folder, which all nodes share and which is removed with it.
    pub(super) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Starts a memcached beside the controller, at `HEAD` with the usual port.
    pub(super) fn start_server(&self) {
        self.shell(SERVER).exits(0);
    }

    /// Runs `script` in a shell beside the controller to its end.
    pub(super) fn shell(&self, script: &str) -> Finished {
        self.start(script).finish()
    }

    /// Starts `script` in a shell beside the controller, in the cluster's folder. `MEMTIDE` is the
    /// program and `HEAD` the address.
    pub(super) fn start(&self, script: &str) -> Running {
        let of = format!("/proc/{}/ns", self.holder.id());
        let mut command = cleared(Command::new("nsenter"));
        for (flag, name) in
            [("net", "net"), ("uts", "uts"), ("mount", "mnt"), ("pid", "pid_for_children")]
        {
            command.arg(format!("--{flag}={of}/{name}"));
        }
        command.args([&format!("--wd={}", self.folder().display()), "bash", "-euc", script]);
        command.env("SLURM_CONF", self.folder().join("slurm.conf")).env("PATH", PATH);
        command.env("MEMTIDE", env!("CARGO_BIN_EXE_memtide")).env("HEAD", HEAD);
        Running::of(&mut command)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let ended = |holder: &mut Child| !matches!(holder.try_wait(), Ok(None));
        for _ in 0..500 {
            if ended(&mut self.holder) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // The first process gets SIGKILL when its parent has ended, and takes all others with it.
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

/// A folder that is removed with its handle.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        // A socket's path must be short, so it cannot be in the build folder.
        let name = format!("memtide-slurm-{}-{nth}", std::process::id());
        let path = std::env::temp_dir().join(name);
        drop(fs::remove_dir_all(&path));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The reason why there can be no cluster here, if there is one.
fn possible() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can make network namespaces".to_owned());
    }
    for (program, package) in PROGRAMS {
        let found = PATH.split(':').any(|folder| Path::new(folder).join(program).exists());
        if !found {
            return Err(format!("{program} is missing (apt-get install {package})"));
        }
    }
    let mut probe = Command::new("unshare");
    probe.args(NAMESPACES).args(["sh", "-c", PROBE]).env("PATH", PATH).stdin(Stdio::null());
    let output = probe.output().unwrap();
    let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("no namespaces here: {}", said())) }
}

fn write_key(path: &Path) {
    let mut key = [0; 1024];
    File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
    file.write_all(&key).unwrap();
}

/// The configuration: no cgroups, no accounting, whole nodes; all files in `folder`.
fn slurm_conf(folder: &Path) -> String {
    let folder = folder.display();
    let mut text = format!(
        "ClusterName=memtide\n\
         SlurmctldHost=ctl({HEAD})\n\
         SlurmUser=root\n\
         SlurmdUser=root\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={folder}/munge.sock\n\
         CredType=cred/munge\n\
         StateSaveLocation={folder}/state\n\
         SlurmdSpoolDir={folder}/spool/%n\n\
         SlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmdPidFile={folder}/slurmd-%n.pid\n\
         SlurmctldLogFile={folder}/slurmctld.log\n\
         SlurmdLogFile={folder}/slurmd-%n.log\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\n\
         MpiDefault=none\n\
         SelectType=select/linear\n\
         SlurmdParameters=config_overrides\n\
         KillWait=5\n"
    );
    for i in 1..=NODES {
        writeln!(text, "NodeName=n{i} NodeHostname=n{i} NodeAddr=10.77.1.{i} CPUs=2").unwrap();
    }
    writeln!(text, "PartitionName=all Nodes=n[1-{NODES}] Default=YES MaxTime=60 State=UP").unwrap();
    text
}
