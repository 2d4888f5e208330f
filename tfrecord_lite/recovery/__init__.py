"""What can be told of damaged files, and saved of them."""

from __future__ import annotations

from tfrecord_lite.recovery.recover import recover
from tfrecord_lite.recovery.verify import verify, verify_each

__all__ = ["recover", "verify", "verify_each"]
