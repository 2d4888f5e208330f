"""The features of one message in rows, section by section: what displays of records show.

::

    Example                  ""                 a row per feature
    SequenceExample          "context"          a row per feature
                             "feature_lists"    a row per feature list
    ExampleListWithContext   "context"          a row per feature
                             "example 0 of 3"   a row per feature, and so on
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.example.content import Message, is_list, is_sequence
from tfrecord_lite.schema.kinds import Kind

if TYPE_CHECKING:
    from tfrecord_lite.messages import Feature


@dataclass(frozen=True, slots=True)
class Row:
    """A feature (of one step), or a feature list (of any number of steps)."""

    name: str
    steps: Sequence[Feature]
    is_list: bool = False

    @property
    def kind(self) -> str:
        """``string``, ``float32``, ``int64`` or ``unset``; more than one if the steps differ."""
        return "/".join(sorted({kind_of(step) for step in self.steps})) or "-"

    @property
    def counts(self) -> tuple[int, int]:
        """The smallest and the largest number of values per step."""
        counts = [len(values_of(step)) for step in self.steps]
        return min(counts, default=0), max(counts, default=0)

    @property
    def count(self) -> str:
        """The number of values; for a list, steps x values."""
        low, high = self.counts
        each = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        return f"{len(self.steps):,} x {each}" if self.is_list else each


@dataclass(frozen=True, slots=True)
class Section:
    """The features of one part of a message; the title is empty for an Example's."""

    title: str
    rows: list[Row]


def sections(message: Message, max_examples: int | None = None) -> list[Section]:
    """Return the sections of a message, rows by name; of a list of Examples, the first Examples'."""
    if is_list(message):
        n_examples = len(message.examples)
        return [
            _section("context", message.context.features.feature),
            *(
                _section(f"example {i} of {n_examples:,}", example.features.feature)
                for i, example in enumerate(message.examples[:max_examples])
            ),
        ]
    if is_sequence(message):
        lists = message.feature_lists.feature_list
        rows = [Row(name, lists[name].feature, is_list=True) for name in sorted(lists)]
        return [_section("context", message.context.feature), Section("feature_lists", rows)]
    return [_section("", message.features.feature)]


def _section(title: str, features: Mapping[str, Feature]) -> Section:
    return Section(title, [Row(name, [features[name]]) for name in sorted(features)])


def kind_of(feature: Feature) -> str:
    """Return ``string``, ``float32``, ``int64`` or ``unset``."""
    kind = feature.WhichOneof("kind")
    return Kind[kind.removesuffix("_list").upper()].label if kind else "unset"


def values_of(feature: Feature) -> Sequence[bytes] | Sequence[float] | Sequence[int]:
    """Return a feature's values without copying them; none if no kind is set."""
    kind = feature.WhichOneof("kind")
    if kind == "bytes_list":
        return feature.bytes_list.value
    if kind == "float_list":
        return feature.float_list.value
    return feature.int64_list.value if kind else ()


def float_texts(values: Sequence[float], most: int | None = None) -> list[str]:
    """Write the first float32 values, each with as few digits as identify it."""
    taken = np.fromiter(islice(values, most), np.float32)
    texts: list[str] = taken.astype(str).tolist()
    return texts
