"""What a server may do wrong, and what its refusals are called."""

import errno
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tfrecord_lite as tl
from tests.support import reference
from tests.support.errors import raised
from tests.support.http_files import FileServer, serving
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.files import remote
from tfrecord_lite.reader import tf_record_iterator

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

ITEMS = [b"%03d" % i * 20 for i in range(100)]
FRAME = 60 + 16
WAYS: dict[str, Callable[[str], Any]] = {
    "records": lambda url: list(tl.TFRecordReader(url)),
    "skipping": lambda url: list(tl.TFRecordReader(url, "", on_error="skip")),
    "blocks": lambda url: list(tl.TFRecordReader(url, "").blocks()),
    "iterator": lambda url: list(tf_record_iterator(url)),
}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSES", (0.0, 0.0))


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as server:
        server.files["/a"] = reference.encode(ITEMS)
        yield server


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_records", [1, 40, 100])
def test_an_answer_cut_at_a_record_fails(server: FileServer, way: str, n_records: int) -> None:
    server.cut = n_records * FRAME
    error = raised(OSError, WAYS[way], f"{server.url}/a", match=r"end at byte .* of 7,600")
    assert error.filename == f"{server.url}/a"
    assert not tl.verify(f"{server.url}/a").is_sound


def test_nothing_is_saved_of_a_file_that_is_cut(server: FileServer, tmp_path: Path) -> None:
    server.cut = 40 * FRAME
    raised(OSError, tl.recover, f"{server.url}/a", tmp_path / "saved", match="end at byte")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way", [*WAYS, "by number"])
@pytest.mark.parametrize(("status", "kind", "number"), [
    (401, PermissionError, errno.EACCES), (403, PermissionError, errno.EACCES),
    (404, FileNotFoundError, errno.ENOENT), (410, FileNotFoundError, errno.ENOENT),
    (429, OSError, errno.EIO), (500, OSError, errno.EIO), (503, OSError, errno.EIO),
])  # fmt: skip
def test_a_refusal_is_the_error_that_it_means(
    server: FileServer, way: str, status: int, kind: type[OSError], number: int
) -> None:
    url, server.status = f"{server.url}/a", status
    with pytest.raises(OSError, match=f"the server answered {status}") as caught:
        WAYS.get(way, tl.TFRecordFile)(url)
    failure = tl.verify(url).files[0].failure
    for error in caught.value, failure:
        assert isinstance(error, OSError)
        assert type(error) is kind
        assert (error.errno, error.filename) == (number, url)


def test_many_files_are_asked_about_at_once_and_read_without_a_pause(server: FileServer) -> None:
    content = io.BytesIO()
    with tl.TFRecordWriter(content) as writer:
        writer.write_examples([{"n": 1}, {"n": 2}])
    server.files = {f"/{i}": content.getvalue() for i in range(30)}
    urls = [f"{server.url}{name}" for name in server.files]
    ways: list[Callable[[], Any]] = [
        lambda: tl.read_batches(urls), lambda: tl.verify(urls),
        lambda: tl.TFRecordFile(urls).is_stale,
    ]  # fmt: skip
    server.latency = 0.05
    for way in ways:
        server.forget()
        way()
        assert server.most_at_once >= 8


def test_a_refusal_while_a_pattern_is_matched_is_the_same(server: FileServer) -> None:
    server.status = 403
    raised(PermissionError, tl.TFRecordReader, f"{server.url}/*.tfrecord", match="403")


def test_a_server_that_is_not_there_is_an_oserror_with_the_url() -> None:
    url = "http://127.0.0.1:1/a"
    assert raised(ConnectionRefusedError, list, tl.TFRecordReader(url)).filename == url


@pytest.mark.parametrize("atomic", [False, True])
def test_a_url_that_cannot_be_written_to_says_so(server: FileServer, atomic: bool) -> None:
    with pytest.raises(InvalidArgumentError, match="http URLs cannot be written to") as caught:
        tl.TFRecordWriter(f"{server.url}/new", atomic=atomic)
    assert caught.value.reason is Reason.UNSUPPORTED


@pytest.mark.parametrize("read", [
    lambda url: list(tl.TFRecordReader(url)), lambda url: tl.TFRecordReader(f"{url}*"),
    tl.TFRecordFile, tl.load, tl.load_schema, lambda url: tl.save(url, {"n": [1]}),
])  # fmt: skip
def test_a_url_without_a_file_system_is_one_clear_error(read: Callable[[str], Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="no file system for foo:// is known") as caught:
        read("foo://b/x")
    assert caught.value.reason is Reason.BAD_ARGUMENT
    assert str(caught.value.source).startswith("foo://b/x")


def test_a_file_system_whose_package_is_missing_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = pytest.importorskip("fsspec.registry")
    implementation = {"class": "no_such_package.FileSystem", "err": "Install it"}
    monkeypatch.setitem(registry.known_implementations, "nosuch", implementation)
    for read in (lambda url: list(tl.TFRecordReader(url)), tl.TFRecordFile):
        with pytest.raises(ImportError, match=r"^nosuch://b/x: .* pip install no_such_package$"):
            read("nosuch://b/x")
