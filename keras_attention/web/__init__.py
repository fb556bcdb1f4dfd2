"""Attention as pages: the viewer in one file, and the live page."""
