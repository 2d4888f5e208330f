"""What all verbs share: inputs, errors, exit statuses, pipes, help."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.samples import flower, write
from tfrecord_lite.cli import inputs, words
from tfrecord_lite.cli.app import VERBS as ALL_VERBS
from tfrecord_lite.records.framing import frame

VERBS = ["info", "head", "cat", "verify"]
each_verb = pytest.mark.parametrize("verb", VERBS)
ROOT = Path(__file__).resolve().parents[2]


def tfrecord(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own; a single text with a space is a line of a shell."""
    command: Any = [sys.executable, "-W", "error", "-m", "tfrecord_lite", *map(str, arguments)]
    if " " in str(arguments[0]):
        command = ["/bin/sh", "-c", str(arguments[0]).replace("tfrecord", " ".join(command[:5]), 1)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(command, check=False, env=env, **options)


class TestInputs:
    @each_verb
    def test_patterns_shards_urls_and_standard_input(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
    ) -> None:
        names = [f"train-{i:05d}-of-00002" for i in range(2)]
        paths = [write(tmp_path / name, map(flower, range(5)), "ZLIB") for name in names]
        given = run(verb, *paths)
        assert given.status == 0
        assert given.out == run(verb, tmp_path / "train-*").out
        assert given.out == run(verb, tmp_path / "train@2").out
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(paths[0].read_bytes())))
        piped = [line.replace("<stdin>", str(paths[0])) for line in run(verb, "-").out]
        assert piped[-1] == run(verb, paths[0]).out[-1]
        pytest.importorskip("fsspec")
        assert run(verb, f"file://{paths[0]}").status == 0
        assert run(verb, f"file://{paths[0]}.missing").status == 2

    @each_verb
    def test_what_cannot_be_read_is_named(self, run: Run, tmp_path: Path, verb: str) -> None:
        path = write(tmp_path / "a", [b"text"])
        missing, pattern, empty = tmp_path / "missing", tmp_path / "*.none", tmp_path / "empty"
        empty.mkdir()
        done = run(verb, "--json", missing, pattern, empty, "unknown://x/y", path)
        assert done.status == 2
        assert len(done.out) == (2 if verb == "verify" else 1)  # which says so of each file
        assert len(done.err) == 4
        assert all(line.startswith("tfrecord: ") for line in done.err)
        assert f"tfrecord: {missing}: No such file or directory" in done.err
        assert f"tfrecord: {empty}: the folder is empty" in done.err

    @each_verb
    def test_the_worst_file_decides_the_status(self, run: Run, tmp_path: Path, verb: str) -> None:
        good, bad = write(tmp_path / "a", [b"one"]), tmp_path / "b"
        bad.write_bytes(bytes(frame([b"one"]))[:-1])
        assert run(verb, good).status == 0
        assert run(verb, bad, good).status == 1
        assert run(verb, bad, tmp_path / "missing", good).status == 2

    @pytest.mark.parametrize(
        ("text", "n_bytes"),
        [("0", 0), ("1000B", 1000), ("64k", 64_000), ("200mib", 200 << 20), ("1TB", 10**12)],
    )
    def test_units_are_powers_of_1000_and_with_an_i_of_1024(self, text: str, n_bytes: int) -> None:
        assert inputs.size(text) == n_bytes


