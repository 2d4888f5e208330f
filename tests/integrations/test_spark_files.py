"""Folders of data files as Spark lays them out, without Spark."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.errors import raised
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.integrations.spark_files import Job, column_type, data_files, folder_of


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def found(folder: Path, *paths: str) -> list[tuple[str, dict[str, str | None]]]:
    files = data_files([str(folder / path) for path in paths or ("",)], None)
    return [(str(Path(name).relative_to(folder)), keys) for name, keys in files]


def names_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_hidden_files_and_companions_are_not_data(tmp_path: Path) -> None:
    fill(tmp_path, "b", "a", "_SUCCESS", ".a.crc", "a.schema.json", "a.idx", "features.json")
    fill(tmp_path, "_temporary-1/0-0/part", ".hidden/part")
    assert found(tmp_path) == [("a", {}), ("b", {})]
    assert found(tmp_path, "*") == [("a", {}), ("b", {}), ("features.json", {})]
    assert found(tmp_path, "_SUCCESS", "a", "a.idx") == [("_SUCCESS", {}), ("a", {})]


def test_folders_with_values_are_columns(tmp_path: Path) -> None:
    fill(tmp_path, "y=1/k=a%2Fb/x", "y=2/k=__HIVE_DEFAULT_PARTITION__/x", "y=2/k=_c/x")
    assert found(tmp_path) == [
        ("y=1/k=a%2Fb/x", {"y": "1", "k": "a/b"}),
        ("y=2/k=__HIVE_DEFAULT_PARTITION__/x", {"y": "2", "k": None}),
        ("y=2/k=_c/x", {"y": "2", "k": "_c"}),
    ]
    assert found(tmp_path, "y=1") == [("y=1/k=a%2Fb/x", {"k": "a/b"})]
    fill(tmp_path, "other/_k=1/x", "other/_k/x")  # a column may begin so, a folder is hidden
    assert found(tmp_path, "other") == [("other/_k=1/x", {"_k": "1"})]


def test_folders_that_do_not_fit_together(tmp_path: Path) -> None:
    fill(tmp_path, "y=1/x", "deeper/x", "other/k=1/x")
    assert found(tmp_path) == [("y=1/x", {"y": "1"})]
    with pytest.raises(InvalidArgumentError, match=r"the columns \['k'\] here, but \['y'\]"):
        found(tmp_path, "", "other")
    fill(tmp_path, "only/deep/x")
    with pytest.raises(FileNotFoundError, match="the folder has no data files"):
        data_files([f"file://{tmp_path}/only"], None)


@pytest.mark.parametrize(("texts", "expected"), [
    (["1", "-2", None, "007"], "int32"), (["1", str(2**31)], "int64"),
    (["1", str(2**63)], "string"), (["1", "1.5"], "string"), (["2026-01-02", None], "date32[day]"),
    (["2026-01-02", "1"], "string"), (["2026-13-02"], "string"), (["1_0"], "string"),
])  # fmt: skip
def test_types_of_columns(texts: list[str | None], expected: str) -> None:
    assert str(column_type(texts)) == expected


def test_names_of_folders_come_back(tmp_path: Path) -> None:
    for i, value in enumerate(["a=b/c%d", "ä b", "{x}:[y]^*?\\", "\n\x7f"]):
        fill(tmp_path, f"{i}/{folder_of('k =', value)}/x")
        assert found(tmp_path, str(i))[0][1] == {"k =": value}
    assert folder_of("b", True) == "b=true"
    assert folder_of("k", "") == "k=__HIVE_DEFAULT_PARTITION__"


def job(folder: Path, name: str = "1", *, overwrite: bool = False) -> Job:
    return Job(str(folder), name, overwrite)


def staged(made: Job, task: int, attempt: int, *names: str) -> list[tuple[str, str]]:
    folder = made.attempt(task, attempt)
    fill(Path(made.folder, folder), *names)
    return [(folder, name) for name in names]


def test_only_the_attempts_that_count_appear(tmp_path: Path) -> None:
    made = job(tmp_path / "out")
    counted = staged(made, 0, 1, "part-0", "part-0.schema.json") + staged(made, 1, 4, "k=1/part-1")
    staged(made, 0, 2, "part-0")  # a speculative one, and one that was killed
    staged(made, 1, 3, "k=1/part-1", "k=2/half")
    raised(FileNotFoundError, data_files, [str(tmp_path / "out")], None)
    made.commit(counted)
    expected = ["_SUCCESS", "k=1/part-1", "part-0", "part-0.schema.json"]
    assert names_in(tmp_path / "out") == expected


def test_overwriting_leaves_what_is_not_data(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out, "old", "k=1/old", "k=1/old.idx", "_notes", ".git/x", "deeper/kept")
    other = staged(job(out, "2"), 0, 0, "part")
    made = job(out, overwrite=True)
    made.commit(staged(made, 0, 0, "k=2/new"))
    kept = [".git/x", "_SUCCESS", "_notes", "_temporary-2/0-0/part", "deeper/kept", "k=2/new"]
    assert names_in(out) == kept
    job(out, "2").commit(other)
    assert "part" in names_in(out)


def test_a_commit_that_fails_takes_back_what_it_placed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out, "old", "_SUCCESS")
    made = job(out, overwrite=True)
    files = staged(made, 0, 0, "new")
    raised(FileNotFoundError, made.commit, [*files, (made.attempt(1, 1), "lost")])
    made.abort()
    assert names_in(out) == ["_SUCCESS", "old"]


@pytest.mark.parametrize("library", ["pyspark", "pyarrow"])
def test_without_spark_the_extra_is_named(library: str) -> None:
    program = (
        f"import sys; sys.modules[{library!r}] = None; import tfrecord_lite.integrations.spark"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "ImportError: Spark needs pyspark, pandas and pyarrow: pip install" in done.stderr
