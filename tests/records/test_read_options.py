"""Limits on what is read hold for all that read records, by whatever way in."""

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.errors import raised
from tfrecord_lite import (
    FixedLenFeature,
    TFRecordDataset,
    TFRecordReader,
    encode_examples,
    load,
    read_batches,
    verify,
)
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason
from tfrecord_lite.records.framing import frame

FEATURES = {"n": FixedLenFeature([], "int64")}
ROOMY = {"max_record_bytes": 2**20, "max_inflated_bytes": 2**30, "max_inflated_ratio": 1e6}


def through_verify(path: Path, **limits: Any) -> None:
    (report,) = verify(path, **limits).files
    if report.failure is not None:
        raise report.failure
    for span in report.spans:
        raise DataLossError(span.reason)


def pickled(path: Path, **limits: Any) -> list[Any]:
    dataset = TFRecordDataset(path, **limits).batch(2)
    return list(pickle.loads(pickle.dumps(dataset)))


WAYS_IN: dict[str, Callable[..., Any]] = {
    "reader": lambda path, **limits: list(TFRecordReader(path, **limits)), "verify": through_verify,
    "load": load, "data set": lambda path, **limits: list(TFRecordDataset(path, **limits)),
    "interleaved": lambda path, **limits: list(TFRecordDataset([path] * 2, **limits).interleave()),
    "a part": lambda path, **limits: list(TFRecordDataset(path, **limits).shard(2, 1)),
    "pickled": pickled,
    "batches": lambda path, **limits: list(read_batches(path, FEATURES, 2, **limits)),
}  # fmt: skip
each_way = pytest.mark.parametrize("way", WAYS_IN)


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = encode_examples({"n": np.zeros(100_000, np.int64)})
    path = tmp_path_factory.mktemp("bomb") / "bomb.gz"
    path.write_bytes(gzip.compress(frame(list(records))))
    return path


@each_way
@pytest.mark.parametrize(
    "limit", [{"max_inflated_bytes": 10_000}, {"max_inflated_ratio": 20}], ids=["bytes", "ratio"]
)
def test_content_beyond_a_limit_is_rejected(bomb: Path, way: str, limit: Any) -> None:
    assert raised(DataLossError, WAYS_IN[way], bomb, **limit).reason is Reason.INFLATED_TOO_LARGE


@each_way
def test_larger_records_are_rejected(bomb: Path, way: str) -> None:
    error = raised(DataLossError, WAYS_IN[way], bomb, max_record_bytes=3)
    assert error.reason is Reason.RECORD_TOO_LARGE


@each_way
def test_what_keeps_within_limits_is_read(bomb: Path, way: str) -> None:
    WAYS_IN[way](bomb, **ROOMY)


@each_way
@pytest.mark.parametrize(("limit", "error"), [
    ({"max_record_bytes": -1}, InvalidArgumentError),
    ({"max_record_bytes": 2**64}, InvalidArgumentError), ({"max_record_bytes": "1"}, TypeError),
    ({"max_record_bytes": True}, TypeError), ({"max_inflated_bytes": 0}, InvalidArgumentError),
    ({"max_inflated_bytes": True}, TypeError), ({"max_inflated_ratio": 0.0}, InvalidArgumentError),
    ({"max_inflated_ratio": float("nan")}, InvalidArgumentError),
    ({"max_inflated_ratio": "20"}, TypeError),
])  # fmt: skip
def test_wrong_limits(bomb: Path, way: str, limit: dict[str, Any], error: type[Exception]) -> None:
    raised(error, WAYS_IN[way], bomb, **limit, match=next(iter(limit)))


def test_random_order_of_all_records_has_the_limit_on_records(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(frame([b"1", b"12345"]))
    assert len(list(TFRecordDataset(path, max_record_bytes=5).shuffle_all(1))) == 2
    error = raised(DataLossError, list, TFRecordDataset(path, max_record_bytes=4).shuffle_all(1))
    assert error.reason is Reason.RECORD_TOO_LARGE


def test_limits_are_no_part_of_where_a_run_stands(bomb: Path) -> None:
    run = iter(TFRecordDataset(bomb).batch(10))
    next(run)
    again = iter(TFRecordDataset(bomb, **ROOMY).batch(10))  # type: ignore[arg-type]
    again.load_state_dict(run.state_dict())
    assert list(next(again)) == list(next(run))
