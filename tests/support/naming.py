"""Names of parameters that are the same at each run, as runs in several processes need them."""

from __future__ import annotations

import re

__all__ = ["named"]


def named(value: object) -> str:
    """Return a parameter's repr without the addresses of objects."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))
