"""Weights and tokens into figures."""
