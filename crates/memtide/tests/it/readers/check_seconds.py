"""Seconds of a run as others' packages read them: histogram log, intervals in three forms."""

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from figures import PERCENTILES, answered, assert_near, loads, longest, ranked
from tables import about, assert_same, schema, table


def histograms(path):
    """The histograms of a log, added up by their tags."""
    # One that holds all that the log can: an hour in ns, with its two digits.
    summed = {}
    everything = HdrHistogram(1, 3_600_000_000_000, 2)
    reader = HistogramLogReader(path, everything)
    while (found := reader.get_next_interval_histogram()) is not None:
        tag = found.get_tag()
        into = summed.setdefault(tag, HdrHistogram(1, 3_600_000_000_000, 2))
        into.add(found)
    return summed


def check_log(path, record, prefix=""):
    """The log has as many times of each kind as the record, and the same percentiles."""
    summed = histograms(path)
    for kind, recorded in record["response"].items():
        found = summed.get(prefix + kind)
        count = found.get_total_count() if found else 0
        assert count == answered(recorded), f"{kind}: {count} of {answered(recorded)} in {path}"
        for name, fraction in PERCENTILES.items():
            figure = ranked(times(found), recorded["unanswered"], fraction)
            assert_near(figure, recorded.get(f"{name}_ns"), f"{path} {kind} {name}")


def times(histogram):
    """The times of a histogram, sorted, each as the end of its bucket."""
    found = []
    for bucket in histogram.get_recorded_iterator() if histogram else ():
        found += [bucket.value_iterated_to] * bucket.count_added_in_this_iter_step
    return found


def check_table(path, record):
    """The table of percentiles ends with the record's count, and its percentiles are there."""
    rows, count = [], None
    for line in open(path, encoding="utf-8"):
        if line.startswith("#[Max"):
            count = int(line.rsplit("=", 1)[1].strip(" ]\n"))
        elif line.strip() and not line.startswith(("#", " " * 7 + "Value")):
            rows.append([float(cell) for cell in line.split()[:3]])
    recorded = record["response"]["all"]
    # The longest of all, and so the line that holds the count, is unknown beside unanswered ones.
    expected = None if recorded["unanswered"] else recorded["count"]
    assert count == expected, f"{path}: {count} of {expected}"
    for name, fraction in PERCENTILES.items():
        above = [ms for ms, level, _ in rows if level >= fraction]
        below = [ms for ms, level, _ in rows if level <= fraction]
        figure = recorded.get(f"{name}_ns")
        if figure is not None and above:
            low, high = below[-1] * 1e6, above[0] * 1e6
            assert low * 0.992 - 1 <= figure <= high * 1.008 + 1, f"{path} {name}: {figure}"


def check_intervals(paths, records):
    """The forms say the same, and the sums of each step are its record's. A run has no step."""
    frames = [table(path) for path in paths]
    assert_same(frames)
    frame = frames[0]
    for step, record in records.items():
        of_step = frame if step is None else frame[frame["step"] == step]
        of_all = of_step[of_step["kind"] == "all"]
        for column in ("answered", "timed_out", "settled", "bytes_sent", "bytes_received"):
            expected = sum(totals.get(column, 0) for totals in loads(record))
            if column == "settled":
                expected = sum(settled(totals) for totals in loads(record))
            found = int(of_all[column].sum())
            assert found == expected, f"{column} of step {step}: {found} of {expected}"
        for kind, recorded in record["response"].items():
            of_kind = of_step[of_step["kind"] == kind]
            found = int(of_kind["measured_answered"].sum())
            assert found == answered(recorded), f"{kind}: {found} of {answered(recorded)}"
            found = int(of_kind["measured_unanswered"].sum())
            assert found == recorded["unanswered"], f"{kind}: {found} without an answer"
            if answered(recorded):
                # Beside operations without an answer, the longest answered one is a bound.
                some = of_kind[["response_max_ns", "response_max_at_least_ns"]].max().max()
                assert some == longest(recorded), kind


def settled(totals):
    """Operations that came to an end."""
    fates = ("answered", "failed", "timed_out", "lost", "dropped", "unacknowledged", "abandoned")
    return sum(totals[fate] for fate in fates)


def check_schema(path):
    """The columns of a Parquet file of seconds have types and units."""
    columns = schema(path)
    assert columns["start_s"] == ("DOUBLE", None, False), columns["start_s"]
    assert columns["kind"] == ("BYTE_ARRAY", "UTF8", False), columns["kind"]
    assert columns["response_p99_ns"] == ("INT64", "UINT_64", True), columns["response_p99_ns"]
    assert columns["lag_mean_ns"] == ("DOUBLE", None, True), columns["lag_mean_ns"]
    assert about(path)["memtide.format"] == "memtide.intervals/1"
