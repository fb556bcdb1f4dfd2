"""Two commands on one run folder at the same moment, in a short form of the stress program."""

import json
import subprocess
import sys

import pytest

from tests.support import ROOT


@pytest.mark.long
def test_the_folder_is_never_mixed(tmp_path):
    """Once two trainings both ended with 0, and one's config stood beside the other's weights."""
    out = tmp_path / "result.json"
    command = [sys.executable, "-m", "benchmarks.folder_stress", "--pairs", "4", "--seed", "5"]
    command += ["--verbs", "train", "resume", "overwrite", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text(encoding="utf-8"))["results"]
    assert result["failed"] == []
    assert (result["pairs"], result["kills"]) == (4, 2)
