"""Examples in the engine, form by form: layouts are used, rules hold, and lies cost nothing."""

import itertools
import tracemalloc
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from google.protobuf.internal import api_implementation

from tests.support import reference_example as reference
from tests.support.agreement import EXAMPLES
from tests.support.errors import raised
from tests.support.example_messages import (
    Features,
    buffer_of,
    features_of,
    len_field,
    plain,
    plain_entry,
    plain_feature,
    read,
    varint,
    with_a_kind,
)
from tests.support.reference_example import ABSENT, BYTES, FLOAT, INT64, Feature, RejectedError
from tfrecord_lite.example.decode.batch import LayoutMemory, MessageBatch
from tfrecord_lite.example.decode.layout import learn
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.scalar import WireError

FIVE = Feature(INT64, (5,))
SIX = Feature(INT64, (6,))


def refused(message: bytes, asked: set[bytes] | None = None) -> bool:
    try:
        reference.parse(message, asked)
    except RejectedError:
        return True
    return False


def assert_engine_agrees(
    batch: Sequence[bytes],
    asked: Iterable[bytes] | None = None,
    memory: LayoutMemory | None = None,
    **how: Any,
) -> int:
    """Read a batch as the reference does; return how many messages were read a fast way."""
    return EXAMPLES.assert_engine_agrees(batch, asked, memory=memory, **how)


EVERY_FORM: Features = {
    b"int": FIVE, b"ints": Feature(INT64, (1, -1, 300)), b"no ints": Feature(INT64, ()),
    b"float": Feature(FLOAT, (0x3F800000,)), b"floats": Feature(FLOAT, (0, 0x7FA12345, 0xFF800000)),
    b"string": Feature(BYTES, (b"abc",)), b"strings": Feature(BYTES, (b"a", b"", b"bcd")),
    b"": ABSENT,
}  # fmt: skip

WIDE: Features = {
    b"wide": Feature(BYTES, (b"x" * 140,)), b"int": FIVE, b"pair": Feature(FLOAT, (0, 1)),
    b"string": Feature(BYTES, (b"abc",)),
}  # fmt: skip
"""The first lengths take two bytes."""


@pytest.mark.slow
@pytest.mark.parametrize("n_bytes", range(180))
def test_every_change_of_one_byte_in_a_batch_is_seen(n_bytes: int) -> None:
    keys = [*{**EVERY_FORM, **WIDE}, b"imt", b"\0"]
    for message in [plain(EVERY_FORM), *[plain(WIDE)] * (n_bytes < 18)]:
        memory = LayoutMemory()
        other = message[n_bytes % len(message)] + 1 & 0xFF
        for byte in (0, 1, 0x0A, 0x12, 0x1A, 0x7F, 0x80, 0xFF, other):
            changed = message[:n_bytes] + bytes([byte]) + message[n_bytes + 1 :]
            assert_engine_agrees([message] * 20 + [changed] + [message] * 20, keys, memory)


