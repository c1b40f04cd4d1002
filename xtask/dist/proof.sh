#!/bin/sh
# Tries memtide in a root that holds nothing else, as the user of the image and with the image's environment: a
# first run, names, two shares merged, an agent.
# usage: proof.sh ROOT USER PORT MASTER NAME…: two free ports, and names of this machine that /etc/hosts or DNS
# of the root have.
set -eu
root=$1 user=$2 port=$3 master=$4
shift 4
# Words instead of a function, so that a signal to a command in the background reaches it.
memtide="env -i HOME=/tmp PATH=/usr/bin:/usr/sbin:/bin:/sbin
    timeout 60 chroot --userspec=$user:$user $root /usr/bin/memtide"
load='--keys 100 --rate 500 --duration 1s --quiet'

$memtide run --duration 1s --quiet >/dev/null
[ $# -gt 0 ] || exit 0
$memtide serve --port "$port" >/dev/null &
server=$!
trap 'kill "$server"' EXIT
tries=300
until $memtide run --server "127.0.0.1:$port" --keys 10 --ops-max 10 --quiet >/dev/null 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { echo "memtide serve does not listen on port $port" >&2; exit 1; }
    sleep 0.2
done
for name; do
    $memtide run --server "$name:$port" $load >/dev/null
done

share() {
    $memtide run --shard "$1/2" --start-at "@$start" --server "127.0.0.1:$port" $load --json "/tmp/$1.json" >/dev/null
}
start=$(date +%s --date '3 seconds')
share 0 &
first=$!
share 1
wait "$first"
$memtide merge /tmp/0.json /tmp/1.json --json /tmp/merged.json >/dev/null

$memtide key new /tmp/lab --address "127.0.0.1:$master" --allow-target "127.0.0.1/32:$port" >/dev/null
$memtide agent --join /tmp/lab/agent.join --records /tmp/kept --once --quiet &
agent=$!
$memtide run --agents 1 --key /tmp/lab --server "127.0.0.1:$port" $load --json /tmp/agents.json >/dev/null
wait "$agent"
