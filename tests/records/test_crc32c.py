"""The checksums equal the reference, which equals the published values."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.streams import ODD_LENGTHS
from tfrecord_lite.records import crc32c


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        # RFC 3720, appendix B.4, and the check value of CRC catalogues.
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_f2_published_values(data: bytes, crc: int) -> None:
    assert reference.crc32c(data) == crc
    assert crc32c.masked_crc32c(data) == crc32c.mask(np.array([crc], np.uint32))[0]


@pytest.mark.parametrize("is_found", [True, False])
def test_the_function_is_the_package_s_wherever_its_extension_is(
    monkeypatch: pytest.MonkeyPatch, is_found: bool
) -> None:
    if not is_found:  # as for finders that put packages elsewhere
        importlib.import_module("crc32c")
        monkeypatch.setattr("importlib.machinery.PathFinder.find_spec", lambda *_: None)
    assert crc32c._loaded()(b"123456789") == 0xE3069283


@given(st.binary(max_size=300))
def test_masked_crc_equals_the_reference(data: bytes) -> None:
    expected = reference.masked_crc32c(data)
    assert crc32c.masked_crc32c(data) == expected
    assert crc32c.masked_crc32c(memoryview(bytearray(data))) == expected


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_many_crcs_equal_each_alone(records: list[bytes]) -> None:
    crcs = crc32c.crcs_of(iter(records), len(records))
    assert crcs.dtype == np.uint32
    assert crcs.tolist() == [reference.masked_crc32c(record) for record in records]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=10))
def test_the_mask_of_many_is_the_mask_of_each(crcs: list[int]) -> None:
    expected = [((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF for c in crcs]
    assert crc32c.mask(np.array(crcs, np.uint32)).tolist() == expected


def test_crcs_of_lengths_at_every_odd_size_alone_and_together() -> None:
    expected = [reference.masked_crc32c(length.to_bytes(8, "little")) for length in ODD_LENGTHS]
    lengths = np.array(ODD_LENGTHS, np.uint64)
    assert crc32c.length_crcs(lengths).tolist() == expected
    assert [int(crc32c.length_crcs(lengths[i : i + 1])[0]) for i in range(lengths.size)] == expected
