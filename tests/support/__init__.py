"""What tests of several packages share."""

import pathlib

ROOT = pathlib.Path(__file__).parents[2]
