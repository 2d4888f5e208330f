"""Time and memory of the viewer's page for small and large files: ``python -m benchmarks.view``.

Files of tabular records and of photographs, plain, with an index beside them, and GZIP. Each page is
made by a process of its own, as ``tfrecord view`` makes it; its time includes starting Python and
all imports. The files, up to 5 GB each, are removed when they have been measured.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from benchmarks.data import data_set
from benchmarks.records import say, setting
from tests.support.drawings import landscape
from tfrecord_lite import TFRecordWriter
from tfrecord_lite.cli import main as tfrecord

if TYPE_CHECKING:
    from collections.abc import Callable

_MEGABYTE = 1_000_000
_N_PHOTOGRAPHS = 200
_FORMS = ("plain", "indexed", "gzip")
_MADE = """
import sys, time
start = time.perf_counter()
from tfrecord_lite.cli import main
status = main(["view", "--overwrite", sys.argv[1], "-o", sys.argv[2]])
print(time.perf_counter() - start)
from benchmarks.measure import peak_bytes
print(peak_bytes())
raise SystemExit(status)
"""


class Row(NamedTuple):
    """What one page took."""

    data: str
    megabytes: int
    form: str
    seconds: float
    peak_megabytes: float
    page_megabytes: float


def _tabular(folder: Path) -> bytes:
    return data_set("tabular", folder, 0.05).read_bytes()


def _images(folder: Path) -> bytes:
    """Return records of photographs: drawings with as much noise as makes them 100 KB."""
    path, random = folder / "photographs.tfrecord", np.random.default_rng(0)
    with TFRecordWriter(path) as writer:
        for number in range(_N_PHOTOGRAPHS):
            drawn, _ = landscape(number, 640, 480)
            noise = random.normal(0, 16, (480, 640, 3))
            pixels = np.clip(np.asarray(drawn) + noise, 0, 255).astype(np.uint8)
            stream = io.BytesIO()
            Image.fromarray(pixels).save(stream, "JPEG", quality=80)
            row = {"image": stream.getvalue(), "label": number % 10, "name": f"{number}.jpg"}
            writer.write_example(row)
    return path.read_bytes()


_DATA: dict[str, Callable[[Path], bytes]] = {"tabular": _tabular, "images": _images}


def _repeated(records: bytes, path: Path, megabytes: int) -> None:
    """Write the same records over and over, until the file has that size."""
    few = records[: _whole(records, min(len(records), megabytes * _MEGABYTE))]
    if path.suffix == ".gz":
        few = gzip.compress(few, 6)
    with path.open("wb") as file:
        for _ in range(max(round(megabytes * _MEGABYTE / len(few)), 1)):
            file.write(few)


def _whole(records: bytes, n_bytes: int) -> int:
    """Return where the last record ends that ends within that many bytes."""
    stop = 0
    while stop < len(records):
        after = stop + int.from_bytes(records[stop : stop + 8], "little") + 16
        if after > n_bytes:
            break
        stop = after
    return stop


def _page(path: Path, page: Path) -> tuple[float, float]:
    """Make a page in a new process; return seconds and bytes at the peak."""
    command = [sys.executable, "-c", _MADE, str(path), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"no page of {path}:\n{done.stderr}")
    seconds, n_bytes = done.stdout.split()[-2:]
    return float(seconds), float(n_bytes)


def rows_of(data: str, records: bytes, megabytes: int, rounds: int, folder: Path) -> list[Row]:
    """Measure one kind of data in one size, in every form."""
    rows = []
    for form in _FORMS:
        path = folder / f"{data}.tfrecord{'.gz' * (form == 'gzip')}"
        if form != "indexed":
            _repeated(records, path, megabytes)
        else:
            tfrecord(["index", str(path)])
        say(f"{data}, {megabytes:,} MB, {form}: {rounds} rounds")
        page = folder / "page.html"
        took = [_page(path, page) for _ in range(rounds)]
        seconds, peaks = zip(*took, strict=True)
        size = page.stat().st_size / _MEGABYTE
        rows.append(Row(data, megabytes, form, median(seconds), max(peaks) / _MEGABYTE, size))
        if form != "plain":
            path.unlink()
            path.with_name(f"{path.name}.idx").unlink(missing_ok=True)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--cache", type=Path, help="folder for the files; by default a temporary one"
    )
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 100, 5000])
    parser.add_argument("--data", nargs="+", choices=_DATA, default=list(_DATA))
    parser.add_argument("--rounds", type=int, default=3, help="pages of each file")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.cache) as name:
        folder = Path(name)
        for data in arguments.data:
            records = _DATA[data](folder)
            for megabytes in arguments.megabytes:
                rows += rows_of(data, records, megabytes, arguments.rounds, folder)
    conditions = setting(arguments.rounds, 1)
    if arguments.json:
        every = [row._asdict() for row in rows]
        print(json.dumps({"setting": conditions, "rows": every}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print("\n| data set | file, MB | | seconds | peak memory, MB | page, MB |")
    print("| --- | ---: | --- | ---: | ---: | ---: |")
    for row in rows:
        figures = f"{row.seconds:.2f} | {row.peak_megabytes:,.0f} | {row.page_megabytes:.1f}"
        print(f"| {row.data} | {row.megabytes:,} | {row.form} | {figures} |")


if __name__ == "__main__":
    main()
