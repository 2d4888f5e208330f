"""Names that are names: brackets, queries, chains, folders, and what is only looked for."""

import contextlib
import io
import string
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.extras import is_installed
from tests.support.http_files import FileServer, serving
from tests.support.reference import encode
from tfrecord_lite import (
    ShardedTFRecordWriter,
    TFRecordDataset,
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
    load,
    read_batches,
    save,
    scan,
    verify,
)
from tfrecord_lite.apps.rearrange import merge_files, split_files
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.files.names import expand
from tfrecord_lite.files.urls import companion, split_name
from tfrecord_lite.reader import tf_record_iterator

fsspec = pytest.importorskip("fsspec")


def count(path: Any, **options: Any) -> int:
    return sum(1 for _ in TFRecordReader(path, **options))


READERS: dict[str, Callable[[Any], int]] = {
    "reader": count,
    "load": lambda path: len(load(path)["id"]),
    "by number": lambda path: len(TFRecordFile(path)),
    "batches": lambda path: sum(len(batch["id"]) for batch in read_batches(path, batch_size=2)),
    "verify": lambda path: verify(path).records if verify(path).is_sound else -1,
}
if is_installed("arrow"):
    READERS["scan"] = lambda path: scan(path).to_arrow().num_rows


PARTS = st.text(alphabet="ab[]*?!-", min_size=1, max_size=6)
"""Parts of names, with wildcards."""


def one_store(number: int) -> str:
    return f"memory://names-{number}"


@pytest.mark.parametrize("is_remote", [False, True], ids=["local", "store"])
def test_what_is_written_under_a_name_is_read_under_it(
    tmp_path_factory: pytest.TempPathFactory, *, is_remote: bool
) -> None:
    numbers = iter(range(10_000))

    @given(folder=PARTS, base=PARTS, shards=st.sampled_from(["", "@1", "@3"]))
    def check(folder: str, base: str, shards: str) -> None:
        if is_remote:
            root = one_store(next(numbers))
        else:
            root = str(tmp_path_factory.mktemp("w"))
            for name in {folder, "a"}:
                Path(root, name).mkdir()
        save(f"{root}/a/b.tfrecord", {"id": np.arange(7)})  # what a pattern may match
        name = f"{root}/{folder}/{base}{shards}.tfrecord"
        save(name, {"id": np.arange(4)})
        for read in READERS.values():
            assert read(name) == 4
        files = everything_below(root)
        assert not [file for file in files if file.endswith(".tmp")]
        n_shards = int(shards[1:] or 1)
        assert len([file for file in files if file.endswith(".tfrecord")]) == n_shards + (
            f"{folder}/{base}{shards}" != "a/b"
        )
        folder_pattern = f"{root}/{folder}/*.tfrecord"  # a folder's name is no pattern
        assert all(f"/{folder}/" in name for name in map(str, expand(folder_pattern)))

    check()


def everything_below(root: str) -> list[str]:
    if root.startswith("memory://"):
        return list(fsspec.filesystem("memory").find(root.removeprefix("memory:/")))
    return [str(path) for path in Path(root).glob("**/*") if path.is_file()]


WRITERS: dict[str, Callable[[str], Any]] = {
    "writer": TFRecordWriter,
    "atomic": lambda name: TFRecordWriter(name, atomic=True),
    "sharded": lambda name: ShardedTFRecordWriter(f"{name}@2"),
}


