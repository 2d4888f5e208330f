"""Writing and its options: rules O1 to O9, asked of both."""

import inspect
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecord_lite
from tests.parity.answers import Answer, Both, ask, assert_same, assert_same_error, read_ours
from tests.parity.rules import deviation, rule
from tests.parity.test_records import (
    COMPRESSED,
    COMPRESSIONS,
    FILE,
    RECORDS,
    compressed,
    framed,
    zlib_itself,
)
from tfrecord_lite import TFRecordWriter
from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.files.compression import TFRecordCompressionType, TFRecordOptions

MIXED = [bytes([number % 7]) * 300 + b"%d" % (number**5) * 20 for number in range(500)]


@rule("O1")
def test_compression_types_are_numbers(both: Both) -> None:
    theirs = both.tf.compat.v1.io.TFRecordCompressionType
    for name in ("NONE", "ZLIB", "GZIP"):
        assert getattr(TFRecordCompressionType, name) == getattr(theirs, name)
    assert [int(member) for member in TFRecordCompressionType] == [0, 1, 2]


@rule("O1")
def test_options_have_the_same_parameters_and_keep_them(both: Both) -> None:
    theirs, ours = both.tf.io.TFRecordOptions, TFRecordOptions
    parameters = list(inspect.signature(theirs).parameters.values())
    same = inspect.signature(ours).parameters.values()
    assert [(p.name, p.default) for p in same] == [(p.name, p.default) for p in parameters]
    for values in ([None] * 9, [2, 3, 1000, 2000, 15, 9, 8, 7, 1], ["ZLIB", *range(8)]):
        keeps = [vars(options(*values)) for options in (theirs, ours)]
        assert keeps[1] == keeps[0]


@rule("O2")
@pytest.mark.parametrize("value", [
    *(None, "", 0, [], 1, 2, True, 2.0, np.int64(1), "ZLIB", np.str_("GZIP")),
    *(TFRecordCompressionType.ZLIB, "LZ4", b"GZIP", 3, -1, 1.5, (1,)),
], ids=repr)  # fmt: skip
def test_what_stands_for_a_compression(both: Both, value: Any) -> None:
    their_class, our_class = both.tf.io.TFRecordOptions, TFRecordOptions
    name_theirs = ask(their_class.get_compression_type_string, value)
    name_ours = ask(our_class.get_compression_type_string, value)
    assert_same(name_theirs, name_ours)
    made_theirs, made_ours = ask(their_class, value), ask(our_class, value)
    assert_same_error(made_theirs, made_ours)
    if made_ours.error is None:
        nested_theirs = their_class(their_class(made_theirs.value))
        nested_ours = our_class(our_class(made_ours.value))
        assert our_class.get_compression_type_string(
            nested_ours
        ) == their_class.get_compression_type_string(nested_theirs)
    else:
        assert isinstance(made_ours.error, InvalidArgumentError)
        assert made_ours.error.reason is Reason.BAD_ARGUMENT


@deviation("O2")
@pytest.mark.parametrize("name", ["ZSTD", "BZ2", "gz", "Zstd", "none"])
def test_more_compressions_and_words_for_them_are_known_here(both: Both, name: str) -> None:
    assert isinstance(ask(both.tf.io.TFRecordOptions, name).error, ValueError)
    assert isinstance(ask(both.tf.io.TFRecordWriter, both.path(), name).error, ValueError)
    names = {"gz": "GZIP", "none": ""}
    found = TFRecordOptions.get_compression_type_string(TFRecordOptions(name))
    assert found == names.get(name, name.upper())


@rule("O3")
@deviation("O3")
def test_where_files_are_and_may_be(both: Both) -> None:
    for writer_class in (both.tf.io.TFRecordWriter, TFRecordWriter):
        path = both.path(FILE)
        assert isinstance(ask(writer_class, path, "SNAPPY").error, ValueError)
        assert Path(path).read_bytes() == FILE
        given: Any
        for given in (path, path.encode()):
            Path(path).write_bytes(FILE)
            writer = writer_class(given)
            assert Path(path).read_bytes() == b""  # at once
            writer.close()
            assert Path(path).read_bytes() == b""
    wrong: Any
    for wrong in (str(both.folder / "none" / "file"), "", str(both.folder), None, 3):
        theirs, ours = ask(both.tf.io.TFRecordWriter, wrong), ask(TFRecordWriter, wrong)
        assert theirs.error is not None
        assert_same(theirs, ours)
    path_object = Path(both.path(name="object"))
    assert isinstance(ask(both.tf.io.TFRecordWriter, path_object).error, TypeError)
    with TFRecordWriter(path_object) as ours_writer:
        ours_writer.write(b"record")
    assert path_object.read_bytes() == framed(b"record")


@rule("O3")
def test_options_may_be_an_object_a_name_or_a_number(both: Both) -> None:
    def written(module: Any, options: Any) -> bytes:
        path = both.path(name="chosen")
        with module.TFRecordWriter(path, options) as writer:
            writer.write(b"record")
        return Path(path).read_bytes()

    options: Any
    for options in ("", 0, "ZLIB", 1, TFRecordCompressionType.GZIP):
        assert written(tfrecord_lite, options) == written(both.tf.io, options)
    for options in (3, "LZ4", b"GZIP", 1.5):
        assert_same(*(ask(written, module, options) for module in (both.tf.io, tfrecord_lite)))


