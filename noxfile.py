"""The steps of CI one by one, and the tests on every supported combination.

``nox`` runs what CI runs; ``nox -s tests`` the version matrix (interpreters that
are not installed are skipped); ``nox -s messages`` regenerates the message classes.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import nox

if TYPE_CHECKING:
    from collections.abc import Iterable

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = [
    "lint",
    "workflows",
    "types",
    "docs",
    "package",
    "coverage",
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
PROJECT = nox.project.load_toml("pyproject.toml")
EXTRAS = ["", "fast", "zstd", "remote", "cli", "dtypes", "image", "yaml", "dataframes"]
TYPED = [
    "tfrecord_lite",
    "tests",
    "benchmarks",
    "examples",
    "proto",
    "docs",
    "noxfile.py",
    ".ci",
]


def install(
    session: nox.Session, *groups: str, extras: str = "", and_also: Iterable[str] = ()
) -> None:
    """Install the project with extras, and groups of developers' tools, whatever pip the environment has."""
    tools = nox.project.dependency_groups(PROJECT, *groups)
    session.install("-e", f".[{extras}]" if extras else ".", *tools, *and_also)


@nox.session
@nox.parametrize(("python", "protobuf", "numpy"), MATRIX)
def tests(session: nox.Session, protobuf: str, numpy: str) -> None:
    """Run the tests on one combination of versions."""
    versions = [f"protobuf{protobuf}", f"numpy{numpy}"]
    install(session, "test", extras="dataframes", and_also=versions)
    session.run("pytest", "--full", *session.posargs)


@nox.session
@nox.parametrize("extra", EXTRAS)
def tests_extra(session: nox.Session, extra: str) -> None:
    """Run the tests with one extra, or none; those that need another one are left out."""
    install(session, "bare-test", extras=extra)
    session.run("pytest", "--full", *session.posargs)


