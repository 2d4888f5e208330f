"""Set-up for the comparison with TensorFlow.

Every test here bears the mark ``parity`` and is skipped where TensorFlow is not
installed. Take TensorFlow from the fixture ``tf``, or, where a module needs it while
it is collected, from ``tf = pytest.importorskip("tensorflow")``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
SKIPPED = "TensorFlow is not installed: pip install -e '.[parity,test]'"

# Before its first import, here or in a subprocess: no log lines on standard error,
# and the portable kernels, whose results do not depend on the machine.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder; skip them where there is no TensorFlow."""
    missing = importlib.util.find_spec("tensorflow") is None
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.parity)
            if missing:
                item.add_marker(pytest.mark.skip(reason=SKIPPED))


@pytest.fixture(scope="session")
def tf() -> Any:
    """Return the module ``tensorflow``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own affair, at import only
        return importlib.import_module("tensorflow")
