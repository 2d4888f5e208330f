"""What verbs print: files of commands and their outputs, which ``pytest --update-golden`` rewrites.

::

    # Comments and commands stay, all else is output: standard output, then errors, then the status.
    $ tfrecord info absent < odd.tfrecord
    tfrecord: absent: No such file or directory
    [2]
"""

import io
import os
import re
import shlex
import sys
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from tests.cli.samples import write_samples
from tests.support import golden

FILES = sorted(Path(__file__).with_name("outputs").glob("*.txt"))
NEEDS = {"images": "image", "tables": "sql"}


@pytest.mark.skipif(os.name == "nt", reason="the system has other words there")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.needs(NEEDS[path.stem])])
        if path.stem in NEEDS
        else pytest.param(path, id=path.stem)
        for path in FILES
    ],
)
def test_what_is_printed(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    write_samples(tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = path.read_text("utf-8").splitlines()
    found: list[str] = []
    for line in lines:
        if line.startswith("# "):
            found += [line, ""] if line != lines[0] else [line]
        if line.startswith("$ "):
            command, _, stdin = line[2:].partition(" < ")
            data = Path(stdin).read_bytes() if stdin else b""
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            status, out, err = run(*shlex.split(command)[1:])
            found += [line, *out, *err, *[f"[{status}]"] * (status != 0), ""]
    text = "\n".join(found).replace(f"{tmp_path}/", "")
    text = re.sub(r'"seconds": [\d.]+', '"seconds": 0.0', text)
    text = re.sub(r'(?<=\.parquet", "rows": 60, "bytes": )\d+', "0", text)  # as pyarrow decides
    if golden.update:
        path.write_text(text, "utf-8")
        return
    diff = "\n".join(unified_diff(lines, text.splitlines(), str(path), "found", n=1, lineterm=""))
    assert not diff, diff
