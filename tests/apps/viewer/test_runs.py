"""Event files as curves: what is shown of which tag, how much of it, and what is damaged."""

from __future__ import annotations

import io
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.viewer.images import image, sound
from tests.apps.viewer.shown_records import HOSTILE, check_markup, plain, shown
from tests.support.corpus import corpus_files
from tfrecord_lite import TFRecordWriter
from tfrecord_lite.apps.viewer import runs
from tfrecord_lite.apps.viewer.cells import Budget
from tfrecord_lite.apps.viewer.runs import describe_runs, read_runs
from tfrecord_lite.messages import Event, Summary
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.tensors.serialize import serialize_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.corpus import CorpusFile
    from tests.support.shown_html import Page

pytestmark = pytest.mark.needs("view")


def event(step: int, **values: Any) -> bytes:
    """Return an event; a value is a number or the fields of a Value, its tag has _ for a slash."""
    summary = Summary()
    for name, value in values.items():
        fields = value if isinstance(value, dict) else {"simple_value": value}
        summary.value.add(tag=name.replace("_", "/"), **fields)
    return Event(wall_time=1e9 + step, step=step, summary=summary).SerializeToString()


def histogram(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, Any]:
    counts, edges = np.histogram(numbers, 10)
    return {
        "histo": {
            "min": numbers.min(),
            "max": numbers.max(),
            "num": numbers.size,
            "bucket_limit": edges[1:],
            "bucket": counts,
        }
    }


def tensor(value: Any, plugin: str) -> dict[str, Any]:
    from tfrecord_lite.messages.tensor_pb2 import TensorProto

    proto = TensorProto.FromString(serialize_tensor(value))
    return {"tensor": proto, "metadata": {"plugin_data": {"plugin_name": plugin}}}


def write(folder: Path, name: str, records: Iterable[bytes]) -> Path:
    path = folder / name / "events.out.tfevents.1.host"
    path.parent.mkdir(parents=True, exist_ok=True)
    with TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


def page_of(folder: Path, budget: Budget | None = None) -> tuple[str, Page]:
    html = describe_runs(sorted(folder.rglob("*tfevents*")), budget or Budget())
    return html, check_markup(html)


def test_a_chart_per_tag_and_a_curve_per_run(tmp_path: Path) -> None:
    for name in "train", "eval":
        write(
            tmp_path, name, [event(k, loss_a=math.exp(-k), loss_b=1.0, other=k) for k in range(9)]
        )
    html, page = page_of(tmp_path)

    assert page.tags.count("figure") == 3
    assert page.tags.count("details") == 2
    assert page.tags.count("path") == 6
    assert "3 tags of 2 runs" in page.text
    assert html.count("18 points") == 3
    assert "last eval 8 at step 8, train 8 at step 8" in page.text


def test_the_names_of_runs_are_relative(tmp_path: Path) -> None:
    paths = [write(tmp_path, name, [event(0, x=1)]) for name in ("a", "a/b", "c")]

    found = read_runs([*paths, str(paths[0])], ReadSettings())
    assert [run.name for run in found] == ["a", "a/b", "c"]
    assert [run.name for run in read_runs(paths[1:2], ReadSettings())] == ["b"]


def test_histograms_pictures_sounds_and_texts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    records = [
        event(
            k,
            weights=histogram(rng.normal(k, 1, 100)),
            bins=tensor(np.array([[0.0, 1.0, 3.0], [1.0, 2.0, 5.0]]), "histograms"),
            picture={"image": {"width": 200, "height": 90, "encoded_image_string": image(200, 90)}},
            pictures=tensor(np.array([b"9", b"9", image(9, 9), image(9, 9)], object), "images"),
            speech={"audio": {"encoded_audio_string": sound()}},
            note=tensor(np.array(b"step <b>" + str(k).encode(), object), "text"),
            notes=tensor(np.array([b"a", b"b"], object), "text"),
            matrix=tensor(np.eye(5), "other"),
        )
        for k in range(5)
    ]
    write(tmp_path, ".", records)
    _, page = page_of(tmp_path)

    assert "step 4, the last of 5" in page.text
    assert "step <b>4" in page.text
    assert "5 histograms, steps 0 to 4; values" in page.text
    assert "PNG 200 x 90" in page.text
    assert page.tags.count("audio") == 1
    assert len(page.sources) == 2 + 2 + 2 + 1  # histograms, a picture in two sizes, two, a matrix