def test_many_floats_are_compared_in_one_stretch() -> None:
    """Longer than a row of several lengths may be, and than what follows a block."""
    keys = [b"k%d" % i for i in range(300)]

    def message(first: int) -> bytes:
        floats = enumerate(keys, first)
        return plain({k: Feature(FLOAT, (i,) * (1 + (i - first) % 50 // 49)) for i, k in floats})

    batch, memory = [message(i) for i in range(40)], LayoutMemory()
    asked = [key for key in keys if not key.endswith(b"5")]
    assert assert_engine_agrees(batch, asked, memory) == 40
    for place in (3, 2500, len(batch[7]) - 3):
        changed = bytearray(batch[7])
        changed[place] ^= 1
        mixed = [*batch[:7], bytes(changed), *batch[8:]]
        assert assert_engine_agrees(mixed, asked, memory) in {0, 39, 40}
    assert assert_engine_agrees([plain({b"k1": FIVE})] * 5, asked, memory) in {0, 5}


@pytest.mark.parametrize("number", [0, 1, 20, 39])
def test_layouts_are_used_and_odd_ones_left_out(number: int) -> None:
    batch = [plain(EVERY_FORM)] * 40
    assert assert_engine_agrees(batch) == 40
    assert assert_engine_agrees(batch, way="general") == 0
    odd = list(batch)
    odd[number] = plain({b"int": SIX})
    assert assert_engine_agrees(odd, EVERY_FORM) in ({0, 39} if number == 0 else {39})
    odd.insert(number, plain(dict(reversed(EVERY_FORM.items()))))
    assert_engine_agrees(odd, EVERY_FORM)


def test_a_layout_describes_what_it_learnt_and_why_a_message_does_not_match() -> None:
    data, starts, stops = buffer_of(usual := [plain(EVERY_FORM)] * 2)
    layout = learn(data, starts, stops, KeyTable(list(EVERY_FORM)))
    assert layout is not None
    assert len(layout.describe().splitlines()) == len(EVERY_FORM)
    assert "b'floats', float32, FIXED, 12 bytes after" in layout.describe()
    for message, difference in [
        (usual[0], "no difference"),
        (plain({**EVERY_FORM, b"int": SIX}), "no difference"),
        (plain({**EVERY_FORM, b"floats": FIVE}), "entry 4: b'floats', int64, VARINT"),
        (plain({b"int": FIVE}), "entry 1: none"),
        (plain({**EVERY_FORM, b"z": FIVE}), "bytes after the last entry"),
        (b"", "not one Features message"),
    ]:
        assert difference in layout.describe(message)
        match = layout.match(*buffer_of([message] * 2))
        assert match.n_messages == 2 * (difference == "no difference")


@pytest.mark.parametrize("asked", [[b"int", b"pair", b"name", b"ints"], [b"pair"]], ids=len)
def test_every_change_of_one_byte_in_plain_entries_is_seen(asked: list[bytes]) -> None:
    pair, name = Feature(FLOAT, (0, 1)), Feature(BYTES, (b"\0\x12",))
    message = plain({b"int": FIVE, b"pair": pair, b"name": name, b"ints": Feature(INT64, (1, 300))})
    changed = {
        message[:i] + bytes([byte]) + message[i + 1 :]
        for i, was in enumerate(message)
        for byte in (0, 1, 2, 0x0A, 0x12, 0x1A, was + 1, was ^ 0x80, 0xFF)
    }
    changed |= {len_field(1, message[2:-n]) for n in range(1, 30)}
    are_refused = {message: refused(message, set(asked)) for message in sorted(changed)}
    assert_engine_agrees([m for m in are_refused if not are_refused[m]], asked, way="plain")
    memory = LayoutMemory()
    for refused_one in (m for m in are_refused if are_refused[m]):
        with pytest.raises(WireError) as caught:
            features_of(read([message] * 20 + [refused_one], asked, memory, way="plain"))
        assert caught.value.message == 20


def test_a_long_entry_is_not_taken_for_many_plain_ones() -> None:
    """Its length, 8a 0a, looks like one byte and the tag of a key; the following keys are its own."""
    names = [b"k%02d" % i for i in range(12)]
    sizes = [85] * 11 + [62]
    fillers = {name: Feature(BYTES, (b"v" * n,)) for name, n in zip(names, sizes, strict=True)}
    first = Feature(BYTES, (b"v" * 120,))
    body = len_field(1, b"abcdefghi") + len_field(2, plain_feature(first))
    body += b"".join(plain_entry(*item) for item in fillers.items())
    message = len_field(1, len_field(1, body))
    assert message[3:6] == b"\x0a\x8a\x0a"
    assert_engine_agrees([message] * 20, [b"\x09abcdefghi", *names], way="plain")


def test_plain_entries_are_read_in_any_order_and_odd_ones_left_out() -> None:
    entries = {key: feature for key, feature in EVERY_FORM.items() if feature is not ABSENT}
    orders = itertools.islice(itertools.permutations(entries), 400)
    batch = [plain({key: entries[key] for key in keys}) for keys in orders]
    assert assert_engine_agrees(batch, way="plain") == 400
    assert assert_engine_agrees(batch, [b"int", b"none"], way="plain") == 400
    others = read(batch, [b"int"], way="plain").batch.unknown_keys(100)
    assert sorted(others) == sorted(entries.keys() - {b"int"})
    batch[7] = plain(entries | {b"string": Feature(BYTES, (b"a" * 128,))})
    batch[9] = plain(dict(list(entries.items())[:4]))  # lacks some
    batch[11] = plain({b"a key of \xc3\xa4": FIVE} | entries)
    batch[13] += plain({b"int": SIX})
    twice = [(b"int", SIX), *list(entries.items())[:-1]]
    batch[15] = len_field(1, b"".join(plain_entry(key, feature) for key, feature in twice))
    batch[398] = b""
    assert assert_engine_agrees(batch, EVERY_FORM, way="plain") == 395
    assert assert_engine_agrees([batch[9]] * 20, EVERY_FORM, way="plain") == 20


@pytest.mark.parametrize("longest", [4, 5, 12, 13, 28, 29, 60, 61, 90])
def test_plain_entries_have_keys_of_any_length(longest: int) -> None:
    """Of more bytes than the keys asked for, too."""
    content = {bytes([97 + n]) * size: FIVE for n, size in enumerate((1, longest - 1, longest, 95))}
    content = {key: feature for key, feature in content.items() if len(key) < 100}
    batch = [plain(content), plain(dict(reversed(content.items())))] * 10
    few = [key for key in content if len(key) <= longest]
    assert assert_engine_agrees(batch, way="plain") == 20
    assert assert_engine_agrees(batch, few, way="plain") == 20
    assert assert_engine_agrees(batch, [few[0], few[-1][:-1] + b"z"], way="plain") == 20


def test_several_layouts_are_used_in_a_batch() -> None:
    first, second = plain(EVERY_FORM), plain(dict(reversed(EVERY_FORM.items())))
    assert assert_engine_agrees([first] * 50 + [second] * 50) == 100
    assert assert_engine_agrees([first, second] * 50) == 100


@pytest.mark.parametrize("content", [*EVERY_FORM.values(), *(
    Feature(kind, values)  # type: ignore[arg-type]
    for kind, value in ((BYTES, b""), (BYTES, b"a" * 300), (FLOAT, 1), (INT64, 1), (INT64, -1))
    for values in ((), (value,), (value,) * 2, (value,) * 16, (value,) * 17, (value,) * 100)
)])  # fmt: skip
def test_every_form_of_a_value_has_a_layout(content: Feature) -> None:
    alone = {b"key": content}
    among = {b"before": FIVE, **alone, b"after": Feature(BYTES, (b"end",))}
    assert assert_engine_agrees([plain(alone)] * 40) == 40
    assert assert_engine_agrees([plain(among)] * 40) == 40
    assert assert_engine_agrees([plain(among)] * 40, [b"before", b"after"]) == 40


@pytest.mark.slow
@pytest.mark.parametrize("border", [2**7, 2**14, pytest.param(2**21, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [BYTES, FLOAT, INT64])
def test_lengths_around_where_a_length_takes_one_more_byte(border: int, kind: int) -> None:
    """Each of the nested lengths crosses the border in some of the messages."""
    lengths = range(border - 24, border + 4, 1 if border < 2**20 else 9)
    if kind == BYTES:
        contents = [Feature(kind, (b"x" * length,)) for length in lengths]
    elif kind == FLOAT:
        contents = [Feature(kind, (1,) * (length // 4)) for length in lengths]
    else:
        contents = [Feature(kind, (1,) * length) for length in lengths]
    repeats = 2 if border < 2**20 else 1
    batch = [plain({b"a": FIVE, b"key": f, b"z": SIX}) for f in contents * repeats]
    assert_engine_agrees(batch)
    assert_engine_agrees(batch[::-1])
    assert_engine_agrees(batch, [b"a", b"z"])


@pytest.mark.parametrize("n_bytes", [190, 230, 250, 300, 600, 3000])
@pytest.mark.parametrize("content", [FIVE, Feature(FLOAT, (1, 2)), Feature(FLOAT, (1,) * 60)])
def test_long_keys_are_read_before_a_short_or_cut_message(n_bytes: int, content: Feature) -> None:
    """No layout may look beyond the spare bytes, which are all that follow the last message."""
    key = b"k" * n_bytes
    message = plain({b"a": FIVE, key: content, b"z": content})
    short = [b"", b"\x0a", b"\x0a\x00", plain({b"a": FIVE}), *(message[:n] for n in (20, n_bytes))]
    for last in short:
        assert_engine_agrees([message] * 20 + [last])
        assert_engine_agrees([message] * 20 + [last], [key])


@pytest.mark.parametrize("n_before", range(6, 14))
def test_short_entries_before_a_long_key_are_no_longer_stretch(n_before: int) -> None:
    """Each is short enough for one stretch, but not all of them together."""
    pair = Feature(FLOAT, (1, 2))
    message = plain({**{b"%d" % i: pair for i in range(n_before)}, b"k" * 235: pair})
    assert assert_engine_agrees([message] * 20) == 20
    for last in (b"", b"\x0a\x00", message[:-1]):
        assert_engine_agrees([message] * 20 + [last])


@pytest.mark.parametrize("more", [{b"y": SIX}, {b"a": SIX}, {b"x": SIX, b"y": SIX}])
def test_entries_after_those_of_a_layout_are_seen(more: Features) -> None:
    usual = plain({b"a": FIVE, b"b": SIX})
    longer = len_field(1, usual[2:] + b"".join(plain_entry(key, f) for key, f in more.items()))
    batch = [usual] * 30 + [longer] + [usual] * 5
    assert assert_engine_agrees(batch, [b"a", b"b", b"x", b"y"]) == 35


@pytest.mark.parametrize("beyond", [1, 600, 2**20])
@pytest.mark.parametrize("n_after", [0, 3])
def test_nested_lengths_that_agree_and_lie_are_refused(beyond: int, n_after: int) -> None:
    """The lengths around a string reach beyond its message; only the outermost one is right."""
    follow = plain_entry(b"z", FIVE)

    def message(n: int) -> bytes:
        parts = [(b"\x0a", n + 15), (b"\x0a\x01a\x12", n + 8), (b"\x0a", n + 4), (b"\x0a", n)]
        heads = b"".join(tag + varint(size, 3) for tag, size in parts)
        return len_field(1, heads + b"x" * 20_000 + follow)

    good, lie = message(20_000), message(20_000 + beyond)
    batch = [good] * 10 + [lie] + [good] * n_after
    assert assert_engine_agrees([good] * 10) == 10
    assert refused(lie) or beyond <= len(follow)
    assert_engine_agrees(batch, [b"a", b"z"])
    assert_engine_agrees(batch, [b"z"])


@pytest.mark.parametrize("n_bytes", range(117, 122))
def test_lengths_that_do_not_fit_in_their_bytes_are_no_lengths(n_bytes: int) -> None:
    """One byte each, as in the others; from 128 on it is the first of several."""
    usual = [plain({b"a": Feature(BYTES, (b"x" * n,)), b"z": FIVE}) for n in range(1, 30)]
    entry = bytes([n_bytes]) + b"x" * n_bytes
    for start in (b"\x0a", b"\x0a", b"\x0a\x01a\x12"):  # of the string, its list, and the Feature
        entry = bytes([len(start) + len(entry)]) + start + entry
    odd = len_field(1, b"\x0a" + entry + plain_entry(b"z", FIVE))
    assert_engine_agrees([*usual, odd], [b"a", b"z"])
    assert_engine_agrees([*usual, odd], [b"z"])


@pytest.mark.parametrize("n_bytes", [1, 2, 3, 6])
def test_a_part_of_a_float_among_whole_ones_is_refused(n_bytes: int) -> None:
    batch = [plain({b"a": Feature(FLOAT, (1,) * (1 + i % 3))}) for i in range(40)]
    odd = len_field(2, len_field(2, len_field(1, bytes(n_bytes))))
    batch.insert(20, len_field(1, len_field(1, len_field(1, b"a") + odd)))
    assert refused(batch[20])
    assert_engine_agrees(batch)


A = plain_entry(b"a", FIVE)
LATER = plain_entry(b"a", SIX)
NO_GROUP_END = b"\x23"


def entry(*parts: bytes) -> bytes:
    return len_field(1, len_field(1, b"".join(parts)))


KEY = len_field(1, b"a")
VALUE = len_field(2, plain_feature(FIVE))
BAD_VALUE = len_field(2, b"\x1a\x03\x0a\x01\x80")

RULES: dict[str, tuple[bytes, Features | None]] = {
    "the last of two entries counts": (len_field(1, A + LATER), {b"a": SIX}),
    "features merge": (len_field(1, A) + len_field(1, LATER), {b"a": SIX}),
    "a last entry without kind counts": (len_field(1, A + plain_entry(b"a", ABSENT)), {b"a": ABSENT}),
    "values of an entry merge": (entry(KEY, VALUE, VALUE), {b"a": Feature(INT64, (5, 5))}),
    "the last key of an entry counts": (entry(KEY, VALUE, len_field(1, b"b")), {b"b": FIVE}),
    "value before key": (entry(VALUE, KEY), {b"a": FIVE}),
    "no key is the empty key": (entry(VALUE), {b"": FIVE}),
    "no value is no kind": (entry(KEY), {b"a": ABSENT}),
    "an empty entry": (entry(), {b"": ABSENT}),
    "the last kind counts": (
        entry(KEY, len_field(2, plain_feature(FIVE) + len_field(1, len_field(1, b"x")))),
        {b"a": Feature(BYTES, (b"x",))},
    ),
    "a kind that comes back starts anew": (
        entry(KEY, len_field(2, plain_feature(FIVE) + len_field(1, b"") + plain_feature(SIX))),
        {b"a": SIX},
    ),
    "an unknown field of a feature is no kind": (
        entry(KEY, len_field(2, plain_feature(FIVE) + len_field(9, b"x"))), {b"a": FIVE},
    ),
    "a list is of length-delimited bytes": (
        entry(KEY, len_field(2, plain_feature(FIVE) + b"\x10\1")), {b"a": FIVE},
    ),
    "an entry with an unknown field is put aside": (len_field(1, A) + entry(KEY, b"\x18\1"), {b"a": FIVE}),
    "an entry with a key of another type is put aside": (entry(KEY, VALUE, b"\x08\1"), {}),
    "an entry with a group is put aside": (entry(KEY, b"\x1b\x1c", VALUE), {}),
    "a value put aside must be sound": (entry(KEY, BAD_VALUE, b"\x18\1"), None),
    "a value that does not count must be sound": (len_field(1, entry(KEY, BAD_VALUE)[2:] + A), None),
    "a kind that does not count must be sound": (
        entry(KEY, len_field(2, b"\x1a\x03\x0a\x01\x80\x0a\x00")), None,
    ),
    "a key that does not count must be UTF-8": (entry(len_field(1, b"\xff"), KEY, VALUE), None),
    "a key must be UTF-8": (entry(len_field(1, b"a\xc3"), VALUE), None),
    "a surrogate is not UTF-8": (entry(len_field(1, b"\xed\xa0\x80"), VALUE), None),
    "bogus": (b"bogus", None),
    "a group that does not end": (NO_GROUP_END, None),
    "a group that did not start": (b"\x24", None),
    "features as a varint are unknown": (b"\x08\x05", {}),
    "features as a group are unknown": (b"\x0b" + A + b"\x0c", {}),
    "the number 0": (b"\x02\x00", None),
    "a number of 64 bits and more": (
        entry(KEY, len_field(2, len_field(3, len_field(1, b"\xff" * 9 + b"\x7f")))),
        {b"a": Feature(INT64, (-1,))},
    ),
}  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str, n: int) -> None:
    message, expected = RULES[rule]
    if expected is None:
        assert refused(message)
        if api_implementation.Type() != "python":
            assert EXAMPLES.wanted(message) is None
        raised(WireError, read, [message] * n, [b"a"])
        raised(WireError, read, [plain(EVERY_FORM)] * 40 + [message], [b"a"])
    else:
        assert reference.parse(message) == expected
        if api_implementation.Type() != "python":
            EXAMPLES.assert_reference_agrees(message)
        assert features_of(read([message] * n, [b"a", b"b", b""])) == [with_a_kind(expected)] * n


def peak_of(batch: list[bytes], keys: list[bytes], kind: Kind) -> int:
    """Return the most memory the engine held at once, in bytes, its input not counted."""
    buffer = buffer_of(batch)
    table = KeyTable(keys)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        read_batch = MessageBatch(*buffer, table, LayoutMemory())
        for feature in range(len(keys)):
            read_batch.lists(feature, kind)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n", [1, 12])
@pytest.mark.parametrize(("kind", "content", "most"), [
    (INT64, Feature(INT64, (1,) * 2**16), 60), (FLOAT, Feature(FLOAT, (1,) * 2**16), 4),
    (BYTES, Feature(BYTES, (b"x" * 2**18,)), 2), (BYTES, Feature(BYTES, (b"x",) * 2**12), 300),
])  # fmt: skip
def test_memory_is_a_multiple_of_the_input(n: int, kind: int, content: Feature, most: int) -> None:
    batch = [plain({b"a": content})] * n
    peak_of(batch, [b"a"], Kind(kind))  # what is made once, and kept
    if n == 1:  # read by the runtime: up to protobuf 6 that makes an object a number
        most = max(most, 12)
    assert peak_of(batch, [b"a"], Kind(kind)) < most * sum(map(len, batch)) + 2**20
