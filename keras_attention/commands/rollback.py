"""Makes the version before the newest the one that an export serves and that readers read."""

from __future__ import annotations

import pathlib

from keras_attention.commands import verb_parser
from keras_attention.export.rollback import roll_back


def run(arguments: list[str]) -> None:
    parser = verb_parser("rollback", __doc__)
    parser.add_argument("export", metavar="EXPORT", help="an export folder with several versions")
    options = parser.parse_args(arguments)
    export = pathlib.Path(options.export)
    gone, now = roll_back(export)
    print(f"{export}: version {now} is served and read again; {gone} is kept in versions/{gone}")
