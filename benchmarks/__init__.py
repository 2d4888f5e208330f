"""Benchmarks: ``python -m benchmarks.records``. See README.md in this folder."""
