"""The version of the package, read by packaging and written into manifests."""

__version__ = "0.2.0"
