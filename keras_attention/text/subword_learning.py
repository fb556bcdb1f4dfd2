"""Pieces learned from texts by byte-pair encoding (Sennrich et al., 2016), with sentencepiece."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import numpy as np

from keras_attention.errors import UserError
from keras_attention.text.normal_form import NO_FORM, normalise
from keras_attention.text.subwords import SPACE, Pieces, split_pieces
from keras_attention.text.vocabulary import Vocabulary

SAMPLE = 1_000_000  # texts that pieces are learned from, where there are more
LONGEST_PIECE = 16  # characters
_SENTENCEPIECE_SPACE = "\u2581"
# What sentencepiece keeps for itself: it would skip a text that has one of them, with a message.
_RESERVED = str.maketrans("", "", "\0\t\n\u2585" + _SENTENCEPIECE_SPACE)
_UNKNOWN_PIECE = "<unk>"


def learn_subwords(
    texts: Iterable[str],
    size: int,
    normal_form: str = NO_FORM,
    seed: int = 0,
    sample: int = SAMPLE,
) -> Vocabulary:
    """A vocabulary of the kind "subword".

    Holds every character that occurs, and the most useful longer pieces beside them up to `size` in
    all. Pieces that cutting from the left never uses in the sample are left out, so there may be
    fewer.

    Args:
        texts: At least one character; read once.
        size: Pieces in all, the single characters included.
        normal_form: What texts are brought into first: "none", "NFC" or "NFD".
        seed: Draws the sample.
        sample: At most so many texts are kept and learned from.

    Raises:
        UserError: sentencepiece is not installed; or `size` is less than the different characters.
    """
    try:
        import sentencepiece
    except ImportError:
        raise UserError(
            "--subwords: needs the package sentencepiece; `pip install sentencepiece`"
        ) from None
    characters = {SPACE}
    kept = _reservoir(_noting(texts, normal_form, characters), sample, np.random.default_rng(seed))
    if size < len(characters):
        raise UserError(
            f"--subwords: must be at least {len(characters)}, the number of different characters. "
            f"Received: {size}"
        )
    learnable = [text for text in (text.translate(_RESERVED) for text in kept) if text.strip(SPACE)]
    pieces = set(characters)
    if learnable:
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(learnable),
            model_writer=model,
            model_type="bpe",
            vocab_size=size + 1,  # and the unknown piece
            hard_vocab_limit=False,
            character_coverage=1.0,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=True,
            max_sentencepiece_length=LONGEST_PIECE,
            max_sentence_length=2**30,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            unk_id=0,
            unk_piece=_UNKNOWN_PIECE,
            num_threads=1,
            minloglevel=2,
        )
        learned = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        for number in range(1, learned.get_piece_size()):
            if len(pieces) == size:
                break
            pieces.add(learned.id_to_piece(number).replace(_SENTENCEPIECE_SPACE, SPACE))
    cut = Pieces(pieces)
    used = {token for text in kept for token in split_pieces(text, cut)}
    return Vocabulary("subword", tuple(sorted(pieces & used | characters)), normal_form)


def _noting(texts: Iterable[str], normal_form: str, characters: set[str]) -> Iterator[str]:
    for text in texts:
        text = normalise(text, normal_form)
        characters.update(text)
        yield text


def _reservoir(texts: Iterable[str], size: int, rng: np.random.Generator) -> list[str]:
    """At most `size` texts, each as likely as any other (Vitter, 1985, algorithm R)."""
    kept: list[str] = []
    for number, text in enumerate(texts):
        if number < size:
            kept.append(text)
        elif (place := int(rng.integers(number + 1))) < size:
            kept[place] = text
    return kept