@pytest.mark.parametrize("way", WRITERS)
@pytest.mark.parametrize("folder", ["run[1]", "run*", "run?", "a/../[!x]"])
def test_writers_leave_alone_what_their_name_would_match(way: str, folder: str) -> None:
    memory = fsspec.filesystem("memory")
    root = f"/alone-{way}-{len(folder)}"
    for other in ("run1", "runs", "x"):
        memory.pipe(f"{root}/{other}/x.tfrecord", b"kept")
    name = f"memory:/{root}/{folder}/x.tfrecord"
    writer = WRITERS[way](name)
    writer.write(b"one")
    writer.close()
    assert count(f"{name}@2" if way == "sharded" else name) == 1
    with contextlib.suppress(ZeroDivisionError), WRITERS[way](name) as writer:
        writer.write(b"two")
        raise ZeroDivisionError
    files = memory.find(root)
    assert not [file for file in files if file.endswith(".tmp")]
    assert all(memory.cat(f"{root}/{other}/x.tfrecord") == b"kept" for other in ("run1", "runs"))


def test_rearranged_files_keep_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "exp[lr=0.1]"
    folder.mkdir()
    save(folder / "a*.tfrecord", {"id": np.arange(6)})
    split_files(folder / "a*.tfrecord", folder / "s?@3.tfrecord")
    merge_files(folder / "s?@3.tfrecord", folder / "m[0].tfrecord")
    assert load(folder / "m[0].tfrecord")["id"].tolist() == list(range(6))
    assert len(TFRecordFile(folder / "s?@3.tfrecord").save_index()) == 3


@given(st.text(alphabet=string.printable.replace("?", "").replace("#", "").replace(":", "")))
def test_a_companion_goes_before_what_is_no_name(text: str) -> None:
    url = f"https://host/{text}"
    query = "?a=*b[c]%2F&d"
    assert split_name(url + query) == (url, query)
    assert companion(url + query, ".idx") == f"{url}.idx{query}"
    assert companion(f"simplecache::{url}{query}", ".idx") == f"simplecache::{url}.idx{query}"
    assert companion(f"zip://{text}::{url}{query}", ".idx") == f"zip://{text}.idx::{url}{query}"
    assert companion(f"s3://b/{text}?", ".idx") == f"s3://b/{text}?.idx"
    assert companion(text, ".idx") == f"{text}.idx"


@pytest.fixture
def server() -> Iterator[FileServer]:
    pytest.importorskip("aiohttp")
    with serving() as server:
        yield server


def content(n_records: int = 3) -> bytes:
    file = io.BytesIO()
    with TFRecordWriter(file) as writer:
        for i in range(n_records):
            writer.write_example({"id": i})
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "?download=true", "?sig=a*b==&x=?", "?a=b/c@2"])
@pytest.mark.parametrize("absent", [401, 403, 404, 410, b"<!DOCTYPE html>", b"{}", content()])
def test_a_mere_look_may_be_refused(server: FileServer, query: str, absent: int | bytes) -> None:
    server.files[f"/a.tfrecord{query}"] = content()
    if isinstance(absent, int):
        server.absent = absent
    else:
        for suffix in (".schema.json", ".idx"):
            server.files[f"/a.tfrecord{suffix}{query}"] = absent
    for read in READERS.values():
        assert read(f"{server.url}/a.tfrecord{query}") == 3


def test_the_refusal_of_the_data_names_the_data(server: FileServer) -> None:
    server.absent = 403
    for name, read in READERS.items():
        url = f"{server.url}/a.tfrecord?sig=wrong"
        if name == "verify":
            assert isinstance(verify(url).files[0].failure, PermissionError)
            continue
        assert raised(PermissionError, read, url).filename == url


def test_sidecars_and_indexes_beside_a_query_are_used(server: FileServer, tmp_path: Path) -> None:
    save(tmp_path / "a", {"id": np.arange(3, dtype=np.int8)})
    TFRecordFile(tmp_path / "a").save_index()
    for file in list(tmp_path.iterdir()):
        server.files[f"/{file.name}?k=v"] = file.read_bytes()
    assert load(f"{server.url}/a?k=v")["id"].dtype == np.int8
    server.forget()
    assert TFRecordFile(f"{server.url}/a?k=v")[2]
    assert "/a.idx?k=v" in [path for path, _, _ in server.ranges]
    server.files["/a.schema.json?k=v"] = server.files["/a.schema.json?k=v"][:-20]
    raised(InvalidArgumentError, load, f"{server.url}/a?k=v", match="not valid JSON")


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    for name in ("z1", "z2"):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            for base in ("a.tfrecord", "b.tfrecord", "_x", "d/c[1].tfrecord"):
                archive.writestr(base, content())
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        entry = tarfile.TarInfo("a.tfrecord")
        entry.size = len(content())
        archive.addfile(entry, io.BytesIO(content()))
    return tmp_path


