"""Damaged files: find the damage, and save what is intact."""
