"""The protobuf wire format over many messages at once; knows no message type.

::

    lanes    loads of 8 bytes, or of whole rows, at any offset, many at once
    varint   base-128 numbers: one at each of many offsets, or runs laid end to end
    fields   N messages to their fields, in lockstep
    repeated all values of a repeated field, packed or not, of N messages
    ragged   copies of many byte ranges into one

A message is parsed one field after the other, so a loop over its fields is slow
in Python. But N messages can be parsed *in lockstep*: one NumPy step reads the
next tag and length of all N.

No I/O, no protobuf runtime. Malformed bytes raise :class:`~.fields.WireError`.

Format: https://protobuf.dev/programming-guides/encoding/
"""
