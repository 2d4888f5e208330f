"""Not a library: the least that any must do, to see how far each is from it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchmarks.check import Flat

DISTRIBUTION = "numpy"
_PIECE_BYTES = 1 << 20


def write(target: str, size: int, n_records: int) -> Callable[[], None]:
    """Write the bytes of the file, framed beforehand, with `os.write` alone."""
    from benchmarks.data import raw_records
    from tfrecord_lite.records.framing import frame

    records = raw_records(size)
    frames = bytes(frame(records))
    pieces = [frames[i : i + _PIECE_BYTES] for i in range(0, len(frames), _PIECE_BYTES)]

    def run() -> None:
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        left = n_records * (size + 16)
        while left:
            for piece in pieces:
                left -= os.write(file, piece[:left])
        os.close(file)

    return run


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[Flat]:
    """Return nothing: what is written is read back."""
    raise NotImplementedError


OPERATIONS = {"write": write}
