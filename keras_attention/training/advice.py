"""What a training's own figures say about how to go on: one line of advice, where any is due."""

from __future__ import annotations

from collections.abc import Sequence

from keras_attention.evaluation.evaluation import Evaluation

# A validation loss this near to guessing's, as a share of it, has learnt next to nothing.
HARDLY_LEARNT = 0.8
GOOD_ENOUGH = 0.99  # exact match on validation from which on there is nothing to advise
STILL_RISING = 0.01  # what the last epoch added to the exact match
RECITED = 10.0  # validation loss over training loss, in nats per token, of a model that recites


def advise(history: Sequence[dict], valid: Evaluation, guessing: float) -> str | None:
    """What to try next after a training that did not end well.

    Args:
        history: The rows of `history.csv`, at least one.
        valid: The evaluation of the kept weights on the validation pairs.
        guessing: Loss in nats per token of a model that guesses, the log of the vocabulary's size.

    Returns:
        The most telling advice, a line without a full stop; None where nothing tells, or where the
        exact match is `GOOD_ENOUGH`.
    """
    if valid.exact_match >= GOOD_ENOUGH:
        return None
    last = history[-1]
    before = history[-2]["valid_exact_match"] if len(history) > 1 else 0.0
    outputs = {translation.text for translation in valid.translations}
    if len(outputs) == 1 and valid.n > 1:
        (output,) = outputs
        return (
            f"all {valid.n} validation sources are answered with {output!r}: the model does not "
            "look at its source yet; train for more --epochs, or with another --learning-rate"
        )
    if last["valid_loss"] > HARDLY_LEARNT * guessing:
        return (
            f"the validation loss, {last['valid_loss']:.2f} a token, is near that of guessing, "
            f"{guessing:.2f}; train for more --epochs, or with another --learning-rate"
        )
    if last["valid_exact_match"] >= before + STILL_RISING:
        return (
            f"the validation result was still rising, {last['valid_exact_match']:.4f} after "
            f"{before:.4f} in the last epoch; train for more --epochs than {last['epoch']}"
        )
    if last["valid_loss"] > RECITED * last["loss"]:
        return (
            f"the model recites its training pairs, a loss of {last['loss']:.3f} there and "
            f"{last['valid_loss']:.3f} on validation; more --dropout, fewer --units or more data "
            "help"
        )
    return None
