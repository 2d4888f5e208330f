"""Messages that were drawn for features: TensorFlow and this library parse them to the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfrecord_lite import testing

if TYPE_CHECKING:
    from tests.parity.parsing import Parsing

SOME = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SOME
@given(testing.feature_specs(), st.data())
def test_examples_parse_alike(
    parsing: Parsing, features: dict[str, Any], data: st.DataObject
) -> None:
    one = testing.examples_for(features)
    records = [m.SerializeToString() for m in data.draw(st.lists(one, min_size=1, max_size=3))]

    parsing.batch(records, features)
    parsing.single(records[0], features)


@SOME
@given(testing.sequence_feature_specs(), st.data())
def test_sequence_examples_parse_alike(
    sequences: Parsing, specs: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    one = testing.sequence_examples_for(*specs)
    records = [m.SerializeToString() for m in data.draw(st.lists(one, min_size=1, max_size=3))]

    sequences.batch(records, *specs)
    sequences.single(records[0], *specs)
