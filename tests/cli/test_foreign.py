"""Every verb over files that are not what it expects: what it prints, line by line."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.corpus import ABSENT, corpus_path
from tests.support.foreign_files import FOREIGN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

VERBS = ["info", "head", "cat", "verify", "schema", "index", "recover"]
SKIPPING = ["info", "head", "cat", "schema"]
each_verb = pytest.mark.parametrize("verb", VERBS)


@pytest.fixture
def run_verb(run: Run, tmp_path: Path) -> Callable[..., Done]:
    """Return a function that runs a verb over one file, and looks at what is always so."""

    def run_over(verb: str, path: object, *options: str) -> Done:
        new = tmp_path / "folder for" / "new"
        new.parent.mkdir(exist_ok=True)
        done = run(verb, *options, path, *[new] * (verb == "recover"))
        assert not any("Traceback" in line for line in [*done.out, *done.err])
        assert all(line.startswith("tfrecord: ") for line in done.err)
        assert new.exists() == (verb == "recover" and done.status < 1)
        if new.exists():
            new.unlink()
        return done

    return run_over


class TestOtherFormats:
    @each_verb
    @pytest.mark.parametrize("kind", ["JSON array", "tar", "Git LFS pointer"])
    def test_each_is_named(self, run_verb: Run, tmp_path: Path, kind: str, verb: str) -> None:
        self.check(run_verb, tmp_path / "a file", verb, *FOREIGN[kind])

    @each_verb
    def test_a_tiny_one_is_named(self, run_verb: Run, tmp_path: Path, verb: str) -> None:
        self.check(run_verb, tmp_path / "a file", verb, b'{"a": 1}\n', "JSON")

    def check(self, run_verb: Run, path: Path, verb: str, data: bytes, name: str) -> None:
        path.write_bytes(data)
        said = f"{path}: not a TFRecord file; it looks like {name}"
        done = run_verb(verb, path)

        assert done.status == 2
        if verb == "verify":
            assert (len(done.out), done.err) == (1, [])
            assert done.out[0].startswith(said)
        else:
            assert (done.out, len(done.err)) == ([], 1)
            assert done.err[0].startswith(f"tfrecord: {said}")
        if verb in SKIPPING:
            done = run_verb(verb, path, "--skip-damage")
            assert (done.status, done.out, len(done.err)) == (2, [], 1)
            assert f"and read 0 records; the first: {said}" in done.err[0]


@each_verb
def test_every_file_of_the_corpus(run_verb: Run, tmp_path: Path, verb: str) -> None:
    corpus = corpus_path()
    if corpus is None:
        pytest.skip(ABSENT)
    for path in sorted(path for path in (corpus / "files").rglob("*") if path.is_file()):
        copy = tmp_path / path.name
        shutil.copy(path, copy)

        done = run_verb(verb, copy)

        said = " ".join([*done.out, *done.err])
        if path.suffix in (".json", ".pbtxt"):
            kind = (
                f"{path.name} of TFDS" if path.suffix == ".json" else "schema of TFX in text form"
            )
            assert f"{copy}: not a TFRecord file; it looks like a {kind}" in said
            assert done.status == 2
        elif verb == "index" and path.suffix in (".gz", ".tfr"):
            assert "random access needs an uncompressed file" in said
        elif verb == "schema" and "events" in path.name:
            assert "the records are TensorBoard events" in said
        elif verb == "schema" and "elwc" in path.name:
            assert "the records look like lists of Examples" in said
        else:
            assert (done.status, done.err) == (0, [])
