#!/usr/bin/env bash
# One run by the machines in HOSTS, which ssh reaches without a question: HOSTS="a b c d" ./run.sh
# --server cache --rate 2M --duration 60s. All words go to `memtide run`.
set -euo pipefail
read -ra hosts <<<"${HOSTS:?names of machines}"
start=@$(($(date +%s) + ${DELAY:-10})) # must suffice for connections and fill
records=$(mktemp -d "$PWD/records.XXXXXX")
for i in "${!hosts[@]}"; do
    ssh "${hosts[i]}" memtide run --shard "$i/${#hosts[@]}" --start-at "$start" "${@@Q}" --json - \
        >"$records/$i.json" &
done
wait
find "$records" -name '*.json' -empty -delete # of shares that did not run: the merge names them
memtide merge "$records" --json "$records.json"
