"""Ships a run: `python export.py RUN [--out EXPORT]`.

The same as the verb `export`; `--help` shows every option, and `keras_attention/commands/export.py`
what happens.
"""

import sys

from keras_attention.__main__ import run_verb

if __name__ == "__main__":
    run_verb("export", sys.argv[1:])
