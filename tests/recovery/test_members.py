"""What recover saves of files of several compressed members, some of them damaged."""

import bz2
import gzip
import io
import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import reference
from tests.support.errors import raised
from tests.support.frame_damage import IN_PLACE, Extent
from tests.support.read_outcome import outcome_of
from tfrecord_lite import TFRecordReader, recover
from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.records.framing import frame
from tfrecord_lite.recovery import members as searching
from tfrecord_lite.recovery import recover as recovering


def packed(records: Sequence[bytes], level: int = 6) -> bytes:
    return gzip.compress(bytes(frame(records)), level, mtime=0)


def saved(folder: Path, data: bytes, compression: str | None = "GZIP") -> list[bytes]:
    """Recover from these bytes; check what the report says, and return the records saved."""
    path, new = folder / "damaged", folder / "saved"
    path.write_bytes(data)
    report = recover(path, new, compression=compression, overwrite=True)
    records = list(TFRecordReader(new)) if report.records else []
    assert report.records == len(records)
    assert report.files[0].record_bytes == sum(map(len, records))
    return records


def some_records(choose: random.Random, name: str, n_records: int) -> list[bytes]:
    """Return records of which no two are the same; most of some cannot be compressed."""
    sizes = choose.choices((0, 20, 300, 3000), k=n_records)
    return [
        b"%s %d " % (name.encode(), i)
        + (bytes(size) if choose.random() < 0.4 else choose.randbytes(size))
        for i, size in enumerate(sizes)
    ]


KINDS = sorted(IN_PLACE.keys() - {"duplicate"})
"""A member that is there twice is two members."""


def cut(data: bytes, at: Extent, choose: random.Random) -> bytes:  # noqa: ARG001 - as the others
    return data[: at.start]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    choose=st.randoms(use_true_random=True),
    levels=st.lists(st.sampled_from([0, 1, 6, 9]), min_size=2, max_size=6),
    hits=st.sets(st.integers(0, 5), min_size=1),
    codec=st.sampled_from(["GZIP", "BZ2"]),
)
def test_every_record_of_a_member_without_damage_is_saved_once(
    tmp_path: Path, choose: random.Random, levels: list[int], hits: set[int], codec: str
) -> None:
    contents = [
        some_records(choose, f"member {i}", choose.choice((1, 3, 30, 100)))
        for i in range(len(levels))
    ]
    # A file of records that is itself a record, stored as it is at level 0.
    for i in set(range(len(levels))) - hits:
        contents[i].insert(
            choose.randrange(len(contents[i])), packed([b"a record in record of %d" % i], 0)
        )
    if codec == "GZIP":
        streams = [packed(c, level) for c, level in zip(contents, levels, strict=True)]
    else:
        streams = [
            bz2.compress(bytes(frame(c)), level or 1)
            for c, level in zip(contents, levels, strict=True)
        ]
    for i in hits & set(range(len(levels))):
        start = choose.randrange(len(streams[i]))
        at = Extent(start, choose.randint(start + 1, len(streams[i])))
        damage = choose.choice([cut, *(IN_PLACE[kind] for kind in KINDS)])
        streams[i] = damage(streams[i], at, choose)
    data = b"".join(streams)
    (tmp_path / "a").write_bytes(data)

    records = saved(tmp_path, data, codec)

    everything = [record for content in contents for record in content]
    assert set(records) <= set(everything)
    undamaged = [record for i, c in enumerate(contents) if i not in hits for record in c]
    # Of a damaged member a record may come twice: what copies earlier data may still do so.
    assert [record for record in records if record in set(undamaged)] == undamaged
    # Nothing is left out that is read by going on, unless there is damage in what a torn one takes.
    if len(hits & set(range(len(levels)))) < 2:
        read = outcome_of(TFRecordReader(tmp_path / "a", codec, on_error=str)).records
        assert set(read) & set(everything) <= set(records)


def incompressible(name: bytes, n_records: int) -> list[bytes]:
    choose = random.Random(name)
    return [b"%s %03d " % (name, i) + choose.randbytes(200) for i in range(n_records)]


