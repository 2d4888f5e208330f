"""The steps of CI one by one, and the tests on every supported combination.

``nox`` runs what CI runs; ``nox -s tests`` the version matrix (interpreters that
are not installed are skipped); ``nox -s messages`` regenerates the message classes.
"""

from __future__ import annotations

import json
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = [
    "lint",
    "types",
    "docs",
    "tests",
    "parity",
    "frameworks",
    "examples",
    "browser",
    "engines",
]

NEWEST = ""
# Not the full product: each Python, each protobuf major, oldest and newest NumPy,
# with old next to old and new next to new, and two crossings.
MATRIX = [
    # Python, protobuf, NumPy
    ("3.11", "==5.29.*", "==2.0.*"),
    ("3.11", "==7.*", NEWEST),
    ("3.12", "==6.*", "==2.0.*"),
    ("3.13", "==5.29.*", NEWEST),
    ("3.13", "==7.*", NEWEST),
]
EXTRAS = ["", "fast", "zstd", "remote", "cli", "dtypes", "image", "yaml", "dataframes"]
TYPED = ["tfrecord_lite", "tests", "benchmarks", "examples", "proto", "docs/conf.py", "noxfile.py"]


@nox.session
@nox.parametrize(("python", "protobuf", "numpy"), MATRIX)
def tests(session: nox.Session, protobuf: str, numpy: str) -> None:
    """Run the tests on one combination of versions."""
    session.install("-e", ".[test,dataframes]", f"protobuf{protobuf}", f"numpy{numpy}")
    session.run("pytest", "--full", *session.posargs)


@nox.session
@nox.parametrize("extra", EXTRAS)
def tests_extra(session: nox.Session, extra: str) -> None:
    """Run the tests with one extra, or none; those that need another one are left out."""
    session.install("-e", ".[bare-test]" if not extra else f".[bare-test,{extra}]")
    session.run("pytest", "--full", *session.posargs)


@nox.session
def tests_pure_python_protobuf(session: nox.Session) -> None:
    """Run the tests of the messages on protobuf's implementation in Python."""
    session.install("-e", ".[test]")
    session.run(
        "pytest",
        "--full",
        "tests/messages/test_messages.py",
        "tests/example/test_example_engine.py",
        "tests/example/test_parse.py",
        "tests/events/test_events.py",
        *session.posargs,
        env={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
    )


@nox.session
def long(session: nox.Session) -> None:
    """Run the properties with 10,000 examples each, and 200 kills, power cuts and full disks."""
    session.install("-e", ".[test,dataframes]")
    session.run(
        "pytest",
        "--full",
        *session.posargs,
        env={"HYPOTHESIS_PROFILE": "long", "TFRECORD_MISHAPS": "200"},
    )
    session.run("python", "-m", "tests.long_run")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz each target for ten minutes, or as the arguments say."""
    session.install("-e", ".[test,fuzz]")
    session.run("python", "-m", "tests.fuzz", *(session.posargs or ["--seconds", "600"]))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and the direction of imports."""
    session.install("-e", ".[lint]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types, strictly."""
    session.install("-e", ".[test,browser,lint]", "nox")
    session.run("mypy", *(path for path in TYPED if Path(path).exists()))
    session.run("pyright", "--verifytypes", "tfrecord_lite", "--ignoreexternal")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-E", "docs", "docs/_build/html")


@nox.session
def parity(session: nox.Session) -> None:
    """Compare with TensorFlow itself."""
    session.install("-e", ".[parity,test]")
    session.run("python", "-c", "import tensorflow")
    session.run("pytest", "--full", "tests/parity", *session.posargs)


@nox.session
def frameworks(session: nox.Session) -> None:
    """Run the tests with torch, Grain and JAX themselves."""
    session.install("-e", ".[frameworks,test]")
    session.run("python", "-c", "import grain, jax, orbax.checkpoint, torch, torchdata")
    session.run("pytest", "--full", "tests/frameworks", *session.posargs)


@nox.session
def examples(session: nox.Session) -> None:
    """Run every program in examples/ with that extra alone."""
    session.install("-e", ".[bare-test,examples]")
    session.run("python", "-c", "import jax, PIL, sklearn, torch, yaml")
    session.run("pytest", "--full", "tests/programs", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Look at the viewer's pages in Chromium, which must be there, and so must axe-core."""
    session.install("-e", ".[test,browser]")
    session.run("python", "-m", "tests.support.chromium")
    session.run("pytest", "--full", "tests/browser", *session.posargs)


# What an engine is installed by, and its tests; each in an environment of its own.
PAGE = "tests/test_docs.py::test_the_python_of_a_page_runs"
ENGINES = {
    "ray": ("ray", ["tests/engines/test_ray.py", f"{PAGE}[ray.md]"]),
    "beam": ("beam-and-pandas", ["tests/engines/test_beam.py", f"{PAGE}[beam.md]"]),
    "spark": ("spark", ["tests/engines/test_spark.py", f"{PAGE}[spark.md]"]),
    "dask": (
        "dask-and-others",
        ["tests/engines/test_dask.py", "tests/engines/test_daft_and_modin.py", f"{PAGE}[dask.md]"],
    ),
}


@nox.session
@nox.parametrize("engine", ENGINES)
def engines(session: nox.Session, engine: str) -> None:
    """Run the tests with Ray, Beam, Spark (which needs Java) and Dask themselves."""
    extra, tests = ENGINES[engine]
    session.install("-e", f".[{extra},test]")
    session.run("pytest", "--full", *tests, *session.posargs)


@nox.session
def messages(session: nox.Session) -> None:
    """Regenerate the message classes; with ``-- --check``, only compare them."""
    session.install("grpcio-tools==1.71.2", "mypy-protobuf==3.6.0")
    session.run("python", "proto/generate.py", *session.posargs)


@nox.session(python="3.11")
def instructions(session: nox.Session) -> None:
    """Compare the instructions of small tasks, counted by valgrind, with those stored."""
    kept = json.loads(Path("benchmarks/results/instructions.json").read_text())["versions"]
    session.install("-e", ".", f"numpy=={kept['numpy']}", f"crc32c=={kept['crc32c']}")
    session.run("python", "-m", "benchmarks.instructions", *session.posargs)
