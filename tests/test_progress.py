"""Progress of all long work: callables, bars on a terminal, and nothing elsewhere."""

import io
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import terminal
from tests.support.errors import raised
from tfrecord_lite import TFRecordFile, infer_schema, load, recover, save, summarize, verify
from tfrecord_lite import progress as module
from tfrecord_lite.apps.rearrange import (
    filter_records,
    merge_files,
    sample_records,
    shuffle_records,
    split_files,
)
from tfrecord_lite.apps.tables.conversion import Settings, convert

N_RECORDS = 500
WORKS: dict[str, Callable[[Path, Path, Any], object]] = {
    "save": lambda _, new, p: save(
        new, {"x": np.zeros((N_RECORDS, 500))}, progress=p, lossless=True
    ),
    "load": lambda old, _, p: load(old, progress=p),
    "summarize": lambda old, _, p: summarize(old, progress=p),
    "infer_schema": lambda old, _, p: infer_schema(old, progress=p),
    "convert": lambda old, new, p: convert(
        [str(old)], str(new), Settings(to="tfrecord"), progress=p
    ),
    "verify": lambda old, _, p: verify(old, progress=p),
    "recover": lambda old, new, p: recover(old, new, progress=p),
    "TFRecordFile": lambda old, _, p: TFRecordFile(old, progress=p),
    "merge": lambda old, new, p: merge_files(old, new, progress=p),
    "split": lambda old, new, p: split_files(old, new, num_shards=2, progress=p),
    "filter": lambda old, new, p: filter_records(old, new, lambda b: b.lengths > 0, progress=p),
    "shuffle": lambda old, new, p: shuffle_records(old, new, seed=1, progress=p),
    "sample": lambda old, new, p: sample_records(old, new, 99, seed=1, progress=p),
}
IN_RECORDS = {"save", "load", "summarize", "infer_schema", "convert"}
"""Those that count records; the others count bytes."""
each_work = pytest.mark.parametrize("name", WORKS)


class Seen(list[tuple[int, int | None]]):
    """What a callable was told."""

    def __call__(self, done: int, total: int | None) -> None:
        self.append((done, total))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.tfrecord"
    save(path, {"x": np.arange(N_RECORDS * 500.0).reshape(N_RECORDS, 500)}, lossless=True)
    return path


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERVAL_SECONDS", 0)


@pytest.mark.usefixtures("_always")
class TestCallables:
    @each_work
    def test_what_is_done_grows_up_to_the_total(self, old: Path, name: str) -> None:
        size = N_RECORDS if name in IN_RECORDS else old.stat().st_size
        seen = Seen()
        WORKS[name](old, old.with_name("new"), seen)
        assert len(seen) > 2
        assert seen[-1] == (size, size)
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert {total for _, total in seen} <= ({None, size} if name in IN_RECORDS else {size})

    @pytest.mark.slow
    @each_work
    @pytest.mark.parametrize("n_calls", [0, None])
    @pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
    def test_what_it_raises_ends_the_work_and_leaves_nothing(
        self, old: Path, name: str, n_calls: int | None, error: type[BaseException]
    ) -> None:
        before = names_in(old.parent)
        calls = itertools.count()

        def stop(done: int, total: int | None) -> None:
            # A file of convert appears before the total is known.
            is_all = done == (N_RECORDS if name == "convert" else total)
            if next(calls) == n_calls or (n_calls is None and is_all):
                raise error("enough")

        raised(error, WORKS[name], old, old.with_name("new"), stop, match="enough")
        assert names_in(old.parent) == before

    @pytest.mark.slow
    @pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
    @pytest.mark.parametrize("name", ["verify", "merge", "recover"])
    def test_bytes_are_compressed_ones(self, tmp_path: Path, compression: str, name: str) -> None:
        path, seen = tmp_path / "a", Seen()
        save(
            path,
            {"x": np.random.default_rng(1).random((3000, 600), np.float32)},
            compression=compression,
        )
        size = path.stat().st_size
        WORKS[name](path, tmp_path / "new", seen)
        assert {total for _, total in seen} == {size}
        assert len({done for done, _ in seen if 0.1 < done / size < 0.9}) > 2

    @each_work
    def test_anything_else_is_a_type_error(self, old: Path, name: str) -> None:
        wrong: list[Any] = [1, "yes", []]
        for progress in wrong:
            with pytest.raises(TypeError, match="progress must be True, False, None or a callable"):
                WORKS[name](old, old.with_name("new"), progress)
        assert names_in(old.parent) == {"old.tfrecord", "old.tfrecord.schema.json"}


