"""The options: their ranges, their way through JSON, and which of two sources wins."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.config import (
    DEFAULT_CLIPNORM,
    FREEZABLE,
    RESOLVED_FIELDS,
    Config,
    flag_of,
    load_config,
    merge,
    read_config_file,
    type_of,
)
from keras_attention.errors import UserError

FIELDS = {field.name: field for field in dataclasses.fields(Config)}


def valid_values(field):
    """A strategy for the values that a field takes by itself."""
    kind, optional = type_of(field)
    data = field.metadata
    if data["choices"]:
        values = st.sampled_from(data["choices"])
    elif kind is bool:
        values = st.booleans()
    elif kind is int:
        values = st.integers(data["least"], 10**6)
    elif kind is float:
        below = data["below"]
        values = st.floats(data["least"], below if below else 1e6, exclude_max=bool(below))
    else:
        values = st.text(st.characters(exclude_characters="\0", exclude_categories=[]), min_size=1)
    return st.none() | values if optional else values


@st.composite
def configs(draw):
    options = {name: draw(valid_values(field)) for name, field in FIELDS.items()}
    if options["clipnorm"] is not None:
        options["global_clipnorm"] = None
    options["units"] *= 2
    options["learning_rate"] = options["learning_rate"] or 0.1
    options["overwrite"] &= not options["resume"]
    options["joint"] &= options["source_tokens"] == options["target_tokens"] == "subword"
    if options["freeze"] is not None:
        parts = draw(st.lists(st.sampled_from(FREEZABLE), min_size=1))
        options |= {"freeze": ",".join(parts), "init_from": options["init_from"] or "runs/first"}
    if options["attention"] in ("none", "peeky"):
        options |= {"attentional_layer": False, "attention_normalizer": "softmax"}
    return Config(**options)


@given(configs())
def test_it_survives_json(config):
    assert Config(**json.loads(config.to_json())) == config
    config.to_json().encode("utf-8")


def test_it_survives_a_file_also_with_a_path_that_is_no_utf8(tmp_path):
    config = Config(out="r\udcff", data="데이터")
    (tmp_path / "config.json").write_text(config.to_json(), encoding="utf-8")
    assert load_config(tmp_path / "config.json") == config


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"units": 0}, "--units"),
        ({"units": 5}, "--units"),  # odd, and bidirectional
        ({"units": 2**31}, "--units"),
        ({"units": True}, "--units"),
        ({"units": 128.0}, "--units"),
        ({"units": "128"}, "--units"),
        ({"units": None}, "--units"),
        ({"layers": 0}, "--layers"),
        ({"epochs": 0}, "--epochs"),
        ({"epochs": 10**30}, "--epochs"),
        ({"batch_size": 0}, "--batch-size"),
        ({"patience": 0}, "--patience"),
        ({"longest_output": 0}, "--longest-output"),
        ({"seed": -1}, "--seed"),
        ({"seed": 2**32}, "--seed"),
        ({"encoder": "rnn"}, "--encoder"),
        ({"attention": "Dot"}, "--attention"),
        ({"attention_normalizer": "max"}, "--attention-normalizer"),
        ({"attention": "none", "attention_normalizer": "sparsemax"}, "--attention-normalizer"),
        ({"source_tokens": "byte"}, "--source-tokens"),
        ({"initial_state": ""}, "--initial-state"),
        ({"dropout": 1.0}, "--dropout"),
        ({"dropout": -0.1}, "--dropout"),
        ({"decoder_input_dropout": 1}, "--decoder-input-dropout"),
        ({"unknown_rate": 1.5}, "--unknown-rate"),
        ({"label_smoothing": 1.0}, "--label-smoothing"),
        ({"learning_rate": 0}, "--learning-rate"),
        ({"learning_rate": -1e-3}, "--learning-rate"),
        ({"learning_rate": float("nan")}, "--learning-rate"),
        ({"learning_rate": float("inf")}, "--learning-rate"),
        ({"learning_rate": 1e39}, "--learning-rate"),
        ({"learning_rate": 10**400}, "--learning-rate"),
        ({"learning_rate": "fast"}, "--learning-rate"),
        ({"clipnorm": -1.0}, "--clipnorm"),
        ({"global_clipnorm": float("nan")}, "--global-clipnorm"),
        ({"clipnorm": 1.0, "global_clipnorm": 5.0}, "--clipnorm"),
        ({"resume": True, "overwrite": True}, "--resume"),
        ({"resume": 1}, "--resume"),
        ({"out": ""}, "--out"),
        ({"data": "a\0b"}, "--data"),
        ({"data": 7}, "--data"),
    ],
)
def test_what_is_out_of_range_is_named(options, flag):
    with pytest.raises(UserError) as raised:
        Config(**options)
    message = str(raised.value)
    assert message.startswith(f"{flag}: ")
    assert "\n" not in message
    if not {"resume", "overwrite"} <= set(options):
        assert "Received: " in message


def test_one_direction_may_have_odd_units():
    assert Config(units=5, bidirectional=False).units == 5


def test_whole_numbers_pass_for_floats():
    config = Config(learning_rate=1, clipnorm=2)
    assert (config.learning_rate, config.clipnorm) == (1.0, 2.0)
    assert isinstance(config.learning_rate, float)


@pytest.mark.parametrize(
    ("options", "clipnorm", "global_clipnorm"),
    [
        ({}, DEFAULT_CLIPNORM, None),
        ({"clipnorm": 3.0}, 3.0, None),
        ({"clipnorm": 0.0}, 0.0, None),
        ({"global_clipnorm": 5.0}, None, 5.0),
        ({"global_clipnorm": 0.0}, None, 0.0),
    ],
)
def test_one_clipping_rule(options, clipnorm, global_clipnorm):
    config = Config(**options)
    assert (config.clipnorm, config.global_clipnorm) == (clipnorm, global_clipnorm)


def test_a_flag_beats_the_file_and_the_file_the_default():
    config = merge({"units": 64, "epochs": 3}, {"epochs": 9})
    assert (config.units, config.epochs, config.layers) == (64, 9, 1)


@pytest.mark.parametrize(
    ("file", "flags", "clipnorm", "global_clipnorm"),
    [
        ({"clipnorm": 2.0, "global_clipnorm": None}, {"global_clipnorm": 5.0}, None, 5.0),
        ({"global_clipnorm": 5.0}, {"clipnorm": 2.0}, 2.0, None),
        ({"clipnorm": 2.0}, {"clipnorm": 0.0}, 0.0, None),
        ({"global_clipnorm": 5.0}, {"units": 8}, None, 5.0),
    ],
)
def test_a_clipping_flag_beats_either_rule_of_the_file(file, flags, clipnorm, global_clipnorm):
    config = merge(file, flags)
    assert (config.clipnorm, config.global_clipnorm) == (clipnorm, global_clipnorm)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"", ":1: is not JSON"),
        (b'{\n"units": 3,\n}', ":3: is not JSON"),
        (b"[1]", "one JSON object"),
        (b"\xff\xfe{", "is not UTF-8"),
        (b'{"unit": 3, "learning-rate": 1}', "does not know: learning-rate, unit"),
        (b'{"units": ' + b"9" * 5000 + b"}", "cannot be read as options"),
        (b'{"units": ' + b"[" * 100_000, "cannot be read as options"),
    ],
)
def test_a_bad_file_is_told(tmp_path, content, message):
    path = tmp_path / "options.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as raised:
        read_config_file(path)
    assert str(raised.value).startswith(str(path))
    assert message in str(raised.value)


def test_a_byte_order_mark_is_accepted(tmp_path):
    (tmp_path / "options.json").write_bytes(b'\xef\xbb\xbf{"units": 8}')
    assert read_config_file(tmp_path / "options.json") == {"units": 8}


def test_a_run_of_another_version_is_told(tmp_path):
    path = tmp_path / "config.json"
    fields = json.loads(Config().to_json())
    path.write_text(json.dumps(fields | {"beam_me_up": 1}))
    with pytest.raises(UserError, match="does not know: beam_me_up"):
        load_config(path)
    del fields["units"]
    path.write_text(json.dumps(fields))
    with pytest.raises(UserError, match="lacks units; it was written by another version"):
        load_config(path)
    path.write_text(json.dumps(fields | {"units": 0}))
    with pytest.raises(UserError, match=r"config\.json: --units: must be at least 1"):
        load_config(path)


def test_every_option_is_documented():
    for field in FIELDS.values():
        assert flag_of(field) == "--" + field.name.replace("_", "-")
        assert len(field.metadata["help"]) > 10
        assert field.metadata["group"]


@pytest.mark.parametrize(
    ("batches", "epochs"), [(1, 100), (13, 100), (47, 28), (650, 2), (704, 2), (10**6, 2)]
)
def test_epochs_left_open_make_enough_steps(batches, epochs):
    assert Config().epochs_for(batches) == epochs
    assert Config(epochs=7).epochs_for(batches) == 7


@pytest.mark.parametrize("name", sorted(RESOLVED_FIELDS))
def test_a_runs_numbers_are_filled_in(name):
    assert Config(**{name: 7}).filled_in(name) == 7
    with pytest.raises(ValueError, match=f"Received: {name}=None"):
        Config().filled_in(name)


# --- what a file says wrongly is found whatever else is said


def write_options(tmp_path, text: str):
    path = tmp_path / "options.json"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"units": 0}', "--units: must be at least 1. Received: units=0"),
        ('{"encoder": "rnn"}', "--encoder: must be one of lstm, gru. Received: encoder='rnn'"),
        ('{"epochs": "3"}', "--epochs: must be of type int. Received: epochs='3'"),
        ('{"units": 3, "epochs": 1, "units": 4}', "gives units twice; keep one of the two lines"),
    ],
)
def test_a_wrong_value_in_a_file_names_the_file_also_where_a_flag_beats_it(tmp_path, text, message):
    path = write_options(tmp_path, text)
    with pytest.raises(UserError) as raised:
        read_config_file(path)
    assert str(raised.value) == f"{path}: {message}"


def test_a_default_makes_way_for_another_clipping_rule():
    config = dataclasses.replace(Config(), global_clipnorm=5.0)
    assert (config.clipnorm, config.global_clipnorm) == (None, 5.0)
    again = dataclasses.replace(Config(units=64), units=32)
    assert again.clipnorm == DEFAULT_CLIPNORM
    with pytest.raises(UserError, match="--clipnorm: cannot be given together"):
        dataclasses.replace(Config(clipnorm=1.0), global_clipnorm=5.0)


@pytest.mark.parametrize("started_with", ["resume", "overwrite"])
@pytest.mark.parametrize("goes_on_with", ["resume", "overwrite"])
def test_a_runs_own_file_does_not_say_how_the_next_training_starts(started_with, goes_on_with):
    fields = json.loads(Config(**{started_with: True}).to_json())
    config = merge(fields, {goes_on_with: True})
    assert getattr(config, goes_on_with) and config.resume != config.overwrite
