"""Where tests have a meaning, and where they are skipped."""

from __future__ import annotations

import pytest
from google.protobuf.internal import api_implementation

__all__ = ["in_c"]

in_c = pytest.mark.skipif(
    api_implementation.Type() == "python", reason="the runtime in Python decides otherwise"
)
"""For what is held against the protobuf runtime."""