@pytest.mark.parametrize(("name", "n_records"), [
    ("zip://a.tfrecord::{}/z1.zip", 3), ("zip://*.tfrecord::{}/z1.zip", 6),
    ("zip://*::{}/z1.zip", 6), ("zip://d/c[1].tfrecord::{}/z1.zip", 3), ("zip://d::{}/z1.zip", 3),
    ("zip://**/*.tfrecord::{}/z1.zip", 9), ("zip://a.tfrecord::{}/z*.zip", 6),
    ("zip://*.tfrecord::file://{}/z?.zip", 12), ("tar://a.tfrecord::{}/t.tar", 3),
    ("tar://*::{}/t.tar", 3), ("simplecache::file://{}/t.tar", None),
    ("zip://a.tfrecord::simplecache::file://{}/z1.zip", 3),
])  # fmt: skip
def test_chained_urls_are_names(archives: Path, name: str, n_records: int | None) -> None:
    url = name.format(archives)
    if n_records is None:
        assert expand(url) == [url]
        return
    assert count(url) == n_records
    assert len(load(url)["id"]) == n_records


def test_a_cache_is_written_and_read_through() -> None:
    memory = fsspec.filesystem("memory")
    for name in ("a[1]", "b", "_SUCCESS"):
        memory.pipe(f"/cached/{name}", content())
    assert expand("simplecache::memory://cached/*") == [
        "simplecache::memory://cached/a[1]",
        "simplecache::memory://cached/b",
    ]
    assert count("simplecache::memory://cached/*") == 6
    assert count("simplecache::memory://cached/a[1]") == 3
    assert count("simplecache::memory://cached") == 6


def test_readers_of_memory_share_no_position() -> None:
    fsspec.filesystem("memory").pipe("/shared/a", content())
    reader = TFRecordReader("memory://shared/a")
    assert len(list(zip(reader, reader, strict=True))) == 3


NOT_DATA = [
    ".hidden", "_SUCCESS", "_temporary/part", "below/c", "a.idx", "a.schema.json", "b.schema.json",
    "COMPLETED", "x.json", "y.TXT", "z.csv.gz", "m.md", "l.pbtxt", "g.pb", "t.parquet", "p.html",
    "c.yaml", "n.npz", "._a.crc",
]  # fmt: skip


def folder_with(names: list[str], root: str) -> str:
    with fsspec.open(f"{root}/{names[0]}", "wb", auto_mkdir=True) as file:
        file.write(b"")
    filesystem, path = fsspec.core.url_to_fs(root, auto_mkdir=True)
    for name in names:
        filesystem.pipe(f"{path}/{name}", content() if name in ("a", "b.gz") else b"x")
    return root


