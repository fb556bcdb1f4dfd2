"""TensorFlow's import: in a command silent and without a search for garbage where there is none."""

import subprocess
import sys

import pytest

IN_A_COMMAND = """if True:
    import gc, sys
    gc.{before}()
    seen = []
    from keras_attention._runtime.command_line import exit_with_user_errors
    from keras_attention._runtime.quiet import import_tensorflow_quietly
    gc.callbacks.append(lambda phase, info: seen.append(info["generation"]))
    def main(arguments):
        seen.clear()
        import_tensorflow_quietly()
        frozen = gc.get_freeze_count() > 100_000
        print("tensorflow" in sys.modules, len(seen), gc.isenabled(), frozen)
    exit_with_user_errors(main, [])
"""


@pytest.mark.parametrize(("before", "after"), [("enable", "True"), ("disable", "False")])
def test_the_import_is_silent_and_leaves_garbage_collection_as_it_was(before, after):
    script = IN_A_COMMAND.format(before=before)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.split() == ["True", "0", after, "True"]
    assert result.stderr == ""
