"""The page of view, without a browser: well-formed, closed to the outside, complete, bounded."""

import base64
import hashlib
import re
import shutil
import sys
import webbrowser
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tfrecord_lite as tl
from tests.apps.viewer.view_files import HOSTILE, KINDS
from tests.support.errors import raised
from tests.support.foreign_messages import Frame, frame
from tests.support.shown_html import parsed
from tests.support.small_files import write
from tfrecord_lite.errors import InvalidArgumentError

pytestmark = pytest.mark.needs("view")

URLS = {"href", "src", "srcset", "action", "formaction", "poster", "xlink:href", "background"}


def page_of(paths: Any, **options: Any) -> str:
    folder = Path(paths[0]).parent
    path = tl.view(paths, output=folder / "page.html", overwrite=True, **options)
    return Path(path).read_text("utf-8")


SECTIONS = {
    "images": ({"features", "records", "schema-code", "dialog"}, ""),
    "table": ({"features", "records", "schema-code", "dialog"}, ""),
    "sequences": ({"features", "records", "schema-code", "dialog"}, ""),
    "damaged": ({"features", "records", "schema-code", "dialog"}, "tfrecord recover"),
    "empty": (set(), "There are no records in this file."),
    "other": ({"records", "dialog"}, ""),
}
"""Of a kind of file, the sections of its page, and some of its text."""


@pytest.mark.filterwarnings("ignore:feature .* holds")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind == "wide" else ()) for kind in KINDS]
)
def test_a_page_of_any_kind_is_well_formed_and_self_contained(tmp_path: Path, kind: str) -> None:
    page = page_of(KINDS[kind](tmp_path))

    outline = parsed(page)
    ids = outline.values("id")
    if kind in SECTIONS:
        sections, text = SECTIONS[kind]
        every = set[str]().union(*(names for names, _ in SECTIONS.values()))
        assert every & set(ids) == sections
        assert text in outline.text
        assert outline.count("notice") == (kind == "damaged")
    assert len(ids) == len(set(ids))
    assert set(outline.tags) & {"iframe", "object", "embed", "base", "link"} == set()
    for tag, name, value in outline.attributes:
        assert name != "style", tag  # the policy blocks it
        assert not name.startswith("on"), tag
        assert name not in URLS or (value or "").startswith(("#", "data:image/", "data:audio/"))
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    assert "url(" not in style
    assert outline.tags.count("script") == 1
    assert page.endswith("</html>")
    assert outline.count("injected") == 0
    if kind == "hostile":
        scripts = [text for text in HOSTILE if "<script>" in text and len(text) < 100]
        assert all(text in outline.text for text in scripts)


