"""The process of one contender: ``python -m benchmarks.worker NAME [FOLDER]``.

Reads a request per line from standard input, each a JSON object, and answers with one. What the
libraries print goes to standard error. FOLDER, if given, is where this package is imported from,
to compare two versions of it. Runs in any Python from 3.8, and imports only its own contender.

A request has `do`, and for an operation its name `op` and its arguments `args`:

- ``time``: prepare (the first time), run once, and return seconds and processor seconds;
- ``check``: run once, and return checksums of all values;
- ``peak``: run once, and return the peak memory of this process in bytes;
- ``settings``: the settings that the contender wants to try, as arguments by their names;
- ``forget``: let go of what was prepared;
- ``first``: import the library, and run once;
- ``about``: operations, version, bytes on disk.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from collections import deque
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

_USED = ("numpy", "crc32c", "isal", "protobuf", "pyarrow")
_PIECE = bytes(1 << 20)


class Contender:
    """The operations of one library, prepared as they are asked for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._prepared: dict[str, Any] = {}

    @property
    def _module(self) -> Any:
        return import_module(f"benchmarks.contenders.{self._name}")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        do = request.pop("do")
        result: dict[str, Any] = getattr(self, do)(**request)
        return result

    def about(self) -> dict[str, Any]:
        """Return what this contender can do, and what it is."""
        distribution = self._module.DISTRIBUTION
        return {
            "operations": sorted(self._module.OPERATIONS),
            "version": version_of(distribution) or getattr(self._module, "VERSION", ""),
            "uses": {name: version_of(name) for name in _USED},
            "bytes": installed_bytes(distribution, self._module.__dict__.get("FOLDER", "")),
        }

    def first(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Import the library and run once, and return how long both took; asked before all else."""
        start, cpu = time.perf_counter(), cpu_seconds()
        _run_through(self._module.OPERATIONS[op](**args)())
        return {"seconds": time.perf_counter() - start, "cpu_seconds": cpu_seconds() - cpu}

    def settings(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Return the settings to choose from."""
        find = getattr(self._module, "settings", None)
        return (find(op, args) if find else None) or {"": {}}

    def time(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Run once, and return how long it took."""
        run = self._ready(op, args)
        gc.collect()
        start, cpu = time.perf_counter(), cpu_seconds()
        _run_through(run())
        return {"seconds": time.perf_counter() - start, "cpu_seconds": cpu_seconds() - cpu}

    def check(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Run once, and return checksums; of a file that was written only its size."""
        from benchmarks.check import Fingerprint

        run = self._ready(op, args)
        if "target" in args:
            _run_through(run())
            target = Path(args["target"])
            return {"bytes": target.stat().st_size if target.exists() else 0}
        found = Fingerprint()
        for batch in self._module.flat(op, run(), args):
            found.add(batch)
        return found.value()

    def forget(self) -> dict[str, Any]:
        """Let go of all that was prepared."""
        self._prepared.clear()
        gc.unfreeze()
        gc.collect()
        return {}

    def peak(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Run once, and return the peak of this process."""
        _run_through(self._ready(op, args)())
        return {"bytes": peak_bytes()}

    def _ready(self, op: str, args: dict[str, Any]) -> Any:
        """Return what runs the operation, prepared once; of files to write the old one is removed."""
        key = json.dumps([op, args], sort_keys=True)
        if key not in self._prepared:
            self._prepared[key] = self._module.OPERATIONS[op](**args)
            gc.collect()
            gc.freeze()  # what is prepared is not looked through while the clock runs
        if "target" in args:
            _make_room(Path(args["target"]))
        return self._prepared[key]


def _run_through(result: Any) -> None:
    """Take all items of an iterator, and drop them; anything else is a result already."""
    if hasattr(result, "__next__"):
        deque(result, maxlen=0)


def cpu_seconds() -> float:
    """Return the processor time of this process, and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def peak_bytes() -> int:
    """Return the peak resident memory of this process.

    On Linux not from getrusage: its figure outlives exec, so that it would
    include the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _make_room(path: Path) -> None:
    """Remove a file, after its bytes were written once more and removed.

    Emptying an old file makes some file systems wait for the disk, and in a virtual machine memory
    that the kernel has not used lately costs more than memory that it has.
    """
    if not path.is_file():
        return
    left = path.stat().st_size
    path.unlink()
    with path.open("wb", buffering=0) as file:
        while left > 0:
            left -= file.write(_PIECE)
    path.unlink()


def version_of(distribution: str) -> str:
    """Return the version of a distribution, or nothing if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def installed_bytes(distribution: str, folder: str = "") -> int:
    """Return the bytes on disk of a distribution and of all that it requires.

    With a `folder`, the distribution is what is in it, as for a checkout that is not installed.
    """
    import re

    seen: dict[str, int] = {}

    def add(requires: list[str]) -> None:
        for requirement in requires:
            if "extra ==" in requirement.replace("'", '"'):
                continue
            found = re.match(r"[\w.-]+", requirement)
            key = found.group().lower() if found else ""
            if key in seen:
                continue
            seen[key] = 0
            try:
                distribution = metadata.distribution(key)
            except metadata.PackageNotFoundError:  # for another system
                continue
            seen[key] = sum(
                Path(str(distribution.locate_file(file))).stat().st_size
                for file in distribution.files or ()
                if Path(str(distribution.locate_file(file))).is_file() and file.suffix != ".pyc"
            )
            add(distribution.requires or [])

    if folder:
        seen[distribution] = sum(
            p.stat().st_size for p in Path(folder).rglob("*.py*") if p.suffix != ".pyc"
        )
        add(["numpy", "protobuf", "crc32c"])
    else:
        add([distribution])
    return sum(seen.values())


def main(name: str, folder: str = "") -> None:
    """Answer requests until there are none."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if folder:
        sys.path.insert(0, folder)
    contender: Contender | None = None
    for line in sys.stdin:
        try:
            contender = contender or Contender(name)
            answer = contender.answer(json.loads(line))
        except BaseException:  # noqa: BLE001 - the caller reports it, and goes on
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
