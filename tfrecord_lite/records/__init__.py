"""TFRecord framing: blocks of records from bytes and back."""
