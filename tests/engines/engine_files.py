"""Files for the tests of engines: shards, damage, and functions that kill their worker once."""

import os
import runpy
import signal
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_lite import TFRecordFile, TFRecordWriter, encode_example, save, scan
from tfrecord_lite.records.framing import frame

__all__ = [
    "check_example", "damage", "kill_once", "rows_of", "write_frames_in_records", "write_shards",
]  # fmt: skip


def write_shards(folder: Path, n_shards: int = 3, n_rows: int = 1000) -> Path:
    """Write shards with a row number, a text, a list of any length, a vector and bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(n_shards):
        rows = np.arange(shard * n_rows, (shard + 1) * n_rows)
        columns = {
            "row": rows,
            "text": [f"row {row}" for row in rows],
            "some": [list(range(row % 4)) for row in rows],
            "vector": rows[:, None].astype(np.float32) + np.arange(3, dtype=np.float32),
            "data": [b"\xff%d" % row for row in rows],
        }
        save(folder / f"data-{shard:05d}-of-{n_shards:05d}.tfrecord", columns)
    return folder


def write_frames_in_records(path: Path, n_records: int = 500) -> Path:
    """Write Examples whose byte strings are whole frames of Examples, which a search would find."""
    with TFRecordWriter(path) as writer:
        for row in range(n_records):
            inner = encode_example({"row": [-1 - row], "data": [b"inner"]})
            writer.write(
                encode_example({"row": [row], "data": [bytes(frame([inner] * (row % 5)))]})
            )
    return path


def damage(path: Path, records: list[int]) -> None:
    index = TFRecordFile(path).indexes[0]
    data = bytearray(path.read_bytes())
    for record in records:
        data[int(index.offsets[record]) + 20] ^= 1
    path.write_bytes(data)


def rows_of(paths: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = scan(paths).to_arrow().to_pylist()
    return rows


def kill_once(flag: str) -> None:
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def check_example(engine: str, folder: Path) -> None:
    """Have the program of the guide write shards to Parquet and back, and compare."""
    for path in write_shards(folder).glob("data-*"):
        path.rename(path.with_name(path.name.replace("data", "train")))
    before = {path: path.read_bytes() for path in folder.glob("train-*")}
    program = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "engine_parquet.py"))
    program["ENGINES"][engine](str(folder))
    assert {path: path.read_bytes() for path in folder.glob("train-*")} == before
    found = rows_of([str(p) for p in (folder / "again").glob("*.tfrecord*") if p.suffix != ".json"])
    assert sorted(found, key=lambda row: row["row"]) == rows_of(str(folder / "train-*.tfrecord"))
