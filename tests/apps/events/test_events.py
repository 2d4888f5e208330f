"""Event files: held to the protobuf runtime, cut anywhere, growing."""

import bz2
import gzip
import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.events.event_messages import (
    TENSORS,
    VERSION,
    accepts,
    batches,
    event,
    float_tensor,
    metadata,
    rows_of_engine,
    rows_of_runtime,
    tensor,
)
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.errors import raised
from tests.support.example_messages import is_settled
from tests.support.skips import in_c
from tfrecord_lite import Block, TFRecordReader, testing
from tfrecord_lite.apps.events import Events, Image, find_runs, parse, read_events, tabulate_runs
from tfrecord_lite.apps.events.parse import Tags, parse_events
from tfrecord_lite.errors import (
    DamagedSpan,
    DataLossError,
    DataLossWarning,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.messages import Event, HistogramProto, Summary
from tfrecord_lite.records.framing import frame

Value = Summary.Value
KINDS = ("scalars", "histograms", "images", "audio", "texts", "tensors")


def file_of(*records: bytes) -> io.BytesIO:
    return io.BytesIO(bytes(frame(records)))


def events_of(*records: bytes) -> Events:
    return read_events(file_of(*records))


def scalar(tag: str, number: float) -> Summary.Value:
    return Value(tag=tag, simple_value=number)


def refusal(messages: list[bytes]) -> InvalidArgumentError | None:
    try:
        parse_events(Block.from_records(messages), Tags())
    except InvalidArgumentError as error:
        return error
    return None


def unsettled(message: bytes) -> bool:
    """Say whether the message is refused for what not all runtimes refuse."""
    error = refusal([message])
    return error is not None and not is_settled(error)


@in_c
@given(batches())
def test_events_mean_what_the_runtime_says(messages: list[bytes]) -> None:
    assert rows_of_engine(Block.from_records(messages)) == rows_of_runtime(messages)


@in_c
@given(batches(damaged=True))
def test_any_bytes_mean_what_the_runtime_says_or_are_malformed(messages: list[bytes]) -> None:
    sound = [message for message in messages if accepts(message) and not unsettled(message)]
    assert rows_of_engine(Block.from_records(sound)) == rows_of_runtime(sound)
    error = refusal(messages)
    if error is not None:
        assert error.reason is Reason.MALFORMED
        assert error.index is not None
        assert not (accepts(messages[error.index]) and is_settled(error))
        assert refusal(messages[: error.index]) is None


@given(batches(damaged=True), st.data())
def test_any_file_is_read_or_refused(messages: list[bytes], data: st.DataObject) -> None:
    stream = bytes(frame(messages))
    if data.draw(st.booleans()):
        stream = data.draw(st.one_of(testing.damaged(stream), st.just(stream[:-1])))
    try:
        events = read_events(io.BytesIO(stream))
        for kind in KINDS:
            getattr(events, kind)()
    except (DataLossError, InvalidArgumentError):
        pass


@pytest.mark.parametrize("times", [1, 40])
def test_every_form_of_a_value_means_what_the_runtime_says(times: int) -> None:
    values = [Value(tag="t", tensor=each) for each in TENSORS]
    values += [
        scalar("a", 0.5),
        Value(tag="a"),
        Value(),
        Value(simple_value=1),
        Value(tag="old", obsolete_old_style_histogram=b"old"),
        Value(tag="h", histo=HistogramProto(min=1)),
        Value(tag="i", image=Summary.Image(width=1)),
        Value(tag="s", audio=Summary.Audio(sample_rate=1)),
    ]
    messages = [event(step, value) for step, value in enumerate(values)] * times
    messages.append(event(-1, *values))
    rows = rows_of_engine(Block.from_records(messages))
    assert rows == rows_of_runtime(messages)
    assert len(rows) == (times + 1) * (len(values) - 3)


def test_an_event_that_says_it_twice_is_read_as_the_runtime_reads_it() -> None:
    first = event(1, scalar("a", 1), wall_time=1)
    second = event(2, scalar("b", 2), wall_time=2)
    graph = Event(graph_def=b"g").SerializeToString()
    merged = event(3, Value(tag="h", histo=HistogramProto(min=1)))
    twice = b"\x2a\x10" + b"\x0a\x0e\x0a\x01h\x2a\x02\x08\x01" + b"\x2a\x05\x11" + bytes(4)
    odd = [first + second, first + graph, graph + first, first + graph + second, merged * 2]
    for extra in (odd, [message for message in [*odd, twice] if accepts(message)]):
        messages = [first, *extra, second] * 12
        assert rows_of_engine(Block.from_records(messages)) == rows_of_runtime(messages)
    assert len(rows_of_runtime(odd)) == 2 + 0 + 1 + 1 + 2


def test_the_first_malformed_event_is_named(tmp_path: Path) -> None:
    good = [event(i, scalar("a", i)) for i in range(50)]
    no_utf8 = event(0, scalar("abc", 1)).replace(b"abc", b"a\xffc")
    no_metadata = event(0, Value(tag="m", metadata=metadata("xyz"))).replace(b"xyz", b"x\xffz")
    twice = no_utf8 * 2
    cut = event(0, scalar("abc", 1))[:-1]
    path = tmp_path / "tfevents"
    for bad in (no_utf8, no_metadata, twice, cut):
        path.write_bytes(frame([*good, bad, *good, cut, *good]))
        error = raised(InvalidArgumentError, read_events, path)
        assert (error.reason, error.index, error.offset) == (Reason.MALFORMED, 50, len(frame(good)))
        assert error.source == str(path)


def test_scalars_of_both_styles() -> None:
    n_events, records = 100, [VERSION]
    for i in range(n_events):
        first = {"metadata": metadata("scalars")} if i == 0 else {}
        records.append(
            event(
                i - 1,
                scalar("old", i * (1 / 3)),
                Value(tag="new", tensor=tensor(np.float32(i * (1 / 7))), **first),  # type: ignore[arg-type]
                Value(tag="torch", tensor=float_tensor(i * -1.0), **first),  # type: ignore[arg-type]
                Value(tag="double", tensor=tensor(i * (1 / 9)), **first),  # type: ignore[arg-type]
                wall_time=1.5e9 + i / 8,
            )
        )
    events = events_of(*records)
    numbers = np.arange(n_events)

    assert events.tags["scalars"] == ("old", "new", "torch", "double")
    scale = {"old": 1 / 3, "new": 1 / 7, "torch": -1.0, "double": 1 / 9}
    for tag, factor in scale.items():
        series = events.scalars(tag)
        expected = (numbers * factor).astype(np.float32).astype(np.float64)
        testing.assert_same(series.value, expected, tag)
        testing.assert_same(series.step, numbers - 1)
        testing.assert_same(series.wall_time, 1.5e9 + numbers / 8)
        assert set(series.tag) == {tag}
    assert len(events.scalars()) == len(events) == 4 * n_events
    assert list(events.scalars().tag[:4]) == ["old", "new", "torch", "double"]


def test_metadata_counts_for_all_values_of_a_tag_wherever_it_stands() -> None:
    value = Value(tag="a", tensor=tensor(np.float32(0.5)))
    said = Value(tag="a", tensor=tensor(np.float32(1.5)), metadata=metadata("scalars"))
    other = Value(tag="a", tensor=tensor(np.float32(2.5)), metadata=metadata("text"))
    events = events_of(event(0, value), event(1, said), event(2, other), event(3, value))
    assert events.scalars("a").value.tolist() == [0.5, 1.5, 2.5, 0.5]
    found = events.metadata("a")
    assert found is not None
    assert found.plugin_data.plugin_name == "scalars"
    assert events_of(event(0, value)).metadata("a") is None


def test_a_tag_may_be_of_several_kinds() -> None:
    pair = Value(tag="a", tensor=tensor([1, 2]))
    events = events_of(event(0, scalar("a", 1), pair, Value(tag="a", histo=HistogramProto())))
    kinds = ["scalars", "histograms", "tensors"]
    assert [kind for kind, tags in events.tags.items() if tags] == kinds
    assert [len(getattr(events, kind)("a")) for kind in kinds] == [1, 1, 1]


def test_histograms_of_both_styles() -> None:
    old = HistogramProto(
        min=-0.5, max=2.5, bucket_limit=[-1, 0.1, 1, 2, 1e308], bucket=[0, 1, 0, 2.3, 3]
    )
    new = np.array([[0.0, 1, 3], [1, 2, 4]])
    events = events_of(
        event(1, Value(tag="old", histo=old)),
        event(2, Value(tag="new", tensor=tensor(new), metadata=metadata("histograms"))),
        event(3, Value(tag="none", histo=HistogramProto(bucket=[0], bucket_limit=[1]))),
    )
    first, second, third = events.histograms().value
    doubles = [[-0.5, 0.1, 1], [0.1, 1, 0], [1, 2, 2.3], [2, 2.5, 3]]
    testing.assert_same(first, np.array(doubles))
    testing.assert_same(second, new)
    testing.assert_same(third, np.empty((0, 3)))
    assert events.tags["histograms"] == ("old", "new", "none")


def test_images_audio_and_texts_of_both_styles() -> None:
    strings = np.array([b"4", b"3", b"png one", b"png two"], object)
    clips = np.array([[b"wav", b"label"], [b"wav 2", b""]], object)
    table = np.array([["a", "b"], ["c", "\N{SNOWMAN}"]], object)
    image = Summary.Image(width=2, height=1, encoded_image_string=b"png")
    events = events_of(
        event(1, Value(tag="i", image=image)),
        event(2, Value(tag="I", tensor=tensor(strings), metadata=metadata("images"))),
        event(2, Value(tag="none", tensor=tensor(strings[:2]), metadata=metadata("images"))),
        event(3, Value(tag="s", audio=Summary.Audio(encoded_audio_string=b"wav"))),
        event(4, Value(tag="S", tensor=tensor(clips), metadata=metadata("audio"))),
        event(5, Value(tag="S2", tensor=tensor(clips[:, 0]), metadata=metadata("audio"))),
        event(6, Value(tag="t", tensor=tensor("Grüße"), metadata=metadata("text"))),
        event(7, Value(tag="t", tensor=tensor([b"\xff"]), metadata=metadata("text"))),
        event(8, Value(tag="T", tensor=tensor(table), metadata=metadata("text"))),
    )

    assert list(events.images().value) == [
        Image(2, 1, (b"png",)),
        Image(4, 3, (b"png one", b"png two")),
        Image(4, 3, ()),
    ]
    images = events.images()
    assert images[1] == ("I", 2, 0.0, Image(4, 3, (b"png one", b"png two")))
    assert [*images] == [images[0], *images[1:]] == [*images[images.step < 2], *images[-2:]]
    assert repr(images[0].value) == "Image(width=2, height=1, encoded=(b'png',))"
    png = b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IHDR" + bytes([0, 0, 0, 16] * 2) + bytes(99)
    assert repr(Image(16, 16, (png, b""))).endswith("encoded=(<PNG 16 x 16, 123 bytes>, b''))")
    assert list(events.audio().value) == [(b"wav",), (b"wav", b"wav 2"), (b"wav", b"wav 2")]
    one, two = events.texts("t").value
    assert (one, two.encode("utf-8", "surrogateescape")) == ("Grüße", b"\xff")
    testing.assert_same(events.texts("T").value[0], table)
    assert events.texts("T").step.tolist() == [8]


@pytest.mark.parametrize(("kind", "plugin", "array"), [
    ("scalars", "scalars", np.zeros(2)), ("scalars", "scalars", "0.5"),
    ("scalars", "scalars", np.complex64(1)),
    ("histograms", "histograms", np.zeros((2, 3), np.complex128)),
    ("images", "images", np.array([b"1" * 5000, b"1", b"png"], object)),
    ("images", "images", np.array([b"1", b"1" * 5000, b"png"], object)),
    ("histograms", "histograms", np.zeros((2, 2))), ("histograms", "histograms", np.zeros(3)),
    ("images", "images", np.zeros(3)), ("images", "images", np.array([b"1"], object)),
    ("images", "images", np.array([b"1", b"x", b"png"], object)),
    ("audio", "audio", np.zeros((1, 2))),
    ("audio", "audio", np.array([[b"a", b"b", b"c"]], object)), ("texts", "text", np.float32(1)),
])  # fmt: skip
def test_a_tensor_its_plugin_cannot_have_is_malformed(kind: str, plugin: str, array: Any) -> None:
    good = event(0, Value(tag="a", tensor=tensor(np.float32(1))))
    bad = event(7, Value(tag="bad", tensor=tensor(array), metadata=metadata(plugin)))
    events = events_of(good, bad)
    error = raised(InvalidArgumentError, getattr(events, kind), match="'bad' at step 7")
    assert error.reason is Reason.MALFORMED
    assert len(events.tensors("bad")) == 1


def test_a_damaged_content_is_malformed_when_it_is_asked_for() -> None:
    uneven = HistogramProto(bucket=[1, 2], bucket_limit=[1])
    image = event(0, Value(tag="i", image=Summary.Image(width=1))).replace(b"\x10\x01", b"\x13\x01")
    events = events_of(event(0, Value(tag="h", histo=uneven)), image, event(1, scalar("a", 1)))
    for kind in ("histograms", "images"):
        assert raised(InvalidArgumentError, getattr(events, kind)).reason is Reason.MALFORMED
    assert events.scalars().value.tolist() == [1]


def test_an_unknown_tag_is_an_error_that_names_the_nearest() -> None:
    events = events_of(event(0, scalar("train/loss", 1)))
    for method in (events.scalars, events.tensors, events.metadata):
        for tag in ("train/los", "loss"):
            with pytest.raises(InvalidArgumentError, match="the nearest: 'train/loss'") as caught:
                method(tag)
            assert caught.value.reason is Reason.MISSING
    with pytest.warns(
        UserWarning, match=r"has scalars, not images; scalars\('train/loss'\)"
    ) as warned:
        assert len(events.images("train/loss")) == 0
    assert warned[0].filename == __file__


@pytest.mark.parametrize("n_tags", [parse._MAX_IN_TABLE - 1, parse._MAX_IN_TABLE + 1])
def test_more_tags_than_are_looked_up_at_once(n_tags: int) -> None:
    records = [event(i, scalar(f"tag {i % n_tags}", i)) for i in range(n_tags + 50)]
    events = events_of(*records)
    assert events.tags["scalars"] == tuple(f"tag {i}" for i in range(n_tags))
    assert events.scalars("tag 7").value.tolist() == [7, n_tags + 7]
    assert events.scalars(f"tag {n_tags - 1}").value.tolist() == [n_tags - 1]


def test_no_events_are_no_values() -> None:
    for events in (events_of(), events_of(VERSION), events_of(b"")):
        assert len(events) == 0
        assert events.tags == dict.fromkeys(KINDS, ())
        for kind in KINDS:
            series = getattr(events, kind)()
            assert len(series) == 0
            assert series.step.dtype == np.int64
            assert series.wall_time.dtype == np.float64
        assert events.scalars().value.dtype == np.float64


RECORDS = [VERSION, *(event(i, scalar("a", i)) for i in range(4))]
STREAM = bytes(frame(RECORDS))
ENDS = [len(frame(RECORDS[:n])) for n in range(len(RECORDS) + 1)]


@pytest.mark.parametrize("byte", range(ENDS[-1]))
def test_past_damage_all_other_events_are_read(tmp_path: Path, byte: int) -> None:
    damaged, hit = bytearray(STREAM), sum(end <= byte for end in ENDS) - 1
    damaged[byte] ^= 1
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(damaged)
    (tmp_path / "events.out.tfevents.2").write_bytes(STREAM)
    raised(DataLossError, read_events, path)

    with pytest.warns(DataLossWarning, match="1 damaged place") as caught:
        events = read_events(tmp_path, on_error="skip")

    assert len(caught) == 1
    assert caught[0].filename == __file__
    steps = [step for step in range(4) if step + 1 != hit]
    assert events.scalars().step.tolist() == [*steps, 0, 1, 2, 3]
    assert events.torn == ()
    report = events.report
    assert report is not None
    assert [file.records for file in report.files] == [4, 5]
    (span,) = report.spans
    assert (span.source, span.index, span.offset) == (str(path), hit, ENDS[hit])
    assert span.length == ENDS[hit + 1] - ENDS[hit]


def test_a_file_cut_at_any_byte_gives_what_is_whole(tmp_path: Path) -> None:
    def refuse(span: DamagedSpan) -> None:
        raise AssertionError(span)

    path = tmp_path / "events.out.tfevents.1"
    for stop in range(len(STREAM) + 1):
        path.write_bytes(STREAM[:stop])
        n_whole = sum(end <= stop for end in ENDS) - 1
        skipping: dict[str, Any] = {"on_error": refuse, "max_errors": 0}
        for settings in ({}, skipping):
            events = read_events(path, **settings)
            assert events.scalars().step.tolist() == list(range(max(n_whole - 1, 0)))
            assert events.torn == (() if stop in ENDS else (str(path),))
        assert events.report is not None
        (found,) = events.report.files
        assert (found.records, found.num_damaged, found.lost_bytes) == (n_whole, 0, 0)
        assert found.record_bytes == sum(map(len, RECORDS[:n_whole]))


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress, bz2.compress])
def test_cut_files_are_read_to_their_end(tmp_path: Path, compress: Any) -> None:
    path = tmp_path / "events.out.tfevents.1.gz"
    whole = compress(STREAM)
    path.write_bytes(whole)
    assert read_events(tmp_path).scalars().step.tolist() == [0, 1, 2, 3]
    path.write_bytes(whole[:-1])
    events = read_events(tmp_path)
    assert events.torn == (str(path),)
    assert events.scalars().step.tolist() == [0, 1, 2, 3][: len(events)]


