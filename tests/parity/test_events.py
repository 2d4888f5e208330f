"""Event files as TensorFlow writes them and TensorBoard reads them, in both styles."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfrecord_lite.apps.events import find_runs, read_events
from tfrecord_lite.testing import assert_same

pytest.importorskip("tensorboard", reason="TensorBoard is not installed")

STEPS = [0, 1, 2, 5, 5, 3]


def board(name: str) -> Any:
    return importlib.import_module(f"tensorboard.{name}")


@pytest.fixture(scope="module")
def old(tf: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of the old style, written by TensorFlow's FileWriter."""
    folder = tmp_path_factory.mktemp("old")
    summary = tf.compat.v1.Summary
    rng = np.random.default_rng(0)
    with tf.Graph().as_default():
        writer = tf.compat.v1.summary.FileWriter(str(folder))
        for step in STEPS:
            limits = [-1.5, 0.0, 0.5, 2.0, 1e308]
            histogram = tf.compat.v1.HistogramProto(
                min=-1, max=3, num=9, sum=4.5, bucket_limit=limits, bucket=rng.integers(0, 3, 5)
            )
            values = [
                summary.Value(tag="loss", simple_value=float(rng.normal())),
                summary.Value(tag="accuracy", simple_value=step / 7),
                summary.Value(tag="weights", histo=histogram),
                summary.Value(
                    tag="picture",
                    image=summary.Image(height=2, width=3, encoded_image_string=b"png%d" % step),
                ),
                summary.Value(
                    tag="sound",
                    audio=summary.Audio(sample_rate=8000.0, encoded_audio_string=b"wav%d" % step),
                ),
            ]
            writer.add_summary(summary(value=values), step)
        writer.add_summary(summary(value=[summary.Value(tag="nan", simple_value=np.nan)]), 1)
        writer.close()
    return folder


@pytest.fixture(scope="module")
def new(tf: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of the new style, written by tf.summary."""
    folder = tmp_path_factory.mktemp("new")
    writer = tf.summary.create_file_writer(str(folder))
    rng = np.random.default_rng(1)
    with writer.as_default():
        for step in STEPS:
            tf.summary.scalar("loss", float(rng.normal()), step=step)
            tf.summary.scalar("accuracy", step / 7, step=step)
            tf.summary.histogram("weights", rng.normal(size=50), step=step, buckets=4)
            tf.summary.image("picture", rng.random((2, 3, 4, 3)), step=step, max_outputs=2)
            tf.summary.text("note", f"step {step} \N{SNOWMAN}", step=step)
            tf.summary.text("table", [["a", "b"], ["c", str(step)]], step=step)
            sound = rng.random((1, 10, 1)).astype(np.float32)
            tf.summary.audio("sound", sound, 8000, step=step)
            tf.summary.write("raw", rng.integers(0, 9, (2, 2)), step=step)
    writer.close()
    return folder


def accumulated(path: Path) -> Any:
    """Return what TensorBoard reads, all of it."""
    module = board("backend.event_processing.event_accumulator")
    found = module.EventAccumulator(str(path), size_guidance=module.STORE_EVERYTHING_SIZE_GUIDANCE)
    found.Reload()
    return found


def array(event: Any) -> np.ndarray[Any, Any]:
    made: np.ndarray[Any, Any] = board("util.tensor_util").make_ndarray(event.tensor_proto)
    return made


def assert_same_points(series: Any, events: Any) -> None:
    assert series.step.tolist() == [event.step for event in events]
    assert series.wall_time.tolist() == [event.wall_time for event in events]


@pytest.mark.parametrize("style", ["old", "new"])
def test_scalars(request: pytest.FixtureRequest, style: str) -> None:
    folder = request.getfixturevalue(style)
    theirs, ours = accumulated(folder), read_events(folder)
    tags = list(ours.tags["scalars"])
    assert set(tags) == ({"loss", "accuracy"} if style == "new" else set(theirs.Tags()["scalars"]))
    for tag in tags:
        events = theirs.Tensors(tag) if style == "new" else theirs.Scalars(tag)
        values = [array(e).item() if style == "new" else e.value for e in events]
        assert_same_points(ours.scalars(tag), events)
        assert_same(ours.scalars(tag).value, np.array(values))
    assert len(ours.scalars("loss")) == len(STEPS)


def test_tensors_of_all_plugins(new: Path) -> None:
    theirs, ours = accumulated(new), read_events(new)
    tags = {tag for kind in ours.tags.values() for tag in kind}
    assert tags == set(theirs.Tags()["tensors"])
    for tag in tags:
        series, events = ours.tensors(tag), theirs.Tensors(tag)
        assert_same_points(series, events)
        for value, event in zip(series.value, events, strict=True):
            assert_same(value, array(event), tag)
        said, metadata = theirs.summary_metadata.get(tag), ours.metadata(tag)
        assert (metadata is None) == (said is None) == (tag == "raw")
        if metadata is not None:
            assert metadata.SerializeToString() == said.SerializeToString()


@pytest.mark.parametrize("style", ["old", "new"])
@pytest.mark.parametrize("kind", ["histograms", "images", "audio"])
def test_tensorboard_reads_styles(request: pytest.FixtureRequest, style: str, kind: str) -> None:
    folder = request.getfixturevalue(style)
    series = getattr(read_events(folder), kind)()
    loader = board("backend.event_processing.event_file_loader").EventFileLoader
    plain: dict[str, Callable[[Any], Any]] = {
        "histograms": lambda table: table.astype(np.float64),
        "images": lambda texts: (int(texts[0]), int(texts[1]), tuple(texts[2:])),
        "audio": lambda clips: tuple(clips if clips.ndim == 1 else clips[:, 0]),
    }
    expected = []
    for path in sorted(folder.iterdir()):
        for event in loader(str(path)).Load():
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == kind:
                    made = board("util.tensor_util").make_ndarray(value.tensor)
                    expected.append((value.tag, event.step, plain[kind](made)))

    assert len(expected) == len(STEPS)
    for i, (tag, step, value) in enumerate(expected):
        found = series.value[i]
        if kind == "images":
            found = (found.width, found.height, found.encoded)
        if kind == "histograms" and style == "old":
            found = found.astype(np.float32).astype(np.float64)  # as TensorBoard rounds them
        assert (series.tag[i], series.step[i]) == (tag, step)
        assert_same(found, value)


def test_several_files_are_read_in_tensorboards_order(tf: Any, tmp_path: Path) -> None:
    for suffix in (".b", ".a", ".c"):
        writer = tf.summary.create_file_writer(str(tmp_path), filename_suffix=suffix)
        with writer.as_default():
            for step in range(3):
                tf.summary.scalar("from", ord(suffix[1]), step=step)
        writer.close()
    events = accumulated(tmp_path).Tensors("from")
    series = read_events(tmp_path).scalars("from")
    assert_same_points(series, events)
    assert series.value.tolist() == [array(event).item() for event in events]


def test_runs_are_the_folders_that_tensorboard_finds(tf: Any, tmp_path: Path) -> None:
    for name in ("train", "eval/a", "eval/b"):
        with tf.summary.create_file_writer(str(tmp_path / name)).as_default():
            tf.summary.scalar("loss", 1.0, step=1)
    (tmp_path / "empty").mkdir()
    theirs = board("backend.event_processing.io_wrapper").GetLogdirSubdirectories(str(tmp_path))
    assert sorted(find_runs(tmp_path).values()) == sorted(theirs)
