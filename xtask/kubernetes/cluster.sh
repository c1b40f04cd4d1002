#!/bin/sh
# Starts a Kubernetes cluster of one node in the namespaces of its caller: etcd, the API server, the
# controllers, the scheduler, containerd and kubelet; and memcached on the node. It returns when the node is
# ready. Nothing here ends the programs: they end with the namespaces.
# usage: cluster.sh RUN LOGS CLUSTER IMAGES NODE SOCKET: folders for files and logs, the program that contains
# all of Kubernetes, the folder of images, the node's address, and containerd's socket.
set -eu
run=$1 logs=$2 cluster=$3 images=$4 node=$5 socket=$6
here=$(cd "$(dirname "$0")" && pwd)

# Programs of a cluster leave files here.
for place in /run /var/lib/cni /var/lib/kubelet /var/log/containers; do
    mkdir -p "$place"
    mount -t tmpfs tmpfs "$place"
done
ip link set lo up
ip link add node0 type veth peer name node1
ip link set node1 up
ip address add "$node/24" dev node0
ip link set node0 up
ip route add default dev node0

mkdir -p "$run/bin" "$run/pki" "$run/cni" "$run/kubelet/seccomp"
for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
    ln -s "$cluster" "$run/bin/$name"
done
openssl genrsa -out "$run/pki/sa.key" 2048 2>/dev/null
openssl rsa -in "$run/pki/sa.key" -pubout -out "$run/pki/sa.pub" 2>/dev/null
admin=$(openssl rand -hex 16) worker=$(openssl rand -hex 16)
printf '%s,admin,1,system:masters\n%s,system:node:node,2,system:nodes\n' "$admin" "$worker" >"$run/pki/tokens.csv"

filled() { # FILE TOKEN
    sed "s|\$RUN|$run|; s|\$LOGS|$logs|; s|\$SOCKET|$socket|; s|\$NODE|$node|; s|\$TOKEN|$2|" "$here/$1"
}
filled access.yaml "$admin" >"$run/admin.conf"
filled access.yaml "$worker" >"$run/node.conf"
filled pods.conflist '' >"$run/cni/pods.conflist"
filled containerd.toml '' >"$run/containerd.toml"
filled kubelet.yaml '' >"$run/kubelet.yaml"
cp "$here/no-uring.json" "$run/kubelet/seccomp/"

export PATH="$run/bin:$PATH" KUBECONFIG="$run/admin.conf" HOME="$run"
start() { # NAME WORDS…
    log=$logs/$1.log
    "$@" >"$log" 2>&1 </dev/null &
}
ready() { # WHAT COMMAND…: waits until the command succeeds
    what=$1 tries=900
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        if [ "$tries" = 0 ]; then
            echo "$what: not ready within 180 s; see $logs" >&2 && exit 1
        fi
        sleep 0.2
    done
}
is_ready() { kubectl get nodes --no-headers | grep -qw Ready; }

start containerd --config "$run/containerd.toml"
start etcd --data-dir "$run/etcd" --unsafe-no-fsync \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
start kube-apiserver --etcd-servers=http://127.0.0.1:2379 --cert-dir="$run/pki" \
    --advertise-address="$node" --secure-port=6443 --service-cluster-ip-range=10.78.0.0/24 \
    --service-account-issuer=https://memtide.test \
    --service-account-key-file="$run/pki/sa.pub" --service-account-signing-key-file="$run/pki/sa.key" \
    --token-auth-file="$run/pki/tokens.csv" --authorization-mode=Node,RBAC \
    --kubelet-preferred-address-types=InternalIP
ready 'the API server' kubectl get --raw /readyz
start kube-controller-manager --kubeconfig="$run/admin.conf" --leader-elect=false \
    --service-account-private-key-file="$run/pki/sa.key" --root-ca-file="$run/pki/apiserver.crt"
start kube-scheduler --kubeconfig="$run/admin.conf" --leader-elect=false
ready containerd test -S "$socket"
for image in "$images"/*; do
    ctr --address "$socket" --namespace k8s.io images import "$image" >/dev/null
done
start kubelet --config="$run/kubelet.yaml" --kubeconfig="$run/node.conf" --root-dir="$run/kubelet" \
    --hostname-override=node --node-ip="$node"
# The server under load, at the port that the policies allow.
start memcached -u nobody -U 0 -l "$node" -p 11211 -m 256
ready 'the node' is_ready
