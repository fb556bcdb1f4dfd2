"""An OSError is not always a full disk."""

import errno
import os

import pytest

from keras_attention._runtime.os_errors import describe


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "make room"),
        (errno.EACCES, "ask the owner"),
        (errno.EROFS, "read only"),
        (errno.EIO, None),
    ],
)
def test_the_advice_fits_the_error(number, advice):
    said = describe(OSError(number, os.strerror(number), "some/file"), "choose another")
    assert said.startswith(f"some/file: {os.strerror(number)}; ")
    assert said.endswith("choose another")
    assert (advice or "some/file") in said
    assert ("make room" in said) == (number == errno.ENOSPC)


def test_an_error_without_number_or_file_says_what_it_says():
    assert describe(OSError("odd"), "wait") == "odd; wait"
    assert describe(OSError(), "wait") == "OSError; wait"
