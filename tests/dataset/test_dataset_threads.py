"""Threads and processes of data sets: none is left, whatever happens; errors and Ctrl-C arrive."""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.errors import raised
from tests.support.small_files import FEATURES, number_of, numbers, plain, write_files
from tfrecord_lite import TFRecordDataset
from tfrecord_lite.dataset import workers
from tfrecord_lite.errors import FailedPreconditionError, Reason

# From Python 3.12 on a fork warns if there are threads, and NumPy has some of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    return write_files(tmp_path, [5, 0, 7])


def own_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("tfrecord")]


@pytest.mark.parametrize("n_taken", [0, 1, 5, 12])
@pytest.mark.parametrize("end", ["close", "forget"])
def test_no_thread_is_left(names: list[str], n_taken: int, end: str) -> None:
    run: Any = iter(TFRecordDataset(names).repeat().prefetch(3).map(bytes).prefetch(2))
    for _ in range(n_taken):
        next(run)
    assert len(own_threads()) == (2 if n_taken else 0)
    if end == "close":
        run.close()
        assert list(run) == []
    del run
    gc.collect()
    assert own_threads() == []


def test_prefetching_works_ahead_and_no_further(names: list[str]) -> None:
    made: list[int] = []
    reached = threading.Event()

    def note(record: bytes) -> int:
        made.append(number_of(record))
        if len(made) == 4:
            reached.set()
        return made[-1]

    run = iter(TFRecordDataset(names).map(note).prefetch(3))
    assert next(run) == 0
    assert reached.wait(30)  # one was taken, three are ready, and one more may be in the making
    for _ in range(50):
        time.sleep(0.001)
        assert len(made) <= 5
    run.close()


@pytest.mark.parametrize(
    ("method", "is_file"), [("spawn", True), ("forkserver", True), ("spawn", False)]
)
def test_processes_may_be_spawned(
    names: list[str], monkeypatch: pytest.MonkeyPatch, method: str, is_file: bool
) -> None:
    if not is_file:  # as on other systems than Linux
        monkeypatch.delattr(os, "memfd_create", raising=False)
    dataset = TFRecordDataset(names).shuffle(3, 1).batch(2).parse_example(FEATURES)
    found = list(map(plain, dataset.in_processes(2, start_method=method).set_epoch(0)))
    assert found == list(map(plain, dataset.in_processes(2).set_epoch(0)))
    assert sorted(numbers(found)) == list(range(12))


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "raise SystemExit(5)", "import os; os.kill(os.getpid(), 9)"])
def test_a_program_that_ends_early_leaves_nothing(tmp_path: Path, end: str) -> None:
    """No process, no shared memory, and no word about either."""
    names = write_files(tmp_path, [50, 70])
    program = f"""
import multiprocessing, sys
from tests.support.small_files import FEATURES
from tfrecord_lite import TFRecordDataset
made = TFRecordDataset({names!r}).repeat().batch(2).parse_example(FEATURES)
sys.run = run = iter(made.in_processes(2).prefetch(2))
next(run)
print(*[process.pid for process in multiprocessing.active_children()], flush=True)
{end}
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.stderr == ""
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 60
    while any(map(is_running, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - as the system has it
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_workers_may_wait_for_turns(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_PATIENCE_SECONDS", 0.001)
    found = []
    for number in TFRecordDataset(names).map(number_of).in_processes(1, "fork"):
        found.append(number)
        time.sleep(0.02)
    assert found == list(range(12))


def test_a_worker_that_dies_is_noticed(names: list[str]) -> None:
    def die(record: bytes) -> bytes:
        if number_of(record) == 3:
            os._exit(7)
        return record

    with pytest.raises(RuntimeError, match="exit code 7"):
        list(TFRecordDataset(names).map(die).in_processes(1, "fork"))


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="memory that is no file")
@pytest.mark.parametrize("end", [lambda: os._exit(7), lambda: int("x")])
def test_an_error_does_not_keep_shared_memory(names: list[str], end: Callable[[], object]) -> None:
    def fail(record: bytes) -> bytes:
        if number_of(record) == 3:
            end()
        return record

    try:
        list(TFRecordDataset(names).map(fail).in_processes(1, "fork"))
    except (RuntimeError, ValueError) as error:
        kept = error  # with its traceback
    assert "memfd:tfrecord-worker" not in Path("/proc/self/maps").read_text(), kept


@pytest.mark.parametrize("memory", ["large slots", "small slots", "an array"])
def test_large_arrays_return(names: Any, monkeypatch: pytest.MonkeyPatch, memory: str) -> None:
    """In shared memory, and through the pipe if they do not fit."""
    if memory == "small slots":
        monkeypatch.setattr(workers, "_LARGE_SLOT_BYTES", 1024 * 1024)
    if memory == "an array":
        monkeypatch.delattr(os, "memfd_create", raising=False)

    def large(record: bytes) -> Any:
        n = number_of(record)
        return {"n": n, "a": np.full(n * 200_000, n), "e": np.empty(0)}

    found: list[Any] = list(TFRecordDataset(names).map(large).in_processes(2, "fork"))
    assert sorted(each["n"] for each in found) == list(range(12))
    for each in found:
        assert each["a"].shape == (each["n"] * 200_000,)
        assert (each["a"] == each["n"]).all()
        assert each["a"].flags.writeable


def test_workers_killed_in_writing_fail(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a message is not a message."""
    monkeypatch.setattr(workers, "_LARGE_SLOT_BYTES", 1024 * 1024)

    def large(_: bytes) -> list[str]:
        return ["x" * 10_000_000]  # through the pipe, which is soon full

    run = iter(TFRecordDataset(names).map(large).in_processes(1, "fork"))
    next(run)
    (process,) = multiprocessing.active_children()
    process.kill()
    raised(RuntimeError, list, run, match="SIGKILL")
    assert multiprocessing.active_children() == []


def test_errors_of_a_worker_say_where_they_were_raised(names: list[str]) -> None:
    def work(record: bytes) -> int:
        return 1 // (number_of(record) - 2)

    with pytest.raises(ZeroDivisionError) as caught:
        list(TFRecordDataset(names).map(work).in_processes(1, "fork"))
    assert "in work" in "".join(caught.value.__notes__)


def test_workers_start_no_workers(names: list[str]) -> None:
    with pytest.raises(FailedPreconditionError) as caught:
        list(TFRecordDataset(names).in_processes(2).in_processes(2))
    assert caught.value.reason is Reason.UNSUPPORTED


def test_what_cannot_be_pickled_cannot_be_spawned(names: list[str]) -> None:
    with pytest.raises(FailedPreconditionError, match=r'pickled.*start_method="fork"') as caught:
        list(TFRecordDataset(names).map(lambda x: x).in_processes(2, start_method="spawn"))
    assert caught.value.reason is Reason.UNSUPPORTED
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_program_that_starts_workers_while_it_is_imported_is_told_of_the_guard(
    names: list[str], tmp_path: Path, method: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from tfrecord_lite import TFRecordDataset\n"
        f"print(list(TFRecordDataset({names!r}).in_processes(1, {method!r})))\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    *_, last = [line for line in done.stderr.splitlines() if line.startswith("RuntimeError: a ")]
    assert 'if __name__ == "__main__":' in last
