"""The commands: their options, their output, and how they end."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest

from keras_attention.commands import translate
from keras_attention.commands.training_options import parse_training_config
from keras_attention.config import Config, flag_of
from keras_attention.errors import UserError
from keras_attention.readers.export_layout import FORMAT, write_manifest
from keras_attention.text.repair import RepairWarning
from tests.support import ROOT
from tests.support.commands import call, call_train, call_verb

PROMISED = """--data --out --config --seed --epochs --batch-size --units --embedding-size --encoder
--bidirectional --layers --attention --reverse-source --dropout --learning-rate --clipnorm
--global-clipnorm --source-tokens --target-tokens --resume --overwrite""".split()


def parse(*arguments) -> Config:
    return parse_training_config([str(argument) for argument in arguments], "description")


def test_help_shows_every_option_with_its_default():
    done = call_train("--help")
    assert (done.status, done.err) == (0, "")
    text = " ".join(done.out.split())
    for flag in PROMISED + [flag_of(field) for field in dataclasses.fields(Config)]:
        assert f" {flag}" in text, flag
    for field in dataclasses.fields(Config):
        # A long help is also broken at its hyphens.
        assert "".join(field.metadata["help"].split()) in "".join(text.split())
    for shown in ("default: data/dates", "default: 128", "default: 0.004", "default: dot"):
        assert shown in text
    for group in ("Run:", "Tokens:", "Model:", "Training:"):
        assert group in done.out
    assert "lstm|gru" in text and "none|peeky|dot|scaled_dot|general|additive" in text
    assert "1 by default" in text, "clipping has a default that depends on another option"


def test_the_defaults_are_those_of_the_contract():
    config = parse()
    assert (config.data, config.out) == ("data/dates", "runs/dates")
    assert config == Config()


def test_flags_reach_the_config():
    config = parse(*"--units 64 --encoder gru --no-bidirectional --reverse-source".split())
    assert config == Config(units=64, encoder="gru", bidirectional=False, reverse_source=True)


def test_a_flag_beats_the_config_file_which_beats_the_default(tmp_path):
    file = tmp_path / "options.json"
    file.write_text(json.dumps({"units": 64, "epochs": 3, "clipnorm": 2, "bidirectional": False}))
    config = parse("--config", file, "--epochs", 9, "--bidirectional")
    assert (config.units, config.epochs, config.clipnorm) == (64, 9, 2.0)
    assert config.bidirectional and config.layers == 1
    assert parse("--epochs", 9, "--global-clipnorm", 5, "--config", file).clipnorm is None


def test_a_runs_own_config_is_a_config_file(tmp_path, trained):
    config = parse("--config", trained.path / "config.json", "--out", tmp_path)
    assert config.units == 32 and config.longest_output == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--unit", "3"], "--unit: is not an option of this command"),  # no abbreviations
        (["--units"], "--units: expected one argument"),
        (["--units", "many"], "--units: invalid int value: 'many'"),
        (["--units", "3.5"], "--units: invalid int value: '3.5'"),
        (["--learning-rate", "x"], "--learning-rate: invalid float value: 'x'"),
        (["--learning-rate", "nan"], "--learning-rate: must be finite"),
        (["--seed", "-1"], "--seed: must be at least 0"),
        (["--encoder", "rnn"], "--encoder: must be one of lstm, gru"),
        (["--no-resume"], "--no-resume: is not an option"),
        (["data/dates"], "data/dates: is not an option"),
        (["--clipnorm", "1", "--global-clipnorm", "5"], "--clipnorm: cannot be given together"),
        (["--resume", "--overwrite"], "--resume: cannot be given together"),
        (["--config", "/no/such.json"], "/no/such.json: cannot be read"),
        (["--out", ""], "--out: must be a path"),
    ],
)
def test_a_bad_option_is_one_line(arguments, message):
    done = call_train(*arguments)
    assert done.status == 2
    assert done.err.startswith(f"error: {message}")
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_a_bad_value_in_a_file_names_the_file(tmp_path):
    (tmp_path / "options.json").write_text('{"units": 0}')
    with pytest.raises(UserError, match=r"options\.json: --units: must be at least 1"):
        parse("--config", tmp_path / "options.json")


# --- how a command ends


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (UserError("a.tsv:3: is\nbroken"), 2, "error: a.tsv:3: is broken\n"),
        (KeyboardInterrupt(), 130, "stopped\n"),
    ],
)
def test_how_it_ends(raised, status, said):
    def main(arguments):
        raise raised

    assert call(main, []) == (status, "", said)


def test_a_fault_of_ours_keeps_its_traceback():
    def main(arguments):
        raise RuntimeError("a fault of ours")

    with pytest.raises(RuntimeError):
        call(main, [])


def test_a_console_that_cannot_show_a_character_gets_it_escaped():
    code = """
