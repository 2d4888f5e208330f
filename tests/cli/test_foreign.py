"""Every verb over files of other formats: what it prints, line by line."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.support.foreign_files import FOREIGN, Foreign

SKIPPING = ["info", "head", "cat", "schema"]
KINDS = {
    **{kind: FOREIGN[kind] for kind in ("JSON array", "tar", "Git LFS pointer")},
    "tiny": Foreign(b'{"a": 1}\n', "JSON"),
}


@pytest.mark.parametrize("verb", [*SKIPPING, "verify", "index", "recover"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_is_named(run: Run, tmp_path: Path, kind: str, verb: str) -> None:
    path, new = tmp_path / "a file", tmp_path / "new"
    path.write_bytes(KINDS[kind].data)
    said = f"{path}: not a TFRecord file; it looks like {KINDS[kind].name}"
    done = run(verb, path, *[new] * (verb == "recover"))
    where, other = (done.out, done.err) if verb == "verify" else (done.err, done.out)
    assert (done.status, len(where), other) == (2, 1, [])
    assert where[0].removeprefix("tfrecord: ").startswith(said)
    assert not new.exists()
    if verb in SKIPPING:
        done = run(verb, path, "--skip-damage")
        assert (done.status, done.out, len(done.err)) == (2, [], 1)
        assert f"and read 0 records; the first: {said}" in done.err[0]
