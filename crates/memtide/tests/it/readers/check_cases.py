"""Test cases as junitparser reads them, against the goals and the verdict of a record."""

from junitparser import Failure, JUnitXml, Skipped

CLASSES = ("failed", "timed_out", "lost", "dropped", "abandoned")


def check_run(path, record):
    """The file of a run has one suite, which fails where the record does."""
    suites = list(JUnitXml.fromfile(path))
    assert len(suites) == 1, f"{path}: {len(suites)} suites"
    check_suite(suites[0], record, fails=True)


def check_steps(path, steps, fails):
    """The file of a search or scan has a suite for each step, and one for its conclusion."""
    *suites, conclusion = list(JUnitXml.fromfile(path))
    assert len(suites) == len(steps["steps"]), f"{path}: {len(suites)} suites"
    for suite, step in zip(suites, steps["steps"]):
        check_suite(suite, step["record"], fails)
    assert [case.classname for case in conclusion] == ["memtide.conclusion"], path


def check_suite(suite, record, fails):
    """Cases pass and fail as the record says; in a search nothing fails but its conclusion."""
    bad = Failure if fails else Skipped
    doubted = bad if record["scenario"].get("strict") else Skipped
    cases = {(case.classname, case.name): [type(fate) for fate in case.result] for case in suite}
    assert len(cases) == suite.tests, f"{len(cases)} cases of {suite.tests}"
    goals = {goal["goal"]: goal["result"] == "met" for goal in record["goals"]}
    verdict = record["believable"]["verdict"] != "no"
    for name, is_good in goals.items():
        assert cases.pop(("memtide.goal", name)) == ([] if is_good else [bad]), name
    # A run without a check that failed may still not know the figures on which it is judged.
    fates = ([], [doubted]) if verdict else ([doubted],)
    assert cases.pop(("memtide.verdict", "believable")) in fates
    for name in CLASSES:
        found = cases.pop(("memtide.errors", name))
        assert (found == []) == (record["totals"][name] == 0), f"{name}: {found}"
    assert cases.pop(("memtide.errors", "wrong_values")) == []
    assert not cases, cases
    failures = sum(Failure in [type(fate) for fate in case.result] for case in suite)
    assert failures == suite.failures, f"{failures} failures of {suite.failures}"
