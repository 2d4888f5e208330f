"""The engine equals the protobuf runtime, and a slow reference, on any bytes: of either message."""

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import long_run
from tests.support.agreement import (
    EXAMPLES,
    SEQUENCES,
    MessageType,
    batches,
    encodings,
    messages,
    program_in_any_order,
)
from tests.support.example_messages import KEYS, mutate
from tests.support.skips import in_c
from tfrecord_lite.example.decode.batch import LayoutMemory

of_both = pytest.mark.parametrize("of", [EXAMPLES, SEQUENCES], ids=["Example", "SequenceExample"])
fills = st.sampled_from([b"\0", b"\xff", b"\x80", b"\x0a\x05", b"\x0a\xf5" + b"\xff" * 8 + b"\1"])
asked = st.none() | st.sets(st.sampled_from(KEYS))


@in_c
@of_both
@given(st.data())
def test_any_bytes_mean_the_same_to_the_reference(of: MessageType, draw: st.DataObject) -> None:
    of.assert_reference_agrees(draw.draw(messages(of)))


@of_both
@given(st.data(), asked, asked, st.integers(1, 60))
def test_any_bytes(of: MessageType, draw: st.DataObject, context: Any, lists: Any, n: int) -> None:
    message, how = draw.draw(messages(of)), draw.draw(st.sampled_from(of.ways))
    of.assert_engine_agrees([message] * n, context, lists, **how)


@of_both
@given(st.data(), fills, fills)
def test_any_few(of: MessageType, draw: st.DataObject, between: bytes, fill: bytes) -> None:
    batch, how = draw.draw(st.lists(messages(of), max_size=8)), draw.draw(st.sampled_from(of.ways))
    of.assert_engine_agrees(batch, between=between, fill=fill, **how)


@of_both
@given(st.data(), st.binary(max_size=30))
def test_prefixes_are_read_or_refused(of: MessageType, draw: st.DataObject, behind: bytes) -> None:
    message = draw.draw(messages(of))
    keys = [of.keys_in([message], number) for number in (1, 2)]
    for stop in {*range(min(len(message), 60)), len(message)}:
        rest = message[stop:] + behind + b"\0"
        of.assert_engine_agrees([message[:stop]], *keys, fill=rest, **of.ways[-1])


@given(st.lists(encodings(SEQUENCES), max_size=4))
def test_a_few_sequences_are_read_by_the_runtime_alike(batch: list[bytes]) -> None:
    SEQUENCES.assert_engine_agrees(batch, few=4)


@of_both
@given(st.data(), asked, asked, fills, fills)
def test_look_alikes_with_odd_ones_among_them(
    of: MessageType, draw: st.DataObject, context: Any, lists: Any, between: bytes, fill: bytes
) -> None:
    batch, how = draw.draw(batches(of)), draw.draw(st.sampled_from(of.ways))
    of.assert_engine_agrees(batch, context, lists, between=between, fill=fill, **how)


@given(st.lists(batches(EXAMPLES), min_size=2, max_size=4))
def test_layouts_of_one_batch_serve_the_next(some_batches: list[list[bytes]]) -> None:
    keys = EXAMPLES.keys_in(itertools.chain(*some_batches), 1)
    memory = LayoutMemory()
    for batch in some_batches:
        EXAMPLES.assert_engine_agrees(batch, keys, memory=memory)


@given(st.integers(0, 2**32), st.integers(1, 9), fills, fills)
def test_entries_of_any_order_are_met(seed: int, step: int, between: bytes, fill: bytes) -> None:
    rng = random.Random(seed)
    write, memory = program_in_any_order(rng), LayoutMemory()
    some_batches = [[write() for _ in range(rng.choice((20, 80)))] for _ in range(3)]
    keys = EXAMPLES.keys_in(itertools.chain(*some_batches), 1)[::step]
    for batch in some_batches:
        for _ in range(rng.choice((0, 0, 1, 4))):
            place = rng.randrange(len(batch))
            batch[place] = mutate(rng.randrange, batch[place], batch[0])
        how: Any = {"between": between, "fill": fill, "memory": memory, "way": "plain"}
        EXAMPLES.assert_engine_agrees(batch, keys, **how)


@in_c
@of_both
@pytest.mark.parametrize("n", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_random_messages_are_read_as_the_runtime_reads_them(of: MessageType, n: int) -> None:
    """A million of them: ``python -m tests.long_run``."""
    count = long_run.run(of, n, 0)
    assert count["rejected"] > count["messages"] // 100
    assert count["accepted"] > count["messages"] // 2