from keras_attention._runtime.command_line import exit_with_user_errors
exit_with_user_errors(lambda arguments: print("년 → a"), [])
"""
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, cwd=ROOT, check=True
    )
    assert done.stdout == b"\\ub144 \\u2192 a\n"


def test_a_closed_pipe_ends_quietly():
    command = f"{sys.executable} train.py --help | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert done.stderr == b""


# --- verbs


def test_help_names_the_verbs():
    for arguments in ([], ["--help"], ["-h"]):
        done = call_verb(*arguments)
        assert done.status == 0
        assert "translate MODEL [TEXT ...]" in done.out and "evaluate MODEL DATA.tsv" in done.out
    for verb in ("translate", "evaluate"):
        done = call_verb(verb, "--help")
        assert done.status == 0 and "--beam-width" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["speak"], "speak: is not a verb; use one of "),
        (["translate"], "the following arguments are required: MODEL"),
        (["translate", "/no/such/run", "abc"], "/no/such/run: does not exist"),
        (["translate", ".", "abc"], ".: is not a model"),
        (["translate", "/no/such/run", "--beam-width", "0"], "--beam-width: must be at least 1"),
        (["translate", "/no/such/run", "--bream", "3"], "--bream: is not an option"),
        (["evaluate", "/no/such/run", "x.tsv"], "/no/such/run: does not exist"),
        (["evaluate", "/no/such/run"], "the following arguments are required: DATA.tsv"),
    ],
)
def test_a_mistake_in_a_verb_is_one_line(arguments, message):
    done = call_verb(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}")
    assert done.err.count("\n") == 1


def test_translate_answers_each_argument_in_order(trained):
    done = call_verb("translate", trained.path, "abc", "", "ed", "abc")
    lines = done.out.split("\n")
    assert (done.status, done.err) == (0, "")
    assert len(lines) == 5 and lines[-1] == ""
    assert lines[0] == lines[3] == "cba" and lines[2] == "de"


@pytest.mark.parametrize(
    "arguments",
    [["--scores", "abc", "ed"], ["abc", "--scores", "ed"], ["abc", "ed", "--scores"]],
)
def test_options_may_stand_anywhere(trained, arguments):
    done = call_verb("translate", trained.path, *arguments)
    assert done.status == 0, done.err
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["cba", "de"]


def test_scores_are_a_log_probability_and_a_confidence(trained):
    done = call_verb("translate", trained.path, "--scores", "--beam-width", "3", "abc", "zz")
    for line in done.out.splitlines():
        _, log_probability, confidence = line.split("\t")
        assert float(log_probability) <= 0
        assert 0 <= float(confidence) <= 1


def test_translate_reads_lines_of_standard_input(trained, monkeypatch):
    monkeypatch.setattr(translate, "LINES_AT_ONCE", 3)
    stdin = b"\xef\xbb\xbfabc\r\n\ned\n\xff\nabc\n" + b"de\n" * 5 + b"ab"
    with pytest.warns(RepairWarning, match="^line 4 of standard input: 1 invalid UTF-8 sequence"):
        done = call_verb("translate", trained.path, stdin=stdin)
    assert done.status == 0, done.err
    lines = done.out.split("\n")
    assert len(lines) == 12 and lines[-1] == ""
    assert [lines[0], lines[2], lines[4]] == ["cba", "de", "cba"]
    assert lines[5:10] == ["ed"] * 5 and lines[10] == "ba"
    assert call_verb("translate", trained.path, stdin=b"").out == ""


def test_bytes_that_are_no_utf8_are_the_same_on_the_command_line_and_in_a_pipe(trained):
    """The command line carries the bytes 0xf0 0x9f, one broken sequence, as two surrogates."""
    with pytest.warns(RepairWarning, match="^TEXT 1: 1 invalid UTF-8 sequence replaced by U"):
        argument = call_verb("translate", trained.path, "--scores", "a\udcf0\udc9fb")
    with pytest.warns(RepairWarning, match="^line 1 of standard input: 1 invalid"):
        pipe = call_verb("translate", trained.path, "--scores", stdin=b"a\xf0\x9fb\n")
    assert argument.status == 0, argument.err
    assert argument.out == pipe.out


def test_view_and_plot_read_an_argument_as_translate_does(trained, tmp_path):
    """The page and the figure's description hold three characters, none of them a surrogate."""
    page, figure = tmp_path / "page.html", tmp_path / "figure.svg"
    with pytest.warns(RepairWarning, match="TEXT 1: 1 invalid UTF-8 sequence"):
        assert call_verb("view", trained.path, "--text", "ab\udce9", "--out", page).status == 0
    with pytest.warns(RepairWarning, match="TEXT 1: 1 invalid UTF-8 sequence"):
        assert call_verb("plot", trained.path, "ab\udce9", "--out", figure).status == 0
    assert '"source":"ab\\ufffd"' in page.read_text(encoding="utf-8")
    assert '"source_tokens":["a","b","\\ufffd"]' in page.read_text(encoding="utf-8")
    drawn = figure.read_text(encoding="utf-8")
    assert "by 3 source tokens" in drawn and "DCE9" not in drawn


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_a_beam_that_would_take_all_memory_is_refused(trained, verb):
    done = call_verb(verb, trained.path, "x", "--beam-width", "99999999")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: --beam-width: must be at most 1000: ")


