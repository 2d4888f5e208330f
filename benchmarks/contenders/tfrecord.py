"""The package tfrecord: Python and protobuf's message classes; it checks no CRC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tfrecord

from benchmarks import check, data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "tfrecord"
_KINDS = {"float": "float", "int": "int", "bytes": "byte"}


def _compression_of(path: str) -> str | None:
    return "gzip" if path.endswith(".gz") else None


def read(path: str) -> Run:
    """Iterate over records: views of a buffer that the next one changes."""
    return lambda: tfrecord.tfrecord_iterator(path, compression_type=_compression_of(path))


def dicts(path: str, data: str) -> Run:
    """Make a dictionary of arrays of each record."""
    steps: Any = {"sequence_description": []} if data == "sequences" else {}
    return lambda: iter(tfrecord.tfrecord_loader(path, None, **steps))


def write_dicts(target: str, data: str, n_records: int, form: str) -> Run:
    """Write a dictionary at a time, each value with its kind."""
    given = _typed(data, n_records, form)

    def run() -> None:
        writer = tfrecord.TFRecordWriter(target)
        for row in given:
            writer.write(*row)
        writer.close()

    return run


def _typed(name: str, n_records: int, form: str) -> list[tuple[Any, ...]]:
    found = data.rows(name, n_records, form)
    if name != "sequences":
        kinds = {key: _KINDS[kind] for key, (kind, _) in data.FEATURES[name].items()}
        return [({key: (value, kinds[key]) for key, value in row.items()},) for row in found]
    context = {key: _KINDS[kind] for key, (kind, _) in data.CONTEXT.items()}
    steps = {key: _KINDS[kind] for key, (kind, _) in data.STEPS.items()}
    return [
        (
            {key: (value, context[key]) for key, value in row["context"].items()},
            {key: (_as_lists(value), steps[key]) for key, value in row["feature_lists"].items()},
        )
        for row in found
    ]


def _as_lists(steps: list[Any]) -> list[list[Any]]:
    return [step if isinstance(step, list) else [step] for step in steps]


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield what an operation returned in the form that is compared."""
    if op == "read":
        return check.records(map(bytes, items))
    if args["data"] == "sequences":
        return check.sequence_rows({"context": c, "feature_lists": s} for c, s in items)
    return check.rows(items)


OPERATIONS = {"read": read, "dicts": dicts, "write_dicts": write_dicts}
