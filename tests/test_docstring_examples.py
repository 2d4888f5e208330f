"""Every public function, class and method shows in its docstring what a call looks like, and it runs.

Left out are properties and the fields of data classes, which the examples of others use;
methods that another program calls, such as those of a source of Ray; protobuf's messages, whose
methods are protobuf's; and ``tfrecord_lite.tf``, whose names mean what TensorFlow's do:
docs/how-to/moving-off-tensorflow.md shows them in whole scripts, which are run too and say more
than a line per name could.
"""

import doctest
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import tfrecord_lite
from tests.support.extras import can_be_imported

PUBLIC = {
    "": tfrecord_lite.__all__,
    "apps.images": None,
    "apps.notebook": ("show",),
    "apps.tables": None,
    "apps.tfds": None,
    "convert.lossless": ("restore", "schema_of"),
    "errors": (
        "DamageReport", "DamagedSpan", "DataLossError", "DataLossWarning",
        "FailedPreconditionError", "FileReport", "InvalidArgumentError", "Reason",
    ),
    "files.compression": ("TFRecordCompressionType", "TFRecordOptions"),
    "index": ("tf_record_random_reader",),
    "reader": ("tf_record_iterator",),
    "tensors.parse": ("parse_tensors",),
    "dataset": ("DatasetIterator",),
    "apps.events": None,
    "integrations.beam": None,
    "integrations.dask": None,
    "integrations.duckdb": None,
    "integrations.grain": None,
    "integrations.keras": None,
    "integrations.ray": ("read_tfrecords", "write_tfrecords"),
    "integrations.spark": ("register",),
    "integrations.torch": None,
    "apps.rearrange": None,
    "schema": (
        "SequenceSummary", "Summary", "FeatureListSummary", "FeatureSpec", "FeatureSummary", "Kind",
        "ListSummary", "Original",
    ),
    "apps.statistics": None,
    "testing": None,
}  # fmt: skip
"""The names that the reference and the guides show, by module; None for all of its ``__all__``."""

NEEDS = {
    "integrations.beam": "beam", "integrations.dask": "dask", "integrations.duckdb": "sql",
    "integrations.grain": "frameworks", "apps.images.image": "image",
    "integrations.keras": "frameworks", "integrations.ray": "ray", "integrations.spark": "spark",
    "integrations.torch": "torch", "described.formats.superserial": "yaml",
    "described.sidecar.load_schema": "yaml",
    "apps.tables.table.TFRecordTable.to_pandas": "dataframes",
    "apps.tables.table.TFRecordTable.to_polars": "dataframes", "apps.tables": "arrow",
    "apps.viewer": "view",
}  # fmt: skip
"""The extra or group that the examples of these names, or of names under them, need."""

LOUD = ("tfrecord_lite.integrations.ray.", "tfrecord_lite.integrations.spark.")
"""Names that call what warns of itself."""

AT_HAND = {
    "__name__": "__main__",
    "np": np,
    **{name: getattr(tfrecord_lite, name) for name in tfrecord_lite.__all__},
    **vars(tfrecord_lite.messages),
    **{
        name: getattr(importlib.import_module(f"tfrecord_lite.{module}"), name)
        for module in PUBLIC
        if module and not module.startswith("integrations")
        for name in PUBLIC[module] or importlib.import_module(f"tfrecord_lite.{module}").__all__
    },
}
"""What examples need not import; docs/reference/api/index.md tells users."""


def public_objects() -> Iterator[Any]:
    """Yield the public functions and classes whose modules can be imported here."""
    for name, names in PUBLIC.items():
        full_name = f"tfrecord_lite.{name}".rstrip(".")
        if can_be_imported(full_name):
            module = importlib.import_module(full_name)
            for each in names or module.__all__:
                value = getattr(module, each)
                if not value.__module__.endswith("_pb2"):
                    yield value


def methods(cls: type) -> Iterator[Any]:
    """Yield the public methods of a class, but not those that its bases elsewhere ask for."""
    foreign = [base for base in cls.__mro__ if not base.__module__.startswith("tfrecord_lite.")]
    for name, kind, _, value in inspect.classify_class_attrs(cls):
        function: Any = getattr(value, "__func__", value)
        is_ours = (getattr(function, "__module__", None) or "").startswith("tfrecord_lite.")
        is_other = name.startswith("_") or any(hasattr(base, name) for base in foreign)
        if "method" in kind and is_ours and not is_other:
            yield inspect.unwrap(function)


def name_of(value: Any) -> str:
    """Return the full name of a function, class or method."""
    return f"{value.__module__}.{value.__qualname__.split('<locals>.')[-1]}"


DOCSTRINGS = {
    name_of(each): inspect.getdoc(each) or ""
    for value in public_objects()
    for each in [value, *(methods(value) if isinstance(value, type) else [])]
}


def examples() -> Iterator[doctest.DocTest]:
    """Yield the examples of all docstrings, those of private names among them."""
    finder, found = doctest.DocTestFinder(), set()
    for info in pkgutil.walk_packages(tfrecord_lite.__path__, "tfrecord_lite."):
        if not info.name.endswith(("__main__", "_pb2")) and can_be_imported(info.name):
            module = importlib.import_module(info.name)
            for example in finder.find(module):
                found.add(example.name)
                yield example
    for value in public_objects():  # what a decorator has wrapped is not found above
        if name_of(value) not in found:
            names = dict(vars(importlib.import_module(value.__module__)))
            yield doctest.DocTestParser().get_doctest(
                inspect.getdoc(value) or "", names, name_of(value), None, None
            )


EXAMPLES = [example for example in examples() if example.examples]


def marks(name: str) -> Iterator[pytest.MarkDecorator]:
    """Yield the marks of the example of a name."""
    for prefix, extra in NEEDS.items():
        if name.startswith(f"tfrecord_lite.{prefix}"):
            yield pytest.mark.needs(extra)
    if name.startswith(LOUD):
        yield pytest.mark.filterwarnings("default")


def is_run(docstring: str) -> bool:
    """Return whether a docstring ends in examples of which at least one line is run."""
    _, heading, text = docstring.partition("\nExamples\n--------\n")
    lines = doctest.DocTestParser().get_examples(text)
    return bool(heading) and any(not line.options.get(doctest.SKIP) for line in lines)


def test_every_public_name_has_an_example() -> None:
    assert len(DOCSTRINGS) > 250
    assert [name for name, docstring in DOCSTRINGS.items() if not is_run(docstring)] == []


def test_the_example_of_every_public_name_is_run() -> None:
    assert DOCSTRINGS.keys() - {example.name for example in EXAMPLES} == set()


@pytest.fixture
def few_examples() -> Iterator[None]:
    """Let a property in a docstring be short: it shows how to write one, and others test."""
    settings.register_profile("of the run", settings.default)
    settings.load_profile("short")
    yield
    settings.load_profile("of the run")


@pytest.mark.usefixtures("few_examples")
@pytest.mark.parametrize(
    "example", [pytest.param(each, id=each.name, marks=list(marks(each.name))) for each in EXAMPLES]
)
def test_docstrings(example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # Spark's workers take PATH's otherwise
    if example.name in DOCSTRINGS:
        example.globs.clear()  # what else a user needs, the example imports
    example.globs.update(AT_HAND | example.globs)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)
