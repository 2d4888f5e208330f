"""Integer and byte arrays: loads at any offset, ranges, copies of many ranges."""
