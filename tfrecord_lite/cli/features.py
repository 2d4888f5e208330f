"""The rows to show of a message: one a feature, in sections, sorted by name."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.cli.content import ExampleList, is_sequence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfrecord_lite.cli.content import Message
    from tfrecord_lite.messages import Feature, FeatureList


@dataclass(frozen=True, slots=True)
class Row:
    """A feature, or a list of one feature a step."""

    name: str
    steps: Sequence[Feature]
    """One, unless it is a list."""
    is_list: bool = False

    @property
    def kind(self) -> str:
        """``bytes``, ``float``, ``int64`` or ``unset``; more than one if the steps differ."""
        return "/".join(sorted({kind_of(step) for step in self.steps})) or "-"

    @property
    def counts(self) -> tuple[int, int]:
        """How many values each step has, at the least and at the most."""
        counts = [len(values_of(step)) for step in self.steps]
        return min(counts, default=0), max(counts, default=0)

    @property
    def count(self) -> str:
        """How many values; of a list, how many steps by how many values."""
        low, high = self.counts
        each = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        return f"{len(self.steps):,} x {each}" if self.is_list else each

    def summary(self) -> dict[str, object]:
        """Say the same to programs."""
        low, high = self.counts
        if not self.is_list:
            return {"kind": self.kind, "count": low}
        return {"kind": self.kind, "steps": len(self.steps), "min": low, "max": high}


@dataclass(frozen=True, slots=True)
class Section:
    """Some rows under a title; without one for the features of an Example."""

    title: str
    rows: list[Row]


def sections(message: Message, most_examples: int | None = None) -> list[Section]:
    """Return what there is to show of a message; of a list of Examples, so many at the most."""
    if isinstance(message, ExampleList):
        n_examples = len(message.examples)
        return [
            _section("context", message.context.features.feature),
            *(
                _section(f"example {i} of {n_examples:,}", example.features.feature)
                for i, example in enumerate(message.examples[:most_examples])
            ),
        ]
    if is_sequence(message):
        return [
            _section("context", message.context.feature),
            _lists("feature_lists", message.feature_lists.feature_list),
        ]
    return [_section("", message.features.feature)]


def _section(title: str, features: Mapping[str, Feature]) -> Section:
    return Section(title, [Row(name, [features[name]]) for name in sorted(features)])


def _lists(title: str, lists: Mapping[str, FeatureList]) -> Section:
    rows = [Row(name, lists[name].feature, is_list=True) for name in sorted(lists)]
    return Section(title, rows)


def kind_of(feature: Feature) -> str:
    """Return ``bytes``, ``float``, ``int64`` or ``unset``."""
    return (feature.WhichOneof("kind") or "unset").removesuffix("_list")


def values_of(feature: Feature) -> Sequence[bytes] | Sequence[float] | Sequence[int]:
    """Return a feature's values, none if no kind is set; not copied."""
    kind = feature.WhichOneof("kind")
    if kind == "bytes_list":
        return feature.bytes_list.value
    if kind == "float_list":
        return feature.float_list.value
    return feature.int64_list.value if kind else ()


def float_texts(values: Sequence[float], most: int | None = None) -> list[str]:
    """Write float32 values with as few digits as tell them apart, at most so many values."""
    taken = np.fromiter(islice(values, most), np.float32)
    texts: list[str] = taken.astype(str).tolist()
    return texts


def summaries(message: Message) -> list[dict[str, object]]:
    """Say the same as :func:`sections`, without the values, to programs."""
    return [
        {"section": section.title or None, "name": row.name, **row.summary()}
        for section in sections(message, 1)
        for row in section.rows
    ]