class TestTornMembers:
    """The end of a member is missing, and the next member is treated as its data."""

    FIRST, SECOND, THIRD = (
        incompressible(name, n) for name, n in ((b"first", 50), (b"second", 30), (b"third", 10))
    )

    @pytest.mark.parametrize("level", [0, 1, 6])
    @pytest.mark.parametrize("n_missing", [1, 8, 9, 100, 1000, 10_000])
    def test_no_record_is_saved_twice(self, tmp_path: Path, level: int, n_missing: int) -> None:
        first, second, third = (packed(m, level) for m in (self.FIRST, self.SECOND, self.THIRD))
        torn = first[:-n_missing]
        whole, _ = reference.decode(zlib.decompressobj(31).decompress(torn))
        assert saved(tmp_path, torn + second + third) == [*whole, *self.SECOND, *self.THIRD]

    def test_the_report_says_where_the_next_one_begins(self, tmp_path: Path) -> None:
        first, second = packed(self.FIRST, 0)[:-300], packed(self.SECOND, 0)
        (tmp_path / "a").write_bytes(first + second)
        (file,) = recover(tmp_path / "a", tmp_path / "new").files
        (span,) = file.spans
        assert span.reason is Reason.COMPRESSED_TRUNCATED
        assert f"byte {len(first)} of the file" in (span.detail or "")
        assert (span.records_before, span.records_after) == (48, 30)
        n_torn = len(zlib.decompressobj(31).decompress(first)) - len(frame(self.FIRST[:48]))
        assert n_torn - 8 <= span.length == file.lost_bytes <= n_torn


def _nested() -> bytes:
    """Return the head of a member, and that of a stored block which holds the next such."""
    head = b"\x1f\x8b\x08" + bytes(7)
    size = len(head) + 5
    return head + b"\0" + size.to_bytes(2, "little") + (0xFFFF ^ size).to_bytes(2, "little")


NESTED = _nested()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("codec", ["GZIP", "BZ2"])
def test_only_the_first_bytes_of_a_member_are_left(tmp_path: Path, codec: str) -> None:
    # A piece that begins with them, and goes on with what another member has.
    content = bytes(frame(incompressible(b"last", 20)))
    last = gzip.compress(content, mtime=0) if codec == "GZIP" else bz2.compress(content)
    for n_left in range(3, 12):
        assert saved(tmp_path, last[:n_left] + last, codec) == incompressible(b"last", 20)


@pytest.mark.parametrize("at", range(4))
def test_a_damaged_header(tmp_path: Path, at: int) -> None:
    first, second = incompressible(b"first", 20), incompressible(b"second", 5)
    data = bytearray(packed(first) + packed(second))
    data[at] ^= 0x15
    assert saved(tmp_path, bytes(data)) == first + second


