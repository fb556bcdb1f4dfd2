"""How this copy was installed, and what to type for a part of it that is missing."""

from __future__ import annotations

import pathlib

from keras_attention.errors import UserError

DISTRIBUTION = "keras-attention-seq2seq"

_CLONE = pathlib.Path(__file__).parents[2]

# What only one extra brings; everything else that can be missing belongs to "application".
_EXTRA_OF = {
    "apache_beam": "beam",
    "h5py": "translate",
    "rapidfuzz": "translate",
    "sacrebleu": "translate",
    "safetensors": "translate",
    "threadpoolctl": "translate",
    "koreanize_matplotlib": "translate",
    "matplotlib": "translate",
    "uvicorn": "serve",
    "httptools": "serve",
}
_APPLICATION = frozenset(("tensorflow", "keras", "ai_edge_litert", "babel", "sentencepiece"))


def is_clone() -> bool:
    """Whether the package lies in a clone of the project, with `train.py` beside it."""
    return (_CLONE / "train.py").is_file() and (_CLONE / "requirements.txt").is_file()


def command_for(verb: str) -> str:
    """What to type for a verb: `python train.py` in a clone, else `keras-attention train`."""
    if not is_clone():
        return f"keras-attention {verb}"
    return (
        f"python {verb}.py" if verb in ("train", "export") else f"python -m keras_attention {verb}"
    )


def missing_extra(what: str, extra: str) -> UserError:
    """The error of `what`, a verb or a feature, whose packages are not installed.

    In a clone it names the file of pinned versions as well, so that both kinds of users can follow.
    """
    message = f'{what}: needs packages that are missing; `pip install "{DISTRIBUTION}[{extra}]"`'
    if is_clone():
        pinned = f"requirements-{extra}.txt"
        if not (_CLONE / pinned).is_file():
            pinned = "requirements.txt"
        message += f", or in the clone `pip install -r {pinned}`"
    return UserError(message)


def error_of_missing_module(
    error: ModuleNotFoundError, what: str | None = None
) -> UserError | None:
    """The line for a module that an extra would bring; None for any other module.

    `what` names who needs it, by default the module itself.
    """
    top = (error.name or "").partition(".")[0]
    extra = _EXTRA_OF.get(top) or ("application" if top in _APPLICATION else None)
    return missing_extra(what or top, extra) if extra else None
