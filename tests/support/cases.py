"""Features, and batches of messages that fit them, but for one at times: what TensorFlow and this library are asked to parse.

Nothing is drawn that TensorFlow dies of (rules G5, Q15, S5, W15 and W20).
"""

from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.support.specifications import feature_specs, sequence_feature_specs
from tfrecord_lite import testing
from tfrecord_lite.messages import SequenceExample
from tfrecord_lite.schema import FixedLenFeature, RaggedFeature, SparseFeature
from tfrecord_lite.testing import encodings
from tfrecord_lite.testing.reencode import len_field

__all__ = ["Case", "cases"]


@dataclass(frozen=True, slots=True)
class Case:
    """Something to parse."""

    parts: tuple[dict[str, Any], ...]
    """The features of an Example, or those of the context and of the lists of a SequenceExample."""
    records: list[bytes]
    single: bool
    """Whether the only message is to be parsed by itself."""

    @property
    def is_sequence(self) -> bool:
        """Whether the messages are SequenceExamples."""
        return len(self.parts) == 2


@st.composite
def cases(draw: DrawFn, *, is_sequence: bool = False) -> Case:
    """Draw features, and none, some or many messages, of which one may have a fault."""
    if is_sequence:
        parts: Any = draw(sequence_feature_specs())
    else:
        parts = (draw(feature_specs()),)
    parts = tuple({name: _as_constant(spec) for name, spec in part.items()} for part in parts)
    fitting = testing.sequence_examples_for if is_sequence else testing.examples_for
    messages: list[Any] = draw(st.lists(fitting(*parts), min_size=1, max_size=4))
    for message in messages if draw(st.booleans()) else []:
        context = message.context if is_sequence else message.features
        for key in UNASKED:
            if key not in context.feature:
                context.feature[key].CopyFrom(draw(testing.feature_messages(2)))
    n_messages = draw(st.sampled_from([1, 1, 2, 3, 5, 8, 33, 40, 0]))
    records = [draw(_written(message, parts)) for message in messages]
    records = list(islice(cycle(records), n_messages))
    if n_messages and draw(st.booleans()):
        records[draw(st.integers(0, n_messages - 1))] = draw(_spoilt(messages[0], parts))
    if not is_sequence:
        for name, spec in list(parts[0].items()):
            if draw(st.integers(0, 6)) == 6 and (twin := _twin_of(draw, name, spec)):
                parts[0][f"{name} twin"] = twin
    return Case(parts, records, single=n_messages == 1 and draw(st.booleans()))


def _as_constant(spec: Any) -> Any:
    """Leave out negative zeros in a default: TensorFlow keeps constants by value, and finds 0.0."""
    default = getattr(spec, "default_value", None)
    if default is None or spec.dtype == "string":
        return spec
    return replace(spec, default_value=np.asarray(default, spec.dtype) + np.array(0, spec.dtype))


def _twin_of(draw: DrawFn, name: str, spec: Any) -> Any:
    """Return a feature that reads a key of another one; at times as another dtype."""
    if isinstance(spec, SparseFeature) and isinstance(spec.index_key, list):
        return SparseFeature(spec.index_key[::-1], spec.value_key, spec.dtype, spec.size[::-1])
    key = getattr(spec, "value_key", None) or name
    if not isinstance(spec, RaggedFeature) or not key:
        return None
    dtype = draw(st.sampled_from([spec.dtype, spec.dtype, "int64"]))
    return RaggedFeature(dtype, key, (), spec.row_splits_dtype, draw(st.booleans()))


@st.composite
def _written(draw: DrawFn, message: Any, parts: tuple[dict[str, Any], ...]) -> bytes:
    """Write a message, at times in another encoding."""
    # TensorFlow writes past its memory for too many floats that are not packed.
    may_be_odd = not any(isinstance(spec, FixedLenFeature) for p in parts for spec in p.values())
    if may_be_odd and draw(st.integers(0, 4)) == 4:
        return draw(encodings(message))
    return bytes(message.SerializeToString(deterministic=True))


FAR = (2**32, 2**32 + 1, -(2**31), 2**31, 10**15, 2**63 - 1, -(2**63))
JUNK = (b"\xff", b"\x12\x05a", b"\x08", b"\x1a\x02\x0a\x05")
UNASKED = ("unknown", "un")
FAULTS = ("missing", "other", "more", "less", "changed", "far", "steps", "junk", "cut")


@st.composite
def _spoilt(draw: DrawFn, message: Any, parts: tuple[dict[str, Any], ...]) -> bytes:
    """Write a message with a fault in a feature or a list; for some features it is none."""
    message, fault = (
        type(message).FromString(message.SerializeToString()),
        draw(st.sampled_from(FAULTS)),
    )
    is_sequence = isinstance(message, SequenceExample)
    maps = [message.context.feature] if is_sequence else [message.features.feature]
    maps += [message.feature_lists.feature_list] if is_sequence else []
    places = [(i, key) for i, some in enumerate(maps) for key in some if key not in UNASKED]
    if places and fault != "cut":
        number, key = draw(st.sampled_from(sorted(places)))
        steps: Any = maps[number][key].feature if number else [maps[number][key]]
        if fault == "missing":
            del maps[number][key]
        elif fault == "junk":
            entry = len_field(1, key.encode()) + len_field(2, draw(st.sampled_from(JUNK)))
            return bytes(message.SerializeToString() + len_field(1 + number, len_field(1, entry)))
        elif fault == "steps" and number:
            if draw(st.booleans()):
                del steps[-1:]
            else:
                steps.add()
        elif steps:
            # A far row number would need memory for all rows before it.
            may_be_far = fault == "far" and key not in _row_ids(parts[number])
            _change(draw, draw(st.sampled_from(steps)), fault, FAR if may_be_far else range(-1, 4))
    out = bytes(message.SerializeToString(deterministic=True))
    # TensorFlow dies of strings that are cut, in sequences.
    return out[: draw(st.integers(0, len(out)))] if fault == "cut" and not is_sequence else out


def _change(draw: DrawFn, feature: Any, fault: str, numbers: Any) -> None:
    kind = feature.WhichOneof("kind")
    if kind is None or fault == "other":
        feature.CopyFrom(draw(testing.feature_messages()))
        return
    values = getattr(feature, kind).value
    new = {"bytes_list": b"new", "float_list": 0.5}.get(kind) or draw(st.sampled_from(numbers))
    if fault == "less":
        del values[-1:]
    elif fault == "more" or not values:
        values.append(new)
    else:
        values[draw(st.integers(0, len(values) - 1))] = new


def _row_ids(features: dict[str, Any]) -> set[str]:
    partitions = [part for spec in features.values() for part in getattr(spec, "partitions", ())]
    return {part.key for part in partitions if isinstance(part, RaggedFeature.ValueRowIds)}
