#!/bin/sh
# Tries the manifests beside this file on the cluster and namespace of kubectl's current context: a strict
# dry run of all three sets, then the commands of README.md for one of them with small sizes. Needs kubectl
# and memtide on PATH, and leaves nothing in the cluster. The record of shares or agents is written to run.json;
# the records of shares-volume are on the volume, and deleted with it unless it is retained.
set -eu
usage='usage: try.sh SERVER [shares | shares-volume | agents [IMAGE [NETWORK]]]'
server=${1:?$usage}
kind=${2:-shares}
image=${3:-localhost/memtide:latest}
network=${4:-10.0.0.0/8:11211} # what agents may load
case $kind in
shares) heading='### Shares, records by log' ;;
shares-volume) heading='### Shares, records on a volume' ;;
agents) heading='### Agents and a master' ;;
*) echo "$usage" >&2 && exit 2 ;;
esac

there=$(kubectl get --ignore-not-found -o name job/memtide job/memtide-master \
    deployment/memtide-agents secret/memtide-key pvc/memtide-records)
if [ -n "$there" ]; then
    echo "this namespace already has: $there; use another one, or delete them" >&2 && exit 1
fi

here=$(cd "$(dirname "$0")" && pwd)
record=$PWD/run.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/deploy"
cp -R "$here" "$work/deploy/kubernetes"
cd "$work"

for set in shares shares-volume agents; do
    folder=deploy/kubernetes/$set
    sed -i "s|{name: localhost/memtide,.*}|{name: localhost/memtide, newName: ${image%:*}, newTag: ${image##*:}}|" \
        "$folder/kustomization.yaml"
    sed -i "s|^MEMTIDE_SERVER=.*|MEMTIDE_SERVER=$server|; s|^MEMTIDE_DURATION=.*|MEMTIDE_DURATION=5s|
        s|^MEMTIDE_RATE=.*|MEMTIDE_RATE=4k\nMEMTIDE_KEYS=10000|" "$folder/run.env"
    sed -i 's|cpu: "[12]"|cpu: 50m|' "$folder"/*.yaml
    kubectl apply --dry-run=server --validate=strict -k "$folder"
done

# The first block of commands below the heading.
awk -v heading="$heading" '$0 == heading { found = 1 }
    /^```$/ { if (inside) exit }
    inside { print }
    found && /^```sh$/ { inside = 1 }' "$here/README.md" |
    sed "s|10.0.0.0/8:11211|$network|" >commands
end() {
    kubectl delete --ignore-not-found --cascade=foreground -k "deploy/kubernetes/$kind"
    kubectl delete --ignore-not-found secret memtide-key
    rm -rf "$work"
}
trap end EXIT
sh -eu ./commands
find . -name run.json -exec cp {} "$record" \;
echo "the manifests work here"
