"""Sizes of an export's files and how far they agree with the run: `... export_artefacts EXPORT`.

    python export.py runs/dates && python -m benchmarks.export_artefacts exports/dates

`export.py` measures agreement itself and writes it into the manifest; this takes it from there.
"""

import argparse
import pathlib

from benchmarks.result_files import add_out_option, write_results
from keras_attention.folders.export_layout import read_manifest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", metavar="EXPORT", type=pathlib.Path)
    add_out_option(parser, "export_artefacts")
    options = parser.parse_args()
    manifest = read_manifest(options.export)
    sizes = {name: file["bytes"] for name, file in manifest["files"].items()}
    for name, check in manifest["checks"].items():
        size = f"{sizes[name] / 1000:.0f} kB" if name in sizes else "a folder"
        print(f"{name}: {size}, {check['same_text']} of {check['n']} texts equal")
    write_results(options.out, {"bytes": sizes, "checks": manifest["checks"]})


if __name__ == "__main__":
    main()
