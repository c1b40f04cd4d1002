# The first process of a cluster's own namespaces (PID, mount, network, UTS): controller, munge and
# the network of the nodes, each a network and UTS namespace with its slurmd. What it starts ends
# with it, and it ends with its stdin, so nothing outlives the handle that holds the other end.
# usage: sh cluster.sh FOLDER NODES, where FOLDER holds slurm.conf and munge.key
set -eu
folder=$1 nodes=$2
[ $$ -eq 1 ] || { echo "this is not the first process of a PID namespace" >&2; exit 1; }
cleanup() {
    cd /
    kill -KILL -1 || true
    rm -rf "$folder"
}
trap cleanup EXIT
fail() {
    tail "$folder"/*.out "$folder"/*.log >&2 || true
    echo "$1" >&2
    exit 1
}

# /run is this mount namespace's own, so the names of network namespaces are too.
mount -t tmpfs none /run
hostname ctl
ip link set lo up
ip link add br0 type bridge
ip addr add 10.77.1.254/24 dev br0
ip link set br0 up
mkdir "$folder/state" "$folder/spool"
munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.sock" \
    --seed-file="$folder/munge.seed" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" >"$folder/munged.out" 2>&1 </dev/null &
slurmctld -D -c >"$folder/slurmctld.out" 2>&1 </dev/null &
controller=$!
for i in $(seq "$nodes"); do
    ip netns add "n$i"
    ip -n "n$i" link set lo up
    ip link add "v$i" type veth peer name eth0 netns "n$i"
    ip link set "v$i" master br0 up
    ip -n "n$i" addr add "10.77.1.$i/24" dev eth0
    ip -n "n$i" link set eth0 up
    mkdir "$folder/spool/n$i"
    nsenter --net="/run/netns/n$i" unshare --uts sh -c "hostname n$i; exec slurmd -D" \
        >"$folder/slurmd-n$i.out" 2>&1 </dev/null &
done
tries=0
until [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || fail "the nodes did not become idle in 30 s"
    # A process that has ended has no program.
    [ -e "/proc/$controller/exe" ] || fail "the controller has ended"
    sleep 0.1
done
echo up
# Until the other end is closed.
read -r _ || true
