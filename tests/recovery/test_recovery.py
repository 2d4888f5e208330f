"""verify and recover: what is asked of them, beside what tests/records/test_damage.py asks."""

import errno
import io
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.reference import encode_record
from tests.support.small_files import write_records as write
from tfrecord_lite import (
    FixedLenFeature,
    TFRecordReader,
    TFRecordWriter,
    encode_example,
    load,
    recover,
    save,
    verify,
)
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.framing import frame
from tfrecord_lite.records.sink import RecordSink
from tfrecord_lite.recovery.verify import verify_each

GOOD = [encode_example({"n": i}) for i in range(20)]


def full_disk(_: RecordSink) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


class TestVerify:
    def test_every_file_has_its_report_in_order(self, tmp_path: Path) -> None:
        paths = [
            write(tmp_path / f"{i:02}", [b"x"] * i, ["", "GZIP", "ZLIB"][i % 3]) for i in range(20)
        ]
        for num_threads in (None, 1, 3, 50):
            report = verify(paths, num_threads=num_threads)
            assert report.is_sound
            assert [file.source for file in report.files] == list(map(str, paths))
            assert [file.records for file in report.files] == list(range(20))

    def test_a_file_that_fails_does_not_keep_the_others(self, tmp_path: Path) -> None:
        intact = write(tmp_path / "a", [b"one"])
        report = verify([intact, tmp_path / "missing", tmp_path / "a" / "below", intact])
        assert [type(file.failure) for file in report.files] == [
            type(None),
            FileNotFoundError,
            NotADirectoryError,
            type(None),
        ]
        assert [file.is_sound for file in report.files] == [True, False, False, True]
        assert report.records == 2

    def test_file_objects_are_read_one_after_the_other(self) -> None:
        stream = io.BytesIO(frame([b"one"]))
        assert verify([stream, io.BytesIO(b"junk")], compression="").records == 1

    def test_progress_adds_up_to_all_bytes(self, tmp_path: Path) -> None:
        paths = [write(tmp_path / str(i), [bytes(300_000)] * 20) for i in range(3)]
        n_bytes = sum(path.stat().st_size for path in paths)
        seen: list[tuple[int, int]] = []
        verify(paths, progress=lambda *now: seen.append(now), num_threads=2)
        assert {total for _, total in seen} == {n_bytes}
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert seen[-1][0] == n_bytes

    SIZES = st.lists(
        st.tuples(st.sampled_from([0, 30, 33_000, 2**20]), st.integers(1, 80)), max_size=4
    ).filter(lambda runs: sum(size * n for size, n in runs) < 2**25)

    @given(runs=SIZES, places=st.lists(st.floats(0, 1, exclude_max=True), max_size=3))
    def test_large_and_small_records_and_damage_among_them(self, runs: Any, places: Any) -> None:
        stream = bytearray(frame([bytes(size) for size, n in runs for _ in range(n)]))
        for place in places if stream else ():
            stream[int(place * len(stream))] ^= 1
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a")
            path.write_bytes(stream)
            reader = TFRecordReader(path, "", on_error=lambda _: None)
            for _ in reader.blocks():
                pass
            assert verify(path, compression="") == reader.report

    def test_who_has_enough_stops_the_others(self, tmp_path: Path) -> None:
        paths: list[Any] = [write(tmp_path / str(i), [b"one"]) for i in range(50)]
        reports = verify_each(paths, ReadSettings(), num_threads=2)
        assert next(reports).records == 1
        reports.close()  # type: ignore[attr-defined]
        assert not [t for t in threading.enumerate() if t.name == "tfrecord-verify"]

    def test_what_stops_a_thread_is_raised_here(self, tmp_path: Path) -> None:
        def stop(*_: object) -> None:
            raise error

        paths: list[Any] = [write(tmp_path / str(i), [b"one"]) for i in range(3)]
        for error in RuntimeError("enough"), OSError("enough"):  # the second is not about a file
            for num_threads in 1, 2:
                with pytest.raises(type(error), match="enough"):
                    verify(paths, num_threads=num_threads, progress=stop)

    @pytest.mark.parametrize("num_threads", [0, -1])
    def test_less_than_one_thread(self, num_threads: int) -> None:
        raised(InvalidArgumentError, verify, "a", num_threads=num_threads)


