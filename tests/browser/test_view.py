"""The viewer's pages in Chromium: what they show, and that they do no harm and leave nobody out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.apps.viewer.view_files import HOSTILE, KINDS, N_FEATURES
from tests.browser.chromium import Watched, watched
from tests.browser.view_pages import page_of
from tests.support.corpus import CorpusFile, corpus_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.needs("browser", "view")

EXPECTED: dict[str, dict[str, int]] = {
    "images": {".card": 11, ".record": 24, ".record img": 24, ".card svg": 5},
    "table": {".card": 7, ".record": 100, ".card svg": 7},
    "sequences": {".card": 8, ".record": 12, ".record img": 12}, "events": {".record": 30},
    "vectors": {".card": 6, ".record": 30, ".record img": 30, ".record audio": 30},
    "mixed": {".card": 3, ".record": 40, ".is-absent": 40},
    "other": {".record": 129, ".v-text": 120, ".v-hex": 9},
    "damaged": {".card": 7, ".record": 100, ".notice": 1}, "empty": {"main": 1},
    "wide": {".card": N_FEATURES, ".record": 1}, "hostile": {".card": 30, ".record": 49},
    "hostile_sequences": {".card": 30, ".record": 30},
}  # fmt: skip
"""Elements, and how many of them there are at least."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns the page of a kind of data, made when first asked for."""
    made: dict[str, Path] = {}

    def page(kind: str) -> Path:
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            made[kind] = page_of(KINDS[kind](folder), folder / "page.html")
        return made[kind]

    return page


