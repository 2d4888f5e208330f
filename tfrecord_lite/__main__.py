"""Run the command line as ``python -m tfrecord_lite``."""

from __future__ import annotations

import sys

from tfrecord_lite.cli import main

if __name__ == "__main__":
    sys.exit(main())
