"""What every test may use: the seed option, and the rule that CI skips nothing."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support import groups
from support.effort import examples, left_out, without_thorough
from support.ordering import dealt
from support.rewriting import rewrite_share

# How long an example takes depends on what else the machine does, and is no property of the code.
settings.register_profile(
    "any machine",
    parent=settings.default,
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")
DEVIATIONS = Path(__file__).parent / "conformance" / "deviations.toml"
_LEFT_OUT = "left out"
_MINUTES = 600
LEFT_OUT = pytest.StashKey[int]()
"""How many tests were left out for the sake of time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="run seeded tests with this seed only")


def pytest_configure(config: pytest.Config) -> None:
    """What is collected is no garbage: to look for some in it meanwhile is a tenth of the time it takes."""
    gc.disable()
    rewrite_share(config)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int | None:
    """The seed asked for on the command line, if any."""
    value: int | None = request.config.getoption("--seed")
    return value


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long where not everything is wanted, deal out the others, keep groups together."""
    kept = without_thorough(items)
    stays = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in stays])
    config.stash[LEFT_OUT] = len(items) - len(kept)
    workers = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    items[:] = dealt(kept, workers, _file, _starts_processes, _takes_minutes)
    groups.pytest_collection_modifyitems(items)


def _file(item: pytest.Item) -> str:
    return str(item.path)


def _starts_processes(item: pytest.Item) -> bool:
    return item.get_closest_marker("process") is not None


def _takes_minutes(item: pytest.Item) -> bool:
    """Known by the time that it may take; each case of a table has few.

    Those of a real control plane wait, and one file's share it in the order in which they stand.
    """
    marker = None if item.get_closest_marker("kube") else item.get_closest_marker("timeout")
    return marker is not None and marker.args[0] >= _MINUTES


def pytest_collection_finish() -> None:
    """Collected tests stay to the end: to look through them for garbage is a tenth of the whole run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out, and how to run it."""
    if missing := left_out(config.stash.get(LEFT_OUT, 0)):
        terminalreporter.write_line(missing)
    # Not in the folder's own conftest: where workers run the tests, the one that reports never loads it.
    if any(_is_conformance(report) for report in terminalreporter.stats.get("passed", [])):
        from support.arms.summary import arms_summary  # it loads the embedded cluster

        for line in arms_summary(DEVIATIONS):
            terminalreporter.write_line(line)


def _is_conformance(report: pytest.TestReport) -> bool:
    return report.nodeid.startswith("tests/conformance/")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over from a worker of pytest-xdist what it has left out: each collects all of the tests."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get(_LEFT_OUT, 0)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where no arm may be missing, a skipped test fails the run."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output[_LEFT_OUT] = session.config.stash.get(LEFT_OUT, 0)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("VACATE_NO_SKIPS"):
        return
    skipped = len(reporter.stats.get("skipped", []))
    if skipped:
        reporter.write_line(f"{skipped} tests were skipped, and here none may be", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
