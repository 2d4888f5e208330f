"""Records as the viewer shows them, each checked to be safe and bounded markup."""

from typing import Any

from tests.support.shown_html import Page, parsed
from tfrecord_lite import encode_example
from tfrecord_lite.apps.markup.cells import Budget, Cells
from tfrecord_lite.apps.viewer.report import Cell, RecordView, describe_record
from tfrecord_lite.block import Place
from tfrecord_lite.example.content import detect

ACTIVE = {"script", "iframe", "object", "embed", "link", "style", "form", "base", "meta", "a"}


def check_markup(html: str) -> Page:
    """Parse markup, and check that nothing in it acts, or asks for anything outside."""
    page = parsed(html)
    assert not ACTIVE & set(page.tags)
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in {"style", "srcdoc", "action", "formaction"}, (tag, name)
        if name in {"src", "href"}:
            assert (value or "").startswith(("data:image/", "data:audio/")), (tag, value)
        if tag == "img":
            assert any((t, n) == ("img", "alt") for t, n, _ in page.attributes)
    assert "\x00" not in html
    html.encode()  # no lone surrogates
    return page


def check_cell(cell: Cell) -> Page:
    return check_markup(cell.html + cell.details)


def shown(record: bytes, budget: Budget | None = None) -> RecordView:
    view = describe_record(
        detect(record), Place(None, 0, None), Cells(budget or Budget(), is_page=True)
    )
    for cell in view.cells:
        check_cell(cell)
    return view


def cells_of(features: dict[str, Any], budget: Budget | None = None) -> dict[str, Cell]:
    return {cell.name: cell for cell in shown(encode_example(features), budget).cells}


def plain(html: str) -> str:
    return " ".join(parsed(html).text.split())
