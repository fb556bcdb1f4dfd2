"""Of the package `evaluation.trust`."""
