"""``tfrecord filter``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.samples import flower, write
from tfrecord_lite import ExampleParser, TFRecordReader, save

pytestmark = pytest.mark.needs("sql")


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("label = 1", range(1, 30, 3)),
        ("name like 'ro%'", range(1, 30, 3)),
        ("petals[1] >= 20.5", range(20, 30)),
        ("len(petals) = 21 or label is null", []),
        ("1 = 1", range(30)),
    ],
)
def test_conditions(run: Run, tmp_path: Path, condition: str, kept: range | list[int]) -> None:
    path = write(tmp_path / "a", map(flower, range(30)), "GZIP")

    done = run("filter", "--where", condition, path, tmp_path / "x")

    assert (done.status, done.err) == (0, [])
    assert list(TFRecordReader(tmp_path / "x")) == [flower(i) for i in kept]
    assert f"wrote {len(kept)} of 30 records" in done.out[0]


@pytest.mark.parametrize("missing", [["duckdb"], ["duckdb", "pyarrow"]])
def test_without_extras_the_one_that_has_all_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: list[str]
) -> None:
    path = write(tmp_path / "a", map(flower, range(3)))
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)

    done = run("filter", "--where", "label = 1", path, tmp_path / "x")

    assert done.status == 2
    assert "SQL needs duckdb: pip install duckdb pyarrow" in done.err[0]


def test_other_features_are_not_parsed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "a", {"x": [1, 2], "label/of": [3, 4], "y": ["a", "b"]})
    asked: list[set[str]] = []
    begin: Any = ExampleParser.__init__

    def noted(self: Any, features: Mapping[str, object], **more: object) -> None:
        asked.append(set(features))
        begin(self, features, **more)

    monkeypatch.setattr(ExampleParser, "__init__", noted)

    run("filter", "--where", 'x = 1 and "label/of" > 1', tmp_path / "a", tmp_path / "x")

    assert asked[-1] == {"x", "label/of"}


def test_an_error_names_the_file_that_does_not_fit(run: Run, tmp_path: Path) -> None:
    for name, value in (("a", "1"), ("b", "one")):
        save(tmp_path / name, {"x": [value]})

    both = ("filter", "--where", "x::int = 1", tmp_path / "a", tmp_path / "b", tmp_path / "x")
    done = run(*both)

    assert done.err[0].startswith(f"tfrecord: {tmp_path / 'b'}: the condition cannot be evaluated")
