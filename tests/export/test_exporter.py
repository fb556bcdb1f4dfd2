"""`python export.py`: whole or not at all, checked or not at all, and told in one line."""

import hashlib
import json
import os
import pathlib
import shutil
import threading

import numpy as np
import pytest
import tensorflow as tf

from keras_attention._runtime.lock import folder_lock
from keras_attention.errors import UserError
from keras_attention.evaluation.parity import HOSTILE_SOURCES
from keras_attention.export import exporter as export_folder
from keras_attention.export.exporter import (
    RANGES,
    ExportOptions,
    checked_sources,
    longest_source_of,
    longest_text_of,
)
from keras_attention.export.requirements import least_runtime
from keras_attention.folders.export_layout import read_manifest
from keras_attention.readers.saved_model_reader import SavedModelReader
from tests.support import ROOT
from tests.support.commands import call_verb
from tests.support.exports import (
    LONGEST_OUTPUT,
    call_export,
    random_export,
    random_run,
    random_texts,
    version_folder,
)


@pytest.fixture(scope="module")
def exported():
    return random_export()


@pytest.fixture(scope="module")
def run(exported):
    return exported[0]


@pytest.fixture
def copy(exported, tmp_path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(exported[1], tmp_path / "copy"))


@pytest.fixture
def quick(monkeypatch, exported):
    """Instead of building, an export copies one: what is tested is all around it."""

    def build(run, aside, options):
        shutil.copytree(exported[1], aside, dirs_exist_ok=True)

    monkeypatch.setattr(export_folder, "_build", build)
    monkeypatch.setattr(export_folder, "_check", lambda *_: [])


def options_of(export: pathlib.Path) -> ExportOptions:
    return ExportOptions(json.loads((export / "manifest.json").read_text())["name"], 3)


