"""A signal that asks a run to end is answered as Ctrl-C is: what was begun is removed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tfrecord_lite import save
from tfrecord_lite.records.framing import frame

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signals here")

NUMBERS = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]

STUCK = """
import signal, sys, time
from tfrecord_lite.cli import main
from tfrecord_lite.records.sink import RecordSink

def get_stuck(*_):
    print("stuck", flush=True)
    time.sleep(600)

number, ignored, *arguments = sys.argv[1:]
default = signal.default_int_handler if int(number) == signal.SIGINT else signal.SIG_DFL
signal.signal(int(number), signal.SIG_IGN if ignored == "ignored" else default)
RecordSink.add_framed = get_stuck
sys.exit(main(arguments))
"""


QUERYING = """
import os, signal, sys, threading, time
import tfrecord_lite.integrations.duckdb
from tfrecord_lite.cli import main

def interrupt():
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt).start()
files = "'{0}' a, '{0}' b, '{0}' c".format(sys.argv[1])
sys.exit(main(["sql", "select sum(a.n * b.n + c.n) from " + files]))
"""


def start(number: int, *arguments: object, ignored: bool = False) -> subprocess.Popen[bytes]:
    """Start a run that stays in its middle; return it when it is there."""
    what = "ignored" if ignored else "default"
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(int(number)), what, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"stuck\n"
    return process


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "damaged"
    path.write_bytes(bytes(frame([b"one"])) + b"damage")
    return path


@pytest.mark.parametrize("number", [*NUMBERS, signal.SIGINT])
def test_a_run_that_is_asked_to_end_leaves_no_file(source: Path, number: int) -> None:
    with start(number, "recover", source, source.with_name("new")) as process:
        assert len(list(source.parent.iterdir())) == 2  # the new file has a hidden name still
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + number, b"")
    assert list(source.parent.iterdir()) == [source]


@pytest.mark.needs("sql")
def test_an_interrupt_ends_a_query_at_once(tmp_path: Path) -> None:
    save(tmp_path / "a", {"n": np.arange(5000)})  # a query of hours
    arguments = [sys.executable, "-c", QUERYING, str(tmp_path / "a")]
    done = subprocess.run(arguments, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_signal_that_is_ignored_stays_ignored(source: Path) -> None:
    with start(signal.SIGHUP, "recover", source, source.with_name("new"), ignored=True) as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
