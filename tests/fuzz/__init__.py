"""Fuzzing: any bytes either decode or raise a TFRecordError, and mean what an oracle says.

    python -m tests.fuzz --seconds 20                 each target so long, what CI does
    python -m tests.fuzz framing --runs 1000000       one target, so many inputs

No other error, no hang, no memory beyond a stated multiple of the input. What is accepted
has to be what the protobuf runtime, or a plain reference, reads out of the same bytes.
"""
