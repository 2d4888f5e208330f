"""Files as streams of bytes."""
