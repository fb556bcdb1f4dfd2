"""Two commands on one run folder at the same moment, in a short form of the stress program."""

import json

import pytest

from benchmarks.folder_stress import main


@pytest.mark.slow
def test_the_folder_is_never_mixed(tmp_path):
    """Once two trainings both ended with 0, and one's config stood beside the other's weights."""
    verbs = ("--verbs", "train", "resume", "overwrite")
    result = main(["--pairs", "4", "--seed", "5", *verbs, "--out", str(tmp_path / "r.json")])
    assert result["failed"] == []
    assert result["kills"] == 2
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["results"] == result