SETTINGS = st.dictionaries(
    st.text(max_size=3), st.one_of(st.floats(allow_nan=False), st.text(max_size=5), st.booleans())
)


def session(settings: dict[str, Any]) -> bytes:
    """Return the event in which add_hparams stores hyperparameters; a Struct has the same encoding."""
    struct = Struct()
    struct.update(settings)
    info = struct.SerializeToString() + b"\x22\x01g"  # and a name of the group
    value = Value(tag="_hparams_/session_start_info", metadata=metadata("hparams"))
    value.metadata.plugin_data.content = b"\x1a" + written_varint(len(info)) + info + b"\x08\0"
    return event(0, value)


def written_varint(number: int) -> bytes:
    return bytes([number & 127 | 128, number >> 7]) if number > 127 else bytes([number])


@given(SETTINGS)
def test_hyperparameters_are_those_that_were_logged(settings: dict[str, Any]) -> None:
    found = events_of(event(1, scalar("loss", 1)), session(settings)).hparams()
    assert found == settings
    assert [*map(type, found.values())] == [type(settings[name]) for name in found]
    assert [*found] == sorted(settings)


def test_runs_are_a_table_of_hyperparameters_and_last_values(tmp_path: Path) -> None:
    runs = {
        "a": [session({"lr": 0.1, "deep": True, "opt": "sgd"}), event(1, scalar("loss", 3))],
        "b/c": [session({"lr": 1, "deep": False, "loss": "L1"}), event(1, scalar("loss", 3))],
        "d": [event(7, scalar("accuracy", 0.5)), event(6, scalar("accuracy", 0.25))],
    }
    for name, records in runs.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "events.out.tfevents.1").write_bytes(frame(records))
    table = tabulate_runs(tmp_path)
    expected = {
        "run": np.array(["a", "b/c", "d"], object), "deep": np.array([True, False, None], object),
        "lr": np.array([0.1, 1, np.nan]), "opt": np.array(["sgd", None, None], object),
        "loss": np.array([None, "L1", None], object), "loss (last value)": np.array([3, 3, np.nan]),
        "accuracy": np.array([np.nan, np.nan, 0.25]),
    }  # fmt: skip
    assert [*table] == [*expected]
    for name, column in expected.items():
        testing.assert_same(table[name], column)


