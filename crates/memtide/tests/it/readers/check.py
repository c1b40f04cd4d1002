"""Holds files of memtide against the records beside them: check.py WHAT, in their folder."""

import json
import sys

import check_cases
import check_samples
import check_seconds
from tables import assert_same, table


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def run():
    """All outputs of one run, and those that are made of its record."""
    record = read("r.json")
    assert record["totals"]["timed_out"] > 0 and record["totals"]["misses"] > 0, record["totals"]
    check_seconds.check_log("r.hlog", record)
    check_seconds.check_table("r.hgrm", record)
    check_seconds.check_intervals(["r.csv", "r.jsonl", "r.parquet"], {None: record})
    check_seconds.check_schema("r.parquet")
    check_cases.check_run("r.xml", record)
    assert any(goal["result"] != "met" for goal in record["goals"]), "a goal is missed on purpose"
    check_samples.check_samples("samples.parquet", record)
    check_samples.check_parquet("samples.parquet", record)
    # A record has its seconds for all kinds together, and whole histograms of each kind.
    check_seconds.check_log("again.hlog", record)
    again = [table(path) for path in ("again.csv", "again.jsonl", "again.parquet")]
    assert_same(again)
    check_seconds.check_schema("again.parquet")
    expected = sum(totals["answered"] for totals in check_seconds.loads(record))
    assert int(again[0]["answered"].sum()) == expected
    check_cases.check_run("again.xml", record)


def forms():
    """Runs whose samples are CSV and JSON Lines; and one simulated run in all three forms."""
    for form in ("csv", "jsonl"):
        check_samples.check_samples(f"{form}.{form}", read(f"{form}.json"))
    simulated = read("sim.json")
    paths = [f"sim.{form}" for form in ("csv", "jsonl", "parquet")]
    assert_same([table(path) for path in paths])
    check_samples.check_samples("sim.parquet", simulated)
    check_samples.check_parquet("sim.parquet", simulated)


def steps(name, fails):
    """The steps of a search or scan."""
    found = read(f"{name}.json")
    records = {step["number"]: step["record"] for step in found["steps"]}
    assert len(records) > 1, f"{len(records)} steps"
    paths = [f"{name}.{form}" for form in ("csv", "jsonl", "parquet")]
    check_seconds.check_intervals(paths, records)
    for number, record in records.items():
        check_seconds.check_log(f"{name}.hlog", record, prefix=f"step{number}.")
    check_cases.check_steps(f"{name}.xml", found, fails)


if __name__ == "__main__":
    {
        "run": run,
        "forms": forms,
        "scan": lambda: steps("scan", fails=True),
        "search": lambda: steps("search", fails=False),
    }[sys.argv[1]]()
