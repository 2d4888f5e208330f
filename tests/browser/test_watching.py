"""What watches a page sees what is wrong with it: a good page passes, and each fault is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.chromium import watched

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.needs("browser")

GOOD = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A page</title></head>
<body><main><h1>A page</h1><p>Some text.</p></main></body>
</html>
"""
FAULTS = {
    "": "",
    "<script>window.__ran = 1</script>": "a script of the data has run",
    "<b class=injected>text</b>": "element B",
    "<script>console.error('bad')</script>": "console: bad",
    "<script>throw new Error('bad')</script>": "error: bad",
    "<script>alert('bad')</script>": "dialog: bad",
    "<script>open('about:blank')</script>": "popup",
    "<script>fetch('http://127.0.0.1:9/').catch(() => {})</script>": "request: http://127.0.0.1:9",
    "<style>p { background: url(http://127.0.0.1:9/x.png) }</style>": "request: http://127.0.0.1:9",
    "<p onclick='x()'>text</p>": "attribute onclick of P",
    "<a href='javascript:x()'>text</a>": "href=javascript",
    "<iframe title=x></iframe>": "element IFRAME",
    "<meta http-equiv=refresh content=1000>": "refresh",
    "<p style='color: #bbb; background: #fff'>faint</p>": "color-contrast",
    "<svg role=img width=9 height=9></svg>": "svg-img-alt",
}


@pytest.mark.parametrize(("fault", "said"), FAULTS.items())
def test_a_fault_is_found(chromium: Browser, tmp_path: Path, fault: str, said: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(GOOD.replace("</main>", f"{fault}</main>"), encoding="utf-8")
    with watched(chromium, page) as one:
        found = [*one.problems(), *one.barriers()]

    assert any(said in each for each in found) if said else found == []
