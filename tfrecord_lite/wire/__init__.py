"""The protobuf wire format for many messages at once; knows no message type.

::

    scalar     one varint, one message: wire types, WireError, walk
    varint     bytes to numbers, many at a time
    pack       numbers to bytes, many at a time
    fields     N messages to their fields, in lockstep
    packed     runs of varints, end to end, to numbers
    repeated   all values of a repeated field, packed or not, of N messages
    keys       which of some known strings stands at each of many offsets
    template   messages that look alike: their common bytes are checked, not parsed
    parts      the parts of N messages: payloads, and the lengths around them
    emit       parts to N messages

        reading    bytes ─> fields ─> repeated ─> packed ─> values        (template: in one step)
        writing    values ─> pack ─> parts ─> emit ─> bytes

Parsing one message is a loop over its fields, which is slow in Python. But N messages can be
parsed *in lockstep*: one NumPy step reads the next tag and length of all N.

No I/O, no protobuf runtime. Malformed bytes raise :class:`~.scalar.WireError`.

Format: https://protobuf.dev/programming-guides/encoding/
"""
