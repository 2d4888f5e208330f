"""sample_records: exactly so many, each set equally likely, in the order of the files."""

import itertools
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.rearrange.strategies import ENDINGS, one_way, read_all, record_lists, write_all
from tfrecord_lite.apps.rearrange import files, sample_records
from tfrecord_lite.apps.rearrange.files import threshold
from tfrecord_lite.dataset.random_order import order_words
from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason


def is_in_order(some: list[bytes], records: list[bytes]) -> bool:
    """Whether records are some of others, in the same order, none twice."""
    rest = iter(records)
    return all(record in rest for record in some)


class TestSample:
    @given(record_lists(), st.integers(0, 450), st.integers(0, 99), st.sampled_from(ENDINGS))
    def test_so_many_in_order(self, records: list[bytes], n: int, seed: int, ending: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            paths = write_all(Path(folder), [(records[:50], ending), (records[50:], "")])
            drawn = sample_records(paths, Path(folder, "new"), n, seed=seed)
            found = read_all(Path(folder, "new"))
            assert len(found) == min(n, len(records)) == drawn.num_records
            assert is_in_order(found, records)
            assert drawn.num_read == len(records)
            tenths = Fraction(seed % 11, 10)
            drawn = sample_records(paths, Path(folder, "3"), fraction=float(tenths))
            assert drawn.num_records == round(tenths * len(records))

    @pytest.mark.slow
    def test_every_set_is_equally_likely(self, tmp_path: Path) -> None:
        # Chi-square of 20 sets with 19 degrees of freedom; the seeds are always the same.
        (path,) = write_all(tmp_path, [([b"%d" % i for i in range(6)], "")])
        counts = Counter(
            tuple(
                read_all(*sample_records(path, tmp_path / "new", 3, seed=s, overwrite=True).paths)
            )
            for s in range(1000)
        )
        assert set(counts) == set(itertools.combinations([b"%d" % i for i in range(6)], 3))
        assert sum((count - 50) ** 2 / 50 for count in counts.values()) < 44

    @pytest.mark.parametrize(("arguments", "error"), [
        ({}, InvalidArgumentError), ({"n": 1, "fraction": 0.5}, InvalidArgumentError),
        ({"n": -1}, InvalidArgumentError), ({"n": 1.5}, TypeError),
        ({"fraction": 1.5}, InvalidArgumentError),
        ({"fraction": float("nan")}, InvalidArgumentError), ({"fraction": "x"}, TypeError),
    ])  # fmt: skip
    def test_arguments(self, tmp_path: Path, arguments: Any, error: type[Exception]) -> None:
        with pytest.raises(error, match=r"(n|fraction) (is|must)|give either"):
            sample_records(tmp_path / "a", tmp_path / "b", **arguments)

    def test_what_can_be_read_only_once(self, tmp_path: Path) -> None:
        (path,) = write_all(tmp_path, [([b"a"], "")])
        for size in ({"fraction": 0.5}, {"n": 1}):
            with pytest.raises(FailedPreconditionError) as caught:
                sample_records(one_way(path), tmp_path / "new", **size)
            assert caught.value.reason is Reason.NOT_SEEKABLE


@pytest.mark.parametrize("n_words", [2**20, 50])
@given(seed=st.integers(0, 99), total=st.integers(1, 3000), data=st.data())
def test_the_threshold_is_a_rank(n_words: int, seed: int, total: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, total))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_N_WORDS", n_words)
        assert threshold((seed,), n, total) == np.sort(order_words((seed,), 0, total))[n - 1]
