"""Columns and rows to messages."""