def test_histograms_keep_their_counts() -> None:
    table = np.array([[0.0, 1.0, 4.0], [1.0, 3.0, 8.0]])

    found = runs._rebinned(table, np.linspace(0, 4, 9))
    assert found.tolist() == [2, 2, 2, 2, 2, 2, 0, 0]


@pytest.mark.parametrize("sample", corpus_files("tfevents"))
def test_the_corpus(sample: CorpusFile) -> None:
    html = describe_runs([sample.path], Budget())

    assert "strict/foo" in html
    assert "path" in check_markup(html).tags


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_tags_and_values(tmp_path: Path, text: str) -> None:
    summary = Summary()
    summary.value.add(tag=text, simple_value=float("nan"))
    summary.value.add(tag=f"{text}/t", **tensor(np.array(text.encode() + b"\xff", object), "text"))
    summary.value.add(tag=f"{text}/h", histo={"bucket": [1, 2], "bucket_limit": [1]})
    summary.value.add(tag=f"{text}/i", image={"encoded_image_string": text.encode()})
    summary.value.add(tag="", simple_value=1)
    record = Event(step=-5, wall_time=1, summary=summary).SerializeToString()
    write(tmp_path, "run", [record])
    _, page = page_of(tmp_path)

    assert "a histogram has 2 counts, but 1 limits" in page.text
    cells = {cell.name: cell for cell in shown(record).cells}
    assert {text, f"{text}/t", f"{text}/h", "wall_time", "step"} <= set(cells)


def test_odd_numbers(tmp_path: Path) -> None:
    inf = float("inf")
    numbers = [1.0, float("nan"), inf, -inf, 3e38, -3e38]
    bad = {"histo": {"min": -inf, "max": inf, "bucket": [1, inf], "bucket_limit": [0, inf]}}
    write(tmp_path, "run", [event(k, x=value, h=bad) for k, value in enumerate(numbers)])
    _, page = page_of(tmp_path)

    assert "6 points, -3e+38 to 3e+38, 1 NaN, 2 infinite" in page.text


def test_damage_and_records_that_are_not_events(tmp_path: Path) -> None:
    good = [event(k, x=k) for k in range(50)]
    path = write(tmp_path, "run", [*good[:20], b"not an event", *good[20:]])
    data = bytearray(path.read_bytes())
    data[-30] ^= 1
    path.write_bytes(data)
    _, page = page_of(tmp_path)

    assert "49 points" in page.text
    assert "not a valid Event" in page.text


def test_many_records_that_are_not_events_end_a_file(tmp_path: Path) -> None:
    records = [event(0, x=0), *[b"not an event"] * 30_000, event(1, x=1)]
    write(tmp_path, "run", records)
    start = time.perf_counter()
    _, page = page_of(tmp_path)

    assert time.perf_counter() - start < 20
    assert "1 point," in page.text
    assert "the rest is left out" in page.text


@given(
    st.lists(
        st.binary(max_size=60) | st.builds(event, st.integers(-9, 9), x=st.floats()), max_size=8
    )
)
def test_any_records(records: list[bytes]) -> None:
    file = io.BytesIO()
    with TFRecordWriter(file) as writer:
        for record in records:
            writer.write(record)
    file.seek(0)
    check_markup(describe_runs([file], Budget()))


@given(st.lists(st.tuples(st.floats(), st.floats(), st.floats()), max_size=6), st.integers(1, 3))
def test_any_histograms(rows: list[tuple[float, float, float]], n_steps: int) -> None:
    table = tensor(np.array(rows, np.float64).reshape(-1, 3), "histograms")
    file = io.BytesIO()
    with TFRecordWriter(file) as writer:
        for k in range(n_steps):
            writer.write(event(k, h=table))
    shown(event(0, h=table))
    check_markup(describe_runs([io.BytesIO(file.getvalue())], Budget()))


def test_missing_and_empty_files(tmp_path: Path) -> None:
    empty = tmp_path / "tfevents.empty"
    empty.write_bytes(b"")
    _, page = page_of(tmp_path)
    assert "0 tags of 1 run" in page.text

    html = describe_runs([tmp_path / "missing"], Budget())
    assert "missing" in plain(html)