CODE = """
import sys, tempfile, os
import numpy as np
import tfrecord_lite as t
from tfrecord_lite import progress
progress.INTERVAL_SECONDS = progress.DELAY_SECONDS = 0
folder = tempfile.mkdtemp()
path = os.path.join(folder, "data")
t.save(path, {'x': np.zeros((4000, 300))}, progress=False)
"""
SAVE = "t.save(path, {'x': np.zeros((4000, 300))})"
TRIES = {"save": SAVE, "load": "t.load(path)", "verify": "t.verify(path)"}


@pytest.mark.needs("cli")
class TestBars:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", TRIES)
    def test_a_terminal_has_one_with_rate_and_time_left_that_vanishes(self, name: str) -> None:
        shown = terminal.on_terminal("-c", f"{CODE}\n{TRIES[name]}\nprint('done')")
        assert shown.status == 0, shown.text
        unit = "records" if name in ("save", "load") else "B"
        assert "data:" in shown.text
        assert f"{unit}/s]" in shown.text
        is_total_known = name != "load"
        assert ("%|" in shown.text) == ("<" in shown.text) == is_total_known  # and the time left
        assert terminal.screen(shown.text) == ["done", ""]

    @pytest.mark.slow
    @pytest.mark.parametrize("change", [
        "progress.DELAY_SECONDS = 60", "sys.stderr = open(os.devnull, 'w')", "sys.stderr = None",
        "sys.stderr.close()", "os.environ['TERM'] = 'dumb'", "sys.modules['tqdm'] = None",
        "sys.modules['multiprocessing.process'] = type('P', (), {'parent_process': lambda: 1})",
    ])  # fmt: skip
    def test_there_is_none(self, change: str) -> None:
        ending = "\nos.write(1, b'done')"
        shown = terminal.on_terminal("-c", f"{CODE}\n{change}\n{TRIES['verify']}{ending}")
        assert (shown.status, shown.text) == (0, "done")

    def test_a_warning_of_damage_stays_whole(self) -> None:
        code = f"{CODE}\nwith open(path, 'ab') as file: file.write(b'damage')\n"
        code += "t.load(path, schema=path + '.schema.json', on_error='skip')"
        shown = terminal.on_terminal("-W", "ignore::UserWarning", "-W", "always", "-c", code)
        lines = [line for line in terminal.screen(shown.text) if line]
        assert "records/s]" in shown.text
        assert "DataLossWarning: skipped 1 damaged place" in "".join(lines)
        assert not [line for line in lines if "/s]" in line]

    def test_control_characters_in_names_are_escaped_and_it_starts_no_thread(self) -> None:
        code = f"{CODE}\npath += '\\x1b[31m\\u202e'\n{TRIES['save']}\n"
        shown = terminal.on_terminal(
            "-c", code + "import threading\nprint(threading.active_count())"
        )
        assert "\\x1b[31m\\u202e:" in shown.text
        assert "\x1b[31m" not in shown.text
        assert shown.text.endswith("1\r\n")

    def test_one_that_is_asked_for_goes_anywhere_and_needs_tqdm(
        self, old: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        verify(old, progress=True)
        assert "old.tfrecord: 100%" in capsys.readouterr().err
        merge_files([old, old], old.with_name("new"), progress=True)
        assert "2 files: 100%" in capsys.readouterr().err
        monkeypatch.setitem(sys.modules, "tqdm", None)
        raised(ImportError, verify, old, progress=True, match=r"pip install tqdm")

    def test_a_failing_one_is_dropped(self, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Full(io.StringIO):
            def write(self, text: str) -> int:
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(sys, "stderr", Full())
        assert verify(old, progress=True).is_sound


def test_progress_never_goes_back_and_ends_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERVAL_SECONDS", 0)
    told: list[tuple[int, int | None]] = []
    meter = module.Meter(lambda *some: told.append(some))
    for done in (5, 3, 12):
        meter.update(done, 9)
    meter.expect(20)
    meter.finish()
    assert told == [(5, 9), (5, 9), (12, 12), (20, 20)]
