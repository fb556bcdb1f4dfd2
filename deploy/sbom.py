"""Lists what is installed for this project, with versions and licences: `python deploy/sbom.py`.

Reads requirements files, follows what they need as it is installed here, and prints a bill of
materials in CycloneDX 1.5 (JSON), which scanners for known faults read. `--table` prints name,
version and licence for people.

    python deploy/sbom.py requirements.txt requirements-serve.txt > sbom.json
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(files: list[pathlib.Path]) -> list[str]:
    """Names in requirements files, in their order."""
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    names = [_NAME.match(line) for line in lines if not line.lstrip().startswith(("#", "-"))]
    return [normal(match[1]) for match in names if match]


def installed(names: list[str]) -> dict[str, importlib.metadata.Distribution]:
    """The distributions of some names and of all that they need, as far as they are installed."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # for another platform or Python
            continue
        needs = found[name].requires or []
        waiting += [normal(_NAME.match(need)[1]) for need in needs if "extra ==" not in need]
    return dict(sorted(found.items()))


def licence_of(distribution: importlib.metadata.Distribution) -> str:
    """What a package says that its licence is: an SPDX expression, a classifier, or a word."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = metadata.get_all("Classifier") or []
    licences = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License ::")]
    licences = [licence for licence in licences if licence != "OSI Approved"]
    if licences:
        return ", ".join(licences)
    first = (metadata.get("License") or "").strip().splitlines()
    return first[0][:80] if first else "not stated"


def bill(distributions: dict[str, importlib.metadata.Distribution]) -> dict:
    """The CycloneDX document."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "components": [
            {
                "type": "library",
                "name": name,
                "version": distribution.version,
                "purl": f"pkg:pypi/{name}@{distribution.version}",
                "licenses": [{"license": {"name": licence_of(distribution)}}],
            }
            for name, distribution in distributions.items()
        ],
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = [ROOT / "requirements.txt", ROOT / "requirements-serve.txt"]
    parser.add_argument("files", nargs="*", type=pathlib.Path, default=default)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args(arguments)
    distributions = installed(required(options.files))
    if options.table:
        for name, distribution in distributions.items():
            print(f"{name:28} {distribution.version:16} {licence_of(distribution)}")
    else:
        json.dump(bill(distributions), sys.stdout, indent=1, ensure_ascii=False)
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
