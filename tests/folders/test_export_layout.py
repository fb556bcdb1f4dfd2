"""What counts as a version, by TensorFlow Serving's rules."""

import pytest

from keras_attention.folders.export_layout import version_folders

LARGEST = "9223372036854775807"


def folders(tmp_path, *names):
    for name in names:
        (tmp_path / name).mkdir()
    return {number: path.name for number, path in version_folders(tmp_path).items()}


def test_numbers_ascending(tmp_path):
    assert list(folders(tmp_path, "10", "9", "1").items()) == [(1, "1"), (9, "9"), (10, "10")]


def test_leading_zeros_do_not_count(tmp_path):
    assert folders(tmp_path, "007", "0") == {0: "0", 7: "007"}


def test_the_plain_name_wins_over_one_with_zeros(tmp_path):
    assert folders(tmp_path, "07", "7", "007") == {7: "7"}


@pytest.mark.parametrize(
    "name", ["9223372036854775808", "9" * 200, "-1", "1.0", "1a", " 1", "٣", "²", ".new", "1_0"]
)
def test_what_is_no_number_of_64_bits_is_ignored(tmp_path, name):
    assert folders(tmp_path, name, LARGEST) == {int(LARGEST): LARGEST}


def test_many_zeros_are_still_a_number(tmp_path):
    assert folders(tmp_path, "0" * 100 + "5") == {5: "0" * 100 + "5"}


def test_files_are_no_versions(tmp_path):
    (tmp_path / "3").touch()
    assert folders(tmp_path, "1") == {1: "1"}


def test_no_folder_no_versions(tmp_path):
    assert version_folders(tmp_path / "none") == {}