def listing(folder: pathlib.Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class TestWhatIsWritten:
    def test_the_files_of_the_contract_and_no_others(self, exported):
        name = options_of(exported[1]).name
        version = f"serving/{name}/1"
        read = {
            *("inference.keras", "manifest.json"),
            *(f"litert/{name}{suffix}" for suffix in (".tflite", ".int8.tflite", ".json")),
            *(f"weights/{name}{suffix}" for suffix in (".safetensors", ".json")),
        }
        assert set(listing(exported[1])) == {
            *read,
            *(f"versions/1/{file}" for file in read),
            *(f"{version}/{file}" for file in ("saved_model.pb", "fingerprint.pb")),
            *(f"{version}/variables/variables.{x}" for x in ("index", "data-00000-of-00001")),
            *(f"{version}/assets.extra/tf_serving_warmup_requests",),
            *(f"{version}/assets.extra/source_vocabulary.json",),
            *(f"{version}/batching_params.pbtxt",),
        }

    def test_checksums_and_sizes_in_the_manifest_are_true(self, exported):
        files = read_manifest(exported[1])["files"]
        there = listing(exported[1])
        assert {name: entry["sha256"] for name, entry in files.items()} == {
            name: digest
            for name, digest in there.items()
            if name != "manifest.json" and not name.startswith("versions/")
        }
        for name, entry in files.items():
            assert entry["bytes"] == (exported[1] / name).stat().st_size

    def test_signatures_in_the_manifest_are_true(self, exported):
        described = read_manifest(exported[1])["signatures"]
        loaded = tf.saved_model.load(str(version_folder(exported[1]))).signatures
        assert set(described) == set(loaded) == {"serving_default", "attention", "beam"}
        for name, function in loaded.items():
            tensors = {
                "inputs": function.structured_input_signature[1],
                "outputs": function.structured_outputs,
            }
            for side, specs in tensors.items():
                assert described[name][side] == {
                    key: {"dtype": spec.dtype.name, "shape": spec.shape.as_list()}
                    for key, spec in specs.items()
                }

    def test_the_manifest_says_how_it_was_made_and_checked(self, exported):
        manifest = read_manifest(exported[1])
        name = manifest["name"]
        assert manifest["version"] == 1 and manifest["beam_width"] == 3
        assert manifest["longest_output"] == LONGEST_OUTPUT
        assert manifest["litert_longest_source"] == 64
        assert manifest["software"]["tensorflow"] == tf.__version__
        assert set(manifest["checks"]) == {
            *("inference.keras", f"serving/{name}", f"serving/{name} beam"),
            *(f"weights/{name}.safetensors", f"weights/{name}.safetensors beam"),
            *(f"litert/{name}.tflite", f"litert/{name}.int8.tflite"),
        }
        for artefact, figures in manifest["checks"].items():
            if "int8" not in artefact:
                assert figures["same_text"] == figures["n"] > 40
                assert figures["score_difference"] <= 1e-4
                assert figures["attention_difference"] <= 1e-4

    def test_others_may_read_it(self, exported):
        for path in exported[1].rglob("*"):
            assert path.stat().st_mode & 0o044, f"{path} is for its owner alone"


@pytest.mark.filterwarnings("ignore::keras_attention.text.repair.RepairWarning")
def test_run_export_and_litert_file_translate_the_same(exported, run):
    """Through the command, as a person does it; greedily, and by beam where there is one."""
    texts = [*random_texts(run.source, 12), "", "\u202ea\u0301😀"]
    litert = next((exported[1] / "litert").glob("*[!8].tflite"))
    given = "".join(text + "\n" for text in texts).encode() + b"\xff\xfea\n"
    outputs = []
    for model in (run.config.out, exported[1], litert):
        finished = call_verb("translate", model, stdin=given)
        assert finished.status == 0
        assert all(line.startswith("warning: line ") for line in finished.err.splitlines())
        outputs.append(finished.out)
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0].count("\n") == len(texts) + 1
    beams = [
        call_verb("translate", model, "--beam-width", 3, "--scores", *texts).out.splitlines()
        for model in (run.config.out, exported[1])
    ]
    for ours, theirs in zip(*beams, strict=True):
        (text, *scores), (text_there, *scores_there) = ours.split("\t"), theirs.split("\t")
        assert text == text_there
        np.testing.assert_allclose(np.float64(scores), np.float64(scores_there), atol=1e-5)


class TestVersions:
    def test_the_next_export_is_the_next_number(self, run, exported, quick, copy):
        export_folder.export(run, [], copy, options_of(copy))
        name = options_of(copy).name
        assert sorted(p.name for p in (copy / "serving" / name).iterdir()) == ["1", "2"]
        manifest = read_manifest(copy)
        assert manifest["version"] == 2
        assert {n for n in manifest["files"] if n.startswith("serving")} == {
            n for n in listing(copy) if n.startswith(f"serving/{name}/2/")
        }
        assert SavedModelReader(copy).translate_batch(["a"])

    def test_it_comes_after_the_last_even_where_some_were_removed(self, run, quick, copy):
        versions = copy / "serving" / options_of(copy).name
        (versions / "1").rename(versions / "41")
        (versions / "latest").mkdir()  # TF Serving ignores what is no number
        (versions / "99").write_text("a file")
        export_folder.export(run, [], copy, options_of(copy))
        assert (versions / "42" / "saved_model.pb").is_file()

    def test_what_a_killed_export_left_is_removed(self, run, quick, copy):
        (copy / ".building-abc" / "serving").mkdir(parents=True)
        (copy / ".writing-abcmanifest.json").write_text("{")
        export_folder.export(run, [], copy, options_of(copy))
        assert sorted(p.name for p in copy.iterdir()) == [
            *("inference.keras", "litert", "manifest.json", "serving", "versions", "weights")
        ]

    def test_two_at_once_are_refused(self, run, quick, copy):
        refused = []

        def second():
            try:
                export_folder.export(run, [], copy, options_of(copy))
            except UserError as error:
                refused.append(str(error))

        with folder_lock(copy):
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
        assert len(refused) == 1 and "another process is writing to this folder" in refused[0]
        export_folder.export(run, [], copy, options_of(copy))
        hidden = [path for path in copy.rglob("*") if path.name.startswith(".")]
        assert hidden == [], "a server would find them"


