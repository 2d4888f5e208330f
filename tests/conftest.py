"""Set-up for all tests: Hypothesis profiles, and the sample corpus."""

from __future__ import annotations

import importlib.util
import os
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.support.corpus import ABSENT, corpus_path

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

# No deadline: the first example of a test pays for imports and table building.
# Slow machines are no failure either, so the health check on speed is off.
_COMMON = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", _COMMON, max_examples=200)
# The same examples each time: whether a change lands must not depend on luck.
settings.register_profile("ci", _COMMON, max_examples=100, derandomize=True)
settings.register_profile("long", _COMMON, max_examples=10_000)
# For a first look: fails fast, with the first example found rather than the smallest.
settings.register_profile(
    "quick", _COMMON, max_examples=40, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default")
)


MODULES = {
    "cli": "tqdm",
    "dtypes": "ml_dtypes",
    "image": "PIL",
    "remote": "fsspec",
    "yaml": "yaml",
    "zstd": "backports.zstd",
}
"""What each extra installs."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip a test that the package has told to install an extra, if that is not installed."""
    try:
        yield
    except Exception as error:
        asked = re.search(r"tfrecord-numpy\[(\w+)\]", str(error))
        if asked and asked[1] in MODULES and not _is_installed(MODULES[asked[1]]):
            pytest.skip(f"needs the extra {asked[1]}")
        raise


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # of the package it is in
        return False


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of the sample corpus; skip where there is none."""
    folder = corpus_path()
    if folder is None:
        pytest.skip(ABSENT)
    return folder
