"""The program in the documentation passes a strict type checker as it stands."""

import re
from pathlib import Path

import pytest

from tests.support.corpus import ROOT


@pytest.mark.slow
@pytest.mark.needs("lint")
def test_the_program_of_the_page_on_types_passes_mypy_strict(tmp_path: Path) -> None:
    from mypy import api

    (program,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/reference/typing.md").read_text(), re.DOTALL
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    out, err, status = api.run(
        ["--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache'}", str(path)]
    )
    assert (status, err) == (0, ""), out
    assert len(program.splitlines()) >= 60
