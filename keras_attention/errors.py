"""The one error type that stands for a user's mistake, told in one line."""


class UserError(Exception):
    """A mistake that the user can mend.

    Scripts print it as `error: MESSAGE` on standard error and exit with status 2. The message names
    the place (`FILE:LINE` or `--option`), what is wrong, and what to do; it has no line break.
    """

    def __init__(self, message: str):
        super().__init__(" ".join(message.splitlines()))
