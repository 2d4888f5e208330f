"""Whatever files, names and arguments hold, nothing but text reaches a terminal."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.samples import tiny_png
from tests.support import terminal
from tests.support.extras import is_installed
from tfrecord_lite import encode_example, encode_sequence_example
from tfrecord_lite.cli.app import VERBS
from tfrecord_lite.records.framing import frame

pytestmark = pytest.mark.skipif(os.name == "nt", reason="such names are not possible there")

EVIL = (
    "\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\x00\u202eevil\u2066\u200f\x08\rover\nINJECTED\u2028\x85"
)
NAME = EVIL.replace("\x00", "")


def example() -> bytes:
    row = {EVIL: EVIL, "text": [EVIL.encode(), b"\xff\x1b[31m"], "n": 1, "image/class/text": NAME}
    name = NAME.replace("\r", "")
    return encode_example({**row, "image/encoded": tiny_png(0), "image/filename": name})


def sequence() -> bytes:
    return encode_sequence_example({"context": {EVIL: EVIL}, "feature_lists": {EVIL: [[EVIL]]}})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an evil name, and evil files in it."""
    place = tmp_path / NAME
    place.mkdir()
    files = {
        "good": frame([example()] * 3), "other": frame([example()] * 2),
        "sequence": frame([sequence()] * 3),
        "text": frame([EVIL.encode(), b"\x1b[2J plain", EVIL.encode() * 50]),
        "bad": bytes(frame([example()] * 3))[:-3] + b"damage", "foreign": b'{"a": 1}' * 9,
        "empty": b"",
    }  # fmt: skip
    for name, data in files.items():
        (place / name).write_bytes(bytes(data))
        (place / f"{name}{NAME}").write_bytes(bytes(data))
    (place / "stale").write_bytes(bytes(frame([example()])))
    (place / "stale.schema.json").write_text(json.dumps({"format": NAME}))
    images = place / "images" / NAME
    images.mkdir(parents=True)
    (images / f"{NAME}.png").write_bytes(tiny_png(0))
    (images / f"bad{NAME}.png").write_bytes(b"\x1b[31m")
    (place / "table.csv").write_text(f'"{NAME}",b\n"{NAME}",2\n', newline="")
    (place / "old.tfrecord").write_text("there")
    monkeypatch.chdir(place)
    return place


FILES = ["good", "sequence", "text", "bad", "foreign", "empty", "stale", "absent"]
READING = [
    *FILES,
    *(f"{name}@" for name in FILES),
    *("good bad text@", "@", "--schema @.json good", "--compression @ good", "--@", "@*@", "x://@"),
]
DEFAULT = [*READING, *(f"--json {more}" for more in READING)]
WRITING = [
    *("good new", "good bad@ new@", "good@ there@/x", "good good@", "stale newer"),
    "--skip-damage bad@ saved@",
]
COMMANDS: dict[str, list[str]] = {
    "head": [*DEFAULT, "--full good text", "--columns @ good"],
    "cat": [*DEFAULT, "--full good text"],
    "verify": [*DEFAULT, "--messages text@", "--schema stale.schema.json good"],
    "recover": ["bad@ saved@", "--json bad@ saved@2", "bad@ good@", "foreign@ x", "absent@ y"],
    "merge": WRITING,
    "split": [f"--num-shards 2 {more}" for more in WRITING],
    "unique": WRITING,
    "shuffle": WRITING,
    "sample": [f"-n 1 {more}" for more in WRITING],
    "filter": [f"--where {sql} {more}" for sql in ("'\"@\" = 1'", "'n = 1'") for more in WRITING],
    "pack": [
        "images p@",
        "images p@",
        "--strict images q",
        "--json images r",
        "@ s",
        "table.csv t",
    ],
    "unpack": [
        *("good@ out@", "good@ out@", "--json good@ out", "bad@ out2", "text out3"),
        "--image-key @ good out4",
    ],
    "convert": [
        *("good a.jsonl", "good a.jsonl", "--json good@ b@.csv", "table.csv c.tfrecord", "@ @"),
        *("--to jsonl good -", "--columns @ good d.csv", "--columns @:int64 good e.csv"),
    ],
    "sql": [
        *("\"select * from 'good'\"", "--json \"from 'good'\"", "--csv \"from 'good'\""),
        *("'select 1 as \"@\"'", "\"from '@'\"", "@", "\"from 'text'\""),
        *("-o @.csv \"from 'good'\"", "-o @ \"from 'good'\""),
    ],
    "events": [*FILES, "@", "good@", "--runs images", "x://@"],
    "diff": [f"{a} {b}" for a in ("good", "bad@", "absent") for b in ("other", "sequence@")],
    "view": [f"-o page@.html {name}" for name in ("good@", "absent@")],
}
"""Of each verb the arguments, as in a shell; @ is the evil name."""
NEEDED = {"pack": "image", "unpack": "image", "sql": "sql", "filter": "sql", "convert": "arrow"}
"""Extras without which there is one line of text, which is tested elsewhere."""
ON_TERMINALS = """
import json, sys
from tfrecord_lite.cli import main
from tfrecord_lite import progress
progress.DELAY_SECONDS = 600
for arguments in json.load(open(sys.argv[1])):
    try:
        main(arguments)
    except SystemExit:
        pass
"""


def commands_of(verb: str) -> list[list[str]]:
    lines = [shlex.split(line) for line in COMMANDS.get(verb, DEFAULT)]
    return [[verb, *(word.replace("@", NAME) for word in line)] for line in lines]


def assert_is_text(text: str) -> None:
    odd = {character for character in text if character != "\n" and not character.isprintable()}
    assert not odd
    assert not [line for line in text.split("\n") if line.startswith("INJECTED")]


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.usefixtures("folder")
def test_on_a_terminal(tmp_path: Path, verb: str) -> None:
    if verb in NEEDED and not is_installed(NEEDED[verb]):
        pytest.skip("needs an extra")
    (tmp_path / "commands").write_text(json.dumps(commands_of(verb)))
    shown = terminal.on_terminal("-c", ON_TERMINALS, tmp_path / "commands")
    text = shown.text.replace("\r\n", "\n")
    assert "\x1b" not in text
    assert "INJECTED" in text
    assert_is_text(text)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", ["info", "verify", "schema"])
def test_json_says_the_same_in_escapes(run: Run, verb: str) -> None:
    (out, *_) = run(verb, "--json", f"good{NAME}").out
    found: dict[str, Any] = json.loads(out)
    if verb == "schema":
        assert EVIL in found["features"]
    else:
        assert found["file"] == f"good{NAME}"


def test_wrong_arguments(run: Run) -> None:
    for arguments in ([EVIL], ["info", f"--{EVIL}"], ["head", "-n", EVIL, "x"], ["verify", EVIL]):
        done = run(*arguments)
        assert_is_text("\n".join(done.err))
        assert (done.status, len(done.err)) == (2, 1)
