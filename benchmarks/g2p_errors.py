"""What the pronunciation data hold, and what kind of mistakes the models make on them.

    python -m benchmarks.g2p_errors --data FOLDER [--runs runs/g2p]

Counts two ways of writing one sound in the Romanian training words, and Korean syllables; both need
no model. Where `--runs` holds the models of `benchmarks.g2p`, the wrong test words of seed 1 are
compared again after those differences are taken away. FOLDER as for `benchmarks.g2p`.
"""

import argparse
import pathlib
import unicodedata

from benchmarks.result_files import add_out_option, write_results
from keras_attention.commands import load_translator
from keras_attention.pairs.pair_files import read_pairs

# Differences that nothing in a word's letters decides: Romanian notation, and the Hindi schwa.
SAME = {
    "rum": [("t͡s", "t s"), ("e̯", "j"), ("ɾ", "r"), ("iː", "i j")],
    "hin": [("ə", "")],
}
BEAM_WIDTH = 5


def read(data: pathlib.Path, language: str, part: str) -> list[tuple[str, str]]:
    lines = (data / f"{language}_{part}.tsv").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


def romanian_notation(data: pathlib.Path) -> dict:
    """How many training words write one sound in which way."""
    words = read(data, "rum", "train")
    with_letter = [phones for word, phones in words if "ț" in word]
    return {
        "words_with_ț": len(with_letter),
        "t͡s": sum("t͡s" in phones for phones in with_letter),
        "t s": sum("t s" in phones for phones in with_letter),
        "ɾ": sum("ɾ" in phones for _, phones in words),
    }


def korean_syllables(data: pathlib.Path) -> dict:
    """Syllables and letters of the training words; test words with a syllable not among them."""
    words = {part: [word for word, _ in read(data, "kor", part)] for part in ("train", "test")}
    syllables = set("".join(words["train"]))
    letters = set(unicodedata.normalize("NFD", "".join(words["train"])))
    unseen = sum(not set(word) <= syllables for word in words["test"])
    unseen_letters = set(unicodedata.normalize("NFD", "".join(words["test"]))) - letters
    return {
        "syllables": len(syllables),
        "letters": len(letters),
        "unseen_letters_in_test": len(unseen_letters),
        "test_words_with_unseen_syllable": unseen,
        "test_words": len(words["test"]),
    }


def without(phones: str, language: str) -> list[str]:
    for one, other in SAME[language]:
        phones = phones.replace(one, other)
    return phones.split()


def mistakes(runs: pathlib.Path, language: str) -> dict:
    """Wrong test words of seed 1, and how many of them are right but for `SAME`."""
    pairs = read_pairs(runs / "data" / language / "test.tsv", "char", "word")
    translator = load_translator(str(runs / language / "1"))
    answers = translator.translate([pair.source for pair in pairs], BEAM_WIDTH)
    wrong = [(a.text, p.target) for a, p in zip(answers, pairs, strict=True) if a.text != p.target]
    same = sum(without(said, language) == without(right, language) for said, right in wrong)
    return {"wrong": len(wrong), "right_but_for_notation": same}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--runs", type=pathlib.Path, metavar="FOLDER")
    add_out_option(parser, "g2p_errors")
    options = parser.parse_args()
    results = {
        "romanian_notation": romanian_notation(options.data),
        "korean_syllables": korean_syllables(options.data),
    }
    if options.runs:
        results["mistakes"] = {language: mistakes(options.runs, language) for language in SAME}
    print(results)
    write_results(options.out, results)


if __name__ == "__main__":
    main()