@nox.session
def tests_pure_python_protobuf(session: nox.Session) -> None:
    """Run the tests of the messages on protobuf's implementation in Python."""
    install(session, "test")
    session.run(
        "pytest",
        "--full",
        "tests/messages/test_messages.py",
        "tests/example/test_agreement.py",
        "tests/example/test_example_engine.py",
        "tests/example/test_parse.py",
        "tests/apps/events/test_events.py",
        *session.posargs,
        env={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
    )


@nox.session
def long(session: nox.Session) -> None:
    """Run the properties with 10,000 examples each, and 200 kills, power cuts and full disks."""
    install(session, "test", extras="dataframes")
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
    install(session, "test", "fuzz")
    session.run("python", "-m", "tests.fuzz", *(session.posargs or ["--seconds", "600"]))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and the direction of imports."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def workflows(session: nox.Session) -> None:
    """Check GitHub's workflows: their syntax, and what they may do."""
    session.install(*nox.project.dependency_groups(PROJECT, "workflows"))
    session.run("actionlint")
    session.run("zizmor", "--offline", ".github")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types, strictly."""
    install(session, "test", "browser", "docs", "lint", and_also=["nox"])
    session.run("mypy", *(path for path in TYPED if Path(path).exists()))
    session.run("pyright", "--verifytypes", "tfrecord_lite", "--ignoreexternal")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    install(session, "docs")
    session.run("sphinx-build", "-W", "--keep-going", "-E", "docs", "docs/_build/html")


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the short tests, and count the lines and branches of the package that they reach."""
    groups = ["test", "coverage", "tables", "loaders", "notebook"]
    install(session, *groups)
    # Processes must be asked for: pytest-cov looks for them before the tests choose them.
    session.run(
        "pytest", "-n", "auto", "--cov", "--cov-report=term", "--cov-report=html", *session.posargs
    )


WRITE_A_FILE = """
from tfrecord_lite import TFRecordWriter, load

with TFRecordWriter("people.tfrecord") as writer:
    writer.write_examples([{"name": "Ada", "age": 36}, {"name": "Alan", "age": 41}])
assert load("people.tfrecord")["age"].tolist() == [36, 41]
"""


@nox.session
def package(session: nox.Session) -> None:
    """Build dist/, check what an index would show, and use the wheel in an environment of its own."""
    session.install(*nox.project.dependency_groups(PROJECT, "build"))
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build")
    built = sorted(map(str, Path("dist").resolve().iterdir()))
    session.run("twine", "check", "--strict", *built)

    folder = Path(session.create_tmp()).resolve() / "clean"
    session.run("python", "-m", "venv", "--clear", str(folder))
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    python, tfrecord = str(programs / "python"), str(programs / "tfrecord")
    (wheel,) = (name for name in built if name.endswith(".whl"))
    with session.chdir(folder):  # where the sources are not found
        session.run(python, "-m", "pip", "install", "--quiet", wheel, external=True)
        session.run(python, "-m", "pip", "check", external=True)
        session.run(python, "-c", WRITE_A_FILE, external=True)
        for arguments in (
            ["--version"],
            ["info", "people.tfrecord"],
            ["verify", "people.tfrecord"],
        ):
            session.run(tfrecord, *arguments, external=True)


@nox.session
def parity(session: nox.Session) -> None:
    """Compare with TensorFlow itself."""
    install(session, "parity", "test")
    session.run("python", "-c", "import tensorflow")
    session.run("pytest", "--full", "tests/parity", *session.posargs)


@nox.session
def frameworks(session: nox.Session) -> None:
    """Run the tests with torch, Grain and JAX themselves."""
    install(session, "frameworks", "test")
    session.run("python", "-c", "import grain, jax, orbax.checkpoint, torch, torchdata")
    session.run("pytest", "--full", "tests/frameworks", *session.posargs)
    # One at a time: torch's workers are forks, which JAX's threads do not survive.
    for guide in [
        f"{PAGE}[{name}.md]" for name in ("README", "torch", "machines", "jax-keras-grain")
    ]:
        session.run("pytest", "-n", "0", guide)
    session.run("pytest", "-n", "0", DOCSTRINGS, "-k", "integrations")


@nox.session
def examples(session: nox.Session) -> None:
    """Run every program in examples/ with that extra alone."""
    install(session, "bare-test", extras="examples")
    session.run("python", "-c", "import PIL, sklearn, torch, yaml")
    session.run("pytest", "--full", "tests/programs", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Look at the viewer's pages in Chromium, which must be there, and so must axe-core."""
    install(session, "test", "browser")
    session.run("python", "-m", "tests.support.chromium")
    session.run("pytest", "--full", "tests/browser", *session.posargs)


# An engine's extra and group, and its tests; each in an environment of its own.
PAGE = "tests/test_docs.py::test_the_python_of_a_page_runs"
DOCSTRINGS = "tests/test_docstring_examples.py"
ENGINES = {
    "ray": ("ray", [], ["tests/engines/test_ray.py", f"{PAGE}[ray.md]"]),
    "beam": ("", ["beam-and-pandas"], ["tests/engines/test_beam.py", f"{PAGE}[beam.md]"]),
    "spark": ("spark", [], ["tests/engines/test_spark.py", f"{PAGE}[spark.md]"]),
    "dask": (
        "",
        ["dask-and-others"],
        ["tests/engines/test_dask.py", "tests/engines/test_daft_and_modin.py", f"{PAGE}[dask.md]"],
    ),
}


@nox.session
@nox.parametrize("engine", list(ENGINES))
def engines(session: nox.Session, engine: str) -> None:
    """Run the tests with Ray, Beam, Spark (which needs Java) and Dask themselves."""
    extra, groups, tests = ENGINES[engine]
    install(session, "test", *groups, extras=extra)
    session.run("pytest", "--full", *tests, *session.posargs)
    session.run("pytest", "-n", "0", DOCSTRINGS, "-k", f"integrations.{engine}")


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
