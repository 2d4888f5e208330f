"""Set-up for all tests: how many of them are run, in how many processes, and the sample corpus.

``pytest`` runs a selection, in as many processes as there are processors; ``pytest --full`` runs
all tests. A test named by its id (``path::test``) is run whatever it is marked. What a run leaves
out is said in a few lines at its end.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import effort, golden
from tests.support.corpus import ABSENT, corpus_path
from tests.support.extras import how_to_install, is_installed, is_known, missing_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LEFT_OUT = pytest.StashKey[Counter[str]]()
WITH_FULL = "pytest --full"
MOST_PROCESSES = 8
MOST_PARAMETERS = 4
"""Of a test with more of them a short run takes this many, unless it bears the mark ``every``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``--full`` and ``--update-golden``."""
    parser.addoption(
        "--full",
        action="store_true",
        help="run all tests with all parameters and many examples, not the selection of some minutes",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what comes of the expressions in errors.txt into these files; see the diff",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Use all processors if pytest-xdist is installed, and all tests are asked for."""
    option = config.option
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    is_open = getattr(option, "numprocesses", 0) is None and option.dist == "no"
    is_counted = getattr(option, "cov_source", None)  # pytest-cov has decided for one process
    is_single = option.usepdb or option.collectonly or is_counted or _is_worker(config)
    if is_whole and is_open and not is_single:
        n_processes = min(os.cpu_count() or 1, MOST_PROCESSES)
        if n_processes > 1:
            option.numprocesses, option.dist = n_processes, "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    """Settle how much is tried, before any module of tests is imported."""
    effort.full = config.getoption("full")
    golden.update = config.getoption("update_golden")
    if not config.getoption("--hypothesis-profile"):
        effort.load_profile()
    config.stash[LEFT_OUT] = Counter()


class _NotImported(pytest.Module):
    """A module that needs something that is not installed."""

    def collect(self) -> Iterable[pytest.Item]:
        return []


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    """Leave out a module that cannot be imported here."""
    name = missing_for(module_path)
    if name is None:
        return None
    parent.config.stash[LEFT_OUT][how_to_install(name)] += 0
    return _NotImported.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that only a full run has, and those that need what is not installed."""
    are_named = any("::" in argument for argument in config.args)
    left_out = {}
    for item in items:
        missing = [name for name in _needs(item) if not is_installed(name)]
        if missing:
            left_out[item] = how_to_install(missing[0])
        elif item.get_closest_marker("full") and not (effort.full or are_named):
            left_out[item] = WITH_FULL
    if not (effort.full or are_named):
        kept = [item for item in items if item not in left_out]
        left_out |= dict.fromkeys(_surplus(kept), WITH_FULL)
    config.stash[LEFT_OUT].update(left_out.values())
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _surplus(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the parameters of tests beyond `MOST_PARAMETERS`, evenly spread."""
    for _, group in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        cases = list(group)
        taken = {i * len(cases) // MOST_PARAMETERS for i in range(MOST_PARAMETERS)}
        if len(cases) > MOST_PARAMETERS and not cases[0].get_closest_marker("every"):
            yield from (case for i, case in enumerate(cases) if i not in taken)


def pytest_collection_finish() -> None:
    """Keep the collector from going through all tests whenever one of them calls it."""
    gc.collect()
    gc.freeze()


def _needs(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if not is_known(name):
                message = f"{item.nodeid} needs {name!r}, which tests/support/extras.py has not"
                raise pytest.UsageError(message)
            yield name


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that prints, if this is another, what was left out."""
    config: Any = session.config
    if _is_worker(config):
        config.workeroutput["left_out"] = dict(config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a process of pytest-xdist left out: each of them leaves out the same."""
    left_out: dict[str, int] = getattr(node, "workeroutput", {}).get("left_out", {})
    node.config.stash[LEFT_OUT] = Counter(left_out)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, and how to run it."""
    left_out = terminalreporter.config.stash[LEFT_OUT].copy()
    if number := left_out.pop(WITH_FULL, 0):
        terminalreporter.write_line(f"left out: {number:,} tests that are run with: {WITH_FULL}")
    for how in sorted(left_out):  # whole modules of tests among them, whose number is not known
        terminalreporter.write_line(f"left out: tests that are run with: {how}")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of the sample corpus; skip where there is none."""
    folder = corpus_path()
    if folder is None:
        pytest.skip(ABSENT)
    return folder