class Killed(BaseException):
    """Stands for a process that ends on the spot."""


def test_dying_at_any_step_of_publishing_leaves_whole_versions(
    run, exported, quick, monkeypatch, tmp_path
):
    """The process ends before each of the file system's operations in turn, and cleans nothing."""
    monkeypatch.setattr(export_folder.shutil, "rmtree", lambda *_, **__: None)
    seen = set()
    for last in range(200):
        out = tmp_path / str(last)
        shutil.copytree(exported[1], out)
        countdown = iter(range(last, -1, -1))

        def step(operation, countdown=countdown):
            def counted(*arguments, **options):
                if next(countdown) == 0:
                    raise Killed
                return operation(*arguments, **options)

            return counted

        with monkeypatch.context() as patched:
            for name in ("replace", "rename", "fsync", "chmod"):
                patched.setattr(os, name, step(getattr(os, name)))
            patched.setattr(pathlib.Path, "mkdir", step(pathlib.Path.mkdir))
            patched.setattr(pathlib.Path, "write_text", step(pathlib.Path.write_text))
            try:
                export_folder.export(run, [], out, options_of(out))
                finished = True
            except Killed:
                finished = False
        versions = sorted(p.name for p in (out / "serving" / options_of(out).name).iterdir())
        for version in versions:
            folder = f"serving/{options_of(out).name}/"
            parts = [
                {
                    n.removeprefix(f"{folder}{v}/"): d
                    for n, d in listing(out).items()
                    if n.startswith(f"{folder}{v}/")
                }
                for v in ("1", version)
            ]
            assert parts[0] == parts[1], f"step {last}: version {version} is not whole"
        manifest = read_manifest(out)  # whole, of the old export or of the new one
        assert str(manifest["version"]) in versions
        seen.add((len(versions), manifest["version"]))
        if finished:
            break
    assert finished and last > 12
    assert seen == {(1, 1), (2, 1), (2, 2)}


class TestNeeds:
    """What the manifest says an artefact needs, against the artefact."""

    def test_of_the_saved_model(self, exported):
        needs = read_manifest(exported[1])["needs"]
        name = read_manifest(exported[1])["name"]
        needed = needs[f"serving/{name}"]
        assert needed["written_by_tensorflow"] == tf.__version__
        assert needed["graph_version"] == tf.version.GRAPH_DEF_VERSION
        assert needed["least_graph_consumer"] <= tf.version.GRAPH_DEF_VERSION
        assert {"While", "StaticRegexFullMatch"} & set(needed["operators"]) or needed["operators"]
        assert not {op for op in needed["operators"] if "Cudnn" in op or "PyFunc" in op}

    def test_of_each_litert_file(self, exported):
        manifest = read_manifest(exported[1])
        name = manifest["name"]
        described = json.loads((exported[1] / "litert" / f"{name}.json").read_text("utf-8"))
        runtimes = described["least_runtimes"]
        assert set(runtimes) == {f"{name}.tflite", f"{name}.int8.tflite"}
        assert described["least_runtime"] == runtimes[f"{name}.tflite"]
        for file, runtime in runtimes.items():
            assert manifest["needs"][f"litert/{file}"] == {"least_runtime": runtime}
            assert runtime.encode() in (exported[1] / "litert" / file).read_bytes()
        assert runtimes[f"{name}.int8.tflite"] != runtimes[f"{name}.tflite"]

    def test_a_file_that_does_not_say_is_refused(self, exported):
        data = next((exported[1] / "litert").glob("*[!8].tflite")).read_bytes()
        with pytest.raises(RuntimeError, match="does not say"):
            least_runtime(data.replace(b"min_runtime_version", b"min_runtime_versiox"))


