#!/usr/bin/env bash
# One memtide run by all nodes of a Slurm allocation: a share on each node, started together, and
# one merged record.
#
#   sbatch --nodes=4 run.sh --server cache:11211 --rate 2M --duration 60s
#   salloc --nodes=4 ./run.sh --server cache:11211 --rate 2M --duration 60s
#
# All words go to `memtide run`. README.md describes the variables below and the exit codes.
#SBATCH --job-name=memtide
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-requeue
#SBATCH --time=00:30:00
set -euo pipefail

: "${SLURM_JOB_ID:?there is no Slurm allocation: start this script with sbatch or salloc}"
memtide=${PROGRAM:-memtide}
records=${RECORDS:-$PWD/memtide-$SLURM_JOB_ID}
mkdir -p "$records"
# Fails if the job is started a second time: records of the first start are not overwritten.
mkdir "$records/shares"

case ${BARRIER:=pmi} in
    pmi) mpi=pmi2 barrier=pmi ;;
    dir) mpi=none barrier=dir:$records/start ;;
    *) echo "BARRIER is '$BARRIER', which is neither pmi nor dir" >&2; exit 2 ;;
esac

step=(--label --mpi="$mpi" --kill-on-bad-exit=1)
# srun takes over how many tasks there are, but not how many CPUs each has.
if [ -n "${SLURM_CPUS_PER_TASK:-}" ]; then
    step+=(--cpus-per-task="$SLURM_CPUS_PER_TASK")
fi
# Each task names its record by its own number, so these variables are for its own shell.
# shellcheck disable=SC2016
share='exec "$1" run --shard auto --barrier "$2" --json "$3/$SLURM_PROCID.json" "${@:4}" >/dev/null'

step_status=0
srun "${step[@]}" bash -c "$share" share "$memtide" "$barrier" "$records/shares" "$@" ||
    step_status=$?

if ! compgen -G "$records/shares/*.json" >/dev/null; then
    echo "no share has written a record; srun ended with $step_status" >&2
    exit $((step_status > 0 ? step_status : 1))
fi
# The merge names shares that are missing and judges the goals.
merge_status=0
"$memtide" merge "$records/shares" --json "$records/merged.json" || merge_status=$?
echo "records: $records"
exit $((merge_status > 0 ? merge_status : step_status))
