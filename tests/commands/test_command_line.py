"""The commands: their options, their output, and how they end."""

import dataclasses
import errno
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from keras_attention._runtime.process import Terminated
from keras_attention.commands import train, translate
from keras_attention.commands.options.training_options import parse_training_options
from keras_attention.config import Config, flag_of
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import FORMAT, write_manifest
from keras_attention.text.repair import RepairWarning
from keras_attention.version import __version__
from tests.support import ROOT
from tests.support.commands import call, call_train, call_verb
from tests.support.tasks import reversal_splits, write_splits

PROMISED = """--data --out --config --seed --epochs --batch-size --units --embedding-size --encoder
--bidirectional --layers --attention --reverse-source --dropout --learning-rate --clipnorm
--global-clipnorm --source-tokens --target-tokens --resume --overwrite""".split()


def parse(*arguments) -> Config:
    return parse_training_options([str(argument) for argument in arguments], "description").config()


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


@pytest.mark.parametrize(
    ("fields", "flags", "message"),
    [
        ({"units": 0}, ["--units", "8"], "{file}: --units: must be at least 1"),
        ({"units": 7}, ["--epochs", "1"], "{file}: --units: must be even with --bidirectional"),
        (
            {"attention": "none"},
            ["--attentional-layer"],
            "--attentional-layer: needs a model with attention; leave it out. Received: "
            "attention='none'; the other options are those of {file}",
        ),
    ],
)
def test_what_a_file_and_flags_say_together_names_the_file(tmp_path, fields, flags, message):
    file = tmp_path / "options.json"
    file.write_text(json.dumps(fields), encoding="utf-8")
    done = call_train("--config", file, *flags)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: " + message.format(file=file))


# --- arguments that begin with a dash


@pytest.mark.parametrize(
    "arguments",
    [
        ["translate", "RUN", "-ab"],
        ["plot", "-ab"],
        ["plot", "RUN", "-ab"],
        ["check", "-ab"],
        ["view", "RUN", "-ab"],
        ["evaluate", "RUN", "-ab"],
        ["explain", "-ab"],
        ["serve", "-ab"],
        ["export", "-ab"],
    ],
)
def test_what_begins_with_a_dash_and_is_no_option_names_the_two_dashes(arguments):
    done = call_verb(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "error: -ab: is not an option of this command; --help lists them; if it is a text or a "
        "file, put -- before it\n"
    )


@pytest.mark.parametrize(
    ("arguments", "way"),
    [
        (["view", "RUN", "--text", "-ab"], "--text=-ab"),
        (["plot", "RUN", "a", "--out", "-ab"], "--out=-ab"),
        (["train", "--data", "-ab"], "--data=-ab"),
    ],
)
def test_a_value_that_begins_with_a_dash_names_the_way_to_write_it(arguments, way):
    done = call_verb(*arguments)
    assert (done.status, done.out) == (2, "")
    flag = way.partition("=")[0]
    assert done.err.startswith(f"error: {flag}: expected one argument; ")
    assert done.err.endswith(f"write {way}\n")


@pytest.mark.parametrize("arguments", [["--", "a", "--", "b"], ["a", "--", "--", "b"]])
def test_behind_two_dashes_everything_is_a_text(trained, arguments):
    done = call_verb("translate", trained.path, *arguments)
    assert done.status == 0, done.err
    assert len(done.out.splitlines()) == 3
    alone = call_verb("translate", trained.path, "--scores", stdin=b"a\n--\nb\n")
    together = call_verb("translate", "--scores", trained.path, "--", "a", "--", "b")
    assert together.out == alone.out
    options = call_verb("translate", trained.path, "--", "--scores", "-h")
    assert len(options.out.splitlines()) == 2 and "\t" not in options.out


def test_files_and_models_may_stand_behind_two_dashes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-toy.tsv").write_bytes(b"ab\tba\nabc\tcba\nb\tb\n")
    assert call_verb("check", "--", "-toy.tsv").status == 0
    done = call_verb("translate", "--", "-run", "a")
    assert done.err.startswith("error: -run: does not exist")


def test_a_number_below_zero_is_a_text(trained):
    assert call_verb("translate", trained.path, "-5").status == 0


# --- how a command ends


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (UserError("a.tsv:3: is\nbroken"), 2, "error: a.tsv:3: is broken\n"),
        (KeyboardInterrupt(), 130, "stopped\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "runs/a"),
            2,
            "error: runs/a: No space left on device\n",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "runs/a/config.json"),
            2,
            "error: runs/a/config.json: Permission denied\n",
        ),
    ],
)
def test_how_it_ends(raised, status, said):
    def main(arguments):
        raise raised

    assert call(main, []) == (status, "", said)


