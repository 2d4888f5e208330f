"""Set-up for the comparison with TensorFlow.

Every test here bears the mark ``parity``; nothing here is imported where TensorFlow is
not installed (see ``tests/support/extras.py``). Take TensorFlow from the fixture ``tf``, or, where a module needs it while
it is collected, from ``tf = pytest.importorskip("tensorflow")``. Tests that read files
take the fixture ``both``. See ``rules.py`` for the marks ``rule`` and ``deviation``.
"""

import importlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.parity.answers import Both
from tests.parity.parsing import Parsing
from tests.parity.rules import names_of, summary
from tests.parity.tensors import Tensors

HERE = Path(__file__).resolve().parent

# Before its first import, here or in a subprocess: no log lines on standard error,
# and the portable kernels, whose results do not depend on the machine.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

_covered = pytest.StashKey[set[str]]()
_failed = pytest.StashKey[set[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rule(*names): asks TensorFlow and us about these rules")
    config.addinivalue_line("markers", "deviation(*names): we differ from these rules on purpose")
    config.stash[_covered] = set()
    config.stash[_failed] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.parity)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Count a rule as covered when all tests of it that ran have passed."""
    report = yield
    if report.failed:
        item.config.stash[_failed] |= names_of(item)
    elif report.when == "call" and report.passed:
        item.config.stash[_covered] |= names_of(item)
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    covered, failed = config.stash[_covered], config.stash[_failed]
    if covered or failed:
        terminalreporter.write_line(summary(covered - failed))


@pytest.fixture(scope="session")
def tf() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own affair, at import only
        return importlib.import_module("tensorflow")


@pytest.fixture(scope="session")
def both(tf: Any, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(tf, tmp_path_factory.mktemp("both"))


@pytest.fixture(scope="session")
def parsing(tf: Any) -> Parsing:
    return Parsing(tf)


@pytest.fixture(scope="session")
def sequences(tf: Any) -> Parsing:
    return Parsing(tf, is_sequence=True)


@pytest.fixture(scope="session")
def tensors(tf: Any) -> Tensors:
    return Tensors(tf)


_FORKING = """
import os, sys
import tensorflow as tf
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            exec(eval(line))
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    print(os.WIFSIGNALED(status), flush=True)
"""


@pytest.fixture(scope="session")
def died() -> Generator[Callable[[str], bool]]:
    """Return what runs code with TensorFlow elsewhere, and tells whether it killed its process."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _FORKING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        source, answers = process.stdin, process.stdout
        assert answers.readline() == "ready\n"

        def ask_it(code: str) -> bool:
            source.write(repr(code) + "\n")
            source.flush()
            return answers.readline() == "True\n"

        yield ask_it
