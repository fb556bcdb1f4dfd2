"""Pairs into teacher-forcing batches."""