@pytest.mark.parametrize("fault", [RuntimeError("ours"), FileNotFoundError(2, "gone", "a")])
def test_a_fault_of_ours_keeps_its_traceback(fault):
    def main(arguments):
        raise fault

    with pytest.raises(type(fault)):
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


@pytest.mark.parametrize(
    ("door", "module"),
    [
        (["train.py"], "keras_attention.__main__"),
        (["export.py"], "keras_attention.__main__"),
        (["-m", "keras_attention"], "keras_attention._runtime.command_line"),
        (["train.py"], "keras_attention.commands"),
        (["export.py"], "keras_attention.commands"),
        (["-m", "keras_attention"], "keras_attention.commands"),
    ],
)
def test_ctrl_c_while_modules_are_imported_is_one_line(door, module):
    """The signal comes at the import of the named module, before a verb could have begun."""
    script = f"""if True:
        import builtins, os, runpy, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
        really_import = builtins.__import__
        def interrupting(name, *arguments, **options):
            if name == {module!r}:
                builtins.__import__ = really_import
                os.kill(os.getpid(), signal.SIGINT)
            return really_import(name, *arguments, **options)
        builtins.__import__ = interrupting
        sys.argv = {[door[-1], "check", "x"]!r}
        run = runpy.run_module if {door[0] == "-m"} else runpy.run_path
        run({door[-1]!r}, run_name="__main__")
    """
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


# --- verbs


def test_help_names_the_verbs():
    for arguments in ([], ["--help"], ["-h"]):
        done = call_verb(*arguments)
        assert done.status == 0
        assert "translate MODEL [TEXT ...]" in done.out and "evaluate MODEL DATA.tsv" in done.out
    for verb in ("translate", "evaluate"):
        done = call_verb(verb, "--help")
        assert done.status == 0 and "--beam-width" in done.out
    assert call_verb("--version").out == f"{__version__}\n"


def test_train_and_export_are_verbs_too(tmp_path):
    assert call_verb("train", "--help").out == call_train("--help").out
    done = call_verb("export", tmp_path)
    assert done.err.startswith(f"error: {tmp_path}: holds no run (no config.json); train one with")


@pytest.mark.parametrize("signal_of", [KeyboardInterrupt, Terminated])
def test_a_training_that_is_stopped_says_how_to_go_on(tmp_path, monkeypatch, signal_of):
    """The line can be copied: it names all that the run's own options do not say."""

    def stopped(config, splits, task, started):
        (pathlib.Path(config.out) / "config.json").write_text(config.to_json(), encoding="utf-8")
        raise signal_of

    monkeypatch.setattr(train, "_train", stopped)
    data = write_splits(tmp_path / "my data", reversal_splits())
    run = tmp_path / "run 1"
    done = call_train("--data", data, "--out", run, "--units", "8", "--overwrite")
    assert done.status == (143 if signal_of is Terminated else 130)
    said = done.err.removeprefix("stopped; go on with `").removesuffix("`\n")
    program, door, *arguments = shlex.split(said)
    assert (program, door) == ("python", "train.py")
    again = parse(*arguments)
    assert again == Config(data=str(data), out=str(run), units=8, resume=True)


def test_export_refuses_a_path_that_tensorflow_cannot_write(trained, tmp_path):
    out = tmp_path / os.fsdecode(b"p\xff")
    done = call_verb("export", trained.path, "--out", out)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: --out: ") and "is not UTF-8" in done.err
    assert not out.exists()


def test_away_from_a_clone_the_default_data_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call_train()
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: --data: data/dates is not in this folder; name your pairs")
    assert "python -m keras_attention.datasets.dates --out data/dates" in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["speak"], "speak: is not a verb; use one of "),
        (["translate"], "the following arguments are required: MODEL"),
        (["view", "--text", "-a b"], "the following arguments are required: MODEL"),
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
    assert done.status == 0
    assert done.err.startswith("warning: TEXT 2 is empty") and done.err.count("\n") == 1
    assert len(lines) == 5 and lines[-1] == ""
    assert lines[0] == lines[3] == "cba" and lines[2] == "de"


def test_translate_tells_of_lines_unlike_the_training(trained):
    done = call_verb("translate", trained.path, stdin=b"abc\n\nABC\nXYZ\n")
    assert done.status == 0 and done.out.count("\n") == 4
    lines = done.err.splitlines()
    assert lines[0].startswith("warning: line 2 of standard input is empty")
    assert lines[1].startswith("warning: line 3 of standard input has capital letters")
    assert lines[2].startswith("warning: line 3 of standard input has 100% characters")
    assert len(lines) == 3


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


