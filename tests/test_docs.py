"""What the pages of the documentation show works: every block of Python is run."""

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tfrecord_lite
from tests.support.corpus import ROOT
from tests.support.pages import run_page

PAGES = [
    ROOT / "README.md",
    *sorted(
        path
        for path in (ROOT / "docs").rglob("*.md")
        if "_build" not in path.parts
        and path.name != "tables.md"  # by test_jobs, with its commands
    ),
]

MARKS: dict[str, Any] = {
    "beam.md": pytest.mark.needs("beam"),
    "big-jobs.md": pytest.mark.needs("arrow"),
    "dask.md": pytest.mark.needs("dask"),
    "loaders.md": pytest.mark.needs("arrow"),
    # Ray warns of itself.
    "ray.md": (pytest.mark.needs("ray"), pytest.mark.filterwarnings("default")),
    "spark.md": pytest.mark.needs("spark"),
    # torchdata warns of torch, and JAX of forks, if its page came before.
    "torch.md": pytest.mark.filterwarnings("default"),
    "real-data.md": pytest.mark.needs("image"),
    "tfds.md": pytest.mark.needs("image"),
    "remote-files.md": pytest.mark.needs("remote"),
    "images.md": pytest.mark.needs("image"),
    "first-model.md": pytest.mark.slow,  # as the notebook it is run anyway
    "testing.md": pytest.mark.slow,
    "unknown-files.md": pytest.mark.needs("view"),
}
"""What pages need."""

COMMANDS = ("README.md", "quickstart.md", "protobufs.md", "unknown-files.md")
"""Pages whose commands are run too."""

README = (ROOT / "README.md").read_text()


def test_the_readme_shows_what_each_block_prints() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```\n\n?(```text)?", README, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 3
    assert [code for code, output in blocks if ("print(" in code) != bool(output)] == []


def test_the_readme_on_a_package_index_has_no_link_that_leads_nowhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shown = README
    for rule in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        shown = re.sub(rule["pattern"], rule["replacement"], shown)
    assert re.findall(r"\]\((?!https?://)", shown) == []
    assert "quick start (`docs/tutorial/quickstart.md`)" in shown.lower()


def test_every_public_name_is_in_a_table_of_the_reference() -> None:
    pages = [path.read_text() for path in (ROOT / "docs" / "reference" / "api").glob("*.md")]
    tables = "".join(part for page in pages for part in page.split("```")[1::2])
    messages = (ROOT / "docs" / "reference" / "api" / "messages.md").read_text()
    listed = set(re.findall(r"^   (\w+)$", tables, re.MULTILINE)) | set(
        re.findall(r"`(\w+)`", messages)
    )
    assert set(tfrecord_lite.__all__) - listed == set()


def test_the_pages_made_of_the_code_are_what_the_script_writes() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "reference" / "generate.py"))["pages"]()
    stale = [path.name for path, text in pages.items() if path.read_text("utf-8") != text]
    assert stale == [], "run python docs/reference/generate.py"


def test_the_pictures_are_those_that_the_script_draws() -> None:
    folder = ROOT / "docs" / "pictures"
    drawn = runpy.run_path(str(folder / "draw.py"))["drawn"]()
    assert {path.name for path in folder.glob("*.svg")} == set(drawn)
    stale = [name for name, svg in drawn.items() if (folder / name).read_text() != svg]
    assert stale == [], "run python docs/pictures/draw.py"


def test_the_notebook_of_the_tutorial_runs_and_prints_what_it_shows() -> None:
    tools = runpy.run_path(str(ROOT / "docs" / "tutorial" / "notebook.py"))
    page = tools["PAGE"].read_text("utf-8")
    shown = [output for _, output in tools["cells"](page)]
    assert len(shown) > 8
    for printed, expected in zip(tools["printed"](page), shown, strict=True):
        # The accuracy depends on how the processor rounds.
        assert re.sub(r"\d+%", "%", printed) == re.sub(r"\d+%", "%", expected)
    stored = tools["PAGE"].with_suffix(".ipynb").read_text("utf-8")
    assert stored == tools["notebook"](page), "run python docs/tutorial/notebook.py"


@pytest.mark.parametrize(
    "page", [pytest.param(each, id=each.name, marks=MARKS.get(each.name, ())) for each in PAGES]
)
def test_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "96")
    if page.name in ("real-data.md", "tfds.md"):
        from tests.support import real_files

        real_files.write(tmp_path)
    if page.name == "protobufs.md":
        from tests.support import foreign_messages

        foreign_messages.write_documented(tmp_path)
    run_page(page, commands=page.name in COMMANDS)


def test_the_page_about_installing_has_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "tutorial" / "install.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[a-z`, ]+`) \|", page, re.MULTILINE)
    assert {n for r in rows for n in re.findall(r"\w+", r)} == set(project["optional-dependencies"])


def test_every_extra_that_is_named_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, str] = {}
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    for path in [*pages, *(ROOT / "tfrecord_lite").rglob("*.py"), *(ROOT / "examples").rglob("*")]:
        if path.suffix not in (".md", ".py"):
            continue
        text = path.read_text(encoding="utf-8")
        lists = re.findall(rf"(?:{project['name']}|-e \.|'\.)\[([a-z, ]+)\]", text)
        names = re.findall(r"\bextra\s+`+(\w+)`", text)
        for name in [*names, *(name for one in lists for name in re.split(r"[, ]+", one))]:
            found[name] = str(path)
    assert "remote" in found
    assert {n: path for n, path in found.items() if n not in project["optional-dependencies"]} == {}