ACCEPTED: list[Any] = [
    *(b"bytes", b"", bytearray(b"bytearray"), np.bytes_(b"numpy"), np.bytes_(b"")),
    *("text", "", "\u00e9\u4e16\U0001f600\0", np.str_("numpy")),
]
REJECTED: list[Any] = [
    *(None, 3, 1.5, True, [b"list"], (b"tuple",), memoryview(b"view"), object()),
    *(np.zeros(3, np.uint8), np.array(b"array"), np.array("o", object), np.int64(3)),
]


@rule("O4")
@deviation("O4")
def test_write_takes_bytes_and_text_and_goes_on_after_the_rest(both: Both) -> None:
    data = both.write_same(ACCEPTED)
    expected = [bytes(r) if not isinstance(r, str) else r.encode() for r in ACCEPTED]
    assert both.read_same(data) == Answer(expected)
    surrogates = {both.tf.io.TFRecordWriter: TypeError, TFRecordWriter: UnicodeEncodeError}
    for writer_class, error in surrogates.items():  # text that is not Unicode
        path = both.path(name="rejecting")
        with writer_class(path) as writer:
            for value in REJECTED:
                assert isinstance(ask(writer.write, value).error, TypeError)
            assert isinstance(ask(writer.write, "\ud800").error, error)
            writer.write(b"behind")
        assert Path(path).read_bytes() == framed(b"behind")


@rule("O5")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_after_close_only_close_is_allowed(both: Both, compression: str) -> None:
    answers: list[list[Answer]] = []
    for writer_class in (both.tf.io.TFRecordWriter, TFRecordWriter):
        path = both.path(name="closed")
        with writer_class(path, compression) as writer:
            assert writer.write(b"record") is None
        answers.append(
            [ask(writer.write, b"more"), ask(writer.flush), ask(writer.close), ask(writer.close)]
        )
        assert both.read_same(Path(path).read_bytes(), compression) == Answer([b"record"])
    for theirs, ours in zip(*answers, strict=True):
        assert_same(theirs, ours)
    assert isinstance(answers[1][0].error, FailedPreconditionError)


@rule("O6")
@deviation("O6", "C3")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_flush_makes_what_was_written_readable(both: Both, compression: str) -> None:
    for number in range(1, 4):
        records, flushed = [b"record"] * number, []
        for writer_class in (both.tf.io.TFRecordWriter, TFRecordWriter):
            path = both.path(name="flushed")
            with writer_class(path, compression) as writer:
                for record in records:
                    writer.write(record)
                    assert compression or len(Path(path).read_bytes()) < len(framed(*records))
                writer.flush()
                flushed.append(Path(path).read_bytes())
        assert flushed[1] == flushed[0]
        theirs, ours = both.read(flushed[0], compression)
        assert theirs == Answer(records)
        assert ours.value == records
        if compression:  # a stream without its end
            assert ours.reason is Reason.COMPRESSED_TRUNCATED
        else:
            assert ours.error is None


@zlib_itself
@rule("O8")
@pytest.mark.parametrize("compression", COMPRESSED)
@pytest.mark.parametrize("options", [
    *({"window_bits": bits} for bits in (-15, -9)),
    *({"input_buffer_size": size, "output_buffer_size": size} for size in (100, 2**20)),
    {"compression_method": zlib.DEFLATED},
], ids=str)  # fmt: skip
def test_options_go_to_zlib_as_is(both: Both, compression: str, options: dict[str, int]) -> None:
    both.write_same(MIXED, {"compression_type": compression, **options}, [10, 400])


@rule("O8")
@pytest.mark.parametrize("compression", COMPRESSED)
@pytest.mark.parametrize(
    "options", [{"compression_level": 0}, *({"flush_mode": mode} for mode in range(4))]
)
def test_some_options_change_bytes(both: Both, compression: str, options: dict[str, int]) -> None:
    for data in both.write(MIXED, {"compression_type": compression, **options}, [10, 400]):
        assert both.read_same(data, compression) == Answer(MIXED)


@rule("O8")
def test_buffer_sizes_and_flush_mode_mean_nothing_without_compression(both: Both) -> None:
    options = {"flush_mode": 3, "input_buffer_size": 9, "output_buffer_size": 9, "mem_level": 0}
    assert both.write_same(RECORDS, options, [1]) == FILE


@deviation("O8")
@pytest.mark.parametrize("options", [
    {"compression_level": 10}, {"mem_level": 0}, {"mem_level": 10}, {"window_bits": 40},
], ids=str)  # fmt: skip
def test_what_zlib_rejects_ends_tensorflow_s_process_and_is_an_error_here(
    both: Both, died: Callable[[str], bool], options: dict[str, Any]
) -> None:
    path = both.path(name="rejected")
    assert died(f"tf.io.TFRecordWriter({path!r}, tf.io.TFRecordOptions('ZLIB', **{options}))")
    ours = ask(TFRecordWriter, path, TFRecordOptions("ZLIB", **options))
    assert isinstance(ours.error, InvalidArgumentError)
    assert ours.error.reason is Reason.BAD_ARGUMENT


@rule("O9")
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize(
    "options", [{"window_bits": -15, "compression_level": 99, "mem_level": 0, "flush_mode": 77}]
)
def test_readers_use_compression(both: Both, compression: str, options: dict[str, int]) -> None:
    path = both.path(compressed(FILE, compression))
    theirs = both.read_theirs(path, both.tf.io.TFRecordOptions(compression, **options))
    ours = read_ours(path, TFRecordOptions(compression, **options))
    assert_same(theirs, ours)
    assert ours == Answer(RECORDS)
