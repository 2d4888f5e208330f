"""A writer that is killed loses nothing that was flushed, and appending repairs its file.

A child process writes without end and reports, after each flush, how many records
it has flushed. It is killed (SIGKILL, which no process can answer) at a moment that
differs each time. ``TFRECORD_MISHAPS`` says how many kills there are, see :mod:`tests.support.mishap_runs`.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from typing import TYPE_CHECKING, Literal, TypeAlias

import pytest

from tests.support.mishap_runs import share
from tests.support.read_outcome import outcome_of
from tfrecord_lite import TFRecordReader, TFRecordWriter
from tfrecord_lite.errors import Reason

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from pathlib import Path

KINDS: list[tuple[str, Literal["w", "a"]]] = [("", "w"), ("", "a"), ("GZIP", "w"), ("GZIP", "a")]

Start: TypeAlias = "Callable[..., tuple[BaseProcess, Connection]]"

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")


def record(i: int) -> bytes:
    """Return record number `i`: its number, repeated so that sizes differ and some are large."""
    times = 5000 if i % 97 == 0 else i % 50
    return b"%d," % i * times


def write_without_end(
    path: str, compression: str, mode: Literal["w", "a"], first: int, seed: int, reports: Connection
) -> None:
    """Write records from number `first` on; the child process."""
    choose = random.Random(seed)
    with TFRecordWriter(path, compression, mode=mode, torn="cut") as writer:
        i = first
        reports.send(i)
        while True:
            for _ in range(choose.choice([1, 3, 50, 700])):
                writer.write(record(i))
                i += 1
            writer.flush()
            reports.send(i)


@pytest.fixture(scope="module")
def start() -> Start:
    """Return what starts a child that writes, from a server that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.files.test_kill"])

    def start(*arguments: object) -> tuple[BaseProcess, Connection]:
        reports, sender = context.Pipe(duplex=False)
        child = context.Process(target=write_without_end, args=(*arguments, sender), daemon=True)
        child.start()
        sender.close()
        return child, reports

    return start


def kill(child: BaseProcess, reports: Connection, n_reports: int, wait: float) -> int:
    """Kill the child some time after some reports; return the last it has sent."""
    n_flushed = -1
    for _ in range(n_reports):
        n_flushed = reports.recv()
    # Reports that come meanwhile count too, so this waits without looking away.
    child.join(wait)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    try:
        while True:
            n_flushed = reports.recv()
    except EOFError:
        pass
    reports.close()
    return n_flushed


@pytest.mark.parametrize(("compression", "mode"), KINDS)
def test_everything_flushed_survives_a_kill_and_appending_repairs_the_tail(
    tmp_path: Path,
    start: Start,
    compression: str,
    mode: Literal["w", "a"],
) -> None:
    choose = random.Random(f"{compression} {mode}")
    path = tmp_path / "killed"
    before: list[bytes] = []
    n_torn = 0

    for seed in range(share(len(KINDS))):
        if seed % 25 == 0:  # a file that grows is read through each time
            path.unlink(missing_ok=True)
            before = []
        # When mode is "a", the next child goes on in the file that the last one left.
        first = len(before) if mode == "a" else 0
        child, reports = start(str(path), compression, mode, first, seed)
        n_flushed = kill(child, reports, choose.randrange(1, 12), choose.choice([0, 0.001, 0.01]))

        found, loss = outcome_of(TFRecordReader(path, compression))

        assert len(found) >= n_flushed
        assert found == [record(i) for i in range(len(found))]
        assert loss is None or loss.reason in (Reason.TRUNCATED, Reason.COMPRESSED_TRUNCATED)
        n_torn += loss is not None

        with TFRecordWriter(path, compression, mode="a", torn="cut") as writer:
            writer.write(record(len(found)))
        before = [*found, record(len(found))]
        assert list(TFRecordReader(path, compression)) == before
        assert [found for found in tmp_path.iterdir() if found.name[0] != "."] == [path]

    # A killed gzip writer never gets to write the end of its stream.
    assert n_torn > 0 or not compression