def test_many_points_keep_their_extremes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_MAX_POINTS", 100)
    monkeypatch.setattr(runs, "_MAX_PENDING_BYTES", 1000)
    numbers = np.zeros(5000)
    numbers[[1234, 4321]] = -7, 9
    path = write(tmp_path, "run", [event(k, x=x) for k, x in enumerate(numbers.tolist())])
    (run,) = read_runs([path], ReadSettings())
    found = run.events.scalars("x")

    assert "5,000 points, -7 to 9; last 0 at step 4,999" in page_of(tmp_path)[1].text

    assert len(found) <= 200
    assert {-7, 9} <= set(found.value)
    assert found.step[-1] == 4999
    assert found.step[np.flatnonzero(found.value == 9)].tolist() == [4321]


def test_many_others_keep_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_MAX_PENDING_BYTES", 10_000)
    one = {"image": {"width": 9, "height": 9, "encoded_image_string": image(9, 9)}}
    path = write(tmp_path, "run", [event(k, x=one, y=one) for k in range(1000)])
    (run,) = read_runs([path], ReadSettings())
    found = run.events.images("x")

    assert 16 <= len(found) <= 64
    assert found.step[-1] == 999
    assert page_of(tmp_path)[1].text.count("step 999, the last of 1,000") == 2
    monkeypatch.setattr(runs, "_MAX_STORED_BYTES", 100)
    (run,) = read_runs([path], ReadSettings())
    assert [len(run.events.images(tag)) for tag in "xy"] == [1, 1]


def test_many_tags_and_runs_are_bounded(tmp_path: Path) -> None:
    write(tmp_path, "a", [event(0, **{f"t{k}": 1.0 for k in range(400)})])
    for k in range(40):
        write(tmp_path, f"more{k}", [event(0, x=k)])
    html, page = page_of(tmp_path)

    assert page.tags.count("figure") == 300
    assert "more tags not shown" in page.text
    assert "24 of 41 runs" in page.text

    budget = Budget(characters=20_000)
    html, page = page_of(tmp_path, budget)
    assert len(html) < 40_000


@pytest.mark.parametrize("is_record", [False, True])
def test_the_budget_bounds_details_too(tmp_path: Path, is_record: bool) -> None:
    values = {f"t{k}": tensor(np.full(4096, 0.1 + k), "other") for k in range(60)}
    budget = Budget(characters=500_000)
    if is_record:
        view = shown(event(1, **values), budget)
        size = sum(len(cell.html + cell.details) for cell in view.cells)
    else:
        for k in range(5):
            write(tmp_path, f"run{k}", [event(1, **values)])
        size = len(page_of(tmp_path, budget)[0])

    assert 500_000 < size < 650_000
    assert budget.is_spent


def test_tensors_that_repeat_a_value_are_not_filled(tmp_path: Path) -> None:
    from tfrecord_lite.messages.tensor_pb2 import TensorProto

    bomb = TensorProto.FromString(bytes.fromhex("0801 2a040000003f"))
    bomb.tensor_shape.dim.add(size=60_000_000)
    events = [event(k, x={"tensor": bomb}) for k in range(60)]
    write(tmp_path, "run", events)
    start = time.perf_counter()
    _, page = page_of(tmp_path)
    cells = {cell.name: cell for cell in shown(events[0]).cells}

    assert time.perf_counter() - start < 2
    assert "240000000 bytes" in page.text
    assert "240000000 bytes" in plain(cells["x"].html)


def test_an_event_as_a_record() -> None:
    huge = {"histo": {"min": 0, "max": 2, "bucket": [1e308, 1e308], "bucket_limit": [1, 2]}}
    shown(event(1, h=huge))
    few = histogram(np.array([1.0, 2.0, 2.0]))
    (cell,) = [cell for cell in shown(event(1, h=few)).cells if cell.name == "h"]
    assert plain(cell.html).endswith("3 values, 1 to 2")
    record = event(
        7, loss_a=0.1, p={"image": {"width": 9, "height": 9, "encoded_image_string": image(9, 9)}}
    )
    cells = {cell.name: cell for cell in shown(record).cells}

    assert plain(cells["wall_time"].html) == "2001-09-09 01:46:47 UTC"
    assert plain(cells["step"].html) == "7"
    assert (plain(cells["loss/a"].html), cells["loss/a"].kind) == ("0.1", "scalars")
    assert "<img" in cells["p"].html
    first = {
        cell.name: cell.text
        for cell in shown(Event(wall_time=1, file_version="v<2>").SerializeToString()).cells
    }
    assert first["file_version"] == "v<2>"
