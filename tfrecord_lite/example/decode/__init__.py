"""Example messages to columns, many at a time.

::

    bytes ─> batch ─┬─> runtime         a few messages: the protobuf runtime
                    ├─> layout          messages that look alike: check all bytes but the values
                    ├─> plain           short entries in any order: all at once, keys by a hash
                    └─> entries         any encoding
                          │
                          ╰─> Lists ─> reader ─> build ─> Lists, divided and restored ─> result

    batch         messages to the values of each feature, by the fastest reader that can
    runtime       a few messages, read by the protobuf runtime
    layout        what messages of one writer look like, learnt from a few; the values where they do
    plain         messages with short entries, in any order
    entries       messages in any legal encoding: their map entries, which list counts, its values
    reader        prepared specifications and messages to lists, and these to results
    build         values checked and divided; dense, padded, sparse and ragged results
    first_error   the error about the first message that is wrong
"""
