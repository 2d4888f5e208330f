"""Running the command line inside the tests' process."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import pytest

from tfrecord_lite.cli import main

Run: TypeAlias = "Callable[..., Done]"


class Done(NamedTuple):
    status: int
    out: list[str]
    err: list[str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "100")

    def run_main(*arguments: object) -> Done:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else -1
        out, err = capsys.readouterr()
        return Done(int(status), out.splitlines(), err.splitlines())

    return run_main
