"""The options of `train` on a command line, one for every field of the config."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib

from keras_attention.commands import verb_parser
from keras_attention.config import SHAPE_FIELDS, Config, flag_of, load_config, merge, type_of
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import CONFIG, check_finished_run, is_run
from keras_attention.recipe import Recipe, read_recipe


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """What a command line of `train` asks for.

    Attributes:
        flags: The options that it names.
        recipe: Those of its config file.
        path: That file; None where it names none.
    """

    flags: dict
    recipe: Recipe
    path: str | None

    def config(self, pairs: int | None = None) -> Config:
        """The config for so many training pairs; without a number what does not depend on it.

        Raises:
            UserError: two options contradict each other.
        """
        by_size = {} if pairs is None else self.recipe.options_for(pairs)
        fields = _with_shape_of_run(self.recipe.fields | by_size, self.flags)
        try:
            return merge(fields, self.flags)
        except UserError as error:
            # Each value of the file is good: two options do not go together.
            flag = str(error).partition(":")[0].removeprefix("--").replace("-", "_")
            if not self.path:
                raise
            if flag in self.flags:
                raise UserError(f"{error}; the other options are those of {self.path}") from None
            raise UserError(f"{self.path}: {error}") from None

    def chosen_by_size(self, pairs: int) -> dict:
        """The options that so many training pairs decide, since no flag names them."""
        options = self.recipe.options_for(pairs)
        return {name: value for name, value in options.items() if name not in self.flags}


def parse_training_options(arguments: list[str], description: str) -> TrainingOptions:
    """What a command line of `train` asks for.

    Raises:
        UserError: an unknown option, a bad value, or a bad config file.
    """
    parser = verb_parser("train", description)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for field in dataclasses.fields(Config):
        title = field.metadata["group"]
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
            if len(groups) == 1:
                groups[title].add_argument(
                    "--config",
                    metavar="FILE.json",
                    help="other defaults, as JSON, which may depend on the number of training "
                    "pairs; a flag beats it",
                )
        _add_option(groups[title], field)
    flags = vars(parser.parse_args(arguments))
    path = flags.pop("config", None)
    return TrainingOptions(flags, read_recipe(path) if path else Recipe({}), path)


def _with_shape_of_run(fields: dict, flags: dict) -> dict:
    """The fields of a file, and of the run to start from the options that must be as there.

    What is given stays, so that a contradiction is told and not passed by.
    """
    run = flags.get("init_from", fields.get("init_from"))
    if run is None:
        return fields
    out = flags.get("out", fields.get("out", Config.out))
    if flags.get("resume", fields.get("resume")) and is_run(out):
        run = out  # the other one is not needed any more
    else:
        check_finished_run("--init-from", run)
    shape = load_config(pathlib.Path(run) / CONFIG)
    return {name: getattr(shape, name) for name in SHAPE_FIELDS} | fields


def _add_option(group, field: dataclasses.Field) -> None:
    kind, _ = type_of(field)
    default = "" if field.default is None else f" (default: {_shown(field.default)})"
    options = {
        "dest": field.name,
        "default": argparse.SUPPRESS,  # so that only given flags are there, to beat the file
        "help": (field.metadata["help"] + default).replace("%", "%%"),
    }
    if kind is bool:
        action = argparse.BooleanOptionalAction if field.name in _SWITCHES else "store_true"
        group.add_argument(flag_of(field), action=action, **options)
    else:
        metavar = "|".join(field.metadata["choices"]) or {int: "N", float: "X"}.get(
            kind, field.metadata["metavar"]
        )
        group.add_argument(flag_of(field), type=kind, metavar=metavar, **options)


# Booleans that can also be switched off, by --no-NAME; resume and overwrite are off already.
_SWITCHES = frozenset({"attentional_layer", "bidirectional", "joint", "reverse_source"})


def _shown(value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
