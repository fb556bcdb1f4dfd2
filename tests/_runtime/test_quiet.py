"""TensorFlow's import: silent, and without a search for garbage where there is none."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("before", "after"), [("enable", "True"), ("disable", "False")])
def test_the_import_is_silent_and_leaves_garbage_collection_as_it_was(before, after):
    script = f"""if True:
        import gc
        gc.{before}()
        seen = []
        gc.callbacks.append(lambda phase, info: seen.append(info["generation"]))
        from keras_attention._runtime.quiet import import_tensorflow_quietly
        seen.clear()
        import_tensorflow_quietly()
        import sys
        frozen = gc.get_freeze_count() > 100_000
        print("tensorflow" in sys.modules, len(seen), gc.isenabled(), frozen)
    """
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.split() == ["True", "0", after, "True"]
    assert result.stderr == ""
