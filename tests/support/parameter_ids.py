"""Ids of test parameters that are the same in every process, as pytest-xdist needs them."""

import re

__all__ = ["named"]


def named(value: object) -> str:
    """Return a parameter's repr without the addresses of objects."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))
