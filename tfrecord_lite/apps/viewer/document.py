"""A report as an HTML document, through the templates in assets/.

Its content security policy allows images and sounds from ``data:``, and our own style and script by
their hashes, so that nothing from the data could run or load anything, even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import takewhile
from typing import Any, NamedTuple, TypeAlias

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tfrecord_lite.apps.markup.tables import visible
from tfrecord_lite.apps.viewer.cards import shortened
from tfrecord_lite.apps.viewer.report import Cell, RecordView, Report
from tfrecord_lite.errors import lost_of
from tfrecord_lite.extension import ContentType, Sample
from tfrecord_lite.texts import human_bytes, plural, short_name

_MAX_COLUMNS = 8
_MAX_TITLE = 120
_MAX_FILES = 500
_MAX_DAMAGE = 200
_NUMBERS = {"int64", "float32", "float64"}
_Key: TypeAlias = tuple[str, str]  # section, name
_ASSETS = resources.files("tfrecord_lite.apps.viewer") / "assets"


class _Column(NamedTuple):
    key: _Key
    label: str
    is_number: bool
    """Whether each record has one number in it."""


def render(report: Report) -> str:
    """Return the page of a report."""
    columns, sizes = _columns(report.records), report.files.values()
    css, script = _asset("page.css"), _asset("page.js")
    first, n_more = next(iter(report.files)), len(report.files) - 1
    title = shortened(re.split(r"[/\\]", first)[-1] or first, _MAX_TITLE)
    page: str = _template().render(
        report=report,
        sample=report.sample,
        policy=_policy(css, script),
        css=Markup(css),  # noqa: S704 - our own
        script=Markup(script),  # noqa: S704 - our own
        title=f"{title} and {plural(n_more, 'more file')}" if n_more else title,
        what=_what(report),
        n_records=_num_text(report.sample),
        damage=_damage(report),
        problems=_problems(report),
        files=list(report.files.items())[:_MAX_FILES],
        n_more_files=max(len(report.files) - _MAX_FILES, 0),
        n_bytes=None if None in sizes else sum(filter(None, sizes)),
        columns=columns,
        rows=_rows(report, columns),
        records_note=_records_note(report),
    )
    return page


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8").strip()


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.loader = FunctionLoader(_asset)
    environment.globals.update(
        number=lambda count: f"{count:,}",
        shown=visible,
        size=lambda n_bytes: "unknown" if n_bytes is None else human_bytes(n_bytes),
        no_fields=(ContentType.PROTOBUF,),
    )
    return environment.get_template("page.html")


def _policy(css: str, script: str) -> str:
    """Return the content security policy: our own style and script, and data in the page."""
    digests = (hashlib.sha256(text.encode()).digest() for text in (css, script))
    style, code = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; style-src {style}; script-src {code}; "
        "img-src data:; media-src data:; base-uri 'none'; form-action 'none'"
    )


# ------------------------------------------------------------------------------ the header


def _what(report: Report) -> str:
    if not report.sample.num_read:
        files = "this file" if len(report.files) == 1 else "these files"
        return f"There are no records in {files}."
    if report.message_name:
        return f"{report.message_name} records"
    other = {
        ContentType.PROTOBUF: "messages of another type",
        ContentType.TENSOR: "serialized tensors",
        ContentType.EMPTY: "empty records",
    }
    kinds = [other.get(type_, f"{type_} records") for type_ in report.types]
    what = " and ".join(filter(None, [", ".join(kinds[:-1]), kinds[-1]]))
    return what if what.startswith("tf.") else what[:1].upper() + what[1:]


def _num_text(sample: Sample) -> str:
    n_records = sample.num_records
    return f"more than {sample.num_read:,}" if n_records is None else f"{n_records:,}"


def _damage(report: Report) -> list[str]:
    damage = report.sample.report
    if not damage.num_damaged:
        return []
    of_one = f"{next(iter(report.files))}: " if len(report.files) == 1 else ""
    shown = damage.spans[:_MAX_DAMAGE]
    n_more = damage.num_damaged - sum(span.num_records for span in shown)
    whole = f"{plural(damage.num_damaged, 'damaged place')}, {lost_of(damage, human_bytes)} lost."
    texts = [visible(str(span).removeprefix(of_one)) for span in shown]
    return [whole, *texts, *([f"and {n_more:,} more"] if n_more > 0 else [])]


def _problems(report: Report) -> list[str]:
    files = report.sample.report.files
    failures = [f"{file.source}: {file.failure}" for file in files if file.failure is not None]
    return [visible(text) for text in [*failures, *report.problems][:_MAX_DAMAGE]]


# ------------------------------------------------------------------------------ the table


def _records_note(report: Report) -> str:
    n_shown, sample = len(report.records), report.sample
    if n_shown == sample.num_records:
        return f"{n_shown:,}"
    if report.is_cut:
        which = "as many as the page has room for"
    elif sample.is_whole:
        which = "spread over all"
    else:
        those = "all that" if n_shown == sample.num_read else "spread over those that"
        which = f"{those} were read: {sample.method}"
    return f"{n_shown:,} of {_num_text(sample)}, {which}"


def _columns(records: list[RecordView]) -> list[_Column]:
    """Return the features that have a column: pictures first, then what most records have."""
    cells: dict[_Key, list[Cell]] = {}
    for record in records:
        for key, cell in _keyed(record).items():
            cells.setdefault(key, []).append(cell)

    def rank(key: _Key) -> tuple[bool, int]:
        n_pictures = sum("<img" in cell.html for cell in cells[key])
        return 4 * n_pictures < len(records), -len(cells[key])

    def column(key: _Key) -> _Column:
        is_number = all(cell.count == "1" and cell.kind in _NUMBERS for cell in cells[key])
        return _Column(key, cells[key][0].label, is_number)

    return [column(key) for key in sorted(cells, key=rank)[:_MAX_COLUMNS]]


def _keyed(record: RecordView) -> dict[_Key, Cell]:
    return {(cell.section, cell.name): cell for cell in record.cells}


def _rows(report: Report, columns: list[_Column]) -> Iterator[dict[str, Any]]:
    # The names of the files, without the folders that all are in.
    letters = zip(*report.files, strict=False)
    common = "".join(first for first, *_ in takewhile(lambda same: len(set(same)) == 1, letters))
    start = max(common.rfind("/"), common.rfind("\\")) + 1
    numbers = {column.key: i for i, column in enumerate(columns)}
    for record in report.records:
        place, cells = record.place, _keyed(record)
        name = place.source or ""
        source = visible(short_name(name[start:])) if len(report.files) > 1 else ""
        whole = visible(short_name(name))
        label = f"at {place.offset:,}" if place.index is None else f"{place.index:,}"
        about = [plural(record.n_bytes, "byte")]
        about += [] if place.offset is None else [f"byte {place.offset:,}"]
        about += [whole] if source not in {"", whole} else []
        n_rest = len(cells.keys() - numbers.keys()) + record.n_hidden
        yield {
            "title": f"record {label} of {source}" if source else f"record {label}",
            "label": label,
            "source": source,
            "about": ", ".join(about),
            "in_columns": [(column, cells.get(column.key)) for column in columns],
            "entries": [(numbers.get(key), cell) for key, cell in cells.items()],
            "more": f"{plural(n_rest, 'more feature')} and details" if n_rest else "details",
            "n_hidden": record.n_hidden,
        }