class TestParityDecides:
    def test_nothing_is_exported_where_one_artefact_says_something_else(
        self, run, copy, monkeypatch
    ):
        before = listing(copy)
        wrong = random_run(seed=99)

        def build(run, aside, options):
            shutil.copytree(copy, aside, dirs_exist_ok=True)
            from keras_attention.export.litert import write_litert

            write_litert(wrong, aside / "litert", options.name, 64)

        monkeypatch.setattr(export_folder, "_build", build)
        with pytest.raises(UserError) as error:
            export_folder.export(run, random_texts(run.source, 8), copy, options_of(copy))
        name = options_of(copy).name
        message = str(error.value)
        assert message.startswith(f"litert/{name}.tflite: does not agree with the run")
        assert "against" in message, "it says where"
        assert listing(copy) == before
        assert not list(copy.glob(".*"))

    def test_every_artefact_is_compared_on_all_texts(self, run, copy, monkeypatch):
        compared = []

        def counting(reference, other):
            compared.append(len(other))
            return real(reference, other)

        real = export_folder.compare
        monkeypatch.setattr(export_folder, "compare", counting)
        monkeypatch.setattr(export_folder, "milliseconds_per_call", lambda call: 0.0)
        texts = random_texts(run.source, 8)
        rows = export_folder._check(run, texts, copy, options_of(copy))
        every = 8 + len(HOSTILE_SOURCES)
        readable = 8 + sum(len(text) <= 64 for text in HOSTILE_SOURCES)
        assert compared == [*[every] * 5, readable, readable]
        assert [row.parity.n for row in rows] == compared

    def test_quantised_differences_are_told_and_not_refused(self, run, copy, monkeypatch):
        quantised = next((copy / "litert").glob("*.int8.tflite"))
        other = random_run(seed=99)
        from keras_attention.export.litert import write_litert

        name = options_of(copy).name
        (copy / "elsewhere").mkdir()
        write_litert(other, copy / "elsewhere", name, 64)
        shutil.copy(copy / "elsewhere" / quantised.name, quantised)
        monkeypatch.setattr(export_folder, "milliseconds_per_call", lambda call: 0.0)
        rows = export_folder._check(run, random_texts(run.source, 8), copy, options_of(copy))
        assert rows[-1].parity.same_text < rows[-1].parity.n


class TestWhatIsChecked:
    def test_the_sources_of_the_test_data(self, run):
        path = pathlib.Path(run.config.data) / "test.tsv"
        lines = path.read_text(encoding="utf-8").splitlines()
        assert checked_sources(run) == [line.split("\t")[0] for line in lines]

    def test_random_ones_where_the_data_are_gone(self):
        run = random_run(seed=21, attention="none")
        shutil.rmtree(run.config.data)
        with pytest.warns(UserWarning, match="test data cannot be read .* 500 random sources"):
            sources = checked_sources(run)
        with pytest.warns(UserWarning):
            assert len(sources) == 500 and sources == checked_sources(run)
        assert set("".join(sources)) == set(run.source.tokens)

    def test_training_data_are_not_read_for_it(self, run, tmp_path):
        """They may be too many for memory, or have gone by now."""
        import dataclasses

        data = tmp_path / "data"
        shutil.copytree(run.config.data, data)
        (data / "train.tsv").write_bytes(b"\xff no pairs")
        elsewhere = dataclasses.replace(run, config=dataclasses.replace(run.config, data=str(data)))
        assert checked_sources(elsewhere) == checked_sources(run)

    def test_the_saved_model_reads_the_longest_of_them(self):
        assert longest_text_of([]) == longest_text_of(["a"]) == 4096
        assert longest_text_of(["a", "b" * 5000]) == 5000

    def test_litert_reads_the_longest_of_them(self, run):
        assert longest_source_of(run, ["a", "b" * 20]) == 64
        assert longest_source_of(run, ["a", "b" * 200]) == 200


