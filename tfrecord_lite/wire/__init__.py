"""The protobuf wire format for many messages at once; knows no message type.

::

    scalar     one varint, one message: wire types, WireError, walk
    varint     bytes to numbers and back, many at a time
    fields     N messages to their fields, in lockstep
    repeated   all values of a repeated field, packed or not, of N messages
    keys       which of some known strings is at each of many offsets
    emit       N messages of parts: payloads, and the lengths around them

        reading    bytes ─> fields ─> repeated ─> values
        writing    values ─> varint ─> emit ─> bytes

N messages are parsed *in lockstep*: one NumPy step reads the next tag and length of all N. No I/O, no protobuf
runtime. Malformed bytes raise :class:`~.scalar.WireError`.
"""
