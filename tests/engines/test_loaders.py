"""Files of other loaders: their names, and DALI's indexes; the recipes are blocks of the guide."""

from pathlib import Path

import pytest

from tests.support.small_files import example, write
from tfrecord_lite.cli import main

pytestmark = pytest.mark.needs("arrow")


@pytest.mark.parametrize("name", ["a.tar", "b-00000-of-00002.array_record", "c.tar.gz"])
def test_files_have_names(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "a.tfrecord", [example(1)])
    (tmp_path / name).write_bytes(b"x")
    for arguments in [(source, tmp_path / "new" / name), (tmp_path / name, tmp_path / "b.csv")]:
        assert main(["convert", *map(str, arguments)]) == 2
        assert "the guide 'From and to the files of other loaders' has" in capsys.readouterr().err
    assert main(["convert", source, f"{tmp_path}/out/", "--to", "webdataset"]) == 2
    assert "is read and written by its own library" in capsys.readouterr().err


def test_an_index_is_what_tfrecord2idx_of_dali_writes(tmp_path: Path) -> None:
    records = [example(i) * i for i in range(20)]
    path = write(tmp_path / "a.tfrecord", records)
    lines, offset = [], 0
    for size in (len(record) + 16 for record in records):
        lines.append(f"{offset} {size}\n")
        offset += size
    assert main(["index", path]) == 0
    assert (tmp_path / "a.tfrecord.idx").read_text() == "".join(lines)
