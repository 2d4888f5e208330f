"""The steps of CI: ``nox -l`` marks those that ``nox`` and ``bash .ci/run`` run with a star.

Each session makes an environment of its own, by uv if nox has it (``pip install 'nox[uv]'``).
``UV_RESOLUTION=lowest-direct nox -s engines`` runs any of them with the lowest versions.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nox

nox.options.default_venv_backend = "uv|venv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.stop_on_first_error = True
os.environ.setdefault("HYPOTHESIS_PROFILE", "ci")  # 100 examples of each property

PROJECT: dict[str, Any] = nox.project.load_toml("pyproject.toml")
NEWEST = ""
# Python, protobuf and NumPy, not the full product: each Python, each protobuf major, oldest and
# newest NumPy, with old next to old and new next to new, and two crossings.
MATRIX = [
    ("3.11", "==5.29.*", "==2.0.*"),
    ("3.11", "==7.*", NEWEST),
    ("3.12", "==6.*", "==2.0.*"),
    ("3.13", "==5.29.*", NEWEST),
    ("3.14", "==7.*", NEWEST),
]
ALL = ("-m", "")  # the slow tests, too
PAGE = "tests/test_docs.py::test_a_page_runs"
DOCSTRINGS = "tests/test_docstring_examples.py"
# An engine's extra or group, modules that must be there, and how the files of its tests match.
ENGINES = {
    "ray": ("ray", "", "pyarrow, ray.data", "ray"),
    "beam": ("", "beam-and-pandas", "apache_beam, pandas, pyarrow", "beam"),
    "dask": ("", "dask-and-others", "daft, dask.dataframe, distributed, modin", "da*"),
    "spark": ("spark", "", "pyarrow, pyspark", "spark"),
}
# Those that have a session of their own are left out.
EXTRAS = PROJECT["project"]["optional-dependencies"].keys() - {*ENGINES, "examples", "torch"}


def find_packages_like_pip() -> None:
    """Have uv look for packages where pip is configured to, and take the newest of all indexes."""
    names = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
        "constraint": "UV_CONSTRAINT",
    }
    command = [sys.executable, "-m", "pip", "config", "list"]
    settings = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    for line in settings.splitlines():
        key, _, value = line.partition("=")
        if name := names.get(key.rpartition(".")[2]):
            separator = "," if name == "UV_FIND_LINKS" else " "
            os.environ.setdefault(name, separator.join(ast.literal_eval(value).split()))
    os.environ.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")


find_packages_like_pip()


def install(
    session: nox.Session, *groups: str, extras: str = "", and_also: Iterable[str] = ()
) -> None:
    """Install the project, and one by one what its extras and groups of developers' tools require.

    An extra that a group names is taken apart, too: the lowest versions are those of direct requirements.
    """
    project = PROJECT["project"]
    waiting = [f"{project['name']}[{extras}]"] if extras else []
    waiting += nox.project.dependency_groups(PROJECT, *groups)
    requirements = set(and_also)
    while waiting:
        line = waiting.pop()
        name, _, names = line.rstrip("]").partition("[")
        if name == project["name"]:
            for extra in names.split(","):
                waiting += project["optional-dependencies"][extra]
        else:
            requirements.add(line)
    session.install("-e", ".", *sorted(requirements))


def require(session: nox.Session, modules: str) -> None:
    """Fail where a module cannot be imported: its tests would be left out."""
    session.run("python", "-c", f"import {modules}")


def require_program(session: nox.Session, program: str, package: str) -> None:
    """Install a program that is missing as a package of Debian's."""
    if shutil.which(program) is None:
        session.run("apt-get", "-qq", "update", external=True)
        command = ["apt-get", "-qq", "-y", "--no-install-recommends", "install", package]
        session.run(*command, external=True, silent=True, env={"DEBIAN_FRONTEND": "noninteractive"})


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests, but for those that need TensorFlow, a framework, an engine or a browser."""
    install(session, "test", "tables", "loaders", "notebook", "lint", "browser", "docs")
    require(
        session,
        "aiohttp, array_record, backports.zstd, datasets, duckdb, fsspec, IPython, isal, jinja2, ml_dtypes, "
        "mypy, pandas, PIL, polars, pyarrow, tqdm, webdataset, yaml",
    )
    session.env["TFRECORD_MISHAPS"] = "40"
    session.run("pytest", *ALL, "-rs", "--ignore=tests/browser", *session.posargs)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the short tests with the lowest versions that pyproject.toml allows."""
    if session.venv_backend != "uv":
        session.error("uv finds the lowest versions: pip install 'nox[uv]'")
    session.env["UV_RESOLUTION"] = "lowest-direct"
    install(session, "test", "tables", "loaders", "notebook")
    session.run("pytest", "--hypothesis-profile=short", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Look at the viewer's pages in Chromium, with axe-core from npm."""
    install(session, "test", "tables", "browser")
    require_program(session, "chromium", "chromium")
    shutil.rmtree(".axe", ignore_errors=True)
    command = "npm install --no-save --no-audit --no-fund --silent --prefix .axe axe-core"
    session.run(*command.split(), external=True)
    session.run("python", "-m", "tests.browser.chromium")
    session.run("pytest", *ALL, "-rs", "-n", "2", "tests/browser", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz each target for 15 seconds, or as the arguments say."""
    install(session, "test", "fuzz")
    session.run("python", "-m", "tests.fuzz", *(session.posargs or ["--seconds", "15"]))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and the direction of imports."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types, strictly; that of everything public must be known."""
    install(session, "dev")
    paths = "tfrecord_lite tests benchmarks examples proto docs noxfile.py .ci"
    cache = f"--cache-dir={session.create_tmp()}"  # not one that another version of mypy wrote
    session.run("mypy", cache, *paths.split())
    session.run("pyright", "--verifytypes", "tfrecord_lite", "--ignoreexternal")


@nox.session
def workflows(session: nox.Session) -> None:
    """Check GitHub's workflows: their syntax, and what they may do."""
    session.install(*nox.project.dependency_groups(PROJECT, "workflows"))
    session.run("actionlint")
    session.run("zizmor", "--offline", ".github")


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
        for line in ("--version", "info people.tfrecord", "verify people.tfrecord"):
            session.run(tfrecord, *line.split(), external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    install(session, "docs")
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-E", "docs", "docs/_build/html")


@nox.session
def parity(session: nox.Session) -> None:
    """Compare with TensorFlow itself, in one process, which counts the rules that were covered."""
    session.env.update({"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"})
    install(session, "parity", "test")
    require(session, "tensorflow, tensorflow_datasets")
    session.run("pytest", *ALL, "tests/parity", *session.posargs)


@nox.session
def examples(session: nox.Session) -> None:
    """Run every program in examples/ with that extra alone."""
    install(session, "bare-test", extras="examples")
    require(session, "PIL, sklearn, torch, yaml")
    session.run("pytest", *ALL, "tests/programs", *session.posargs)


@nox.session
def frameworks(session: nox.Session) -> None:
    """Run the tests with torch, Grain, JAX and Keras themselves, and libraries that train with them."""
    session.env["KERAS_BACKEND"] = "jax"
    install(session, "frameworks", "training", "test", extras="examples")
    require(session, "accelerate, grain, keras, lightning, orbax.checkpoint, ray.train, torchdata")
    session.run("pytest", *ALL, "tests/frameworks", *session.posargs)
    # One at a time: torch's workers are forks, which JAX's threads do not survive.
    for name in ("README", "torch", "training-libraries", "machines", "jax-keras-grain"):
        session.run("pytest", "-n", "0", f"{PAGE}[{name}.md]")
    session.run("pytest", "-n", "0", DOCSTRINGS, "-k", "integrations and not integrations.ray")


@nox.session
@nox.parametrize("engine", [nox.param(engine, id=engine) for engine in ENGINES])
def engines(session: nox.Session, engine: str) -> None:
    """Run the tests with Ray, Beam, Dask, and Spark, which needs Java."""
    extra, group, modules, pattern = ENGINES[engine]
    install(session, "test", *group.split(), extras=extra)
    if engine == "spark":
        require_program(session, "java", "default-jre-headless")
    require(session, modules)
    paths = map(str, Path("tests/engines").glob(f"test_{pattern}.py"))
    command = ["pytest", *ALL, "-n", "0", "-rs"]
    session.run(*command, *paths, f"{PAGE}[{engine}.md]", *session.posargs)
    session.run("pytest", "-n", "0", DOCSTRINGS, "-k", f"integrations.{engine}")


@nox.session
def stores(session: nox.Session) -> None:
    """Run the tests with S3, Azure and GCS by their emulators, of which azurite is from npm."""
    install(session, "test", "stores")
    session.env["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = (
        "false"  # asks what emulators have no answer to
    )
    Path(".azurite").mkdir(exist_ok=True)
    Path(".azurite", "package.json").write_text("{}")
    command = "npm install --no-audit --no-fund --silent --prefix .azurite azurite"
    session.run(*command.split(), external=True)
    require(session, "adlfs, gcp_storage_emulator, gcsfs, moto.server, s3fs")
    session.run("pytest", *ALL, "-n", "0", "-rs", "tests/engines/test_stores.py", *session.posargs)


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Run the short tests, and count the lines and branches of the package that they reach."""
    install(session, "test", "coverage", "tables", "loaders", "notebook")
    # Processes must be asked for: pytest-cov looks for them before the tests choose them.
    options = ["--cov", "--cov-report=term", "--cov-report=html", "--hypothesis-profile=short"]
    session.run("pytest", "-n", "auto", *options, *session.posargs)


@nox.session(default=False)
@nox.parametrize(("python", "protobuf", "numpy"), MATRIX)
def versions(session: nox.Session, protobuf: str, numpy: str) -> None:
    """Run the tests on one combination of versions; Pythons that are not installed are skipped."""
    pins = [f"protobuf{protobuf}", f"numpy{numpy}"]
    install(session, "test", extras="dataframes", and_also=pins)
    session.run("pytest", *ALL, *session.posargs)


@nox.session(default=False)
@nox.parametrize("extra", ["", *sorted(EXTRAS)])
def extras(session: nox.Session, extra: str) -> None:
    """Run the tests with one extra, or none; those that need another one are left out."""
    install(session, "bare-test", extras=extra)
    session.run("pytest", *ALL, *session.posargs)


@nox.session(default=False)
def pure_python_protobuf(session: nox.Session) -> None:
    """Run the tests of the messages on protobuf's implementation in Python."""
    session.env["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
    install(session, "test")
    engine = [f"tests/example/test_{name}.py" for name in ("agreement", "example_engine", "parse")]
    paths = ["tests/messages/test_messages.py", *engine, "tests/apps/events/test_events.py"]
    session.run("pytest", *ALL, *paths, *session.posargs)


@nox.session(default=False)
def long(session: nox.Session) -> None:
    """Run the properties with 10,000 examples each, and 200 kills, power cuts and full disks."""
    session.env.update({"HYPOTHESIS_PROFILE": "long", "TFRECORD_MISHAPS": "200"})
    install(session, "test", extras="dataframes")
    session.run("pytest", *ALL, "--timeout=0", *session.posargs)
    session.run("python", "-m", "tests.long_run")


@nox.session(default=False)
def messages(session: nox.Session) -> None:
    """Regenerate the message classes; with ``-- --check``, only compare them."""
    session.install("grpcio-tools==1.71.2", "mypy-protobuf==3.6.0")
    session.run("python", "proto/generate.py", *session.posargs)


@nox.session(python="3.11", default=False)
def instructions(session: nox.Session) -> None:
    """Compare the instructions of small tasks, counted by valgrind, with those stored."""
    kept = json.loads(Path("benchmarks/results/instructions.json").read_text())["versions"]
    session.install("-e", ".", f"numpy=={kept['numpy']}", f"crc32c=={kept['crc32c']}")
    session.run("python", "-m", "benchmarks.instructions", *session.posargs)
