#!/bin/sh
# Writes a container image as a docker-archive, which `docker load`, `podman load` and `ctr images import` read;
# byte for byte equal each time, without a daemon. Its programs are in /usr/bin; a container starts the first.
# usage: image.sh FILE IMAGE USER NAME=PROGRAM…: the user's number, and the programs with their names there.
set -eu
file=$1 image=$2 user=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
mkdir -p "$work/root/etc" "$work/root/tmp" "$work/root/usr/bin"
chmod 1777 "$work/root/tmp"
echo "memtide:x:$user:$user:memtide:/tmp:/usr/sbin/nologin" >"$work/root/etc/passwd"
echo "memtide:x:$user:" >"$work/root/etc/group"
for program; do
    install -m 755 "${program#*=}" "$work/root/usr/bin/${program%%=*}"
done
pack() { # FOLDER FILE NAME…
    folder=$1 packed=$2
    shift 2
    tar --sort=name --format=gnu --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$folder" -cf "$packed" "$@"
}
digest() { sha256sum "$1" | cut -d ' ' -f 1; }
pack "$work/root" "$work/layer.tar" etc tmp usr
cat >"$work/config" <<JSON
{"architecture": "amd64", "os": "linux",
 "config": {"Entrypoint": ["/usr/bin/${1%%=*}"], "Cmd": ["run"], "Env": ["PATH=/usr/bin", "HOME=/tmp"],
            "User": "$user:$user", "WorkingDir": "/tmp"},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(digest "$work/layer.tar")"]},
 "history": [{"created_by": "cargo xtask dist --image"}]}
JSON
config=$(digest "$work/config").json
mv "$work/config" "$work/$config"
echo "[{\"Config\": \"$config\", \"RepoTags\": [\"$image\"], \"Layers\": [\"layer.tar\"]}]" >"$work/manifest.json"
pack "$work" "$file" "$config" layer.tar manifest.json
