"""What is installed beside the package, and which tests need it.

A test that needs an extra, or a group of developers' tools, says so: ``@pytest.mark.needs("zstd")``. It is left out
where that is not installed. Any other test fails there if it is told to install something, as it
should: the core works without extras.
"""

import importlib.util
import sys
from functools import cache
from pathlib import Path

__all__ = [
    "EXTRAS", "GROUPS", "can_be_imported", "how_to_install", "is_installed", "is_known",
    "missing_for",
]  # fmt: skip

EXTRAS = {
    "arrow": ("pyarrow",), "beam": ("apache_beam", "pyarrow"), "cli": ("tqdm",),
    "dask": ("dask", "pandas", "pyarrow"), "dataframes": ("pandas", "polars", "pyarrow"),
    "dtypes": ("ml_dtypes",), "examples": ("sklearn", "PIL", "yaml", "torch"), "fast": ("isal",),
    "image": ("PIL",), "ray": ("ray", "pyarrow"), "remote": ("fsspec", "aiohttp"),
    "spark": ("pyspark", "pyarrow"), "sql": ("duckdb", "pyarrow"), "torch": ("torch",),
    "view": ("jinja2", "PIL"), "yaml": ("yaml",),
    "zstd": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",),
}  # fmt: skip
"""The modules by which an extra is known."""

GROUPS = {
    "browser": ("playwright",),
    "dask-and-others": ("dask", "distributed", "daft", "modin"),
    "frameworks": ("grain", "jax", "keras", "torch", "torchdata"),
    "lint": ("mypy",),
    "loaders": ("webdataset", "array_record", "pyarrow"),
    "notebook": ("IPython",),
    "parity": ("tensorflow",),
    "stores": ("s3fs", "moto", "adlfs", "gcsfs", "gcp_storage_emulator"),
    "tables": ("pandas", "polars", "pyarrow", "duckdb", "datasets"),
    "training": (
        "accelerate",
        "transformers",
        "lightning",
        "ray.train",
        "torchdata",
        "keras",
        "grain",
    ),
}
"""The modules by which a dependency group is known."""

_MODULES_OF = EXTRAS | GROUPS

MODULES = {
    "tfrecord_lite.integrations.beam": "beam", "tfrecord_lite.integrations.grain": "frameworks",
    "tfrecord_lite.integrations.keras": "frameworks", "tfrecord_lite.integrations.ray": "ray",
    "tfrecord_lite.integrations.spark": "spark", "tfrecord_lite.apps.viewer.": "view",
    "tfrecord_lite.apps.tables.table_formats": "arrow",
}  # fmt: skip
"""Modules of the package, by how their names begin, that are loaded when they are used, and need an extra then."""

TESTS = Path(__file__).resolve().parents[1]
PLACES = {
    TESTS / "convert" / "test_dataframes.py": ("dataframes", EXTRAS["dataframes"]),
    TESTS / "integrations" / "test_pandas.py": ("dataframes", EXTRAS["dataframes"]),
    TESTS / "integrations" / "test_spark_files.py": ("arrow", EXTRAS["arrow"]),
    TESTS / "convert" / "test_arrow.py": ("arrow", EXTRAS["arrow"]),
    TESTS / "storage" / "test_dataframes.py": ("dataframes", EXTRAS["dataframes"]),
    TESTS / "storage" / "test_readers_agree.py": ("dtypes", EXTRAS["dtypes"]),
    TESTS / "engines" / "test_beam.py": ("beam", EXTRAS["beam"]),
    TESTS / "engines" / "test_dask.py": ("dask", EXTRAS["dask"]),
    TESTS / "engines" / "test_daft_and_modin.py": ("dask-and-others", GROUPS["dask-and-others"]),
    TESTS / "engines" / "test_loaders.py": ("arrow", EXTRAS["arrow"]),
    TESTS / "engines" / "test_ray.py": ("ray", EXTRAS["ray"]),
    TESTS / "engines" / "test_spark.py": ("spark", EXTRAS["spark"]),
    TESTS / "engines" / "test_stores.py": ("stores", GROUPS["stores"]),
    TESTS / "parity": ("parity", ("tensorflow",)),
    TESTS / "frameworks" / "test_grain.py": ("frameworks", ("grain",)),
    TESTS / "frameworks" / "test_keras.py": ("frameworks", ("keras", "jax")),
    TESTS / "frameworks" / "test_torch.py": ("frameworks", ("torch", "torchdata")),
    TESTS / "frameworks" / "test_torch_tensors.py": ("frameworks", ("torch", "torchdata")),
    TESTS / "frameworks" / "test_training_libraries.py": ("training", GROUPS["training"]),
}
"""Modules of tests that cannot even be imported without an extra or a group, and how that is known."""


def is_known(name: str) -> bool:
    return name in _MODULES_OF


def is_installed(name: str) -> bool:
    return all(map(_is_found, _MODULES_OF[name]))


def how_to_install(name: str) -> str:
    """Return the command that installs an extra or a group for the tests."""
    if name in EXTRAS:
        return f"pip install -e '.[{name}]' --group test"
    return f"pip install -e . --group {name} --group test"


def can_be_imported(module: str) -> bool:
    """Return whether what a module of the package needs is installed."""
    return all(is_installed(extra) for name, extra in MODULES.items() if module.startswith(name))


def missing_for(path: Path) -> str | None:
    """Return the extra or group without which a module cannot be imported; None if all is there."""
    for place in (path, *path.parents):
        name, modules = PLACES.get(place, ("", ()))
        if not all(map(_is_found, modules)):
            return name
    return None


@cache
def _is_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # of the package it is in
        return False