def lacking(one: Watched, expected: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Return elements of which there are fewer than expected: how many there are, and should be."""
    counts = {selector: one.page.locator(selector).count() for selector in expected}
    return {name: (n, expected[name]) for name, n in counts.items() if n < expected[name]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_accessible(chromium: Browser, pages: Callable[[str], Path], kind: str) -> None:
    # Thousands of cards take long, and look as those of a table do.
    is_wide = kind == "wide"
    with watched(chromium, pages(kind)) as one:
        assert lacking(one, EXPECTED[kind]) == {}
        assert one.problems() == []
        for width in (1280, 400):
            one.page.set_viewport_size({"width": width, "height": 900})
            assert one.overflow() == []
            for is_dark in (False,) if is_wide else (False, True):
                one.page.emulate_media(color_scheme="dark" if is_dark else "light")
                assert one.barriers() == []
        if not is_wide:
            one.page.evaluate(
                "for (const fold of document.querySelectorAll('details')) fold.open = true"
            )
            if one.page.locator(".open").count():
                one.page.locator(".open").first.click()
            assert [*one.barriers(), *one.overflow()] == []


IS_FOCUSED = "(selector) => document.activeElement.closest(selector) !== null"


def tab_to(one: Watched, selector: str, key: str = "Tab") -> None:
    """Press Tab until an element has the focus."""
    for _ in range(100):
        one.page.keyboard.press(key)
        if one.page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{key} never leads to {selector}")


def shown(one: Watched) -> int:
    return one.page.locator(".record:visible").count()


def test_the_search_finds_names_and_values(chromium: Browser, pages: Callable[[str], Path]) -> None:
    def n_found(text: str) -> int:
        one.page.fill("#search", text)
        one.page.wait_for_timeout(300)
        return shown(one)

    with watched(chromium, pages("mixed")) as one:
        assert n_found("details") == n_found("int64") == n_found("not there") == 0
        assert not one.page.locator("#pager").is_visible()
        assert n_found("") == n_found("record") == 25
        assert one.page.locator("#pager").is_visible()
        assert 0 < n_found("record 7") < 25


def test_the_keyboard_is_enough(chromium: Browser, pages: Callable[[str], Path]) -> None:
    # Search, turn a page, open a record, go to the one before and close it, without a mouse.
    with watched(chromium, pages("table")) as one:
        press, page = one.page.keyboard.press, one.page
        assert shown(one) == 25
        tab_to(one, "#search")
        one.page.keyboard.type("Zürich")
        page.locator(".record:visible", has_text="Amsterdam").first.wait_for(state="detached")
        page.wait_for_timeout(300)
        assert 0 < shown(one) < 25
        assert page.locator(".record:visible", has_text="Zürich").count() == shown(one)
        press("Escape")
        page.wait_for_timeout(300)
        assert shown(one) == 25
        tab_to(one, "#next")
        press("Enter")
        assert page.locator("#page").inner_text().startswith("26 to 50 of ")
        tab_to(one, ".open", "Shift+Tab")
        press("Enter")
        title = page.locator("dialog h2").inner_text()
        assert page.locator("dialog").is_visible()
        assert page.evaluate(IS_FOCUSED, "dialog")
        assert "income" in page.locator("dialog").inner_text()
        press("ArrowLeft")
        assert page.locator("dialog h2").inner_text() != title
        press("Escape")
        assert not page.locator("dialog").is_visible()
        assert page.evaluate(IS_FOCUSED, ".record .open")
        assert one.problems() == []


@pytest.mark.parametrize("kind", ["images", "sequences", "damaged"])
def test_pages_need_no_scripts(chromium: Browser, pages: Callable[[str], Path], kind: str) -> None:
    with watched(chromium, pages(kind), 400, java_script_enabled=False) as one:
        page = one.page
        assert lacking(one, {f"{name}:visible": n for name, n in EXPECTED[kind].items()}) == {}
        for fold in page.locator(".record summary:visible").all()[:2]:
            fold.click()
            assert page.locator(".record details[open] .entry:visible").count() > 0
        assert page.locator("input:visible, select:visible, button:visible").count() == 0


def test_hostile_strings_are_only_shown(chromium: Browser, pages: Callable[[str], Path]) -> None:
    with watched(chromium, pages("hostile")) as one:
        page = one.page
        shown_text = " ".join((page.locator("#table").text_content() or "").split())
        readable = [text for text in HOSTILE if text.isprintable() and 1 < len(text) < 100]
        assert [text for text in readable if text not in shown_text] == []
        page.locator(".open").first.click()
        for _ in range(60):
            page.keyboard.press("ArrowRight")
        assert "record 50" not in page.locator("dialog h2").inner_text()
        page.keyboard.press("Escape")
        for text in HOSTILE[:4]:
            page.locator("#search").fill(text)
            page.wait_for_timeout(200)
            assert 0 < shown(one) < 10
        page.locator("#sort").select_option("name")
        page.locator("#theme").click()
        assert one.problems() == []


@pytest.mark.parametrize("kind", ["table", "empty"])
def test_a_script_that_gets_into_a_page_is_not_run(
    chromium: Browser, pages: Callable[[str], Path], tmp_path: Path, kind: str
) -> None:
    faults = (
        "<script>window.__ran = 1</script><b onclick='window.__ran = 2' id=b>bold</b>"
        "<img alt=x src=http://127.0.0.1:9/x.png>"
        "<style>p { background: url(http://127.0.0.1:9/style.png) }</style>"
    )
    text = pages(kind).read_text(encoding="utf-8")
    page = tmp_path / "page.html"
    page.write_text(text.replace("<main", f"{faults}<main", 1), encoding="utf-8")

    with watched(chromium, page) as one:
        one.page.locator("#b").click()
        for _ in range(100):  # what the policy refuses is reported some time later
            problems = one.problems()
            refused = {each.split()[1] for each in problems if each.startswith("policy:")}
            if refused >= {"script-src-elem", "script-src-attr", "img-src"}:
                break
            one.page.wait_for_timeout(100)
        else:
            pytest.fail(f"only {refused} were refused")

    assert not [problem for problem in problems if problem.startswith(("request", "a script"))]


@pytest.mark.parametrize("sample", corpus_files())
def test_a_foreign_file_has_a_page(chromium: Browser, tmp_path: Path, sample: CorpusFile) -> None:
    page = page_of([sample.path], tmp_path / "page.html")
    with watched(chromium, page) as one:
        assert one.page.locator("h1").inner_text()
        assert one.page.locator(".record").count() > 0
        assert [*one.problems(), *one.barriers()] == []
