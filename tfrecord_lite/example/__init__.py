"""Messages of tf.train to columns and back.

::

    proto          the messages of tf.train, as field numbers and tags
    content        what a record holds, guessed from its bytes
    digests        the hash of a record or of some features, for parts and duplicates

    decode/        Example messages to columns: the engine of all that follows
    parse          with a schema: columns per feature                   parse_example
    to_dicts       without one: a dictionary per message                decode_examples
    survey         without one: which features there are                infer_schema

    encode/        columns and dictionaries to Example messages         encode_examples
    sequence/      the same for SequenceExamples (to_dicts and survey serve both)

                      ┌─> parse ───> columns    ─┐
    bytes ─> decode/ ─┼─> to_dicts ─> dicts     ─┴─> encode/ ─> bytes
                      └─> survey ──> summary

:mod:`tfrecord_lite.wire` reads and writes fields; this package knows what they mean, and
:mod:`tfrecord_lite.convert` what values may be. No I/O.
"""
