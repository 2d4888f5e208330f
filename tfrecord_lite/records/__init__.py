"""Records in files: bytes to frames to blocks of records and back, damage included."""