class TestManyMembers:
    @pytest.fixture
    def count_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], int]:
        """Return what counts the bytes that recovering from a file takes from it."""
        n_read = 0

        class Counted(io.FileIO):
            def read(self, n_bytes: int | None = -1) -> bytes:
                nonlocal n_read
                data = super().read(-1 if n_bytes is None else n_bytes)
                n_read += len(data)
                return data

        def count(data: bytes) -> int:
            nonlocal n_read
            n_read = 0
            saved(tmp_path, data)
            return n_read

        monkeypatch.setattr(recovering, "open_seekable", lambda name, _: Counted(name))
        return count

    @pytest.mark.parametrize("n_members", [100, pytest.param(3000, marks=pytest.mark.slow)])
    def test_no_number_of_damaged_ones_hides_others(self, tmp_path: Path, n_members: int) -> None:
        damaged = [bytearray(packed([b"%d" % i, b"lost"])) for i in range(n_members)]
        for member in damaged:
            member[-1] ^= 1  # of the trailer, so all of its records are there
        last = packed([b"last"])
        records = saved(tmp_path, b"".join(damaged) + last)
        assert records == [r for i in range(n_members) for r in (b"%d" % i, b"lost")] + [b"last"]

    @pytest.mark.parametrize("n_places", [1000, pytest.param(5000, marks=pytest.mark.slow)])
    def test_nor_does_any_number_of_look_alikes(self, tmp_path: Path, n_places: int) -> None:
        looks_like = b"\x1f\x8b\x08\0" + bytes(20)
        data = packed([b"first"])[:-4] + looks_like * n_places + packed([b"last"])
        assert saved(tmp_path, data) == [b"first", b"last"]

    def test_what_is_read_grows_with_the_file(self, count_read: Callable[[bytes], int]) -> None:
        choose = random.Random(5)
        for n_members in (20, 200):
            members = [bytearray(packed([choose.randbytes(2000)] * 3)) for _ in range(n_members)]
            for member in members[::2]:
                member[len(member) // 2] ^= 0x55
            data = b"".join(members)
            # To find it and to copy it, around damage three times each, and in search of places.
            assert count_read(data) < 16 * len(data)

    @pytest.mark.slow
    @pytest.mark.parametrize("data", [NESTED, b"\x1f\x8b\x08\0", b"\x1f\x8b\x08"])
    @pytest.mark.parametrize("is_free", [True, False])
    def test_work_is_linear_whatever_looks_like_a_member(
        self,
        count_read: Callable[[bytes], int],
        monkeypatch: pytest.MonkeyPatch,
        data: bytes,
        *,
        is_free: bool,
    ) -> None:
        if not is_free:
            monkeypatch.setattr(searching, "_FREE_COST", 0)
            monkeypatch.setattr(searching, "_MAX_CANDIDATES", 100)
        few, many = (count_read(data * n) for n in (1000, 8000))
        assert 0 < many < 10 * few

    def test_members_that_take_all_others_for_their_data_are_linear_work(
        self, count_read: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(searching, "_FREE_COST", 0)
        content = bytes(frame([b"one"]))
        stored = len(content).to_bytes(2, "little")
        stored += (0xFFFF ^ len(content)).to_bytes(2, "little") + content
        # A record in a block, and the head of a block of 64 KB.
        data = b"\x1f\x8b\x08" + bytes(7) + b"\0" + stored + b"\0\xff\xff\0\0"
        assert count_read(data * 2000) < 50 * len(data) * 2000

    @pytest.mark.slow
    def test_places_are_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a").write_bytes(NESTED * 3000)
        monkeypatch.setattr(searching, "_FREE_COST", 0)
        (file,) = recover(tmp_path / "a", tmp_path / "new", compression="GZIP").files
        assert any("were not tried" in (span.detail or "") for span in file.spans)


class TestLimits:
    def test_of_what_is_inflated(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(packed([bytes(5_000_000)])[:-1])
        every: list[Any] = [{"max_inflated_bytes": 1_000_000}, {"max_inflated_ratio": 50}]
        for limits in every:
            with pytest.raises(DataLossError) as caught:
                recover(tmp_path / "a", tmp_path / "new", **limits)
            assert caught.value.reason is Reason.INFLATED_TOO_LARGE
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_a_ratio_is_that_of_a_reader(self, tmp_path: Path) -> None:
        choose = random.Random(1)
        data = packed([bytes(2_000_000)]) + packed([choose.randbytes(60_000)])
        (tmp_path / "a").write_bytes(data + data[:-5])
        for ratio in (20, 600):
            limits: Any = {"max_inflated_ratio": ratio}
            read = outcome_of(TFRecordReader(tmp_path / "a", on_error=str, **limits))
            if read.loss is None:
                report = recover(tmp_path / "a", tmp_path / "new", **limits)
                assert report.records == len(read.records)
                continue
            assert read.loss.reason is Reason.INFLATED_TOO_LARGE
            raised(DataLossError, recover, tmp_path / "a", tmp_path / "new", **limits)

    def test_of_all_members_together(self, tmp_path: Path) -> None:
        member = packed([bytes(400_000)])[:-1]
        (tmp_path / "a").write_bytes(member * 5)
        assert recover(tmp_path / "a", tmp_path / "new", max_inflated_bytes=3_000_000).records == 5
        with pytest.raises(DataLossError) as caught:
            recover(tmp_path / "a", tmp_path / "other", max_inflated_bytes=1_000_000)
        assert caught.value.reason is Reason.INFLATED_TOO_LARGE
