//! A cluster of one node: etcd, the API server, the controllers, the scheduler, kubelet and
//! containerd, each a child of this process, and a name server for its pods. Nothing here ends it:
//! its processes, mounts and network end with the namespaces of this process.

use crate::commands::told;
use crate::files::{at, put};
use crate::names;
use serde_json::Value;
use std::fs::{self, File};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The address of the node, which pods reach.
pub(super) const NODE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// The name by which pods refer to a seccomp profile that forbids only io_uring.
pub(super) const NO_URING: &str = "no-uring.json";

/// The programs of Kubernetes, which are one file.
const PROGRAMS: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"];
const SOCKET: &str = "/run/memtide-containerd.sock";
const START_MAX: Duration = Duration::from_secs(180);
/// The time for which an answer of the API about a name is kept.
const NAME_AGE_MAX: Duration = Duration::from_secs(1);

/// The files that the programs read, with `$RUN` for the cluster's folder. Pods and node share one
/// bridge, on which network policies have no effect.
const FILES: [(&str, &str); 4] = [
    ("kubelet/seccomp/no-uring.json", include_str!("../../kubernetes/no-uring.json")),
    ("cni/pods.conflist", include_str!("../../kubernetes/pods.conflist")),
    ("containerd.toml", include_str!("../../kubernetes/containerd.toml")),
    ("kubelet.yaml", include_str!("../../kubernetes/kubelet.yaml")),
];
const ACCESS: &str = include_str!("../../kubernetes/access.yaml");

const CONTAINERD: &str = "--config $RUN/containerd.toml";
const ETCD: &str = "--data-dir $RUN/etcd --unsafe-no-fsync \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380";
const API_SERVER: &str = "--etcd-servers=http://127.0.0.1:2379 --cert-dir=$RUN/pki \
    --advertise-address=$NODE --secure-port=6443 --service-cluster-ip-range=10.78.0.0/24 \
    --service-account-issuer=https://memtide.test \
    --service-account-key-file=$RUN/pki/sa.pub --service-account-signing-key-file=$RUN/pki/sa.key \
    --token-auth-file=$RUN/pki/tokens.csv --authorization-mode=Node,RBAC \
    --kubelet-preferred-address-types=InternalIP";
const CONTROLLERS: &str = "--kubeconfig=$RUN/admin.conf --leader-elect=false \
    --service-account-private-key-file=$RUN/pki/sa.key --root-ca-file=$RUN/pki/apiserver.crt";
const SCHEDULER: &str = "--kubeconfig=$RUN/admin.conf --leader-elect=false";
const KUBELET: &str = "--config=$RUN/kubelet.yaml --kubeconfig=$RUN/node.conf \
    --root-dir=$RUN/kubelet --hostname-override=node --node-ip=$NODE";

/// A running cluster.
pub(super) struct Cluster {
    folder: PathBuf,
    logs: PathBuf,
    /// The name of the image that holds a pod's namespaces.
    pause: &'static str,
    children: Vec<(&'static str, Child)>,
}

impl Cluster {
    /// Starts a cluster from `program`, which contains all of Kubernetes, with files in `folder`
    /// and logs in `logs`. Its node has the images in `images`, one of which is called `pause`.
    ///
    /// # Errors
    /// If a program cannot be started, ends, or is not ready in time.
    pub(super) fn start(
        [folder, logs]: [PathBuf; 2],
        program: &Path,
        images: &[PathBuf],
        pause: &'static str,
    ) -> Result<Self, String> {
        let mut cluster = Self { folder, logs, pause, children: Vec::new() };
        cluster.prepare(program)?;
        cluster.begin("containerd", CONTAINERD)?;
        cluster.begin("etcd", ETCD)?;
        cluster.begin("kube-apiserver", API_SERVER)?;
        let answers = |cluster: &Self| told(&mut cluster.kubectl("get --raw /readyz")).is_ok();
        cluster.wait("the API server", answers)?;
        cluster.begin("kube-controller-manager", CONTROLLERS)?;
        cluster.begin("kube-scheduler", SCHEDULER)?;
        cluster.wait("containerd", |_| Path::new(SOCKET).exists())?;
        for image in images {
            let mut import = Command::new("ctr");
            import.args(["--address", SOCKET, "--namespace", "k8s.io", "images", "import"]);
            told(import.arg(image))?;
        }
        cluster.begin("kubelet", KUBELET)?;
        cluster.wait("the node", |cluster| {
            let nodes = told(&mut cluster.kubectl("get nodes --no-headers"));
            nodes.is_ok_and(|nodes| nodes.split_whitespace().any(|word| word == "Ready"))
        })?;
        cluster.serve_names()?;
        Ok(cluster)
    }

    /// `kubectl` with the words of `line`, as the cluster's administrator.
    pub(super) fn kubectl(&self, line: &str) -> Command {
        let mut command = self.program("kubectl");
        command.env("KUBECONFIG", self.folder.join("admin.conf")).env("HOME", &self.folder);
        command.args(line.split_whitespace());
        command
    }

