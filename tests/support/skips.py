"""Marks that skip tests where they have no meaning."""

import pytest
from google.protobuf.internal import api_implementation

__all__ = ["in_c"]

in_c = pytest.mark.skipif(
    api_implementation.Type() == "python", reason="the runtime in Python decides otherwise"
)
"""For tests that compare with the protobuf runtime; the one in Python differs in some cases."""
