"""Run code in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys


def run_fresh(code: str, *arguments: object, **environ: str) -> str:
    """Return what `code` prints; `arguments` are its ``sys.argv[1:]``.

    Fails the test if the interpreter does, with what it wrote on standard error.
    """
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
