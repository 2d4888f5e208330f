"""Python values and arrays to the lists of features and back; no wire format."""
