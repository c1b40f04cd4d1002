"""Measured operations as others' packages read them, against the record of their run."""

import json
import tomllib

from figures import PERCENTILES, answered, assert_near, longest, ranked
from tables import about, schema, table

# Kinds of a record that are part of another, by the words of a row.
PARTS = {"get_hit": ("get", "hit"), "get_miss": ("get", "miss")}
# Outcomes that are answers.
ANSWERS = ("hit", "miss", "answered")
# What Parquet declares of a whole number.
WHOLE = ("INT64", "UINT_64")


def check_samples(path, record):
    """The rows are the operations of the record, by kind and outcome, with their times."""
    frame = table(path)
    totals = record["totals"]
    assert len(frame) == totals["intended"], f"{path}: {len(frame)} of {totals['intended']}"
    outcomes = frame["outcome"].value_counts()
    found = sum(int(outcomes.get(word, 0)) for word in ANSWERS)
    assert found == totals["answered"], f"{path}: {found} answered"
    for fate in ("failed", "timed_out", "lost", "dropped", "unacknowledged", "abandoned"):
        assert int(outcomes.get(fate, 0)) == totals[fate], f"{path}: {fate}"
    for kind, recorded in record["response"].items():
        check_kind(path, rows_of(frame, kind), recorded, kind)
    # Those of the warm-up are before the first.
    index = sorted(frame["index"])
    assert index == list(range(index[0], index[0] + len(index))), "each operation has one row"


def rows_of(frame, kind):
    """The rows of a kind of operation."""
    if kind in PARTS:
        op, outcome = PARTS[kind]
        return frame[(frame["op"] == op) & (frame["outcome"] == outcome)]
    return frame if kind == "all" else frame[frame["op"] == kind]


def check_kind(path, rows, recorded, kind):
    assert len(rows) == recorded["count"], f"{path} {kind}: {len(rows)} of {recorded['count']}"
    some = rows[rows["outcome"].isin(ANSWERS)]
    assert len(some) == answered(recorded), f"{path} {kind}: {len(some)} answered"
    times = sorted(int(time) for time in some["received_ns"] - some["intended_ns"])
    if times:
        ends = (recorded["min_ns"], longest(recorded))
        assert (times[0], times[-1]) == ends, f"{path} {kind}: {times[0]}, {times[-1]}, not {ends}"
    for name, fraction in PERCENTILES.items():
        figure = ranked(times, recorded["unanswered"], fraction)
        assert_near(figure, recorded.get(f"{name}_ns"), f"{path} {kind} {name}")


def check_parquet(path, record):
    """Columns have types, and the file says what was run."""
    columns = schema(path)
    expected = {
        "intended_ns": (*WHOLE, False),
        "sent_ns": (*WHOLE, True),
        "received_ns": (*WHOLE, True),
        "op": ("BYTE_ARRAY", "UTF8", False),
        "outcome": ("BYTE_ARRAY", "UTF8", False),
        "bytes": (*WHOLE, False),
        "connection": (*WHOLE, True),
        "index": (*WHOLE, False),
        "key": ("BYTE_ARRAY", None, False),
        "size": (*WHOLE, True),
    }
    assert columns == expected, columns
    said = about(path)
    assert said["memtide.format"] == "memtide.samples/1"
    assert said["memtide.version"] == record["machine"]["memtide_version"]
    assert tomllib.loads(said["memtide.scenario"]) == record["scenario"]
    assert json.loads(said["memtide.tags"]) == record["tags"]
    units = json.loads(said["memtide.columns"])
    assert list(units) == list(columns) and units["sent_ns"]["unit"] == "ns", units
