"""TensorFlow does not survive a fork: its threads stay behind, and whoever asks waits for ever."""

from __future__ import annotations

import os

from keras_attention.errors import UserError


class ProcessBound:
    """A reader that answers only in the process that loaded it."""

    def __init__(self):
        self._process = os.getpid()

    def check_process(self) -> None:
        """Refuses where answering would wait for ever.

        Raises:
            UserError: the process was forked after the model was loaded.
        """
        if os.getpid() != self._process:
            raise UserError(
                "the model was loaded with TensorFlow before this process was forked, and cannot "
                "answer here; load it again in this process, or load it with engine='numpy'"
            )
