"""Detecting what a record holds."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.samples import JPEG, event, feature, features, flower, odd, ranking, sequence
from tfrecord_lite.cli.console import json_line
from tfrecord_lite.cli.display import json_of
from tfrecord_lite.example.content import ContentType, detect, detect_all
from tfrecord_lite.messages import (
    BytesList,
    Example,
    Feature,
    FloatList,
    Int64List,
    SequenceExample,
)
from tfrecord_lite.sniff import text_of

names = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=6)
int64s = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4)
floats = st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=4)
some_features = st.one_of(
    st.lists(st.binary(max_size=8), min_size=1, max_size=4).map(
        lambda values: Feature(bytes_list=BytesList(value=values))
    ),
    floats.map(lambda values: Feature(float_list=FloatList(value=values))),
    int64s.map(lambda values: Feature(int64_list=Int64List(value=values))),
)
examples = st.dictionaries(names, some_features, min_size=1, max_size=4).map(
    lambda named: Example(features=features(**named))
)


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


class TestDetect:
    @pytest.mark.parametrize(
        ("record", "kind"),
        [
            (flower(0), ContentType.EXAMPLE), (odd(), ContentType.EXAMPLE),
            (sequence(3), ContentType.SEQUENCE_EXAMPLE), (ranking(2), ContentType.EXAMPLE_LIST),
            (ranking(0), ContentType.EXAMPLE_LIST), (event(3), ContentType.EVENT),
            (event(3) + b"\x1a\x0dbrain.Event:2", ContentType.EVENT),
            (b"\x08\x96\x01\x12\x03\x00\x01\x02", ContentType.PROTOBUF),
            (b"\x0a\x20" + b"x" * 32, ContentType.PROTOBUF),
            (b"plain words\tand\nlines\r\n", ContentType.TEXT),
            ("Grüße, 世界\u3000!".encode(), ContentType.TEXT), (b"abcdefghi", ContentType.TEXT),
            (b"", ContentType.EMPTY), (JPEG, ContentType.UNKNOWN),
            (b"bell \x07", ContentType.UNKNOWN), (b"\xff" * 30, ContentType.UNKNOWN),
        ],
    )  # fmt: skip
    def test_a_record_is_detected_from_its_bytes(self, record: bytes, kind: ContentType) -> None:
        assert detect(record).type is kind

    @given(examples)
    def test_every_example_with_values_and_names_of_text_is_told(self, example: Example) -> None:
        content = detect(example.SerializeToString())
        assert content.type is ContentType.EXAMPLE
        assert content.message == example

    @pytest.mark.parametrize("name", ["\n", "\n\n", "\nline", "\n\ttabs and more", "a\nb"])
    def test_a_name_may_begin_with_a_line_break(self, name: str) -> None:
        example = Example(features=features(**{name: feature(5)}))
        assert detect(example.SerializeToString()).type is ContentType.EXAMPLE
        assert detect_all([example.SerializeToString()] * 2) == [ContentType.EXAMPLE]

    @given(st.lists(examples, min_size=1, max_size=3), st.none() | examples)
    def test_lists_of_examples_are_known(self, items: Any, context: Example | None) -> None:
        parts = [(1, item) for item in items] + [(2, context)] * (context is not None)
        record = b"".join(
            bytes([number << 3 | 2]) + _varint(len(encoded)) + encoded
            for number, message in parts
            for encoded in [message.SerializeToString() if message else b""]
        )
        assert detect(record).type is ContentType.EXAMPLE_LIST

    @given(st.binary(max_size=200), st.sampled_from([None, *ContentType]))
    def test_any_bytes_are_something(self, record: bytes, likely: ContentType | None) -> None:
        content = detect(record, likely)
        assert content.record == record
        assert json.loads(json_line(json_of(content), is_ascii=True)) == json_of(content)

    def test_what_is_likely_decides_where_the_bytes_do_not(self) -> None:
        no_kinds = Example(features=features(a=Feature())).SerializeToString()
        context_only = SequenceExample(context=features(a=feature(1))).SerializeToString()
        assert detect(b"", ContentType.EXAMPLE).message == Example()
        assert detect(no_kinds).type is ContentType.EXAMPLE
        no_values = b"\n\x05\n\x03\n\x01a"  # a string in a message in a message
        assert detect(no_values).type is ContentType.PROTOBUF
        assert detect(no_values, ContentType.EXAMPLE).type is ContentType.EXAMPLE
        assert detect(context_only).type is ContentType.EXAMPLE
        assert (
            detect(context_only, ContentType.SEQUENCE_EXAMPLE).type is ContentType.SEQUENCE_EXAMPLE
        )
        assert detect(sequence(2), ContentType.EXAMPLE).type is ContentType.SEQUENCE_EXAMPLE
        assert detect(JPEG, ContentType.EXAMPLE).type is ContentType.UNKNOWN

    def test_a_guess_names_each_kind_once_the_most_frequent_first(self) -> None:
        assert detect_all([]) == []
        assert detect_all([b"", b""]) == [ContentType.EMPTY]
        assert detect_all([flower(0), b"", b"", b""]) == [ContentType.EXAMPLE]
        of_both = [ContentType.EXAMPLE, ContentType.TEXT]
        assert detect_all([b"text", flower(0), flower(1)]) == of_both
        assert detect_all([sequence(1), flower(0)]) == [ContentType.SEQUENCE_EXAMPLE]


@given(st.binary(max_size=20))
def test_text_gives_its_bytes_back(data: bytes) -> None:
    text = text_of(data)
    assert text is None or text.encode() == data


def value_of(value: Any) -> Any:
    """Read a value back from JSON, as the documentation says to."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict):
        return base64.b64decode(value["base64"]) if "base64" in value else float(value["float"])
    return value


class TestJson:
    @given(examples)
    def test_an_example_can_be_made_again_from_its_line(self, example: Example) -> None:
        record = example.SerializeToString()
        line = json_line(json_of(detect(record, ContentType.EXAMPLE)), is_ascii=False)
        again = {name: feature(*map(value_of, values)) for name, values in json.loads(line).items()}
        assert "\n" not in line
        assert Example(features=features(**again)) == example

    def test_what_json_has_no_words_for(self) -> None:
        assert json_of(detect(odd())) == {
            "key": [{"base64": "AP8="}, "text"],
            "none": None,
            "ratio": [0.1, {"float": "NaN"}, 3.0],
            "zero": [],
        }
        assert json_of(detect(ranking(1))) == {
            "context": {"query": ["tulip"]},
            "examples": [{"relevance": [0]}],
        }
        assert json_of(detect(b"plain")) == {"text": "plain"}
        assert json_of(detect(b"\x00\xff")) == {"base64": "AP8="}

    def test_a_line_can_be_kept_to_ascii(self) -> None:
        assert json_line({"a": "ü"}, is_ascii=True) == '{"a": "\\u00fc"}'
        assert json_line({"a": "ü"}, is_ascii=False) == '{"a": "ü"}'
