"""What can be told of damaged files, and saved of them."""

from __future__ import annotations

from tfrecord_lite.recovery.recovering import recover
from tfrecord_lite.recovery.verifying import verify, verify_each

__all__ = ["recover", "verify", "verify_each"]
