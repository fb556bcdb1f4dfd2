"""What each part of the pronunciation recipe is worth: `... g2p_ablations --data FOLDER`.

Trains `configs/g2p.json` with one option changed at a time, one seed, on a few languages, and gives
the word error rate on the validation words, decoded greedily. FOLDER as for `benchmarks.g2p`.
Finished trainings in `--out-runs` are not done again. About an hour on two cores.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from benchmarks.g2p import prepare
from benchmarks.result_files import ROOT, add_out_option, write_results
from keras_attention.folders.run_folder import is_finished, read_metrics

FIVE = ("fre", "geo", "hun", "jpn", "kor")
THREE = ("fre", "geo", "hun")
VARIANTS = {
    "none": ([], FIVE),
    "larger batches": (
        ["--batch-size", "64", "--epochs", "60", "--decoder-input-dropout", "0.2"],
        FIVE,
    ),
    "no NFD": (["--source-form", "none"], ("kor",)),
    "no attentional layer": (["--no-attentional-layer"], THREE),
    "dot score": (["--attention", "dot"], THREE),
    "two layers": (["--layers", "2"], THREE),
    "dropout 0.5": (["--dropout", "0.5"], ("fre", "hun")),
}


def wer(config: str, data: pathlib.Path, out: pathlib.Path, options: list[str]) -> float:
    """Validation WER in per cent of one training, which is made where it isn't finished."""
    if not is_finished(out):
        command = [sys.executable, "train.py", "--config", config, "--data", str(data)]
        command += ["--out", str(out), "--seed", "1", "--resume", *options]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return 100 - 100 * read_metrics(out)["valid"]["exact_match"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--out-runs", type=pathlib.Path, default=ROOT / "runs" / "g2p_ablations")
    add_out_option(parser, "g2p_ablations")
    options = parser.parse_args()
    config = str(ROOT / "configs" / "g2p.json")
    rows = []
    for name, (changed, languages) in VARIANTS.items():
        row = {"change": name, "options": changed, "valid_wer": {}}
        for language in languages:
            folder = options.out_runs / "data" / language
            prepare(options.data, folder, language)
            out = options.out_runs / name.replace(" ", "-") / language
            row["valid_wer"][language] = round(wer(config, folder, out, changed), 2)
        rows.append(row)
        print(json.dumps(row), flush=True)
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
