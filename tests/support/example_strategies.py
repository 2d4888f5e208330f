"""The contents of Examples, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.example_messages import FLOATS
from tests.support.reference_example import ABSENT, BYTES, FLOAT, INT64, Feature
from tfrecord_lite import testing

int64s = testing.int64s()
float_bits = st.one_of(st.sampled_from(FLOATS), st.integers(0, 2**32 - 1))
strings = st.binary(max_size=12)

features = st.one_of(
    st.just(ABSENT),
    st.lists(strings, max_size=4).map(lambda v: Feature(BYTES, tuple(v))),
    st.lists(float_bits, max_size=6).map(lambda v: Feature(FLOAT, tuple(v))),
    st.lists(int64s, max_size=6).map(lambda v: Feature(INT64, tuple(v))),
)
examples = st.dictionaries(testing.keys().map(str.encode), features, max_size=5)
