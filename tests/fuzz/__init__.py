"""Fuzzing: any bytes either decode or raise a TFRecordError, and mean what an oracle says.

    python -m tests.fuzz --seconds 20                 all targets, 20 seconds each, as CI does
    python -m tests.fuzz framing --runs 1000000       one target, a million inputs

No other error, no hang, no memory beyond a stated multiple of the input. What is read must
equal what the protobuf runtime, or a plain reference, reads from the same bytes.
"""
