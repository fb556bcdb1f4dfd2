"""What makes pages and pictures out of results, docstrings and runs; nothing here is installed."""
