"""SequenceExamples to columns and back."""
