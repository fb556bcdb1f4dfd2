"""The version of the package, read by packaging and written into manifests."""

__version__ = "0.1.0"
