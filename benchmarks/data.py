"""The data sets that the benchmarks read, made once and kept in a cache folder.

The names and shapes are suited to compare TFRecord libraries:

==========  ==================  ============================================================
name        records at scale 1  each record
==========  ==================  ============================================================
tabular     1,000,000           297 bytes on average: 10 float, 5 int64, 2 short strings
images      5,000               100 KB of image bytes, height, width, label
embeddings  100,000             float32[512] and an id, 2 KB
tokens      50,000              int64[256..1024], each value below 50,000
sequences   50,000              SequenceExamples: 20..60 steps of an int64 and a
                                float32[8], and a context of an id, the length and a name
tabular_gz  1,000,000           tabular, in one GZIP stream
any_order   100,000             as tabular; the features of each record in another order
==========  ==================  ============================================================

All others are ``tf.train.Example`` messages. The same scale gives the same bytes on
every machine, as long as NumPy's random numbers stay the same. TensorFlow is not
needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite import TFRecordReader, TFRecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tfrecord_lite import Feature

__all__ = ["DATA_SETS", "data_set", "shards"]

_SEED = 20_240
_BATCH = 1_000
"""Number of records for which random numbers are drawn at a time."""
_IMAGE_BYTES = 100_000


def _feature(*, floats: object = None, ints: object = None, data: bytes | None = None) -> Feature:
    from tfrecord_lite import BytesList, Feature, FloatList, Int64List

    if data is not None:
        return Feature(bytes_list=BytesList(value=[data]))
    if floats is not None:
        return Feature(float_list=FloatList(value=floats))  # type: ignore[arg-type]
    return Feature(int64_list=Int64List(value=ints))  # type: ignore[arg-type]


def _example(features: dict[str, Feature]) -> bytes:
    from tfrecord_lite import Example, Features

    # Deterministic, because the order of a map's entries is otherwise undefined (rule P6).
    return Example(features=Features(feature=features)).SerializeToString(deterministic=True)


def _batches(n_records: int) -> Iterator[tuple[np.random.Generator, int]]:
    """Yield a random generator for each batch, and the number of its records."""
    for start in range(0, n_records, _BATCH):
        yield np.random.default_rng([_SEED, start]), min(_BATCH, n_records - start)


def _tabular(n_records: int) -> Iterator[bytes]:
    for random, n in _batches(n_records):
        floats = random.standard_normal((n, 10), np.float32).tolist()
        ints = random.integers(0, 2**31, (n, 5)).tolist()
        sizes = random.integers(7, 20, (n, 2)).tolist()
        letters = random.integers(ord("a"), ord("z") + 1, (n, 2, 19), np.uint8)
        for i in range(n):
            features = {f"f{k}": _feature(floats=[value]) for k, value in enumerate(floats[i])}
            features |= {f"i{k}": _feature(ints=[value]) for k, value in enumerate(ints[i])}
            for k, size in enumerate(sizes[i]):
                features[f"s{k}"] = _feature(data=letters[i, k, :size].tobytes())
            yield _example(features)


def _any_order(n_records: int) -> Iterator[bytes]:
    from tfrecord_lite import Example, Features

    random = np.random.default_rng(_SEED)
    for record in _tabular(n_records):
        features = sorted(Example.FromString(record).features.feature.items())
        parts = [
            Features(feature=dict([features[i]])).SerializeToString()
            for i in random.permutation(len(features))
        ]
        # The message classes write a map in an order of their own, so the head is made here.
        n_bytes = sum(map(len, parts))
        head = bytes([0x0A, n_bytes & 0x7F | 0x80, n_bytes >> 7])
        yield b"".join([head, *parts])


def _images(n_records: int) -> Iterator[bytes]:
    for random, n in _batches(n_records):
        for label in random.integers(0, 1_000, n).tolist():
            yield _example(
                {
                    "image": _feature(data=random.bytes(_IMAGE_BYTES)),
                    "height": _feature(ints=[480]),
                    "width": _feature(ints=[640]),
                    "label": _feature(ints=[label]),
                }
            )


def _embeddings(n_records: int) -> Iterator[bytes]:
    for random, n in _batches(n_records):
        vectors = random.standard_normal((n, 512), np.float32)
        ids = random.integers(0, 2**31, n).tolist()
        for vector, number in zip(vectors, ids, strict=True):
            yield _example(
                {"embedding": _feature(floats=vector.tolist()), "id": _feature(ints=[number])}
            )


def _tokens(n_records: int) -> Iterator[bytes]:
    for random, n in _batches(n_records):
        for size in random.integers(256, 1_025, n).tolist():
            yield _example({"tokens": _feature(ints=random.integers(0, 50_000, size).tolist())})


def _sequences(n_records: int) -> Iterator[bytes]:
    from tfrecord_lite import FeatureList, FeatureLists, Features, SequenceExample

    first = 0
    for random, n in _batches(n_records):
        for i, size in enumerate(random.integers(20, 61, n).tolist(), first):
            tokens = random.integers(0, 50_000, size).tolist()
            vectors = random.standard_normal((size, 8), np.float32).tolist()
            lists = {
                "tokens": FeatureList(feature=[_feature(ints=[token]) for token in tokens]),
                "vectors": FeatureList(feature=[_feature(floats=vector) for vector in vectors]),
            }
            context = {
                "id": _feature(ints=[i]),
                "length": _feature(ints=[size]),
                "name": _feature(data=b"user%d" % (i % 1_000)),
            }
            yield SequenceExample(
                context=Features(feature=context), feature_lists=FeatureLists(feature_list=lists)
            ).SerializeToString(deterministic=True)
        first += n


_SOURCES: dict[str, tuple[int, Callable[[int], Iterator[bytes]]]] = {
    "tabular": (1_000_000, _tabular),
    "images": (5_000, _images),
    "embeddings": (100_000, _embeddings),
    "tokens": (50_000, _tokens),
    "any_order": (100_000, _any_order),
    "sequences": (50_000, _sequences),
}

DATA_SETS = (*_SOURCES, "tabular_gz")
"""All data sets."""


def data_set(name: str, cache: Path, scale: float = 1.0) -> Path:
    """Return the file of one data set, made first if it is missing.

    Parameters
    ----------
    name : str
        One of :data:`DATA_SETS`.
    cache : Path
        An existing folder; at scale 1 all data sets together take 1.2 GB of it.
    scale : float, optional
        What to multiply the number of records by.

    Returns
    -------
    Path
        A file that is complete: it was written beside its place and renamed.
    """
    is_gzip = name == "tabular_gz"
    base = "tabular" if is_gzip else name
    full, source = _SOURCES[base]
    n_records = max(int(full * scale), 1)
    path = cache / f"{base}-{n_records}.tfrecord{'.gz' * is_gzip}"
    if path.exists():
        return path
    records: Iterable[bytes] = source(n_records)
    if is_gzip:
        records = TFRecordReader(data_set(base, cache, scale))
    with TFRecordWriter(path, "GZIP" if is_gzip else None, atomic=True) as writer:
        for record in records:
            writer.write(record)
    return path


def shards(name: str, cache: Path, scale: float, n_files: int) -> list[Path]:
    """Return a data set split into that many files, made first if they are missing."""
    source = data_set(name, cache, scale)
    folder = cache / f"{source.stem}-in-{n_files}"
    names = [folder / f"{i:05d}.tfrecord" for i in range(n_files)]
    if not all(path.exists() for path in names):
        folder.mkdir(exist_ok=True)
        writers = [TFRecordWriter(path, atomic=True) for path in names]
        for number, record in enumerate(TFRecordReader(source)):
            writers[number % n_files].write(record)
        for writer in writers:
            writer.close()
    return names
