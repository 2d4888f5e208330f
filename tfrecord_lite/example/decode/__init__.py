"""Messages to columns, many at a time."""
