//! A cluster of one node: etcd, the API server, the controllers, the scheduler, kubelet and
//! containerd, each a child of this process, and a name server for its pods. Nothing here ends it:
//! its processes, mounts and network end with the namespaces of this process.

use crate::dist::{put, told};
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

const PROGRAMS: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"];
const PODS: &str = "10.79.0.0/24";
const SERVICES: &str = "10.78.0.0/24";
const SOCKET: &str = "/run/memtide-containerd.sock";
const START_MAX: Duration = Duration::from_secs(180);
/// The time for which an answer of the API about a name is kept.
const NAME_AGE_MAX: Duration = Duration::from_secs(1);

/// A running cluster.
pub(super) struct Cluster {
    folder: PathBuf,
    logs: PathBuf,
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
        pause: &str,
    ) -> Result<Self, String> {
        let mut cluster = Self { folder, logs, children: Vec::new() };
        cluster.prepare(program, pause)?;
        let config = cluster.folder.join("containerd.toml");
        let mut containerd = Command::new("containerd");
        cluster.spawn("containerd", containerd.arg("--config").arg(config))?;
        cluster.start_control()?;
        let there = |_: &Self| Path::new(SOCKET).exists();
        cluster.wait("containerd", there)?;
        for image in images {
            let mut import = Command::new("ctr");
            import.args(["--address", SOCKET, "--namespace", "k8s.io", "images", "import"]);
            told(import.arg(image))?;
        }
        let mut kubelet = cluster.program("kubelet");
        kubelet.arg(flag("--config", &cluster.folder.join("kubelet.yaml")));
        kubelet.arg(flag("--kubeconfig", &cluster.folder.join("node.conf")));
        kubelet.arg(flag("--root-dir", &cluster.folder.join("kubelet")));
        kubelet.arg("--hostname-override=node").arg(format!("--node-ip={NODE}"));
        cluster.spawn("kubelet", &mut kubelet)?;
        cluster.wait("the node", |cluster| {
            let nodes = told(cluster.kubectl("").args(["get", "nodes", "--no-headers"]));
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
        let failed = |error| format!("{}: {error}", log.display());
        let out = File::create(&log).map_err(failed)?;
        let err = out.try_clone().map_err(failed)?;
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

    fn start_control(&mut self) -> Result<(), String> {
        let (pki, store) = (self.folder.join("pki"), "http://127.0.0.1:2379");
        let mut etcd = self.program("etcd");
        etcd.arg("--data-dir").arg(self.folder.join("etcd")).arg("--unsafe-no-fsync");
        etcd.args(["--listen-client-urls", store, "--advertise-client-urls", store]);
        etcd.args(["--listen-peer-urls", "http://127.0.0.1:2380"]);
        self.spawn("etcd", &mut etcd)?;
        let mut server = self.program("kube-apiserver");
        server.arg(format!("--etcd-servers={store}")).arg(flag("--cert-dir", &pki));
        server.arg(format!("--advertise-address={NODE}")).arg("--secure-port=6443");
        server.arg(format!("--service-cluster-ip-range={SERVICES}"));
        server.arg("--service-account-issuer=https://memtide.test");
        server.arg(flag("--service-account-key-file", &pki.join("sa.pub")));
        server.arg(flag("--service-account-signing-key-file", &pki.join("sa.key")));
        server.arg(flag("--token-auth-file", &pki.join("tokens.csv")));
        server.args([
            "--authorization-mode=Node,RBAC",
            "--kubelet-preferred-address-types=InternalIP",
        ]);
        self.spawn("kube-apiserver", &mut server)?;
        self.wait("the API server", |cluster| {
            told(&mut cluster.kubectl("get --raw /readyz")).is_ok()
        })?;
        let admin = flag("--kubeconfig", &self.folder.join("admin.conf"));
        let mut controllers = self.program("kube-controller-manager");
        controllers.arg(&admin).arg("--leader-elect=false");
        controllers.arg(flag("--service-account-private-key-file", &pki.join("sa.key")));
        controllers.arg(flag("--root-ca-file", &pki.join("apiserver.crt")));
        self.spawn("kube-controller-manager", &mut controllers)?;
        let mut scheduler = self.program("kube-scheduler");
        self.spawn("kube-scheduler", scheduler.arg(&admin).arg("--leader-elect=false"))
    }

    fn program(&self, name: &str) -> Command {
        Command::new(self.folder.join("bin").join(name))
    }

    /// Writes the files that the programs read, and links each program to `program`.
    fn prepare(&self, program: &Path, pause: &str) -> Result<(), String> {
        let folder = &self.folder;
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).map_err(|error| format!("{}: {error}", bin.display()))?;
        for name in PROGRAMS {
            let linked = std::os::unix::fs::symlink(program, bin.join(name));
            linked.map_err(|error| format!("{name}: {error}"))?;
        }
        let openssl = |line: &str| told(Command::new("openssl").args(line.split_whitespace()));
        let pki = folder.join("pki");
        put(&pki.join("sa.key"), openssl("genrsa 2048")?.as_bytes())?;
        let mut public = Command::new("openssl");
        public.args(["rsa", "-pubout", "-in"]).arg(pki.join("sa.key"));
        let public = public.stderr(Stdio::null());
        put(&pki.join("sa.pub"), told(public)?.as_bytes())?;
        let (admin, node) = (openssl("rand -hex 16")?, openssl("rand -hex 16")?);
        let tokens =
            format!("{admin},admin,1,system:masters\n{node},system:node:node,2,system:nodes\n");
        put(&pki.join("tokens.csv"), tokens.as_bytes())?;
        let profile = serde_json::json!({
            "defaultAction": "SCMP_ACT_ALLOW",
            "syscalls": [{
                "names": ["io_uring_setup", "io_uring_enter", "io_uring_register"],
                "action": "SCMP_ACT_ERRNO",
                "errnoRet": 1,
            }],
        });
        let profiles = folder.join("kubelet/seccomp");
        put(&profiles.join(NO_URING), profile.to_string().as_bytes())?;
        put(&folder.join("admin.conf"), access(&admin).as_bytes())?;
        put(&folder.join("node.conf"), access(&node).as_bytes())?;
        put(&folder.join("cni/pods.conflist"), self.network().as_bytes())?;
        put(&folder.join("containerd.toml"), self.runtime(pause).as_bytes())?;
        put(&folder.join("kubelet.yaml"), self.kubelet().as_bytes())
    }

    /// The network configuration: pods and node share one bridge. Network policies have no effect
    /// on it.
    fn network(&self) -> String {
        let leases = self.folder.join("leases");
        serde_json::json!({
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [{
                "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false,
                "ipam": {
                    "type": "host-local", "ranges": [[{"subnet": PODS}]], "dataDir": leases,
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }],
        })
        .to_string()
    }

    fn runtime(&self, pause: &str) -> String {
        let folder = self.folder.display();
        format!(
            r#"version = 2
root = "{folder}/containerd"
state = "/run/memtide-containerd"
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
"#
        )
    }

    fn kubelet(&self) -> String {
        let logs = self.logs.join("pods");
        format!(
            r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {{anonymous: {{enabled: true}}, webhook: {{enabled: false}}}}
authorization: {{mode: AlwaysAllow}}
containerRuntimeEndpoint: unix://{SOCKET}
clusterDNS: ["{NODE}"]
clusterDomain: cluster.local
resolvConf: ""
podLogsDir: "{logs}"
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
imageGCHighThresholdPercent: 100
evictionHard:
  memory.available: 50Mi
  nodefs.available: 0%
  nodefs.inodesFree: 0%
  imagefs.available: 0%
"#,
            logs = logs.display()
        )
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

/// A client's configuration: the address of the API server, and the client's credentials.
fn access(token: &str) -> String {
    format!(
        r#"apiVersion: v1
kind: Config
clusters:
- name: proof
  cluster: {{server: "https://{NODE}:6443", insecure-skip-tls-verify: true}}
users: [{{name: proof, user: {{token: "{token}"}}}}]
contexts: [{{name: proof, context: {{cluster: proof, user: proof, namespace: memtide}}}}]
current-context: proof
"#
    )
}

fn flag(name: &str, value: &Path) -> String {
    format!("{name}={}", value.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_service_and_has_the_addresses_of_its_pods() {
        let slices = serde_json::json!({"items": [{
            "metadata": {"namespace": "n", "labels": {"kubernetes.io/service-name": "cache"}},
            "endpoints": [
                {"addresses": ["10.0.0.1"], "conditions": {"ready": true}},
                {"addresses": ["10.0.0.2"], "conditions": {"ready": false}},
                {"addresses": ["10.0.0.3"]},
            ],
        }]});
        let known = addresses(&slices, "cache.n.svc.cluster.local").unwrap();
        assert_eq!(known, [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 3)]);
        for unknown in ["cache", "cache.m.svc.cluster.local", "other.n.svc.cluster.local"] {
            assert_eq!(addresses(&slices, unknown), None, "{unknown}");
        }
    }
}
