"""The suite itself: what a run takes in, and what it leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.corpus import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT_ZSTD = """
import sys
sys.modules["backports.zstd"] = sys.modules["compression.zstd"] = None
"""


def run_tests(path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of tests of that text, with the settings of this suite."""
    path.write_text(f"import pytest\n{text}")
    settings = [
        "-c",
        str(ROOT / "pyproject.toml"),
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    ]
    command = [sys.executable, "-m", "pytest", *settings, *arguments]
    if not any(str(path) in argument for argument in arguments):
        command.append(str(path))
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=path.parent, env=environ, check=False, capture_output=True, text=True
    )


@pytest.mark.full
def test_what_needs_an_extra_is_left_out_without_it(tmp_path: Path) -> None:
    text = """
@pytest.mark.needs("zstd")
def test_one(): assert False
@pytest.mark.parametrize("codec", ["", pytest.param("ZSTD", marks=pytest.mark.needs("zstd"))])
def test_each(codec): assert not codec
"""

    done = run_tests(tmp_path / "test_x.py", WITHOUT_ZSTD + text)

    assert "1 passed, 2 deselected" in done.stdout
    assert "left out: tests that are run with: pip install -e '.[zstd]' --group test" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        pytest.param([], "1 passed, 2 deselected", marks=pytest.mark.full),
        pytest.param(["--full"], "2 failed, 1 passed", marks=pytest.mark.full),
        pytest.param(["test_x.py::test_long"], "1 failed", marks=pytest.mark.full),
        pytest.param(["-p", "no:xdist"], "1 passed, 2 deselected", marks=pytest.mark.full),
    ],
)
def test_the_whole_is_an_option_away(tmp_path: Path, arguments: list[str], outcome: str) -> None:
    text = """
@pytest.mark.full
def test_long(): assert False
@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.full)])
def test_each(n): assert n == 1
"""
    named = [argument.replace("test_x.py", str(tmp_path / "test_x.py")) for argument in arguments]

    done = run_tests(tmp_path / "test_x.py", text, *named)

    assert outcome in done.stdout
    assert ("left out: 2 tests that are run with: pytest --full" in done.stdout) == (
        "deselected" in outcome
    )


@pytest.mark.full
@pytest.mark.parametrize(("arguments", "n_run"), [([], 4 + 30), (["--full"], 30 + 30)])
def test_a_short_run_takes_some_of_many_parameters(
    tmp_path: Path, arguments: list[str], n_run: int
) -> None:
    text = """
@pytest.mark.parametrize("n", range(30))
def test_some(n): pass
@pytest.mark.every
@pytest.mark.parametrize("n", range(30))
def test_every(n): pass
"""

    done = run_tests(tmp_path / "test_x.py", text, *arguments)

    assert f"{n_run} passed" in done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("arguments", "profile", "printed"),
    [
        ([], "", "5 5 3"),
        (["--full"], "ci", "100 40 30"),
        ([], "long", "10000 40 3"),
        (["--hypothesis-profile=quick"], "", "40 40 3"),
    ],
)
def test_a_short_run_tries_less_unless_told_otherwise(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    profile: str,
    printed: str,
) -> None:
    text = """
from hypothesis import settings
from tests.support.effort import at_most, pick

def test_effort(): print(settings().max_examples, at_most(40).max_examples, pick(3, 30))
"""
    monkeypatch.setenv("HYPOTHESIS_PROFILE", profile)

    done = run_tests(tmp_path / "test_x.py", text, "-s", "-q", *arguments)

    assert done.stdout.startswith(printed)