def test_the_policy_allows_our_own_style_and_script_and_nothing_else(tmp_path: Path) -> None:
    page = page_of(KINDS["table"](tmp_path))
    (policy,) = re.findall('Content-Security-Policy" content="(.*?)"', page)
    policy = unescape(policy)
    for tag in ("style", "script"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    # The policy must come before all that it is about.
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_records_are_spread_evenly_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", tl.encode_examples({"x": range(1000)}))
    outline = parsed(page_of([path], num_records=10))
    titles = outline.values("data-title")
    assert (len(titles), titles[0], titles[-1]) == (10, "record 0", "record 999")
    assert "10 of 1,000, spread over all" in outline.text


def test_records_of_several_files_have_the_file_in_the_table(tmp_path: Path) -> None:
    def titles(*names: str) -> list[str]:
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            write(tmp_path / name, [tl.encode_example({"x": [1]})] * 2)
        outline = parsed(page_of([tmp_path / name for name in names]))
        assert outline.count("source") == (2 * len(names) if len(names) > 1 else 0)
        assert ("and 1 more file" in outline.text) == (len(names) == 2)
        return outline.values("data-title")

    assert titles("a") == ["record 0", "record 1"]
    several = ["record 0 of a", "record 1 of a", "record 0 of b<", "record 1 of b<"]
    assert titles("a", "b<") == several
    assert titles("1/a", "2/a")[1:3] == ["record 1 of 1/a", "record 0 of 2/a"]


def test_features_can_be_chosen(tmp_path: Path) -> None:
    columns = {"a": [1, 2], "b": ["only-in-b", "y"], "": [3, 4]}
    path = write(tmp_path / "a.tfrecord", tl.encode_examples(columns))
    outline = parsed(page_of([path], columns=["a"]))
    assert outline.count("card") == 1
    assert "only-in-b" not in outline.text
    assert "have no card" not in outline.text
    assert set(parsed(page_of([path])).values("data-name")) == {"a", "b", "''"}
    with pytest.raises(InvalidArgumentError, match=r"feature 'aa': no such feature.*'a'"):
        tl.view(path, output=tmp_path / "b.html", columns={"aa"})
    assert not (tmp_path / "b.html").exists()


@pytest.mark.parametrize(
    "kind", ["table", "sequences", pytest.param("wide", marks=pytest.mark.slow)]
)
def test_the_schema_is_python_that_reads_the_files(tmp_path: Path, kind: str) -> None:
    paths = KINDS[kind](tmp_path)
    if kind == "table":
        paths.append(Path(shutil.copy(paths[0], tmp_path / "another's.tfrecord")))
    page = page_of(paths)
    (code,) = re.findall('<pre class="code" id="schema-code">(.*?)</pre>', page, re.DOTALL)
    found: dict[str, Any] = {}
    exec(unescape(code).replace("print(batch)", "pass"), found)  # noqa: S102 - that is what it is for
    made, expected = found["schema"], tl.infer_schema(paths)
    assert found["paths"] == (str(paths[0]) if len(paths) == 1 else [str(path) for path in paths])
    assert page.count("row_splits_dtype") == code.count("row_splits_dtype")  # not in cards
    (batch,) = tl.read_batches(found["paths"], made, 10**6)
    assert found["batch"]
    assert batch
    if isinstance(expected, tl.Schema):
        assert made.features == expected.features
    else:
        assert made == expected


def test_integers_are_exact_in_cards_and_times_dates(tmp_path: Path) -> None:
    rows = 30
    columns = {
        "date": [20240101, 20240102] * (rows // 2),
        "one": [2**62 + 1] * rows,
        "id": [2**62 + i for i in range(rows)],
        "salt": [1_700_000_000 + 1000 * i for i in range(rows)],
        "time": [1_700_000_000_000 + 1000 * i for i in range(rows)],
        "when": [1_700_000_000, 1_700_000_001] * (rows // 2),
    }
    path = write(tmp_path / "a.tfrecord", tl.encode_examples(columns))

    page = page_of([path], num_records=0)
    cards = dict(re.findall(r'<article.*?<h3 title="(\w+)">(.*?)</article>', page, re.DOTALL))

    assert {"20240101", "20240102"} <= set(re.findall(r">(\d+)</span>", cards["date"]))
    assert f"<dd>{2**62 + 1}</dd>" in cards["one"]
    assert f"<span>{2**62}</span><span>{2**62 + rows - 1}</span>" in cards["id"]
    assert "<span>1700000000</span><span>1700029000</span>" in cards["salt"]
    assert "<dt>mean</dt><dd>1,700,014,500</dd>" in cards["salt"]
    assert "<span>2023-11-14T22:13:20</span><span>2023-11-14T22:13:49</span>" in cards["time"]
    assert re.findall(r">(2023-[^<]*)</span>", cards["when"])[1] == "2023-11-14T22:13:21"


def test_events_and_messages_of_a_class_have_a_column_per_path(tmp_path: Path) -> None:
    from tfrecord_lite.messages import Event, Summary
    from tfrecord_lite.messages.tensor_pb2 import TensorProto

    summary = Summary()
    summary.value.add(tag="x", simple_value=42.5)
    vector = TensorProto.FromString(tl.serialize_tensor(np.array([7.0, 8.0, 9.0])))
    summary.value.add(tag="y", tensor=vector)
    event = Event(wall_time=1e9, step=1, summary=summary)
    events = write(tmp_path / "tfevents.1", [event.SerializeToString()])
    frames = write(tmp_path / "frames", [frame(0), frame(1)])

    page = page_of([events])

    assert '<th scope="col" class="tfl-number">x</th>' in page  # in the table of runs
    (row,) = re.findall('<tr class="row">(.*?)</tr>', page, re.DOTALL)
    assert re.findall(r">(42\.5|7, 8, 9)</span>", row) == ["42.5", "7, 8, 9"]
    expected = ["step", "summary.value.simple_value", "summary.value.tag", "summary.value.tensor"]
    assert sorted({*re.findall(r'data-name="(.*?)"', row)}) == [*expected, "wall_time"]
    for cls, name, what in (
        (None, "3.1", "Messages of another type"),
        (Frame, "pose.transform", "foreign.Frame"),
    ):
        page = page_of([frames], message_class=cls)
        rows = re.findall('<tr class="row">(.*?)</tr>', page, re.DOTALL)
        shown = [re.findall(rf'data-name="{name}".*?>(1, 0, 0, .*?)<', row) for row in rows]
        assert shown == [["1, 0, 0, 0"], ["1, 0, 0, 0.25"]]
        assert what in page
        cards = re.findall('<h3 title="(.*?)">', page)
        assert ("pose.transform" in cards) == (cls is not None)
        assert ("Fields are shown by number" in page) == (cls is None)
        assert "location_sf" not in page_of([frames], columns={name}, message_class=cls)
    with pytest.raises(InvalidArgumentError, match="the 9 bytes of the record are not a foreign"):
        page_of([write(tmp_path / "text", [b"some text"])], message_class=Frame)
    with pytest.raises(TypeError, match="expected a protobuf message class"):
        page_of([frames], message_class=int)


def test_a_page_of_mixed_files_names_what_each_holds(tmp_path: Path) -> None:
    from tfrecord_lite.messages import Event

    sequence = tl.encode_sequence_example({"feature_lists": {"x": [[1.0]]}})
    event = Event(wall_time=1.5, file_version="brain.Event:2").SerializeToString()
    path = write(tmp_path / "e", [event] * 9)
    paths = [path, write(tmp_path / "s", [sequence]), write(tmp_path / "t", [b"some text"])]
    paths += [
        write(tmp_path / f"x{i}", [tl.encode_example({"id": 1})] * 2 + [b""]) for i in range(3)
    ]
    outline = parsed(page_of(paths))
    kinds = "TensorBoard event records, tf.train.Example records, tf.train.SequenceExample records and text records"
    assert kinds in outline.text
    assert outline.count("card") == 2
    assert "of those read cannot be parsed as tf.train.Example; the first: " in outline.text
    assert "data intact" in " ".join(outline.text.split())
    Path(path).write_bytes(Path(path).read_bytes()[:-1])
    assert "data damaged" in " ".join(parsed(page_of(paths)).text.split())


def test_records_that_cannot_be_parsed_are_named_and_the_others_shown(tmp_path: Path) -> None:
    good = tl.encode_example({"x": [1]})
    path = write(tmp_path / "a.tfrecord", [good] * 9 + [b"\xff\xff\xff"])
    outline = parsed(page_of([path]))
    assert (outline.count("record"), outline.count("card")) == (10, 1)
    assert "1 record of those read cannot be parsed" in outline.text


def test_the_size_is_bounded_and_the_page_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [{"x": rng.random(2000).astype(np.float32), "t": "long " * 900} for _ in range(300)]
    path = write(tmp_path / "a.tfrecord", [tl.encode_example(row) for row in rows])
    page = page_of([path], num_records=300, max_bytes=1_000_000)
    assert len(page) < 1_500_000
    assert "as many as the page has room for" in page


@pytest.mark.slow
def test_cards_and_schema_count_as_well(tmp_path: Path) -> None:
    names = [f"feature_{i:04}" for i in range(1500)]
    rng = np.random.default_rng(0)
    rows = [dict(zip(names, rng.random((1500, 1)), strict=True)) for _ in range(20)]
    path = write(tmp_path / "a.tfrecord", [tl.encode_example(row) for row in rows])
    page = page_of([path], max_bytes=1_000_000)
    outline = parsed(page)
    n_cards = outline.count("card")
    assert len(page) < 1_100_000
    assert 20 < n_cards < 1500
    assert f"{1500 - n_cards:,} more features have no card, as the page is full" in outline.text
    assert outline.count("record") > 0


def test_the_page_never_replaces_what_it_shows_and_arguments_are_checked(tmp_path: Path) -> None:
    record = tl.encode_example({"x": [1]})
    paths = [write(tmp_path / name, [record]) for name in ("a.tfrecord", "b.tfrecord")]
    before = Path(paths[1]).read_bytes()
    link = tmp_path / "link"
    link.hardlink_to(paths[1])
    for output in (paths[1], str(link), tmp_path / "." / "b.tfrecord"):
        with pytest.raises(InvalidArgumentError, match="would replace a file that it shows"):
            tl.view(paths, output=output)
    raised(InvalidArgumentError, tl.view, paths, output="", match="output is empty")
    for name in "num_records", "sample_size", "max_bytes":
        raised(InvalidArgumentError, tl.view, "missing.tfrecord", **{name: -1}, match=name)
    assert Path(paths[1]).read_bytes() == before


@pytest.mark.parametrize("name", ["jinja2", "PIL"])
def test_a_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "tfrecord_lite.apps.viewer.document", raising=False)
    with pytest.raises(ImportError, match=r"pip install jinja2 pillow"):
        tl.view(tmp_path / "missing", output=tmp_path / "page.html")


def test_a_page_without_a_name_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = write(tmp_path / "a.tfrecord", [tl.encode_example({"x": [1]})])
    assert tl.view(path, output=tmp_path / "b.html") == str(tmp_path / "b.html")
    assert opened == []
    page = tl.view(path)
    assert opened == [Path(page).as_uri()]
    assert Path(page).is_relative_to(tmp_path)
    with (tmp_path / "c.html").open("wb") as file:
        tl.view(path, output=file)
    assert (tmp_path / "c.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_notebook_shows_or_names_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    display = SimpleNamespace(HTML=str, display=shown.append)
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(webbrowser, "open", pytest.fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = write(tmp_path / "a.tfrecord", [tl.encode_example({"x": ["<b>&amp;"]})])
    page = tl.view(path)
    (source,) = parsed(shown[0]).values("srcdoc")
    assert source == Path(page).read_text("utf-8")
    tl.view(path, output=tmp_path / "b.html")
    monkeypatch.setattr("tfrecord_lite.apps.viewer.page._MAX_FRAMED_BYTES", 10)
    page = tl.view(path)
    assert len(shown) == 2
    assert page in parsed(shown[1]).text


def test_progress_may_fail_and_leave_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfrecord_lite.progress.INTERVAL_SECONDS", 0)
    tl.save(tmp_path / "a", {"x": np.arange(90_000.0).reshape(3000, 30)})
    n_bytes = 2 * sum(map(len, tl.TFRecordReader(tmp_path / "a")))
    seen: list[tuple[int, int | None]] = []
    tl.view(tmp_path / "a", output=tmp_path / "b", progress=lambda *now: seen.append(now))
    assert seen == sorted(seen, key=lambda now: now[0])
    assert {total for _, total in seen} == {None, n_bytes}
    assert seen[-1] == (n_bytes, n_bytes)

    def stop(done: int, total: int | None) -> None:
        if done == total:
            raise KeyboardInterrupt

    raised(KeyboardInterrupt, tl.view, tmp_path / "a", output=tmp_path / "c", progress=stop)
    assert not (tmp_path / "c").exists()
    with pytest.raises(TypeError, match="progress must be"):
        tl.view(tmp_path / "a", output=tmp_path / "c", progress=1)  # type: ignore[arg-type]