class TestMistakes:
    @pytest.mark.parametrize("name", RANGES)
    @pytest.mark.parametrize("value", ["-1", "2000000000000", "nan", "x"])
    def test_a_number_out_of_range(self, run, tmp_path, name, value):
        flag = "--" + name.replace("_", "-")
        finished = call_export(run.config.out, "--out", tmp_path / "x", f"{flag}={value}")
        assert finished.status == 2
        assert finished.err.startswith(f"error: {flag}: ") and finished.err.count("\n") == 1
        assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize(
        "arguments, what",
        [
            ([], "required: RUN"),
            (["RUN", "RUN"], "RUN: is not an option of this command"),
            (["nowhere"], "nowhere: holds no run"),
            (["nowhere", "--beam"], "--beam: is not an option"),
            (["RUN", "--out", "RUN"], "is a run folder"),
            (["RUN", "--out", "FILE"], "cannot be written to"),
            (["RUN", "--out", "FILE/x"], "cannot be written to"),
        ],
    )
    def test_a_mistake_is_one_line_and_status_2(self, run, tmp_path, arguments, what):
        (tmp_path / "file").write_text("x")
        places = {"RUN": run.config.out, "FILE": f"{tmp_path}/file", "FILE/x": f"{tmp_path}/file/x"}
        finished = call_export(*(places.get(argument, argument) for argument in arguments))
        assert finished.status == 2
        assert finished.err.startswith("error: ") and finished.err.count("\n") == 1
        assert what.replace("RUN:", f"{run.config.out}:") in finished.err

    def test_a_run_that_is_not_finished(self, run, tmp_path):
        shutil.copytree(run.config.out, tmp_path / "run")
        (tmp_path / "run" / "model.keras").unlink()
        finished = call_export(tmp_path / "run", "--out", tmp_path / "x")
        assert finished.status == 2 and "not finished" in finished.err
        assert not (tmp_path / "x").exists()

    def test_no_room(self, run, tmp_path, monkeypatch):
        def build(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(export_folder, "_build", build)
        finished = call_export(run.config.out, "--out", tmp_path / "x")
        assert finished.status == 2 and "No space left on device; make room" in finished.err
        assert not (tmp_path / "x").exists()


def test_the_table_names_each_artefact_once(exported, run, tmp_path, quick, monkeypatch):
    """All of the command but the building, which the other tests have seen."""
    monkeypatch.undo()  # real building and checking: the one whole command in this file
    finished = call_export(run.config.out, "--out", tmp_path / "dates", "--beam-width", "2")
    assert (finished.status, finished.err) == (0, "")
    first, header, *rows = finished.out.splitlines()
    assert (
        first
        == f"exporting {run.config.out} to {tmp_path}/dates, checking every artefact on 40 sources"
    )
    assert header.split("  ")[0] == "artefact" and "same text" in header
    name = pathlib.Path(run.config.out).name
    assert [row.split("  ")[0] for row in rows] == [
        *("inference.keras", f"serving/{name}", f"serving/{name} beam"),
        *(f"weights/{name}.safetensors", f"weights/{name}.safetensors beam"),
        *(f"litert/{name}.tflite", f"litert/{name}.int8.tflite"),
    ]
    assert all(f"{40 + len(HOSTILE_SOURCES)}/" in row for row in rows[:5])


RUN_OF_DEFAULTS = ROOT / "runs" / "dates"


@pytest.mark.slow
@pytest.mark.skipif(
    not (RUN_OF_DEFAULTS / "metrics.json").exists(), reason="needs the run of `make train`"
)
def test_the_default_run_ships_whole(tmp_path):
    finished = call_export(RUN_OF_DEFAULTS, "--out", tmp_path / "dates")
    assert finished.status == 0, finished.err
    checks = read_manifest(tmp_path / "dates")["checks"]
    for artefact, figures in checks.items():
        least = 0.999 if "int8" in artefact else 1
        assert figures["n"] > 5000 and figures["same_text"] >= least * figures["n"]
