"""Trains an attention model: `python train.py [--data PATH] [--out RUN]`.

The same as the verb `train`; `--help` shows every option, and `keras_attention/commands/train.py`
what happens.
"""

import sys

if __name__ == "__main__":
    try:  # so that Ctrl-C is one line from the start
        from keras_attention.__main__ import run_verb
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    run_verb("train", sys.argv[1:])
