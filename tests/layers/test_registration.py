"""Keras finds the layers wherever this package is imported, and pickles carry the import along."""

import os
import pickle
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import layers

from keras_attention._registration import SAVED_CLASSES
from keras_attention.layers.attention import Attention
from keras_attention.layers.sequence import Peek, ReverseSequence
from tests.support.attention_backend import to_numpy

IDS = np.array([[1, 2, 3], [4, 0, 0]])


def model_of_all_layers():
    ids = keras.Input((None,), dtype="int32")
    states = layers.Embedding(9, 4)(ReverseSequence()(ids, ids != 0))
    context, weights = Attention("general")(states, states, mask=ids != 0)
    return keras.Model(ids, [Peek()(context, states[:, 0]), weights])


def run(script, folder, *options):
    """The standard output of a script in a process of its own, which may import this package."""
    (folder / "script.py").write_text(script, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, *options, "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


LOAD = """
model = keras.saving.load_model("model.keras")
import numpy as np
np.save("got.npy", keras.ops.convert_to_numpy(model(np.array([[1, 2, 3], [4, 0, 0]]))[0]))
"""


@pytest.mark.parametrize(
    "imports",
    [
        "import keras_attention, keras",
        "import keras, keras_attention",
        "import keras_attention, importlib.util; importlib.util.find_spec('keras'); import keras",
        "import keras_attention.layers.normalizers, keras",
        "import keras_attention; from keras import saving; import keras",
    ],
)
def test_a_bare_import_is_enough_to_load(imports, tmp_path):
    model = model_of_all_layers()
    model.save(tmp_path / "model.keras")
    run(imports + LOAD, tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "got.npy"), to_numpy(model(IDS)[0]))


def test_the_package_imports_without_keras_and_imports_none(tmp_path):
    script = "import sys; {}; import keras_attention; print(sys.modules.get('keras'))"
    assert run(script.format("pass"), tmp_path).strip() == "None"
    without = script.format("sys.modules['keras'] = None")
    assert run(without, tmp_path, "-W", "error").strip() == "None"


def test_the_finder_leaves_when_its_work_is_done(tmp_path):
    script = """
import sys, keras_attention
finders = [f for f in sys.meta_path if type(f).__name__ == "_KerasFinder"]
import keras, importlib.resources
left = [f for f in sys.meta_path if type(f).__name__ == "_KerasFinder"]
print(len(finders), len(left), importlib.resources.files("keras").is_dir(), keras.__spec__.origin)
"""
    before, after, resources, origin = run(script, tmp_path).split()
    assert (before, after, resources) == ("1", "0", "True") and origin == keras.__spec__.origin


def test_every_class_that_is_saved_is_announced():
    import keras_attention

    package = os.path.dirname(keras_attention.__file__)
    found = {}
    for folder, _, names in os.walk(package):
        for name in names:
            if not name.endswith(".py"):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            module = os.path.relpath(path, package).removesuffix(".py").replace(os.sep, ".")
            for line, following in zip(lines, lines[1:], strict=False):
                if line.startswith("@keras.saving.register_keras_serializable"):
                    found[following.removeprefix("class ").partition("(")[0]] = module
    assert found == SAVED_CLASSES


def test_the_class_itself_takes_the_place_of_its_stand_in():
    assert keras.saving.get_registered_object("keras_attention>Attention") is Attention
    assert keras.saving.get_registered_name(Attention) == "keras_attention>Attention"


POOL = """
import multiprocessing
{imports}


def hold(model):
    global held
    held = model


def answer(ids):
    return held.predict(ids, verbose=0)[0].tolist()


if __name__ == "__main__":
    import keras, numpy as np
    from keras_attention import Attention

    model = keras.saving.load_model("model.keras")
    ids = np.array([[1, 2, 3], [4, 0, 0]])
    with multiprocessing.get_context("spawn").Pool(1, hold, (model,)) as pool:
        got = pool.apply_async(answer, (ids,)).get(timeout=200)
    np.testing.assert_allclose(got, keras.ops.convert_to_numpy(model(ids)[0]), atol=1e-6)
    print("equal")
"""


@pytest.mark.slow
@pytest.mark.parametrize("imports", ["", "import keras_attention"])
def test_a_spawned_pool_reads_a_pickled_model(imports, tmp_path):
    model_of_all_layers().save(tmp_path / "model.keras")
    assert run(POOL.format(imports=imports), tmp_path).strip() == "equal"


UNPICKLE = """
import pickle, numpy as np
with open("model.pickle", "rb") as file:
    model = pickle.load(file)
import keras
np.save("got.npy", keras.ops.convert_to_numpy(model(np.array([[1, 2, 3], [4, 0, 0]]))[0]))
"""


def sequential():
    embed = layers.Embedding(9, 4, mask_zero=True)
    return keras.Sequential([keras.Input((None,)), embed, Attention(learned_query=True)])


def nested():
    return keras.Sequential([keras.Input((None,), dtype="int32"), model_of_all_layers()])


@pytest.mark.parametrize("make", [model_of_all_layers, sequential, nested])
def test_a_pickle_is_read_where_nothing_was_imported(make, tmp_path):
    model = make()
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    run(UNPICKLE, tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "got.npy"), to_numpy(model(IDS)[0]))


def test_pickles_of_other_models_stay_as_keras_writes_them():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    assert b"keras_attention" not in pickle.dumps(model)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(to_numpy(copy(np.ones((1, 3)))), to_numpy(model(np.ones((1, 3)))))
