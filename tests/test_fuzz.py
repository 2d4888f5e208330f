"""The fuzz targets and their driver: short, with the same inputs each time."""

import random
from typing import Any

import pytest

from tests.fuzz import targets
from tests.fuzz.one import mutated
from tests.fuzz.targets import READ, TARGETS

NEEDS = {"tensors": "dtypes", "schemas": "yaml"}


def target(name: str, *more: str) -> Any:
    """Return the parameters of a test of a target, which may need an extra."""
    marks = [pytest.mark.needs(NEEDS[name])] if name in NEEDS else []
    return pytest.param(name, *more, marks=marks)


every_target = pytest.mark.parametrize("name", list(map(target, TARGETS)))


@every_target
def test_seeds_and_damaged_seeds_are_read_or_rejected(name: str) -> None:
    check, seeds = TARGETS[name].check, TARGETS[name].seeds()
    rng = random.Random(5)
    words = {check(data) for data in seeds}
    damaged = {check(mutated(rng, rng.choice(seeds), rng.choice(seeds))) for _ in range(50)}
    assert READ in words
    assert len(words | damaged) > 1


@every_target
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff", bytes(40), b"\xff" * 40])
def test_inputs_without_sense_are_inputs(name: str, data: bytes) -> None:
    assert TARGETS[name].check(data) in {
        targets.READ,
        targets.REJECTED,
        targets.UNSETTLED,
        targets.LENIENT,
    }


@pytest.mark.parametrize(("name", "broken"), [
    ("framing", "tests.support.reference.masked_crc32c"), ("streams", "tests.fuzz.targets.inflate"),
    ("members", "tests.fuzz.targets.inflate"), ("wire", "tests.support.agreement.EXAMPLES.runtime"),
    ("sequences", "tests.support.agreement.SEQUENCES.runtime"),
    target("tensors", "tests.fuzz.targets.reference_tensor"),
    ("events", "tests.fuzz.targets.rows_of_runtime"),
])  # fmt: skip
def test_disagreement_is_a_finding(name: str, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"inflate": (b"", True), "masked_crc32c": 0}.get(broken.rpartition(".")[2])
    broken_target = TARGETS[name]
    seeds = broken_target.seeds()
    monkeypatch.setattr(broken, lambda *_, **__: other)
    with pytest.raises((targets.Disagreement, AttributeError, TypeError)):
        _ = [broken_target.check(data) for data in seeds]