def test_evaluate_prints_for_people_and_for_programs(trained, reversal_folder):
    file = reversal_folder / "test.tsv"
    text = call_verb("evaluate", trained.path, file)
    numbers = json.loads(call_verb("evaluate", trained.path, file, "--json").out)
    assert f"exact match: {numbers['exact_match']:.4f} (n=100)" in text.out
    assert sum(part["n"] for part in numbers["by_length"]) == 100
    beam = json.loads(call_verb("evaluate", trained.path, file, "--json", "--beam-width", "3").out)
    assert beam["exact_match"] >= numbers["exact_match"] - 0.03


@pytest.mark.slow
def test_tensorflow_adds_nothing_to_what_is_said(trained, tmp_path, reversal_folder):
    """True processes: an answer is all that is printed, an error the one line on standard error."""

    def run(*command):
        # As a shell starts them: TensorFlow, imported in this process, sets its log level for all.
        environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
        return subprocess.run(
            [sys.executable, *map(str, command)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    verbs = ("-m", "keras_attention")
    done = run(*verbs, "translate", trained.path, "abc")
    assert (done.returncode, done.stdout, done.stderr) == (0, "cba\n", "")
    done = run(*verbs, "evaluate", trained.path, reversal_folder / "test.tsv", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["n"] == 100
    done = run("train.py", "--data", reversal_folder, "--out", trained.path, "--resume")
    assert done.returncode == 2 and done.stderr.count("\n") == 1

    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("config.json", "vocabulary.json"):
        (broken / name).write_bytes((trained.path / name).read_bytes())
    (broken / "model.keras").write_bytes((trained.path / "model.keras").read_bytes()[:2000])
    done = run(*verbs, "translate", broken, "abc")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {broken}/model.keras: cannot be read")
    assert done.stderr.count("\n") == 1
    options = ("--units", "8", "--epochs", "1", "--learning-rate", "1e6", "--clipnorm", "0")
    done = run("train.py", "--data", reversal_folder, "--out", tmp_path / "run", *options)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --learning-rate: training diverges")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("package", "module", "arguments", "file"),
    [
        ("apache_beam", "keras_attention.beam", ["export", "*.txt"], "requirements-beam.txt"),
        ("uvicorn", "keras_attention", ["serve", "export"], "requirements-serve.txt"),
    ],
)
def test_a_missing_package_is_one_line_that_names_the_file(
    package, module, arguments, file, tmp_path
):
    (tmp_path / "export").mkdir()
    write_manifest(tmp_path / "export", {"format": FORMAT})
    script = f"""if True:
        import runpy, sys
        sys.modules[{package!r}] = None  # as if it were not installed
        sys.argv[1:] = {arguments!r}
        runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
    """
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert f"`pip install -r {file}`" in result.stderr
