"""What is installed beside the package, and which tests need it.

A test that needs an extra says so: ``@pytest.mark.needs("zstd")``. It is left out where the extra
is not installed. Any other test fails there if it is told to install something, as it should: the
core works without extras.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path

__all__ = ["EXTRAS", "can_be_imported", "is_installed", "missing_for"]

EXTRAS = {
    "arrayrecord": ("array_record",),
    "arrow": ("pyarrow",),
    "beam": ("apache_beam", "pyarrow"),
    "browser": ("playwright",),
    "cli": ("tqdm", "shtab"),
    "dask": ("dask", "pandas", "pyarrow"),
    "dask-and-others": ("dask", "distributed", "daft", "modin"),
    "dali": ("nvidia.dali",),
    "dataframes": ("pandas", "polars", "pyarrow"),
    "dtypes": ("ml_dtypes",),
    "examples": ("sklearn", "PIL", "yaml", "torch", "jax"),
    "fast": ("isal",),
    "image": ("PIL",),
    "lint": ("mypy",),
    "loaders": ("webdataset", "array_record", "pyarrow"),
    "mds": ("streaming",),
    "notebook": ("IPython",),
    "plot": ("matplotlib",),
    "ray": ("ray", "pyarrow"),
    "remote": ("fsspec", "aiohttp"),
    "spark": ("pyspark", "pyarrow"),
    "sql": ("duckdb", "pyarrow"),
    "tables": ("pandas", "polars", "pyarrow", "duckdb", "datasets"),
    "torch": ("torch",),
    "view": ("jinja2", "PIL"),
    "yaml": ("yaml",),
    "zstd": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",),
}
"""The modules by which an extra is known."""

MODULES = {
    "tfrecord_lite.integrations.beam": "beam",
    "tfrecord_lite.integrations.ray": "ray",
    "tfrecord_lite.integrations.spark": "spark",
    "tfrecord_lite.viewer.": "view",
}
"""Modules of the package, by how their names begin, that are loaded when they are used, and need an extra then."""

TESTS = Path(__file__).resolve().parents[1]
PLACES = {
    TESTS / "convert" / "test_dataframes.py": ("dataframes", EXTRAS["dataframes"]),
    TESTS / "integrations" / "test_pandas.py": ("dataframes", EXTRAS["dataframes"]),
    TESTS / "convert" / "test_from_arrow.py": ("arrow", EXTRAS["arrow"]),
    TESTS / "storage" / "test_dataframes.py": ("dataframes", EXTRAS["dataframes"]),
    TESTS / "engines" / "test_beam.py": ("beam", EXTRAS["beam"]),
    TESTS / "engines" / "test_dask.py": ("dask", EXTRAS["dask"]),
    TESTS / "engines" / "test_daft_and_modin.py": ("dask-and-others", EXTRAS["dask-and-others"]),
    TESTS / "engines" / "test_loaders.py": ("arrow", EXTRAS["arrow"]),
    TESTS / "engines" / "test_ray.py": ("ray", EXTRAS["ray"]),
    TESTS / "engines" / "test_spark.py": ("spark", EXTRAS["spark"]),
    TESTS / "parity": ("parity", ("tensorflow",)),
    TESTS / "frameworks" / "test_grain.py": ("frameworks", ("grain",)),
    TESTS / "frameworks" / "test_jax.py": ("frameworks", ("jax",)),
    TESTS / "frameworks" / "test_keras.py": ("frameworks", ("keras", "jax")),
    TESTS / "frameworks" / "test_torch.py": ("frameworks", ("torch", "torchdata")),
    TESTS / "frameworks" / "test_torch_tensors.py": ("frameworks", ("torch", "torchdata")),
}
"""Modules of tests that cannot even be imported without an extra, and how that is known."""


def is_installed(extra: str) -> bool:
    """Return whether all of an extra is."""
    return all(map(_is_found, EXTRAS[extra]))


def can_be_imported(module: str) -> bool:
    """Return whether what a module of the package needs is installed."""
    return all(is_installed(extra) for name, extra in MODULES.items() if module.startswith(name))


def missing_for(path: Path) -> str | None:
    """Return the extra without which a module of tests cannot be imported; None if all is there."""
    for place in (path, *path.parents):
        extra, modules = PLACES.get(place, ("", ()))
        if not all(map(_is_found, modules)):
            return extra
    return None


@cache
def _is_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # of the package it is in
        return False