class TestMessages:
    def test_sound_records_that_are_no_examples(self, tmp_path: Path) -> None:
        records = [*GOOD[:5], b"\xff\xff", *GOOD[5:], b"\x0a\xff"]
        (file,) = verify(write(tmp_path / "a", records), messages=True).files
        assert [error.index for error in file.message_errors] == [5, 21]
        assert {error.reason for error in file.message_errors} == {Reason.MALFORMED}
        assert (file.num_message_errors, file.records, file.num_damaged) == (2, 22, 0)
        assert not file.is_sound
        assert verify(tmp_path / "a").is_sound

    def test_with_a_schema(self, tmp_path: Path) -> None:
        records = [*GOOD, encode_example({"other": 1}), encode_example({"n": [1, 2]})]
        schema = {"n": FixedLenFeature([], "int64")}
        (file,) = verify(write(tmp_path / "a", records), schema=schema).files
        assert [(error.index, error.key, error.reason) for error in file.message_errors] == [
            (20, "n", Reason.MISSING),
            (21, "n", Reason.WRONG_COUNT),
        ]

    def test_of_a_class(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [b"", b"\xff", SequenceExample().SerializeToString()])
        for message_class in (Example, SequenceExample):
            (file,) = verify(path, messages=message_class).files
            assert [error.index for error in file.message_errors] == [1]
        raised(TypeError, verify, path, messages=int)

    @given(st.lists(st.booleans(), max_size=40))
    def test_every_wrong_record_and_no_other(self, are_good: list[bool]) -> None:
        stream = frame([GOOD[0] if is_good else b"\xff" for is_good in are_good])
        (file,) = verify(io.BytesIO(stream), compression="", messages=True).files
        wrong = [i for i, is_good in enumerate(are_good) if not is_good]
        assert [error.index for error in file.message_errors] == wrong

    def test_a_wrong_schema_is_refused_before_a_file_is_read(self) -> None:
        raised((InvalidArgumentError, TypeError), verify, "missing", schema={"n": 7})


class TestRecover:
    def damaged(self, path: Path) -> Path:
        path.write_bytes(encode_record(b"one") + b"junk" + encode_record(b"two"))
        return path

    @pytest.mark.parametrize("output_compression", ["infer", None, "", "GZIP", "ZLIB"])
    def test_the_file_is_compressed(self, tmp_path: Path, output_compression: str | None) -> None:
        for compression in ("", "GZIP"):
            source = write(tmp_path / f"a{compression}", [b"one", b"two"], compression)
            new = tmp_path / "new"
            recover(source, new, output_compression=output_compression, overwrite=True)
            expected = compression if output_compression == "infer" else output_compression or ""
            assert list(TFRecordReader(tmp_path / "new", expected)) == [b"one", b"two"]

    def test_the_source_is_no_target_by_any_name(self, tmp_path: Path) -> None:
        source = self.damaged(tmp_path / "a")
        (tmp_path / "link").symlink_to(source)
        before = source.read_bytes()
        for other in (source, tmp_path / "link", f"file://{source}"):
            error = raised(InvalidArgumentError, recover, source, other, overwrite=True)
            assert error.reason is Reason.BAD_ARGUMENT
        assert source.read_bytes() == before

    def test_a_file_that_is_there_stays_unless_told(self, tmp_path: Path) -> None:
        source, target = self.damaged(tmp_path / "a"), tmp_path / "new"
        target.write_bytes(b"precious")
        raised(FileExistsError, recover, source, target)
        assert target.read_bytes() == b"precious"
        recover(source, target, overwrite=True)
        assert list(TFRecordReader(target)) == [b"one", b"two"]

    def test_a_failure_leaves_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = self.damaged(tmp_path / "a")
        raised(DataLossError, recover, source, tmp_path / "new", compression="GZIP")
        raised(FileNotFoundError, recover, tmp_path / "missing", tmp_path / "new")
        monkeypatch.setattr(RecordSink, "finish", full_disk)
        raised(OSError, recover, source, tmp_path / "new", match="No space")
        assert list(tmp_path.iterdir()) == [source]

    def test_file_objects_are_refused(self, tmp_path: Path) -> None:
        path = self.damaged(tmp_path / "a")
        for src, dst in ((io.BytesIO(), tmp_path / "new"), (path, io.BytesIO())):
            raised(TypeError, recover, src, dst)

    def test_of_a_file_without_an_intact_record_none_is_made(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"nothing of use here\0" * 95)
        report = recover(tmp_path / "a", tmp_path / "new")
        assert (report.records, report.lost_bytes) == (0, 1900)
        assert [found.name for found in tmp_path.iterdir()] == ["a"]
        (tmp_path / "new").write_bytes(b"precious")
        recover(tmp_path / "a", tmp_path / "new", overwrite=True)
        assert (tmp_path / "new").read_bytes() == b"precious"
        assert sorted(found.name for found in tmp_path.iterdir()) == ["a", "new"]

    def test_of_a_sound_file_without_records_one_is_made(self, tmp_path: Path) -> None:
        assert recover(write(tmp_path / "a", []), tmp_path / "new").is_sound
        assert (tmp_path / "new").read_bytes() == b""

    def test_a_remote_file(self) -> None:
        fsspec = pytest.importorskip("fsspec")
        with TFRecordWriter("memory://recover/a.gz", "GZIP") as writer:
            writer.write(b"one")
        data = fsspec.filesystem("memory").cat("/recover/a.gz")
        fsspec.filesystem("memory").pipe("/recover/a.gz", data[:-8] + bytes(8) + data)
        report = recover("memory://recover/a.gz", "memory://recover/b")
        assert report.records == 2
        assert [span.source for span in report.spans] == ["memory://recover/a.gz"]
        assert list(TFRecordReader("memory://recover/b")) == [b"one"] * 2


