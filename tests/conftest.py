"""Set-up for all tests: Hypothesis's profiles, what is left out, processes, the sample corpus.

``pytest`` leaves out tests marked ``slow``, and ``pytest -m ""`` does not. Tests that need an extra
or a group that is not installed are left out, and the last lines of a run say how to install it.
"""

import gc
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import golden
from tests.support.corpus import ABSENT, corpus_path
from tests.support.extras import how_to_install, is_installed, is_known, missing_for

LEFT_OUT = pytest.StashKey[set[str]]()
"""Commands that install what tests lack that were left out."""
MOST_PROCESSES = 8

# No deadline: the first example of a test pays for imports and table building.
# Slow machines are no failure either, nor are draws of which many happen to be rejected.
_COMMON = settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
# The same examples each time: where a change is judged, luck decides nothing.
settings.register_profile("short", _COMMON, max_examples=5, derandomize=True)
settings.register_profile("ci", _COMMON, max_examples=100, derandomize=True)
settings.register_profile("long", _COMMON, max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "short")


def pytest_addoption(parser: pytest.Parser) -> None:
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
    golden.update = config.getoption("update_golden")
    config.stash[LEFT_OUT] = set[str]()


class _NotImported(pytest.Module):
    def collect(self) -> Iterable[pytest.Item]:
        return []


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    name = missing_for(module_path)
    if name is None:
        return None
    parent.config.stash[LEFT_OUT].add(how_to_install(name))
    return _NotImported.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {}
    for item in items:
        missing = [name for name in _needs(item) if not is_installed(name)]
        if missing:
            left_out[item] = how_to_install(missing[0])
    config.stash[LEFT_OUT].update(left_out.values())
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


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
        config.workeroutput["left_out"] = sorted(config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a process of pytest-xdist left out: each of them leaves out the same."""
    node.config.stash[LEFT_OUT].update(getattr(node, "workeroutput", {}).get("left_out", ()))


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out = terminalreporter.config.stash[LEFT_OUT]
    for how in sorted(left_out):
        terminalreporter.write_line(f"left out: tests that are run with: {how}")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of the sample corpus; skip where there is none."""
    folder = corpus_path()
    if folder is None:
        pytest.skip(ABSENT)
    return folder