@pytest.mark.slow
def test_translate_answers_a_line_while_the_next_one_is_still_to_be_written(trained):
    with subprocess.Popen(
        [sys.executable, "-m", "keras_attention", "translate", trained.path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        for line, answer in ((b"abc\n", b"cba\n"), (b"ed\r\n", b"de\n")):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == answer
        process.stdin.write(b"\xef\xbb\xbfed")
        process.stdin.close()
        assert process.stdout.readline() != b""
    assert process.returncode == 0


@pytest.mark.slow
def test_translate_ends_as_its_reader_does(trained):
    verb = f"{sys.executable} -m keras_attention translate {trained.path}"
    done = subprocess.run(
        ["bash", "-c", f"yes ab | head -20000 | {verb} | head -1; exit ${{PIPESTATUS[2]}}"],
        cwd=ROOT,
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (141, b"ba\n", b"")


def test_a_byte_order_mark_is_no_character_of_the_first_line(trained):
    marked = call_verb("translate", trained.path, "--scores", stdin=b"\xef\xbb\xbfed\n")
    assert marked.out == call_verb("translate", trained.path, "--scores", "ed").out


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


def test_view_calls_an_answer_right_that_another_line_asks_for(trained, tmp_path):
    file, page = tmp_path / "pairs.tsv", tmp_path / "page.html"
    file.write_text("abc\txxx\t0-0\nabc\tcba\t2-0\nde\tx\n", encoding="utf-8")
    assert call_verb("view", trained.path, file, "--out", page).status == 0
    data = page.read_text(encoding="utf-8")
    assert re.findall('"text":"([a-e]*)","expected":"([a-ex]*)"', data) == [
        ("cba", "cba"), ("cba", "cba"), ("ed", "x")]  # fmt: skip
    assert data.count('"links":[{"source":2,"target":0,"sure":true}]') == 2


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


def test_alternatives_are_a_line_each(trained):
    finished = call_verb("translate", trained.path, "--n-best", "3", "--scores", "abc", "de")
    rows = [line.split("\t") for line in finished.out.splitlines()]
    assert [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3
    assert rows[0][1] == "cba"
    scores = [float(row[3]) for row in rows]
    assert scores[:3] == sorted(scores[:3], reverse=True)


def test_a_set_of_answers_is_promised_from_pairs_set_aside(trained):
    finished = call_verb("translate", trained.path, "--coverage", "0.9", "abc")
    number, text, promised = finished.out.splitlines()[0].split("\t")
    assert (number, text, promised) == ("1", "cba", "0.9000")
    metrics = json.loads((trained.path / "metrics.json").read_text(encoding="utf-8"))
    assert [sets["coverage"] for sets in metrics["sets"]] == [0.9, 0.95, 0.99]


def test_links_stand_in_a_column_and_in_json_with_weights(trained):
    line = call_verb("translate", trained.path, "--alignment", "abc").out.strip()
    assert [link.split("-")[1] for link in line.split("\t")[1].split()] == ["0", "1", "2"]
    found = json.loads(call_verb("translate", trained.path, "--json", "abc").out)
    assert found["text"] == "cba"
    assert len(found["token_confidence"]) == 3
    assert all(0 < link["weight"] <= 1.001 for link in found["alignment"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--n-best", "0"), "--n-best: must be at least 1"),
        (("--coverage", "1"), "--coverage: must be above 0 and below 1"),
        (("--coverage", "0.9", "--n-best", "2"), "--coverage: searches with the beam"),
        (("--coverage", "0.9", "--min-confidence", "0.5"), "--coverage: prints alternatives"),
        (("--max-wrong", "0.0001"), "--max-wrong: 0.0001 cannot be promised from 50 pairs"),
        (("--max-wrong", "0.1", "--beam-width", "2"), "--max-wrong: is promised for greedy"),
        (("--max-wrong", "0"), "--max-wrong: must be above 0 and below 1"),
        (("--coverage", "0"), "--coverage: must be above 0 and below 1"),
        (("--origin", "--n-best", "2"), "--origin: is a column of single answers"),
        (("--origin", "--coverage", "0.9"), "--origin: is a column of single answers"),
    ],
)
def test_a_promise_that_cannot_be_made_is_one_line(trained, options, message):
    finished = call_verb("translate", trained.path, *options, "abc")
    assert finished.status == 2
    assert message in finished.err
    assert finished.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--coverage", "0"), "--coverage: must be above 0 and below 1"),
        (("--max-wrong", "0"), "--max-wrong: must be above 0 and below 1"),
        (("--max-wrong", "0.1", "--beam-width", "2"), "--max-wrong: is promised for greedy"),
    ],
)
def test_evaluate_measures_no_promise_that_was_not_made(trained, reversal_folder, options, message):
    finished = call_verb("evaluate", trained.path, reversal_folder / "test.tsv", *options)
    assert (finished.status, finished.out) == (2, "")
    assert message in finished.err
