"""Where the answers to a generated case of SequenceExamples may differ; as :mod:`.known_differences`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tests.parity import known_differences as known
from tests.parity.cases import Case as ExampleCase
from tests.parity.parsing import agree, bits
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import SequenceExample
from tfrecord_lite.schema import RaggedFeature

if TYPE_CHECKING:
    from tests.parity.answers import Answer
    from tests.parity.sequence_cases import Case
    from tests.parity.sequence_parsing import SequenceParsing

__all__ = ["judge"]


def judge(both: SequenceParsing, case: Case) -> Counter[str]:
    """Run both on a case, check the answers, and count them by kind.

    Raises
    ------
    AssertionError
        If they differ, and should not.
    """
    theirs, ours = _ask(both, case, case.records)
    misfits = _misfits(case)
    if misfits:  # never silent, whatever TensorFlow says
        assert isinstance(ours.error, InvalidArgumentError), f"{misfits}, but {ours}"
    try:
        agree(theirs, ours)
    except AssertionError:
        return _excuse(both, case, misfits, ours)
    return Counter({"equal results" if theirs.error is None else "same error": 1})


def _ask(both: SequenceParsing, case: Case, records: list[bytes]) -> tuple[Answer, Answer]:
    if case.single:
        return both.ask_single(records[0], case.context, case.lists)
    return both.ask_batch(records, case.context, case.lists)


def _excuse(
    both: SequenceParsing, case: Case, misfits: dict[tuple[str, str], str], ours: Answer
) -> Counter[str]:
    """Find the rule by which the answers may differ."""
    canonical = [_canonical(record) for record in case.records]
    if None in canonical:
        assert isinstance(ours.error, InvalidArgumentError), f"{ours}"
        return Counter({"Q: no message to protobuf, an error here": 1})
    plain = [record for record in canonical if record is not None]
    theirs, _ = _ask(both, case, plain)
    try:
        agree(theirs, ours)
    except AssertionError:
        pass
    else:
        return Counter({"Q: read as protobuf reads it": 1})
    if misfits:
        assert isinstance(ours.error, InvalidArgumentError)
        assert ours.error.reason is Reason.BAD_PARTITION, f"{theirs}; {ours}"
        rest = replace(
            case,
            context={n: spec for n, spec in case.context.items() if ("context", n) not in misfits},
            lists={n: spec for n, spec in case.lists.items() if ("list", n) not in misfits},
        )
        if rest.context or rest.lists:  # the others still have to be equal
            _agree_but_for_splits(rest, *_ask(both, rest, plain))
        return Counter(dict.fromkeys(misfits.values(), 1))
    return _agree_but_for_splits(case, theirs, ours)


def _canonical(record: bytes) -> bytes | None:
    """Return a message without unknown fields, by the protobuf runtime; None if that rejects it."""
    try:
        found = SequenceExample.FromString(record)
    except DecodeError:
        return None
    found.DiscardUnknownFields()
    return found.SerializeToString()


def _agree_but_for_splits(case: Case, theirs: Answer, ours: Answer) -> Counter[str]:
    """Check that answers are equal except for rule G8 in a context, which is not an error here."""
    lacking = known._lacks_splits(_context_of(case)) if case.single else set()
    if theirs.error is not None and lacking:
        assert re.search("slice index 0|Dimension -1", str(theirs.error)), f"{theirs}; {ours}"
        assert ours.error is None, ours
        return Counter({"G8: no splits, [0] here": 1})
    if theirs.error is not None or ours.error is not None:
        agree(theirs, ours)
        return Counter()
    found: Counter[str] = Counter()
    for name, result in ours.value.items():
        other = theirs.value[name]
        if bits(result) != bits(other):
            assert name.removeprefix("context ") in lacking, f"{name}: {other}; {result}"
            assert result.row_splits.tolist() == [0] * len(result.row_splits)
            found["G8: no splits, [0] here"] = 1
    return found


# Predicates


def _context_of(case: Case) -> ExampleCase:
    """Return the case of the context alone: as an Example, a message is its context."""
    return ExampleCase(case.context, case.records, case.single)


def _misfits(case: Case) -> dict[tuple[str, str], str]:
    """Name the rules that messages break which TensorFlow may let pass, by feature."""
    found = {("context", name): rule for name, rule in known._misfits(_context_of(case)).items()}
    messages = [_steps(record) for record in case.records]
    if None in messages:
        return {}
    for name, spec in case.lists.items():
        for steps in messages:
            assert steps is not None
            rule = isinstance(spec, RaggedFeature) and _list_misfit(spec, name, steps)
            if rule:
                found["list", name] = rule
    return found


def _steps(record: bytes) -> dict[str, list[list[Any]]] | None:
    """Return the values of all steps of a message's lists; None if it is not a message."""
    try:
        lists = SequenceExample.FromString(record).feature_lists.feature_list
    except DecodeError:
        return None
    return {
        key: [
            list(getattr(step, kind).value) if (kind := step.WhichOneof("kind")) else []
            for step in feature_list.feature
        ]
        for key, feature_list in lists.items()
    }


def _list_misfit(spec: RaggedFeature, name: str, steps: dict[str, list[list[Any]]]) -> str | None:
    values = name if spec.value_key is None else spec.value_key
    keys = [values, *(p.key for p in spec.partitions if hasattr(p, "key"))]
    found = [steps.get(key, []) for key in keys]
    if any(len(some) != len(found[0]) for some in found):
        return "L5: partitions of other numbers of steps"
    for row in zip(*found, strict=True):
        rule = known._ragged_misfit(spec, name, dict(zip(keys, row, strict=True)), single=False)
        if rule:
            return f"L5, {rule}"
    return None
