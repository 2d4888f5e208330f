"""What is public, and what importing the package costs."""

import importlib
import importlib.metadata
import json
from pathlib import Path
from types import ModuleType

import pytest

import tfrecord_lite
from tests.support.errors import raised
from tests.support.subprocesses import run_fresh
from tfrecord_lite import extension

HEAVY = {
    "absl", "aiohttp", "asyncio", "backports.zstd", "concurrent.futures.process", "fsspec",
    "google", "google.protobuf", "isal", "multiprocessing", "pandas", "PIL", "polars", "pyarrow",
    "ray", "requests", "tensorflow", "torch", "tqdm", "urllib.request", "yaml",
}  # fmt: skip


UNCOUNTED = {"COVERAGE_PROCESS_CONFIG": "", "COVERAGE_PROCESS_START": ""}
"""Counting lines in a process would load modules there."""


def test_import_loads_nothing_heavy_not_even_numpy() -> None:
    modules = set(json.loads(run_fresh(
        "import json, sys, tfrecord_lite; print(json.dumps(list(sys.modules)))", **UNCOUNTED
    )))  # fmt: skip
    assert modules & {*HEAVY, "numpy", "crc32c"} == set()


def test_reading_records_loads_numpy_and_nothing_else_heavy() -> None:
    modules = set(json.loads(run_fresh(
        "import json, sys; from tfrecord_lite import TFRecordReader\n"
        "print(json.dumps(list(sys.modules)))", **UNCOUNTED
    )))  # fmt: skip
    assert "numpy" in modules
    assert modules & {*HEAVY, "argparse", "crc32c", "importlib.metadata"} == set()


NOT_FOR_A_BATCH = {
    "tfrecord_lite.convert.arrow", "tfrecord_lite.convert.store", "tfrecord_lite.dataset.lengths",
    "tfrecord_lite.dataset.mixtures", "tfrecord_lite.dataset.shuffle",
    "tfrecord_lite.dataset.stages", "tfrecord_lite.dataset.workers",
    "tfrecord_lite.described.formats", "tfrecord_lite.described.inferred",
    "tfrecord_lite.example.sequence.parse", "tfrecord_lite.example.survey",
    "tfrecord_lite.files.output", "tfrecord_lite.index.file", "tfrecord_lite.index.index",
    "tfrecord_lite.progress", "tfrecord_lite.records.resync", "tfrecord_lite.saved",
    "tfrecord_lite.schema.summary", "tfrecord_lite.sniff", "bz2", "concurrent.futures", "decimal",
    "difflib", "hashlib", "logging", "numpy.ma", "numpy.typing", "tempfile", "threading",
}  # fmt: skip
MOST_OWN_MODULES = 81
"""Of this package that a first batch loads."""


@pytest.mark.parametrize("schema", ["{'a': int}", "None"])
def test_a_first_batch_loads_only_what_it_needs(tmp_path: Path, schema: str) -> None:
    tfrecord_lite.save(tmp_path / "a.tfrecord", {"a": list(range(100))})
    modules = set(json.loads(run_fresh(
        "import numpy, json, sys; before = set(sys.modules)\n"
        "from tfrecord_lite import read_batches\n"
        f"next(iter(read_batches({str(tmp_path / 'a.tfrecord')!r}, {schema}, 8)))\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))", **UNCOUNTED
    )))  # fmt: skip
    assert modules & {*HEAVY, *NOT_FOR_A_BATCH} == set()
    assert sum(name.startswith("tfrecord_lite") for name in modules) <= MOST_OWN_MODULES


def test_reading_and_writing_raw_files_needs_no_protobuf_runtime() -> None:
    out = run_fresh(
        "import os, sys, tempfile\n"
        "from tfrecord_lite import TFRecordReader, TFRecordWriter\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    path = os.path.join(folder, 'a')\n"
        "    with TFRecordWriter(path) as writer:\n"
        "        writer.write(b'one')\n"
        "    print(list(TFRecordReader(path)))\n"
        "print('google.protobuf' in sys.modules, 'fsspec' in sys.modules, 'isal' in sys.modules)"
    )
    assert out == "[b'one']\nFalse False False\n"


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    for name in tfrecord_lite.__all__:
        assert getattr(tfrecord_lite, name) is not None  # which loads its module
    assert tfrecord_lite.__all__ == sorted(set(tfrecord_lite.__all__))
    modules = ["apps", "errors", "integrations", "messages", "options", "testing", "tf"]
    assert dir(tfrecord_lite) == sorted([*tfrecord_lite.__all__, *modules, "__version__"])
    assert all(getattr(tfrecord_lite, name) is not None for name in modules)


def stub(module: ModuleType) -> str:
    """Return what type checkers see: the same names as in the table."""
    lines = [
        f"# Made of the table in {Path(str(module.__file__)).name}: pytest --update-golden tests/test_import.py",
    ]  # fmt: skip
    for home, names in sorted(vars(module)["_EXPORTS"].items()):
        listed = ", ".join(f"{name} as {name}" for name in names)
        lines.append(f"from tfrecord_lite.{home} import {listed}")
    if module is tfrecord_lite:
        submodules = ", ".join(f"{name} as {name}" for name in vars(module)["_SUBMODULES"])
        lines += [f"from tfrecord_lite import {submodules}", "", "__version__: str"]
    return "\n".join([*lines, f"__all__ = {module.__all__}"]) + "\n"


@pytest.mark.parametrize("module", [tfrecord_lite, extension])
def test_type_checkers_see_the_names_that_are_loaded(
    module: ModuleType, request: pytest.FixtureRequest
) -> None:
    path = Path(str(module.__file__)).with_suffix(".pyi")
    if request.config.getoption("update_golden"):
        path.write_text(stub(module))
    assert path.read_text() == stub(module)


def test_extensions_stand_on_names_of_the_codec_that_are_not_public() -> None:
    for home, names in vars(extension)["_EXPORTS"].items():
        codec = importlib.import_module(f"tfrecord_lite.{home}")
        assert home.partition(".")[0] not in {"apps", "cli", "integrations", "testing", "tf"}
        for name in names:
            assert getattr(extension, name) is getattr(codec, name)
            assert name not in tfrecord_lite.__all__
    assert extension.__all__ == sorted(set(extension.__all__))
    with pytest.raises(AttributeError, match="no attribute 'Exampel'"):
        extension.Exampel  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_is_that_of_the_distribution() -> None:
    assert tfrecord_lite.__version__ == importlib.metadata.version("tfrecord-numpy")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Exampel"):
        tfrecord_lite.Exampel  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("name", "call"), [("read", "load"), ("open", "Reader"), ("write", "save")]
)
def test_a_name_of_other_libraries_says_what_to_call(name: str, call: str) -> None:
    raised(AttributeError, getattr, tfrecord_lite, name, match=call)
