"""Completion in shells: what bash itself offers after the script was loaded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tfrecord_lite.cli import completion
from tfrecord_lite.cli.app import VERBS

COMPLETE = """
. ./completion.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
found=$(complete -p tfrecord)
[[ $found =~ -F\\ ([^ ]+) ]] && ${BASH_REMATCH[1]} tfrecord "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(run: Run, tmp_path: Path) -> Callable[..., set[str]]:
    """Return a function that returns what bash offers for the last of some words."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("needs bash")
    done = run("completion", "bash")
    assert (done.status, done.err) == (0, [])
    (tmp_path / "completion.bash").write_text("\n".join(done.out) + "\n")
    (tmp_path / "train-0.tfrecord").touch()
    (tmp_path / "train-1.tfrecord").touch()
    (tmp_path / "train").mkdir()

    def offered(*words: str) -> set[str]:
        found = subprocess.run(
            [bash, "--norc", "-c", COMPLETE, "bash", "tfrecord", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not found.stderr
        return set(found.stdout.split())

    return offered


@pytest.mark.needs("cli")
class TestBash:
    def test_words(self, complete: Callable[..., set[str]]) -> None:
        assert complete("") >= set(VERBS)
        assert complete("s") >= {"schema", "split", "shuffle", "sample", "sql"}
        assert complete("ver") == {"verify"}
        options = {"--messages", "--max-record-bytes", "--max-inflated-bytes"}
        assert complete("verify", "--m") == options | {"--max-inflated-ratio"}
        assert complete("verify", "train-0.tfrecord", "--jso") == {"--json"}
        assert complete("info", "--compression", "z") == {"zlib", "zst", "zstd"}
        assert complete("completion", "") >= {"bash", "zsh", "tcsh"}
        assert complete("unpack", "x", "tra") >= {"train"}
        assert complete("pack", "--root", "tra") == {"train"}


@pytest.mark.needs("cli")
@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_script_names_all_verbs_and_is_right(run: Run, shell: str) -> None:
    done = run("completion", shell)

    assert (done.status, done.err) == (0, [])
    script = "\n".join(done.out)
    assert [verb for verb in VERBS if verb not in script] == []
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_without_shtab_there_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)

    done = run("completion", "bash")

    assert (done.status, done.out) == (2, [])
    assert done.err == ["tfrecord: completion needs shtab: pip install shtab"]