def test_hyperparameters_that_are_none_or_damaged() -> None:
    assert events_of(VERSION).hparams() == {}
    value = Value(tag="_hparams_/session_start_info", metadata=metadata("hparams"))
    for content in (b"\x1a", b"\x1a\x02\x0a\x05"):
        value.metadata.plugin_data.content = content
        with pytest.raises(InvalidArgumentError, match="_hparams_/session_start_info") as caught:
            events_of(event(0, value)).hparams()
        assert caught.value.reason is Reason.MALFORMED


def test_events_behind_a_record_that_only_seems_torn_are_read() -> None:
    long = bytes(frame([event(9, scalar("long", 1), Value(tag="x" * 500))]))
    stream = STREAM + long[:100] + STREAM  # it ends beyond the file, so it looks torn
    spans: list[DamagedSpan] = []
    events = read_events(io.BytesIO(stream + STREAM[:20]), on_error=spans.append)
    assert events.scalars().step.tolist() == [0, 1, 2, 3] * 2
    assert [(span.offset, span.length) for span in spans] == [(len(STREAM), 100)]
    assert events.torn == ("<BytesIO>",)


def test_files_of_a_folder_are_joined_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = {f"tfevents.{step}": step for step in (2, 5, 1, 8, 4, 7, 6)}
    for name, step in {**names, "x.tfevents.9": 9, "a.tfevents": 0, "other": 4}.items():
        (tmp_path / name).write_bytes(frame([event(step, scalar("a", step))]))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tfevents.0").write_bytes(STREAM)
    (tmp_path / "old.tfevents.d").mkdir()  # no event file, whatever its name
    assert read_events(tmp_path).scalars().step.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert read_events(str(tmp_path / "?.tfevents*")).scalars().step.tolist() == [0, 9]
    two = [tmp_path / "tfevents.2", tmp_path / "tfevents.1"]
    assert read_events(iter(two)).scalars().step.tolist() == [2, 1]
    assert find_runs(tmp_path) == {".": str(tmp_path), "run": str(tmp_path / "run")}


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "logs" / "run").mkdir(parents=True)
    (tmp_path / "logs" / "run" / "tfevents").write_bytes(b"")
    (tmp_path / "empty" / "old.tfevents.d").mkdir(parents=True)
    raised(FileNotFoundError, read_events, tmp_path / "logs", match="there are runs in 'run'")
    raised(FileNotFoundError, read_events, tmp_path / "empty", match=r"\*tfevents\*$")
    for path in (tmp_path / "none", str(tmp_path / "none*")):
        raised(FileNotFoundError, read_events, path)
    raised(FileNotFoundError, find_runs, tmp_path / "none")
    raised(NotADirectoryError, find_runs, tmp_path / "logs" / "run" / "tfevents")
    assert find_runs(tmp_path / "empty") == {}


@pytest.mark.parametrize("sample", corpus_files("tfevents"))
def test_real_event_files(sample: CorpusFile) -> None:
    records = list(TFRecordReader(sample.path))
    expected = rows_of_runtime(records)
    events = read_events(sample.path)
    assert len(events) == len(expected) > 0
    assert rows_of_engine(Block.from_records(records)) == expected
    assert len(list(TFRecordReader(sample.path).messages(Event))) == sample.truth["records"]
