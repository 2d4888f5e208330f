"""Records from files to files as they are: their bytes and checksums do not change."""
