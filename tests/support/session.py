"""What one session of tests, of one process or several, shares and ends."""

import contextlib

# Names the environment variable of a folder that the first process makes for all, and removes.
FOLDER_OF_ALL_PROCESSES = "KERAS_ATTENTION_TEST_FOLDER"

# What this process of tests leaves to be ended: when its session ends, which comes before the
# interpreter's own end, at which a process may be killed when it takes long.
AT_END = contextlib.ExitStack()