    /// Starts `command` beside the cluster, with its output in the log `name`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        command: &mut Command,
    ) -> Result<(), String> {
        let log = self.logs.join(format!("{name}.log"));
        let out = File::create(&log).map_err(at(&log))?;
        let err = out.try_clone().map_err(at(&log))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        self.children.push((name, child));
        Ok(())
    }

    /// Waits until `ready` returns true.
    ///
    /// # Errors
    /// If a child ends meanwhile, or it takes too long.
    pub(super) fn wait(&mut self, what: &str, ready: impl Fn(&Self) -> bool) -> Result<(), String> {
        let end = Instant::now() + START_MAX;
        while !ready(self) {
            for (name, child) in &mut self.children {
                if let Ok(Some(status)) = child.try_wait() {
                    let log = self.logs.join(format!("{name}.log"));
                    return Err(format!("{name} ended with {status}; see {}", log.display()));
                }
            }
            if Instant::now() > end {
                let logs = self.logs.display();
                return Err(format!("{what}: not ready within {START_MAX:?}; see {logs}"));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Starts a program of the cluster with the words of `line`.
    fn begin(&mut self, name: &'static str, line: &str) -> Result<(), String> {
        let mut command = self.program(name);
        command.args(line.split_whitespace().map(|word| self.filled(word)));
        self.spawn(name, &mut command)
    }

    fn program(&self, name: &str) -> Command {
        match PROGRAMS.contains(&name) {
            true => Command::new(self.folder.join("bin").join(name)),
            false => Command::new(name),
        }
    }

    /// A text with the cluster's values in place of their names.
    fn filled(&self, text: &str) -> String {
        let (run, logs) = (self.folder.to_string_lossy(), self.logs.to_string_lossy());
        let text = text.replace("$RUN", &run).replace("$LOGS", &logs).replace("$SOCKET", SOCKET);
        text.replace("$NODE", &NODE.to_string()).replace("$PAUSE", self.pause)
    }

    /// Writes the files that the programs read, and links each program to `program`.
    fn prepare(&self, program: &Path) -> Result<(), String> {
        let folder = &self.folder;
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).map_err(at(&bin))?;
        for name in PROGRAMS {
            std::os::unix::fs::symlink(program, bin.join(name)).map_err(at(&bin))?;
        }
        let openssl = |line: &str| told(Command::new("openssl").args(line.split_whitespace()));
        let pki = folder.join("pki");
        put(&pki.join("sa.key"), openssl("genrsa 2048")?.as_bytes())?;
        let mut public = Command::new("openssl");
        public.args(["rsa", "-pubout", "-in"]).arg(pki.join("sa.key"));
        put(&pki.join("sa.pub"), told(&mut public)?.as_bytes())?;
        let (admin, node) = (openssl("rand -hex 16")?, openssl("rand -hex 16")?);
        let tokens =
            format!("{admin},admin,1,system:masters\n{node},system:node:node,2,system:nodes\n");
        put(&pki.join("tokens.csv"), tokens.as_bytes())?;
        for (name, token) in [("admin.conf", admin), ("node.conf", node)] {
            let text = self.filled(ACCESS).replace("$TOKEN", &token);
            put(&folder.join(name), text.as_bytes())?;
        }
        for (name, text) in FILES {
            put(&folder.join(name), self.filled(text).as_bytes())?;
        }
        Ok(())
    }

    /// Answers queries for names of services with the addresses of their pods, from the API.
    fn serve_names(&self) -> Result<(), String> {
        let socket = UdpSocket::bind((NODE, 53)).map_err(|error| format!("{NODE}:53: {error}"))?;
        let mut asked = self.kubectl("get endpointslices --all-namespaces --output json");
        let mut slices = Value::Null;
        let mut since = None;
        names::serve(socket, move |name| {
            if since.is_none_or(|since: Instant| since.elapsed() > NAME_AGE_MAX) {
                let text = told(&mut asked).unwrap_or_default();
                slices = serde_json::from_str(&text).unwrap_or_default();
                since = Some(Instant::now());
            }
            addresses(&slices, name)
        });
        Ok(())
    }
}

/// The addresses of a service's pods (`SERVICE.NAMESPACE.svc.cluster.local`); `None` if there is no
/// such service.
fn addresses(slices: &Value, name: &str) -> Option<Vec<Ipv4Addr>> {
    let (service, namespace) = name.strip_suffix(".svc.cluster.local")?.split_once('.')?;
    let of_service = |slice: &&Value| {
        let data = &slice["metadata"];
        data["namespace"] == namespace && data["labels"]["kubernetes.io/service-name"] == service
    };
    let mut slices = slices["items"].as_array()?.iter().filter(of_service).peekable();
    slices.peek()?;
    let points = slices.filter_map(|slice| slice["endpoints"].as_array()).flatten();
    // An endpoint's maker need not state that it is ready.
    let ready = points.filter(|point| point["conditions"]["ready"] != false);
    let texts = ready.filter_map(|point| point["addresses"].as_array()).flatten();
    Some(texts.filter_map(|text| text.as_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests;
