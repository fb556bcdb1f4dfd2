"""Measurements into numbers with intervals, judgements and a verdict."""