class TestArguments:
    @pytest.mark.parametrize("arguments", [[], ["info"], ["nonsense"], ["cat", "--nonsense", "a"]])
    def test_wrong_ones_are_one_line(self, run: Run, arguments: list[str]) -> None:
        done = run(*arguments)
        assert done.status == 2
        assert len(done.err) == 1
        assert done.err[0].startswith("tfrecord: ")
        assert "--help" in done.err[0]

    def test_a_word_that_is_no_verb_gets_the_nearest(self, run: Run) -> None:
        said = {
            word: (run(word, "absent").err[0].partition("did you mean ")[2] or "?").split()[0]
            for word in [
                "ls",
                "show",
                "peek",
                "dump",
                "print",
                "validate",
                "fsck",
                "join",
                "concat",
                "shard",
                "subset",
                "grep",
                "export",
                "to-csv",
                "vrify",
            ]
        }

        assert said == {
            **dict.fromkeys(("show", "peek", "print"), "head?"),
            **dict.fromkeys(("validate", "fsck", "vrify"), "verify?"),
            **dict.fromkeys(("join", "concat"), "merge?"),
            **dict.fromkeys(("export", "to-csv"), "convert?"),
            "ls": "info?",
            "dump": "cat?",
            "shard": "split?",
            "subset": "sample?",
            "grep": "filter?",
        }
        assert ALL_VERBS.keys() - words.VERBS.keys() == set()
        assert "the verbs are info, head" in run("xyzzy").err[0]

    @pytest.mark.parametrize(("command", "hint"), [
        ("sql --max-rows 3 x", "did you mean --limit?"),
        ("schema --max_records 3 x", "did you mean --limit?"),
        ("merge --force a b", "did you mean --overwrite?"),
        ("convert a.csv b.csv --output x", "the last argument is what to write"),
        ("unpack -o x a", "the last argument is what to write"),
        ("stats a -o x", "redirect what it prints: > FILE"),
        ("sample --num 3 a b", "did you mean --limit?"),
        ("stats --col x a", "did you mean --columns?"), ("count --where x", "it is an option of"),
        ("convert a b --compression snappy", "--output-compression is what to write"),
    ])  # fmt: skip
    def test_an_unknown_option_gets_the_nearest(self, run: Run, command: str, hint: str) -> None:
        done = run(*command.split())
        assert (done.status, len(done.err)) == (2, 1)
        assert hint in done.err[0]

    def test_options_may_come_before_a_file_without_a_verb(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [b"one", b"two"])
        assert run("head", "-1", path) == run("cat", path, "-1") == run("head", "-n", 1, path)
        assert run("head", "--record", "-1", path).out[0].startswith("record 1:")
        assert run("-n", "2", path).out == run(path, "-n", 2).out
        assert run("--json", path).out[-1] == '{"text": "one"}'

    @pytest.mark.parametrize("name", ["gz", "GZIP", "Gzip"])
    def test_a_compression_has_many_words(self, run: Run, tmp_path: Path, name: str) -> None:
        path = write(tmp_path / "a", [b"one"], "GZIP")
        assert run("cat", "--compression", name, path).status == 0
        assert run("merge", "--output-compression", name, path, tmp_path / "b").status == 0
        assert (tmp_path / "b").read_bytes()[:2] == b"\x1f\x8b"

    def test_reading_is_explained_once(self, run: Run) -> None:
        assert any(line.startswith("  --max-inflated-ratio X") for line in run("help").out)
        shown = run("help", "merge").out
        assert next(line for line in shown if "--max-inflated-ratio" in line).startswith(
            "reading: "
        )

    @pytest.mark.parametrize("verb", ["", *ALL_VERBS])
    def test_the_help_has_examples_and_exit_statuses(self, run: Run, verb: str) -> None:
        done = run(*verb.split(), "--help")
        assert (done.status, done.err) == (0, [])
        assert any(line.startswith("exit status:") for line in done.out)
        assert any(f"tfrecord {verb}" in line for line in done.out[done.out.index("examples:") :])


class TestProcess:
    @pytest.mark.skipif(not hasattr(os, "set_blocking"), reason="no such pipes here")
    def test_a_pipe_that_does_not_wait_is_not_treated_as_complete(self) -> None:
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        os.write(write_end, bytes(frame([b"one"])))
        done = tfrecord("verify", "-", stdin=read_end)
        os.close(read_end)
        os.close(write_end)
        assert done.returncode == 2
        assert done.stderr.startswith(b"tfrecord: <stdin>: the file object is non-blocking")
        assert done.stderr.count(b"\n") == 1

    @pytest.mark.skipif(os.name == "nt", reason="needs a shell with pipes")
    def test_a_reader_that_has_enough_ends_it_quietly(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a", map(flower, range(2000)))
        done = tfrecord(f'(tfrecord cat "{path}"; echo "status $?" >&2) | head -n 1')
        assert done.stdout.startswith(b"record 0: tf.train.Example")
        assert done.stderr == b"status 141\n"

    @pytest.mark.slow
    @pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes streams")
    @pytest.mark.parametrize(("command", "said"), [
        ("info - <&-", b"tfrecord: standard input is closed\n"),
        ("cat {path} >&-", b"tfrecord: standard output is closed\n"),
        ("--help >&-", b"tfrecord: standard output is closed\n"), ("info {path}.missing 2>&-", b""),
        ("nonsense 2>&-", b""),
        ("info --help >/dev/full", b"tfrecord: standard output: No space left on device\n"),
        ("--version >/dev/full", b"tfrecord: standard output: No space left on device\n"),
    ])  # fmt: skip
    def test_a_closed_or_full_stream_is_said(
        self, tmp_path: Path, command: str, said: bytes
    ) -> None:
        if "/dev/full" in command and not Path("/dev/full").exists():
            pytest.skip("needs /dev/full")
        path = write(tmp_path / "a", [b"one"])
        done = tfrecord(f"tfrecord {command.format(path=path)}")
        assert (done.returncode, done.stderr) == (2, said)


def test_events_that_are_not_there(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [flower(0)])
    text = f"tfrecord: {path}: no event has a scalar; tfrecord FILE shows what is in a file"
    assert run("events", path) == (2, [], [text])
    done = run("events", tmp_path / "absent")
    assert (done.status, done.out) == (2, [])
    assert run("version").err[0].endswith("did you mean --version? (see tfrecord --help)")
    assert "did you mean --fractions?" in run("split", path, "--test-size=1", "b").err[0]
