"""split_records and unique_records: by a documented hash, whatever the order, and however much data there are."""

import hashlib
import itertools
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.rearrange.strategies import ENDINGS, one_way, read_all, record_lists, write_all
from tests.support.errors import raised
from tests.support.untyped import load
from tfrecord_lite import (
    TFRecordWriter,
    encode_example,
    encode_sequence_example,
    save,
    split_records,
    unique_records,
)
from tfrecord_lite.apps.rearrange import files
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Example
from tfrecord_lite.testing import encodings

FRACTIONS = [0.6, 0.3, 0.1]
SCALARS = st.one_of(
    st.integers(-3, 3), st.floats(-2, 2, width=16), st.just(float("nan")), st.text(max_size=2)
)
VALUES = st.lists(
    st.one_of(
        SCALARS,
        st.just([]),
        st.lists(st.integers(-1, 1), min_size=1, max_size=3),
        st.lists(st.sampled_from(["", "a", "aa"]), min_size=1, max_size=3),
    ),
    max_size=40,
)


def canonical(value: Any) -> bytes:
    """Return the bytes of a value, as the documentation of split_records says."""
    items = value if isinstance(value, list) else [value]
    if not items:
        return b"n"
    own = {
        str: lambda x: len(x.encode()).to_bytes(8, "little") + x.encode(),
        int: lambda x: x.to_bytes(8, "little", signed=True),
        float: lambda x: np.array(np.nan if np.isnan(x) else x + 0.0, "<f4").tobytes(),
    }[type(items[0])]
    kind = {str: b"b", int: b"i", float: b"f"}[type(items[0])]
    return kind + len(items).to_bytes(8, "little") + b"".join(map(own, items))


