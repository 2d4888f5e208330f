"""What watches a page sees what is wrong with it: a good page passes, and each fault is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.chromium import watched

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.needs("browser")

POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'">"""
GOOD = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A page</title></head>
<body><main><h1>A page</h1><p>Some text.</p></main></body>
</html>
"""
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

PROBLEMS = {
    "<script>window.__ran = 1</script>": "a script of the data has run",
    "<b class=injected>text</b>": "element B",
    "<script>console.error('bad')</script>": "console: bad",
    "<script>console.warn('bad')</script>": "console: bad",
    "<script>throw new Error('bad')</script>": "error: bad",
    "<script>alert('bad')</script>": "dialog: bad",
    "<script>if (!location.hash) { location.hash = 'x'; location.reload() }</script>": "loaded again",
    "<script>open('about:blank')</script>": "popup",
    "<script>fetch('http://127.0.0.1:9/').catch(() => {})</script>": "request: http://127.0.0.1:9",
    "<img alt=x src=http://127.0.0.1:9/x.png>": "request: http://127.0.0.1:9",
    "<img alt=x src=other.png>": "request: file://",
    "<style>p { background: url(http://127.0.0.1:9/x.png) }</style>": "request: http://127.0.0.1:9",
    "<p onclick='x()'>text</p>": "attribute onclick of P",
    "<template><p onclick='x()'>text</p></template>": "attribute onclick of P",
    "<a href='javascript:x()'>text</a>": "href=javascript",
    "<a href='http://127.0.0.1:9/'>text</a>": "href=http",
    "<img alt=x src='data:image/svg+xml;base64,PHN2Zy8+'>": "src=data:image/svg",
    "<iframe title=x></iframe>": "element IFRAME",
    "<form></form>": "element FORM",
    "<meta http-equiv=refresh content=1000>": "refresh",
}
BARRIERS = {
    "<p style='color: #bbb; background: #fff'>faint</p>": "color-contrast",
    "<input>": "label",
    "<button></button>": "button-name",
    f"<img src='{PIXEL}'>": "image-alt",
    "<h4>deep</h4>": "heading-order",
    "<svg role=img width=9 height=9></svg>": "svg-img-alt",
}


def faulty(folder: Path, fault: str, page: str = GOOD) -> Path:
    path = folder / "page.html"
    path.write_text(page.replace("</main>", f"{fault}</main>"), encoding="utf-8")
    return path


def test_a_good_page_has_no_fault(chromium: Browser, tmp_path: Path) -> None:
    picture = f"<img alt='a pixel' src='{PIXEL}'><a href='#there'>there</a>"

    with watched(chromium, faulty(tmp_path, picture), 400) as one:
        assert [*one.problems(), *one.barriers(), *one.overflow()] == []


@pytest.mark.parametrize(("fault", "said"), PROBLEMS.items())
def test_a_problem_is_found(chromium: Browser, tmp_path: Path, fault: str, said: str) -> None:
    with watched(chromium, faulty(tmp_path, fault)) as one:
        one.page.wait_for_timeout(50)
        problems = one.problems()

    assert any(said in problem for problem in problems), problems


def test_what_the_policy_stops_is_a_problem_too(chromium: Browser, tmp_path: Path) -> None:
    page = GOOD.replace("<head>", f"<head>{POLICY}")

    with watched(chromium, faulty(tmp_path, "<script>window.__ran = 1</script>", page)) as one:
        problems = one.problems()

    assert any("policy: script-src-elem" in problem for problem in problems), problems
    assert not any("has run" in problem for problem in problems)


@pytest.mark.parametrize(("fault", "rule"), BARRIERS.items())
def test_a_barrier_is_found(chromium: Browser, tmp_path: Path, fault: str, rule: str) -> None:
    with watched(chromium, faulty(tmp_path, fault)) as one:
        barriers = one.barriers()

    assert any(barrier.startswith(f"{rule} (") for barrier in barriers), barriers


def test_contrast_is_judged_in_the_dark_as_well(chromium: Browser, tmp_path: Path) -> None:
    dark = (
        "@media (prefers-color-scheme: dark) { body { background: #222 } }"  # the text stays black
    )

    with watched(chromium, faulty(tmp_path, f"<style>{dark}</style>")) as one:
        assert one.barriers() == []
    with watched(chromium, faulty(tmp_path, f"<style>{dark}</style>"), color_scheme="dark") as one:
        assert any(barrier.startswith("color-contrast (") for barrier in one.barriers())


def test_a_page_that_is_too_wide_is_found(chromium: Browser, tmp_path: Path) -> None:
    fault = "<div id=wide style='width: 500px'>wide</div>"

    with watched(chromium, faulty(tmp_path, fault), 400) as one:
        assert one.overflow() != []
    with watched(
        chromium, faulty(tmp_path, f"<div style='overflow: auto'>{fault}</div>"), 400
    ) as one:
        assert one.overflow() == []