@pytest.fixture(params=["local", "store"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "local" else f"memory:/{tmp_path}"


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("slash", ["", "/"])
def test_a_folder_is_its_data_files(root: str, read: Callable[[Any], int], slash: str) -> None:
    folder = folder_with(["a", "b.gz"], f"{root}/data[1]") + slash
    if read is READERS["by number"]:
        assert read(folder) == 6
        return
    folder_with(NOT_DATA[4:], f"{root}/data[1]") if read is count else None
    assert read(folder) == 6


def test_what_is_left_out_of_a_folder(root: str) -> None:
    folder = folder_with(["a", "b.gz", *NOT_DATA], f"{root}/data")
    assert expand(folder) == [f"{folder}/a", f"{folder}/b.gz"]
    assert expand([f"{folder}/", f"{folder}/below"]) == [
        f"{folder}/a", f"{folder}/b.gz", f"{folder}/below/c"
    ]  # fmt: skip
    assert expand(f"{root}/da*") == expand(folder)  # a pattern that matches folders alone
    assert [name for name in map(str, expand(f"{folder}/*")) if "/." in name or "/_" in name] == []
    assert f"{folder}/below" not in expand(f"{folder}/*")
    assert expand(f"{folder}/_S*") == [f"{folder}/_SUCCESS"]
    assert expand(f"{folder}/_temporary/*") == [f"{folder}/_temporary/part"]
    assert expand(f"{folder}/**/c") == [f"{folder}/below/c"]


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_folder_without_data_says_what_is_there(root: str, read: Callable[[Any], int]) -> None:
    folder = folder_with(["x/c", "y/c", "notes.txt"], f"{root}/other")
    text = (
        r"no data files are in this folder, only 2 folders \(x, y\) and 1 other file \(notes.txt\)"
    )
    assert raised(FileNotFoundError, read, folder, match=text).filename == folder


def test_a_folder_of_another_library_is_recognised(root: str) -> None:
    folder = folder_with(["a", "dataset_info.json"], f"{root}/other")
    assert raised(IsADirectoryError, load, folder, match="load_tfds").filename == folder


def test_r9_names_of_tensorflow_take_no_folder(root: str) -> None:
    from tfrecord_lite import tf

    folder = folder_with(["a"], f"{root}/data")
    for read in (
        tf_record_iterator,
        lambda path: list(TFRecordDataset(path)),
        lambda path: list(tf.data.TFRecordDataset(path)),
    ):
        assert raised(IsADirectoryError, read, folder).filename == folder


@given(
    count=st.integers(1, 30),
    lost=st.sets(st.integers(0, 29)),
    pattern=st.sampled_from(
        ["a-*-of-{}", "a-0000?-of-{}.x", "*-of-{}*", "a-*", "a-0000[0-4]-of-{}*"]
    ),
)
def test_a_pattern_with_a_number_misses_no_shard(
    tmp_path_factory: pytest.TempPathFactory, count: int, lost: set[int], pattern: str
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    of = f"{count:05d}"
    end = "" if pattern == "a-*-of-{}" else ".x"
    names = [f"a-{i:05d}-of-{of}{end}" for i in range(count)]
    for i in set(range(count)) - lost:
        (folder / names[i]).touch()
    text = pattern.format(of)
    matches = [i for i in range(count) if Path(names[i]).match(text)]
    present = [i for i in matches if i not in lost]
    if not present:
        return
    if len(present) == len(matches):
        assert expand(folder / text) == [f"{folder}/{names[i]}" for i in present]
        return
    first = next(i for i in matches if i in lost)
    if "of" not in text:
        for name in (folder / text, folder):
            with pytest.warns(UserWarning, match=f" missing: {folder}/{names[first]}.*@{count}"):
                assert expand(name) == [f"{folder}/{names[i]}" for i in present]
        return
    error = raised(FileNotFoundError, expand, folder / text)
    assert error.filename == f"{folder}/{names[first]}"


class NoSuchBucket(Exception):  # noqa: N818 - as the client's is called
    """What s3fs lets out of listings."""


class _Missing(fsspec.AbstractFileSystem):  # type: ignore[misc,name-defined]
    protocol = "missing"

    def info(self, path: str, **_: Any) -> Any:
        raise NoSuchBucket("The specified bucket does not exist")

    ls = _open = info

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Do nothing, as for a bucket."""


@pytest.mark.parametrize(
    "read", [*READERS.values(), tf_record_iterator], ids=[*READERS, "iterator"]
)
@pytest.mark.parametrize("name", ["none/x", "none/x*", "none/x@2", "none/x/", "none"])
def test_a_missing_bucket_is_a_missing_file(read: Callable[[Any], Any], name: str) -> None:
    fsspec.register_implementation("missing", _Missing, clobber=True)
    url = f"missing://{name}"
    if read is READERS["verify"] and "/x" in name and "*" not in name:
        assert isinstance(verify(url).files[0].failure, FileNotFoundError)
        return
    error = raised(FileNotFoundError, read, url)
    assert str(error.filename).startswith(url[:16])
    assert ".schema.json" not in str(error)
    for write in (*WRITERS.values(), lambda url: save(url, {"id": [1]})):
        caught = raised(FileNotFoundError, cast("Any", write), "missing://none/x")
        assert str(caught.filename).startswith("missing://none/x")


def test_what_is_written_has_its_name_also_beside_a_folder_and_in_a_chain() -> None:
    for name in ("memory://names/a/x", "dir://y::memory://names/a", "memory://names/a"):
        save(name, {"id": [1]})
    TFRecordWriter("memory://names/a-2", atomic=True).close()
    names = ["a", "a-2", "a.schema.json", "a/x", "a/x.schema.json", "a/y", "a/y.schema.json"]
    assert everything_below("memory://names") == [f"/names/{name}" for name in names]
    for call in (TFRecordWriter, WRITERS["atomic"], lambda url: save(url, {"id": [1]}), load):
        raised(InvalidArgumentError, cast("Any", call), "memory://names/u::v", match="'::' begins")
    raised(IsADirectoryError, save, "memory://names/b/", {"id": [1]})


@pytest.mark.parametrize(("name", "text"), [
    ("~/x.tfrecord", "expanduser"), ("x-{0000..0099}.tfrecord", r"pattern.*'x-\*\.tfrecord'"),
    (Path("s3://bucket/x"), "a URL as a str"),
])  # fmt: skip
def test_a_name_of_another_language_leads_on(name: Any, text: str) -> None:
    for call in (load, TFRecordFile, lambda name: list(TFRecordReader(name)), tf_record_iterator):
        raised(FileNotFoundError, call, name, match=text)
    if "{" not in str(name):
        for write in (
            TFRecordWriter, lambda name: save(name, {"id": [1]}),
            lambda name: TFRecordWriter(name, atomic=True),
            lambda name: ShardedTFRecordWriter(f"{name}@2"),
        ):  # fmt: skip
            raised(FileNotFoundError, write, name, match=text)


@pytest.mark.parametrize(
    "value", [encode([b"x"]), "a,b\n" * 1000, "x" * 423_899, encode([b"y" * 9999]), "\0"]
)
def test_the_content_of_a_file_is_no_name_and_not_echoed(value: Any) -> None:
    for call in (
        load, TFRecordFile, TFRecordReader, tf_record_iterator, verify, read_batches,
        lambda value: load("x", schema=value) if isinstance(value, str) else load(value),
        lambda value: save(value, {"id": [1]}) if isinstance(value, str) else load(value),
    ):  # fmt: skip
        assert len(str(raised(ValueError, call, value, match="not the content of a file"))) < 200


def test_a_package_is_advised_only_where_it_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = pytest.importorskip("fsspec.registry")
    broken = {"class": "numpy.no_such_name.FileSystem", "err": "Install it"}
    monkeypatch.setitem(registry.known_implementations, "broken", broken)
    missing = {"class": "no_such_package.FileSystem", "err": "Install it"}
    monkeypatch.setitem(registry.known_implementations, "absent", missing)
    for read in READERS.values():
        with pytest.raises(
            ImportError, match=r"^broken://b/x: its file system cannot be loaded"
        ) as caught:
            read("broken://b/x")
        assert "pip" not in str(caught.value)
        with pytest.raises(
            ImportError, match=r"^simplecache::absent://b/x: absent://.* install no_such_package$"
        ):
            read("simplecache::absent://b/x")
