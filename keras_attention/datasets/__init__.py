"""The data sets of our own, generated with their gold alignment."""
