"""What a record says, and how close a figure of another file must be to it."""

import math

# The buckets of a record's histograms are at most so wide, as a part of the value.
BUCKET = 0.008
# The percentiles of a record.
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def ranked(times, unanswered, fraction):
    """The time at a rank among sorted times, above which operations without an answer rank."""
    # The small step keeps 0.99 of 100 from becoming more than 99.
    rank = math.ceil(fraction * (len(times) + unanswered) - 1e-9)
    return times[rank - 1] if 0 < rank <= len(times) else None


def assert_near(figure, recorded, what):
    """Fails unless a figure is that of the record, but for the width of a bucket. A record leaves
    out what it has too few operations for."""
    if recorded is None:
        return
    assert figure is not None, f"{what} is missing, not {recorded}"
    room = BUCKET * max(figure, recorded) + 1
    assert abs(figure - recorded) <= room, f"{what}: {figure} is not {recorded}"


def answered(distribution):
    """How many operations a distribution has times of."""
    return distribution["count"] - distribution["unanswered"]


def longest(distribution):
    """The longest answered operation; that of all is unknown beside unanswered ones."""
    known = distribution.get("answered_max_ns")
    return distribution["max_ns"] if known is None else known


def loads(record):
    """The counts of the whole load, of which a file of seconds tells."""
    return [record["phases"][phase] for phase in ("warmup", "measure", "cooldown")]