class TestWhatIsNotToBeRead:
    @pytest.mark.parametrize("other", ["memory:///same", "memory:////same", "memory://same/"])
    def test_a_remote_file_is_itself_under_any_of_its_names(self, other: str) -> None:
        memory = pytest.importorskip("fsspec").filesystem("memory")
        stored = frame([b"one"]) + b"damage"
        memory.pipe("/same", bytes(stored))
        for pair in ("memory://same", other), (other, "memory://same"):
            raised(InvalidArgumentError, recover, *pair, overwrite=True, match="another name")
        assert memory.cat("/same") == stored

    def test_several_files_are_refused(self, tmp_path: Path) -> None:
        write(tmp_path / "a-0", [b"one"])
        assert recover(tmp_path / "a-*", tmp_path / "new").records == 1  # one after all
        write(tmp_path / "a-1", [b"one"])
        with pytest.raises(InvalidArgumentError, match=r"names 2; to save .* merge"):
            recover(tmp_path / "a-*", tmp_path / "b")
        assert not (tmp_path / "b").exists()

    def test_a_pipe_is_refused(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FailedPreconditionError, match="read only once"):
            recover(tmp_path / "pipe", tmp_path / "new")
        assert not (tmp_path / "new").exists()


def damaged(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 255
    path.write_bytes(content)


class TestSidecars:
    def test_the_new_file_has_the_sidecar_of_the_damaged_one(self, tmp_path: Path) -> None:
        path, new = tmp_path / "old", tmp_path / "new"
        save(path, {"x": np.arange(5, dtype="u1"), "y": np.arange(5) / 3}, lossless=True)
        size = path.stat().st_size
        damaged(path, size // 2)
        recover(path, new)
        first = load(new)
        save(new, {"z": [1]})
        Path(f"{path}.schema.json").unlink()
        recover(path, new, overwrite=True)
        assert (first["x"].dtype, first["x"].tolist()) == (np.uint8, [0, 1, 3, 4])
        assert first["y"].tolist() == [0, 1 / 3, 1, 4 / 3]
        assert not Path(f"{new}.schema.json").exists()  # that of what was replaced
        assert load(new)["x"].dtype == np.int64

    def test_a_sidecar_of_other_data_is_left_behind(self, tmp_path: Path) -> None:
        path, new = tmp_path / "old", tmp_path / "new"
        save(path, {"x": [1]})
        write(new, GOOD)
        new.replace(path)
        damaged(path, 100)
        with pytest.warns(UserWarning, match="gets no sidecar") as warned:
            recover(path, new)
        assert warned[0].filename == __file__
        assert not Path(f"{new}.schema.json").exists()

    @pytest.mark.needs("dataframes")
    def test_rows_of_a_frame_that_are_lost_are_not_counted(self, tmp_path: Path) -> None:
        import pandas as pd

        path, new = tmp_path / "old", tmp_path / "new"
        save(path, pd.DataFrame({"x": [1, None, 3]}, pd.RangeIndex(5, 8), dtype="Int16"))
        damaged(path, 20)
        recover(path, new)
        found = load(new, as_="pandas")
        assert (found["x"].dtype, found.index.tolist()) == ("Int16", [0, 1])
