"""Random features, and random SequenceExamples that fit them, or nearly.

As :mod:`.cases`, whose makers of features and values serve for the context, and for each
step of a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.parity import building
from tests.parity.building import NO_KIND, chunk, entry, key_of, list_of, value_of
from tests.parity.cases import (
    DTYPES,
    FAR,
    GROUP,
    LISTS,
    NAMES,
    UNKNOWN,
    feature_of,
    make_dense,
    make_ragged,
    make_var,
    values_of,
    with_other,
)
from tfrecord_lite.schema import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, kind_of

if TYPE_CHECKING:
    from random import Random

__all__ = ["FAULTS", "Case", "make_case"]

FAULTS = (
    "missing", "no kind", "empty", "other kind", "one more", "one less", "one changed", "one far",
    "step less", "step more", "twice", "junk",
)  # fmt: skip
"""What may be wrong with a feature or a list of a message; for some features it is not wrong."""

Steps = list[list[Any]]
Content = dict[str, "tuple[str, Steps]"]
"""The lists of a message: dtype and values of each step. The context is a list of one step."""


@dataclass(frozen=True, slots=True)
class Case:
    """Something to ask both."""

    context: dict[str, Any]
    lists: dict[str, Any]
    records: list[bytes]
    single: bool
    """Whether the only message is to be parsed by itself."""


@dataclass(frozen=True, slots=True)
class Style:
    """How the messages of a case are written."""

    shuffled: bool
    loose: bool
    odd: bool
    cut: bool
    alike: bool


def make_case(rng: Random) -> Case:
    """Make a case."""
    context = make_features(rng, (make_dense, make_dense, make_var, make_ragged), (0, 1, 2))
    lists = make_features(rng, (make_padded, make_padded, make_var, make_ragged), (0, 1, 1, 2, 3))
    n_messages = rng.choice((0, 1, 1, 1, 2, 3, 5, 8, 33, 40))
    style = Style(*(rng.random() < share for share in (0.3, 0.1, 0.06, 0.03, 0.5)))
    has_faults = rng.random() < 0.4
    faulty = rng.sample(range(n_messages), min(n_messages, rng.choice((1, 1, 2)) * has_faults))
    first = contents_of(rng, context, lists)
    records = []
    for number in range(n_messages):
        alike = style.alike and rng.random() < 0.8
        contents = first if alike else contents_of(rng, context, lists)
        records.append(write(rng, contents, style, (context, lists), faulty=number in faulty))
    return Case(context, lists, records, single=n_messages == 1 and rng.random() < 0.6)


def make_features(rng: Random, makers: Any, numbers: tuple[int, ...]) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.choice(numbers))
    return {
        name: rng.choice(makers)(rng, rng.choice(DTYPES), str(number))
        for number, name in enumerate(names)
    }


def make_padded(rng: Random, dtype: str, _number: str) -> Any:
    shape = rng.choice(([], [], [1], [2], [2, 2], 3))
    return FixedLenSequenceFeature(shape, dtype, allow_missing=rng.random() < 0.5)


# Contents that fit


def contents_of(
    rng: Random, context: dict[str, Any], lists: dict[str, Any]
) -> tuple[Content, Content]:
    """Return what fits all features: a context, and lists."""
    return steps_of(rng, context, 1), steps_of(rng, lists, rng.choice((0, 1, 2, 3, 3, 7, 20)))


def steps_of(rng: Random, features: dict[str, Any], n_steps: int) -> Content:
    """Return that many steps for each feature, each like the list of an Example."""
    content: Content = {}
    for name, spec in features.items():
        if isinstance(spec, FixedLenSequenceFeature):
            like = FixedLenFeature(spec.shape, spec.dtype)
            found = [LISTS[FixedLenFeature](rng, name, like) for _ in range(n_steps)]
            if not n_steps:
                content[name] = kind_of(spec.dtype).label, []
        else:
            found = [LISTS[type(spec)](rng, name, spec) for _ in range(n_steps)]
        for lists in found:
            for key, (dtype, values) in lists.items():
                content.setdefault(key, (dtype, []))[1].append(values)
    return content


# Messages


def write(
    rng: Random,
    contents: tuple[Content, Content],
    style: Style,
    features: tuple[dict[str, Any], dict[str, Any]],
    *,
    faulty: bool,
) -> bytes:
    """Write a message; a faulty one has a fault."""
    row_ids = {
        part.key
        for some in features
        for spec in some.values()
        for part in getattr(spec, "partitions", ())
        if isinstance(part, RaggedFeature.ValueRowIds)
    }
    places = [(part, key) for part, content in enumerate(contents) for key in content]
    bad = rng.choice(places) if faulty and places else None
    entries: tuple[list[bytes], list[bytes]] = ([], [])
    for part, content in enumerate(contents):
        for key, (dtype, steps) in content.items():
            fault = rng.choice(FAULTS) if bad == (part, key) else "none"
            if fault == "one far" and key in row_ids:
                fault = "one changed"  # a far one would need memory for all rows before it
            loose = style.loose and fault == "none" and part == 1 and rng.random() < 0.5
            entries[part].extend(
                written(key, [feature_of(dtype, values, loose=loose) for values in some], part)
                for some in faulty_steps(rng, dtype, steps, fault)
            )
            if fault in STRANGE:
                entries[part].append(written(key, STRANGE[fault](rng, dtype, steps), part))
        if style.shuffled:
            rng.shuffle(entries[part])
    context, lists = entries
    odd = rng.choice(ODD) if style.odd and rng.random() < 0.3 else None
    data: bytes = (odd or plain)(context, lists)
    # TensorFlow dies of strings that are cut, in features of any length (rule Q15).
    may_cut = all(
        isinstance(spec, FixedLenFeature) or kind_of(spec.dtype).label != "string"
        for some in features
        for spec in some.values()
    )
    is_cut = style.cut and may_cut and rng.random() < 0.3
    return data[: rng.randrange(len(data) + 1)] if is_cut else data


def written(key: str, features: list[bytes], part: int) -> bytes:
    """Write the entry of a list, or that of the context, which has one Feature."""
    return list_of(key, *features) if part else entry(key, features[0] if features else NO_KIND)


def faulty_steps(rng: Random, dtype: str, steps: Steps, fault: str) -> list[Steps]:
    """Return the steps of each entry of one key: one, none, or two."""
    if fault in {"missing", *STRANGE} - {"twice"}:
        return []
    if fault == "twice":
        return [steps]
    if not steps or fault == "none":
        return [steps]
    place = rng.randrange(len(steps))
    values = steps[place]
    more = [1] if dtype == "int64" else values_of(rng, dtype, 1)
    changed = {
        "empty": [[]],
        "one more": [values + more],
        "one less": [values[:-1]],
        "one changed": [with_other(rng, dtype, values, (0, 1, 2, 3, -1))],
        "one far": [with_other(rng, dtype, values, FAR)],
        "step less": [],
        "step more": [values, values],
    }
    return [steps[:place] + changed[fault] + steps[place + 1 :]]


def _in_place(rng: Random, dtype: str, steps: Steps, odd: bytes) -> list[bytes]:
    """Return the Features of a list, of which one is another."""
    features = [feature_of(dtype, values) for values in steps] or [b""]
    features[rng.randrange(len(features))] = odd
    return features


def _other_kind(rng: Random, dtype: str, steps: Steps) -> list[bytes]:
    other = rng.choice([name for name in DTYPES if name != dtype])
    return _in_place(rng, dtype, steps, feature_of(other, values_of(rng, other, rng.randrange(2))))


def _junk(rng: Random, dtype: str, steps: Steps) -> list[bytes]:
    return _in_place(
        rng, dtype, steps, rng.choice((b"\xff", b"\x12\x05a", b"\x08", b"\x1a\x02\x0a\x05"))
    )


STRANGE: dict[str, Any] = {
    "no kind": lambda rng, dtype, steps: _in_place(rng, dtype, steps, NO_KIND),
    "other kind": _other_kind,
    "junk": _junk,
    "twice": lambda _, dtype, steps: [feature_of(dtype, values) for values in steps],
}


def plain(context: list[bytes], lists: list[bytes]) -> bytes:
    return building.sequence(b"".join(context), b"".join(lists))


ODD: tuple[Any, ...] = (
    lambda context, lists: plain(context, lists) + UNKNOWN[0],
    lambda context, lists: UNKNOWN[1] + UNKNOWN[2] + plain(context, lists) + UNKNOWN[3],
    lambda context, lists: plain([], lists) + plain(context, []),
    lambda context, lists: b"".join(plain([], [one]) for one in lists) + plain(context, []),
    lambda context, lists: plain(context, lists) + GROUP,
    lambda context, lists: plain(context, [*lists, UNKNOWN[0]]),
    lambda context, lists: plain(context, [*lists, chunk(1, value_of(NO_KIND) + key_of("back"))]),
    lambda context, lists: plain([*context, chunk(1, key_of("only a key"))], lists),
    lambda context, lists: plain(context, [*lists, list_of(b"\xff", NO_KIND)]),
    lambda context, lists: plain(context, lists) + b"\x00",
)
"""Unusual ways to write entries, legal or not."""
