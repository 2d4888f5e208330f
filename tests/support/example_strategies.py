"""Examples, their encodings, look-alikes and damages, for properties."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tests.support.example_messages import (
    FLOATS,
    ExampleReencoder,
    Features,
    Pattern,
    look_alike,
    mutate,
    plain,
)
from tests.support.reference_example import ABSENT, BYTES, FLOAT, INT64, NO_KIND, Feature
from tfrecord_lite import testing
from tfrecord_lite.testing.reencode import chooser

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

int64s = testing.int64s()
float_bits = st.one_of(st.sampled_from(FLOATS), st.integers(0, 2**32 - 1))
strings = st.binary(max_size=12)
keys = testing.keys().map(str.encode)

features = st.one_of(
    st.just(ABSENT),
    st.lists(strings, max_size=4).map(lambda v: Feature(BYTES, tuple(v))),
    st.lists(float_bits, max_size=6).map(lambda v: Feature(FLOAT, tuple(v))),
    st.lists(int64s, max_size=6).map(lambda v: Feature(INT64, tuple(v))),
)
examples = st.dictionaries(keys, features, max_size=5)
many_features = st.integers(6, 60).map(
    lambda n: {b"key %d" % i: Feature(INT64, (i,)) if i % 3 else ABSENT for i in range(n)}
)


@st.composite
def encodings(draw: DrawFn, of: Features | None = None, length_bytes: int = 5) -> bytes:
    """Return an Example in some legal encoding."""
    content = draw(examples) if of is None else of
    oddity = draw(st.sampled_from([20, 6, 3]))
    return ExampleReencoder(chooser(draw), oddity, length_bytes).example(content)


@st.composite
def large_encodings(draw: DrawFn) -> bytes:
    """Return an Example of many features; the way it is encoded comes from a seed."""
    below = random.Random(draw(st.integers(0, 2**16))).randrange
    return ExampleReencoder(below, draw(st.sampled_from([100, 20, 6]))).example(draw(many_features))


@st.composite
def damaged(draw: DrawFn) -> bytes:
    """Return an Example with one or two damages, most of them not fatal to all of it."""
    below = chooser(draw)
    message = draw(st.one_of(examples.map(plain), encodings()))
    other = draw(examples.map(plain))
    for _ in range(draw(st.integers(1, 2))):
        message = mutate(below, message, other)
    return message


messages = st.one_of(
    encodings(length_bytes=10), damaged(), large_encodings(), st.binary(max_size=40)
)

# Lengths on both sides of where a length takes one byte more, and small ones.
BORDERS = (1, 3, 120, 126, 128, 16378, 16386)
_kinds = st.sampled_from([BYTES, FLOAT, INT64, NO_KIND])


@st.composite
def patterns(draw: DrawFn) -> Pattern:
    """Return what a program's messages have in common."""
    names = tuple(draw(st.lists(keys, min_size=1, max_size=5, unique=True)))
    kinds = tuple(draw(_kinds) for _ in names)
    counts = tuple(draw(st.sampled_from([1, 1, 0, 2, None, 7, 31, 130])) for _ in names)
    widths = tuple(draw(st.sampled_from(BORDERS[:5])) for _ in names)
    if draw(st.integers(0, 9)) == 9:
        widths = (draw(st.sampled_from(BORDERS)), *widths[1:])
    return Pattern(names, kinds, counts, widths)


@st.composite
def look_alikes(draw: DrawFn, n_messages: int = 40) -> list[bytes]:
    """Return messages as a program writes them; values come from a seed, so shrink little."""
    pattern = draw(patterns())
    below = random.Random(draw(st.integers(0, 2**16))).randrange
    return [plain(look_alike(below, pattern)) for _ in range(n_messages)]


@st.composite
def mixed_batches(draw: DrawFn) -> list[bytes]:
    """Return look-alikes with a few others put in anywhere, or in place of some."""
    batch = draw(look_alikes(draw(st.integers(30, 80))))
    below = chooser(draw)
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.sampled_from([0, len(batch) - 1, len(batch) // 2])) + draw(
            st.integers(0, 1)
        )
        match draw(st.integers(0, 4)):
            case 0:
                odd = plain(draw(examples))
            case 1:
                odd = draw(encodings())
            case 2:
                odd = b""
            case 3:
                odd = mutate(below, batch[min(place, len(batch) - 1)])
            case _:
                odd = draw(damaged())
        if draw(st.booleans()) and place < len(batch):
            batch[place] = odd
        else:
            batch.insert(place, odd)
    return batch
