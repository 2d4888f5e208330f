"""Real files are read as TensorFlow read them."""

import hashlib
from collections.abc import Iterable

import pytest

from tests.support.corpus import CorpusFile, corpus_files, corpus_path
from tests.support.read_outcome import outcome_of
from tfrecord_lite import TFRecordReader
from tfrecord_lite.errors import DataLossError
from tfrecord_lite.reader import tf_record_iterator

every_file = pytest.mark.parametrize("sample", corpus_files())
NAMES = {"NONE": "", "GZIP": "GZIP", "ZLIB": "ZLIB"}


def digest(records: Iterable[bytes]) -> tuple[int, str]:
    """Return how many records there are, and the hash TRUTH.jsonl has of them."""
    sha256, n_records = hashlib.sha256(), 0
    for record in records:
        sha256.update(len(record).to_bytes(8, "little") + record)
        n_records += 1
    return n_records, sha256.hexdigest()


def truth(sample: CorpusFile) -> tuple[int, str]:
    return sample.truth["records"], sample.truth["stream_sha256"]


def test_the_corpus_has_files_of_every_kind() -> None:
    if corpus_path() is None:
        pytest.skip("no sample corpus")
    truths = [parameter.values[0].truth for parameter in corpus_files()]  # type: ignore[union-attr]
    assert {truth["compression"] for truth in truths} >= {"NONE", "GZIP", "ZLIB"}
    assert sum(truth["records"] for truth in truths) > 100


@every_file
def test_records_are_right_with_the_compression_found_out(sample: CorpusFile) -> None:
    reader = TFRecordReader(sample.path)
    assert digest(reader) == truth(sample)


@every_file
def test_records_are_right_with_the_compression_given(sample: CorpusFile) -> None:
    name = NAMES[sample.truth["compression"]]
    assert digest(TFRecordReader(sample.path, name)) == truth(sample)
    assert digest(tf_record_iterator(sample.path, name)) == truth(sample)


@every_file
def test_lengths_are_right(sample: CorpusFile) -> None:
    lengths = [
        length
        for block in TFRecordReader(sample.path).blocks()
        for length in block.lengths.tolist()
    ]
    assert min(lengths, default=None) == sample.truth["min_len"]
    assert max(lengths, default=None) == sample.truth["max_len"]


@every_file
def test_a_wrong_compression_is_data_loss_as_in_tensorflow(sample: CorpusFile) -> None:
    for name, tried in sample.truth["tried"].items():
        records, loss = outcome_of(TFRecordReader(sample.path, NAMES[name]))
        error = None if loss is None else DataLossError.__name__
        assert (len(records), error) == (tried["records"], tried["error"]), name