def part_of(data: bytes, seed: int) -> int:
    digest = hashlib.blake2b(data, digest_size=16, key=str(seed).encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    return next(i for i, end in enumerate([0.6, 0.9, 1.0]) if place < end)


class TestSplit:
    @given(record_lists(), record_lists(), st.integers(0, 9), st.sampled_from(ENDINGS))
    def test_a_partition_that_neither_order_nor_growth_changes(
        self, records: list[bytes], others: list[bytes], seed: int, ending: str
    ) -> None:
        mixed = random.Random(seed).sample(records + others, len(records) + len(others))
        with tempfile.TemporaryDirectory() as folder:
            targets = [Path(folder, f"{name}{ending}") for name in ("a", "b@2", "c")]
            for given_records in (records, mixed):
                (path,) = write_all(Path(folder), [(given_records, "")])
                parts = split_records(path, targets, FRACTIONS, seed=seed, overwrite=True)
                expected = [part_of(record, seed) for record in given_records]
                for number, part in enumerate(parts):
                    own = [r for r, e in zip(given_records, expected, strict=True) if e == number]
                    assert read_all(*part.paths) == own
                    assert (part.num_records, part.num_read) == (len(own), len(given_records))

    @pytest.mark.filterwarnings("ignore:feature .* holds", "ignore:part .* is empty")
    @given(VALUES, st.booleans(), st.integers(0, 99), st.data())
    def test_by_the_values_of_a_feature_however_they_are_encoded(
        self, values: list[Any], of_sequences: bool, seed: int, data: st.DataObject
    ) -> None:
        values = [0, 0, *values]  # so that one has a value, and one is encoded plainly
        with tempfile.TemporaryDirectory() as folder:
            with TFRecordWriter(Path(folder, "all")) as writer:
                for number, value in enumerate(values):
                    row = {"n": number, "v": value}
                    if of_sequences:
                        lists = {"v": [[number]]}
                        sequence = {"context": row, "feature_lists": lists}
                        writer.write(encode_sequence_example(sequence))
                    elif number:
                        writer.write_example(row)
                    else:
                        example = Example.FromString(encode_example(row))
                        writer.write(data.draw(encodings(example)))
            by = "context/v" if of_sequences else "v"

            targets = [Path(folder, name) for name in "abc"]
            parts = split_records(Path(folder, "all"), targets, FRACTIONS, by=by, seed=seed)
            kept = unique_records(Path(folder, "all"), Path(folder, "u"), by=["v", "v"])

            sizes = [0, 0, 0]
            for value in values:
                sizes[part_of(canonical(value), seed)] += 1
            assert [part.num_records for part in parts] == sizes
            assert kept.num_records == len(set(map(canonical, values)))

    def test_sizes(self, tmp_path: Path) -> None:
        save(tmp_path / "all", {"n": np.arange(10_000), "of": np.arange(10_000) // 7})
        targets = [tmp_path / name for name in "abc"]
        for by in (None, "of"):
            parts = split_records(tmp_path / "all", targets, FRACTIONS, by=by, overwrite=True)
            for part, fraction in zip(parts, FRACTIONS, strict=True):
                most = 4 * (10_000 * fraction * (1 - fraction) * (7 if by else 1)) ** 0.5
                assert abs(part.num_records - 10_000 * fraction) < most
        groups = [set(load(target)["of"].tolist()) for target in targets]
        assert not any(a & b for a, b in itertools.combinations(groups, 2))

    @pytest.mark.parametrize(("targets", "fractions", "more", "error", "text"), [
        ("ab", [0.5], {}, InvalidArgumentError, "sum is 1"),
        ("ab", [0.5, 0.6], {}, InvalidArgumentError, "sum is 1"),
        ("ab", [1, 0], {}, InvalidArgumentError, "sum is 1"),
        ("ab", [1.5, -0.5], {}, InvalidArgumentError, "sum is 1"),
        ("ab", [0.5, float("nan")], {}, InvalidArgumentError, "sum is 1"),
        ("", [], {}, InvalidArgumentError, "sum is 1"),
        ("ab", ["0.5", "0.5"], {}, TypeError, "a number"),
        ("abc", [0.5, 0.5], {}, InvalidArgumentError, "3 targets for 2 fractions"),
        ("aa", [0.5, 0.5], {}, InvalidArgumentError, "two parts have this name"),
        ("ab", [0.5, 0.5], {"by": []}, TypeError, "by must be"),
        ("ab", [0.5, 0.5], {"seed": None}, TypeError, "seed must be"),
        ("ab", [0.5, 0.5], {"by": ["x", "X"]}, InvalidArgumentError, "'X' .*nearest: 'x'"),
    ])  # fmt: skip
    def test_errors_leave_nothing(
        self, tmp_path: Path, targets: str, fractions: Any, more: Any, error: Any, text: str
    ) -> None:
        values: list[Any] = [1, "1", [], 2]
        records = [encode_example({"x": value}) for value in values]
        paths = write_all(tmp_path, [(records, "")])
        with pytest.raises(error, match=text):
            split_records(paths, [tmp_path / name for name in targets], fractions, **more)
        assert len(list(tmp_path.iterdir())) == 1

    def test_all_parts_come_or_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        save(tmp_path / "all", {"n": np.arange(9)})
        before, replace = sorted(tmp_path.iterdir()), os.replace

        def failing(old: str, new: str) -> None:
            if Path(new).name == "b":
                raise PermissionError(13, "denied", new)
            replace(old, new)

        monkeypatch.setattr("os.replace", failing)
        with pytest.raises(PermissionError):
            split_records(tmp_path / "all", [tmp_path / "a", tmp_path / "b"], [0.5, 0.5])
        assert sorted(tmp_path.iterdir()) == before


class TestUnique:
    @pytest.mark.parametrize("most", [1, 50, 10**6])
    @given(
        records=record_lists(),
        seed=st.integers(0, 99),
        copies=st.integers(1, 3),
        pipe=st.booleans(),
    )
    def test_the_first_ones_in_their_order(
        self, most: int, records: list[bytes], seed: int, copies: int, pipe: bool
    ) -> None:
        records = random.Random(seed).sample(records * copies, len(records) * copies)
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "_MEMORY_PER_ROW", 2**20 // most)
            if pipe:
                (path,) = write_all(Path(folder), [(records, "")])
                sources: Any = [one_way(path)]
            else:
                shards = [(records[:150], ".gz"), (records[150:], "")]
                sources = write_all(Path(folder), shards)
            kept = unique_records(sources, Path(folder, "new@2"), memory_bytes=2**20)
            assert read_all(*kept.paths) == list(dict.fromkeys(records))
            assert (kept.num_records, kept.num_read) == (len(set(records)), len(records))
            n_left = len(list(Path(folder).iterdir())) - 2 - len(sources)
            assert n_left == 0  # no temporary files

    @pytest.mark.needs("remote")
    def test_in_a_store(self) -> None:
        there = "memory://unique/all.tfrecord"
        with TFRecordWriter(there) as writer:
            for number in (1, 2, 1):
                writer.write_example({"n": number})
        kept = unique_records(there, "memory://unique/new.tfrecord.gz", by="n")
        parts = split_records(there, ["memory://unique/a", "memory://unique/b@2"], [0.5, 0.5])
        assert (kept.num_records, len(read_all(*kept.paths))) == (2, 2)
        assert sum(part.num_records for part in parts) == 3

    def test_records_that_are_no_examples(self, tmp_path: Path) -> None:
        paths = write_all(tmp_path, [([b"text"], "")])
        error = raised(InvalidArgumentError, unique_records, paths, tmp_path / "new", by="x")
        assert error.reason is Reason.MALFORMED
