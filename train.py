"""Trains an attention model: `python train.py [--data PATH] [--out RUN]`.

The same as the verb `train`; `--help` shows every option, and `keras_attention/commands/train.py`
what happens.
"""

import sys

from keras_attention.__main__ import run_verb

if __name__ == "__main__":
    run_verb("train", sys.argv[1:])
