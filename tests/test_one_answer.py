"""Files of any content through all readers and verbs: each has one answer, which is right or says what to do."""

import re
from pathlib import Path
from typing import Any

import pytest

import tfrecord_lite as tl
from tests.cli.samples import JPEG, event, flower, ranking, write
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.errors import raised
from tests.support.foreign_messages import RECORDS
from tfrecord_lite.apps.statistics import compute_statistics
from tfrecord_lite.cli import main
from tfrecord_lite.cli.words import shell_text
from tfrecord_lite.errors import InvalidArgumentError, Reason

RAGGED = {"x": tl.RaggedFeature("int64")}
FIXED = {"x": tl.FixedLenFeature([], "int64")}

READERS: dict[str, Any] = {
    "infer_schema": tl.infer_schema, "summarize": tl.summarize, "load": tl.load,
    "load with a schema": lambda path: tl.load(path, schema=RAGGED),
    "scan": lambda path: list(tl.scan(path).to_batches()),
    "scan with a schema": lambda path: list(tl.scan(path, schema=RAGGED).to_batches()),
    "read_batches": lambda path: list(tl.read_batches(path, RAGGED, 2)),
    "read_batches of what is required": lambda path: list(tl.read_batches(path, FIXED, 2)),
    "batches": lambda path: list(tl.TFRecordReader(path).batches(FIXED, 2)),
    "read_batches alone": lambda path: list(tl.read_batches(path)),
    "batches alone": lambda path: list(tl.TFRecordReader(path).batches()),
    "examples": lambda path: list(tl.TFRecordReader(path).examples()),
    "sequence_examples": lambda path: list(tl.TFRecordReader(path).sequence_examples()),
    "data set": lambda path: list(tl.TFRecordDataset(path).batch(2).parse_example(FIXED)),
    "statistics": compute_statistics,
}  # fmt: skip
VERBS = ["schema", "stats", "stats --sample 1"]

OTHERS = {
    **{name: [make(i) for i in range(3)] for name, make in RECORDS.items()},
    "one Frame": [RECORDS["Frame"](0)],
    "list": [ranking(2)],
    "event": [event(1)],
    "text": [b"some words\n", b"more"],
    "images": [JPEG, JPEG],
}
SAID = {
    "list": "the records look like lists of Examples with a context; read them with "
    "TFRecordReader(path).messages(tfrecord_lite.messages.ExampleListWithContext)",
    "event": "the records are TensorBoard events, not Examples; tfrecord_lite.apps.events.read_events reads them",
    "text": "the records look like text, not like Examples; tfrecord cat prints them",
    "images": "the records are no messages, so no Examples; iterating over TFRecordReader(path) returns their bytes",
}
OTHER_TYPE = (
    "the records look like messages of another type, not like Examples; "
    "TFRecordReader(path).messages(YourMessage) reads them, tfrecord head shows their fields"
)


@pytest.mark.needs("tables")
@pytest.mark.parametrize("content", OTHERS)
def test_records_of_another_type_are_one_error_everywhere(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "x.tfrecord", OTHERS[content])
    said = f"{path}: record 0, byte 0: {SAID.get(content, OTHER_TYPE)}"
    for name, reader in READERS.items():
        error = raised(InvalidArgumentError, reader, str(path))
        found = str(error).replace("SequenceExamples", "Examples")
        assert found == said, name
        assert (error.reason, error.index) == (Reason.MALFORMED, 0), name
    for verb in VERBS:
        assert main([*verb.split(), str(path)]) == 2
        assert capsys.readouterr() == ("", f"tfrecord: {shell_text(said)}\n"), verb


WITHOUT_KIND = b"\n\x07\n\x05\n\x01a\x12\0"
CUT, WRONG = flower(1)[:-3], b"\n\x04\n\x02\n\x07"


@pytest.mark.parametrize(
    ("records", "wrong"),
    [
        ([b"", b"\n\0", WITHOUT_KIND], None),
        ([flower(1) + b"\x28\x01"], None),  # an unknown field
        ([flower(0), CUT], 1),
        ([CUT], 0),
        ([WRONG, flower(1)], 0),
        ([flower(1)] * 9 + [b"\x12\x07"], 9),
    ],
)
def test_odd_examples_are_examples(tmp_path: Path, records: list[bytes], wrong: int | None) -> None:
    path = write(tmp_path / "x.tfrecord", records)
    for read in (
        lambda: tl.load(path, schema=RAGGED),
        lambda: tl.summarize(path),
        lambda: list(tl.TFRecordReader(path).examples()),
    ):
        if wrong is None:
            read()
            continue
        raised(InvalidArgumentError, read, match=f"record {wrong}.*not a valid Example: ")


@pytest.mark.needs("tables", "view")
@pytest.mark.parametrize("sample", corpus_files())
def test_real_files(sample: CorpusFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, n_records = str(sample.path), sample.truth["records"]
    for verb in ("info", "head -n 1", "view -o {0}/page.html --overwrite"):
        assert main([*verb.format(tmp_path).split(), path]) == 0, verb
        assert capsys.readouterr().err == ""
    said = {"tfevents": SAID["event"], "elwc": SAID["list"]}.get(sample.truth["kind"])
    for verb in VERBS:
        assert main([*verb.split(), path]) == (2 if said else 0)
        assert capsys.readouterr().err.endswith(f": {shell_text(said)}\n" if said else "")
    if said is not None:
        for reader in READERS.values():
            with pytest.raises(
                InvalidArgumentError, match=re.escape(said).replace("Ex", "(Sequence)?Ex")
            ):
                reader(path)
        return
    schema = tl.infer_schema(path)
    names = {
        name.partition(":")[2] or name if sample.truth["kind"] == "sequence_example" else name
        for name in sample.truth["keys"]
    }
    if isinstance(schema, tl.SequenceSchema):
        assert {*schema.context, *schema.feature_lists} == names
        loaded = tl.load(path)
        assert {*loaded["context"], *loaded["feature_lists"]} == names
        assert len(list(tl.TFRecordReader(path).sequence_examples())) == n_records
        return
    assert set(schema) == names
    assert len(next(iter(tl.load(path, schema=schema).values()))) == n_records
    assert sum(batch.num_rows for batch in tl.scan(path).to_batches()) == n_records
    batches = list(tl.read_batches(path, schema, 3))
    assert sum(len(next(iter(batch.values()))) for batch in batches) == n_records
