"""Records for the tests of what rearranges them, and files of them."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

from hypothesis import strategies as st

from tests.support.file_objects import Bare
from tests.support.small_files import write_records
from tfrecord_lite import TFRecordReader

ENDINGS = ["", ".gz", ".zz", ".bz2"]


def some_records(number: int, longest: int, seed: int = 0) -> list[bytes]:
    """Return different records of up to about so many bytes, some of them empty."""
    draw = random.Random(seed)
    sizes = [draw.choice([0, 1, draw.randrange(longest + 1)]) for _ in range(number)]
    return [b"%d:" % i * bool(size) + draw.randbytes(size) for i, size in enumerate(sizes)]


@st.composite
def record_lists(draw: st.DrawFn) -> list[bytes]:
    number = draw(st.sampled_from([0, 1, 2, 7, 100, 400]))
    return some_records(number, draw(st.sampled_from([0, 10, 3000])), draw(st.integers(0, 99)))


def write_all(folder: Path, files: Iterable[tuple[list[bytes], str]]) -> list[str]:
    paths = []
    for i, (records, ending) in enumerate(files):
        paths.append(str(folder / f"source-{i}.tfrecord{ending}"))
        write_records(Path(paths[-1]), records)
    return paths


def read_all(*paths: object) -> list[bytes]:
    return [record for path in paths for record in TFRecordReader(str(path))]


def one_way(path: str) -> IO[bytes]:
    return cast("IO[bytes]", Bare(Path(path).read_bytes()))
