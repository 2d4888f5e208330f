"""``tfrecord view``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.samples import flower, write
from tfrecord_lite.cli.style import exact_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

pytestmark = pytest.mark.needs("view")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a file of flowers, and temporary files of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    write(tmp_path / "x", map(flower, range(6)))
    return tmp_path


def test_a_page_is_written(run: Run) -> None:
    done = run("view", "x", "-o", "page.html")
    assert "daisy" in Path("page.html").read_text("utf-8")
    size = Path("page.html").stat().st_size
    assert done == (0, [f"page.html: wrote {exact_bytes(size)}"], [])


def test_the_page_does_not_replace_the_data(run: Run) -> None:
    before = Path("x").read_bytes()
    done = run("view", "x", "-o", "x")

    assert done.status == 2
    assert "would replace a file that it shows" in done.err[0]
    assert Path("x").read_bytes() == before


def test_a_file_that_exists_stays_unless_it_is_to_be_replaced(run: Run) -> None:
    for name in ("page.html", "x.idx"):
        Path(name).write_bytes(b"before")
        done = run("view", "x", "-o", name)
        assert (done.status, done.out) == (2, [])
        assert done.err == [f"tfrecord: {name}: File exists; --overwrite replaces it"]
        assert Path(name).read_bytes() == b"before"
        assert run("view", "x", "-o", name, "--overwrite").status == 0
        assert b"daisy" in Path(name).read_bytes()


def test_the_page_opens_in_the_browser(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_it(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)

    assert run("view", "x") == (0, [], [])
    assert len(opened) == 1
    assert opened[0].startswith("file:///")


def test_without_a_browser_its_path_is_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)

    done = run("view", "x")
    assert done.status == 0
    assert Path(done.out[0]).read_text("utf-8").startswith("<!doctype html>")


def test_standard_output(capfdbinary: Any) -> None:
    from tfrecord_lite.cli import main

    assert main(["view", "x", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"<!doctype html>")


def test_features_and_records_are_chosen(run: Run) -> None:
    assert run("view", "x", "-o", "p", "--columns", "label,name", "--records", 2).status == 0
    page = Path("p").read_text("utf-8")
    assert "2 of 6" in page
    assert "petals" not in page


def test_what_is_wrong_is_one_line(run: Run) -> None:
    done = run("view", "x", "--columns", "labels", "-o", "p")
    assert done.status == 2
    assert done.out == []
    assert len(done.err) == 1
    assert "'labels'" in done.err[0]
    assert "'label'" in done.err[0]
    assert not Path("p").exists()
    assert run("view", "missing", "-o", "p") == (
        2,
        [],
        ["tfrecord: missing: No such file or directory"],
    )
