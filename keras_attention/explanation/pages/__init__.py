"""The report as a page, with its figures."""
