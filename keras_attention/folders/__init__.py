"""Runs and exports as folders: what lies where, and how it is read, checked and written."""
