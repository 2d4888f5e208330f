"""Run code in a new interpreter."""

import os
import subprocess
import sys


def run_fresh(code: str, *arguments: object, **environ: str) -> str:
    """Return what `code` prints, run with `arguments` as ``sys.argv[1:]``.

    If the interpreter fails, the test does too, with its standard error.
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
