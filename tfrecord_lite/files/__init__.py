"""Files and streams of bytes: names, compression, atomic output, locks."""
