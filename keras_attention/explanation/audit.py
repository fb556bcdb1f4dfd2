"""A model and some pairs into a report: calls what measures, part by part."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from keras_attention.datasets.known import annotate
from keras_attention.errors import UserError
from keras_attention.explanation import PARTS
from keras_attention.explanation.measures.adversary import search
from keras_attention.explanation.measures.agreement import agree
from keras_attention.explanation.measures.attribution_model import (
    AttributionModel,
    ClassifierAttributionModel,
    SequenceAttributionModel,
)
from keras_attention.explanation.measures.baselines import Baselines, train_baselines
from keras_attention.explanation.measures.contrast import contrast
from keras_attention.explanation.measures.dependence import depend
from keras_attention.explanation.measures.erasure import erase
from keras_attention.explanation.measures.examples import Examples, Progress, answers_of, silent
from keras_attention.explanation.measures.importance import measure_importance
from keras_attention.explanation.measures.interventions import (
    attention_of,
    intervene,
)
from keras_attention.explanation.measures.measured import Measured
from keras_attention.explanation.measures.sanity import disturb, randomise
from keras_attention.explanation.reporting.report import Report
from keras_attention.explanation.reporting.summary import summarise
from keras_attention.pairs.alignment import Link, carry_links
from keras_attention.pairs.fingerprint import fingerprint
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits, StreamedSplits
from keras_attention.readers.run import Run
from keras_attention.text.vocabulary import RaggedIds, Vocabulary

# What the end symbol, which a model may say in place of a token, is called.
END_OF_ANSWER = "(end)"
PARTS_OF_CLASSIFIERS = tuple(part for part in PARTS if part != "alignment")


def choose(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """`count` of the pairs drawn with the seed, in their order; all if there are no more.

    Raises:
        UserError: there are fewer than two, since a control takes another example's attention.
    """
    if count < 2 or len(pairs) < 2:
        raise UserError(
            "--examples: an audit needs at least 2 pairs, since it compares examples. Received: "
            f"examples={count} of {len(pairs)} pairs"
        )
    rows = np.random.default_rng(seed).permutation(len(pairs))[:count]
    return [pairs[row] for row in sorted(rows)]


def audit_run(
    run: Run,
    pairs: Sequence[Pair],
    seed: int,
    parts: Collection[str] = PARTS,
    progress: Progress = silent,
    splits: Splits | StreamedSplits | None = None,
) -> Report:
    """Audits a sequence-to-sequence model.

    Args:
        run: A trained model with attention.
        pairs: The examples; those with an alignment are measured against it, those of a data set
            that `datasets.known` can align against its.
        seed: Of everything random.
        parts: Some of PARTS.
        progress: Is told how far each part is.
        splits: The run's training and validation pairs, where baselines shall be trained.

    Raises:
        UserError: the model has no attention.
    """
    model = SequenceAttributionModel(run)
    examples = examples_of(model, run, pairs, progress)
    attention = attention_of(model, examples)
    baselines = None
    if splits is not None:
        audited = splits._replace(test=list(pairs))
        baselines = train_baselines(run, audited, examples, attention, _of("baselines", progress))
    config = run.config
    direction = "bidirectional " if config.bidirectional else ""
    description = (
        f"{direction}{config.encoder.upper()} of {config.units} units, {config.attention} attention"
    )
    measured = measure_parts(model, examples, attention, seed, parts, progress, baselines)
    return summarise(measured, seed, "sequence-to-sequence", description, fingerprint(pairs))


def measure_parts(
    model: AttributionModel,
    examples: Examples,
    attention: np.ndarray,
    seed: int,
    parts: Collection[str] = PARTS,
    progress: Progress = silent,
    baselines: Baselines | None = None,
) -> Measured:
    """Everything that the report is made from; parts that are not asked for are None.

    `attention` is what `attention_of` returns for model and examples.
    """
    found: dict[str, Any] = {}
    if "agreement" in parts:
        found["importance"] = measure_importance(model, examples, _of("agreement", progress))
        found["agreement"] = agree(examples, found["importance"], seed)
    if "interventions" in parts:
        told = _of("interventions", progress)
        found["interventions"] = intervene(model, examples, attention, seed, told)
    if "adversarial" in parts:
        found["adversary"] = search(model, examples, seed, _of("adversarial", progress))
    if "erasure" in parts:
        found["erasure"] = erase(model, examples, seed, _of("erasure", progress))
    if "contrast" in parts:
        found["contrast"] = contrast(model, examples, _of("contrast", progress))
    if "randomised" in parts:
        told = _of("randomised", progress)
        found["randomised"] = randomise(model, examples, attention, seed, told)
    if "stability" in parts:
        found["stability"] = disturb(model, examples, seed, _of("stability", progress))
    if "alignment" in parts:
        forced = examples.references_as_answers()
        found["forced_attention"] = attention_of(model, forced)
        progress("alignment", len(examples), len(examples))
    optional = {field.name: None for field in dataclasses.fields(Measured)}
    always = {
        "examples": examples,
        "attention": attention,
        "dependence": depend(examples, attention, seed),
        "baselines": baselines,
    }
    return Measured(**(optional | found | always))


def examples_of(
    model: AttributionModel, run: Run, pairs: Sequence[Pair], progress: Progress = silent
) -> Examples:
    """Pairs as examples, with what the model answers."""
    known = [annotate(pair) for pair in pairs]
    tokens = [tuple(run.source.split(pair.source)) for pair in pairs]
    reference_tokens = [tuple(run.target.split(pair.target)) for pair in pairs]
    source = run.source.encode([pair.source for pair in pairs])
    answers = answers_of(model, source, _of("answers", progress))
    return Examples(
        source=source,
        source_tokens=tuple(tokens),
        answer_ids=answers,
        answer_tokens=tuple(run.target.tokens_of(row[row != 0]) for row in answers),
        reference=run.target.encode([pair.target for pair in pairs]),
        reference_tokens=tuple(reference_tokens),
        compared=np.array([_without_trailing_spaces(row) for row in tokens]),
        alignments=tuple(
            _in_tokens(each.alignment, pair, source_tokens, target_tokens)
            for each, pair, source_tokens, target_tokens in zip(
                known, pairs, tokens, reference_tokens, strict=True
            )
        ),
        fields=tuple(
            each.fields if each.fields and len(each.fields) == len(target_tokens) else None
            for each, target_tokens in zip(known, reference_tokens, strict=True)
        ),
        groups=tuple(each.group for each in known),
        output_names=(END_OF_ANSWER, *run.target.tokens),
    )


def _in_tokens(
    links: tuple[Link, ...] | None,
    pair: Pair,
    source_tokens: tuple[str, ...],
    target_tokens: tuple[str, ...],
) -> tuple[Link, ...] | None:
    """Links as written, counted in the tokens that the model sees; None where they leave these."""
    if links is None:
        return None
    return carry_links(links, pair.source, source_tokens, pair.target, target_tokens)


def _without_trailing_spaces(tokens: tuple[str, ...]) -> int:
    count = len(tokens)
    while count and tokens[count - 1] == " ":
        count -= 1
    return count


def _of(part: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(part, done, total)


def audit_classifier(
    model: ClassifierAttributionModel,
    texts: Sequence[str],
    labels: Sequence[int],
    vocabulary: Vocabulary,
    label_names: Sequence[str],
    seed: int,
    description: str,
    parts: Collection[str] = PARTS_OF_CLASSIFIERS,
    progress: Progress = silent,
    train_others: Callable[[Examples, np.ndarray], Baselines] | None = None,
) -> Report:
    """Audits a text classifier; each text is an example of one step, whose answer is the class.

    Args:
        model: The classifier.
        texts: What to classify.
        labels: The right classes, from 0.
        vocabulary: That the classifier reads with.
        label_names: Of the classes.
        seed: Of everything random.
        description: The model in a few words.
        parts: Some of PARTS; alignment has no meaning here.
        progress: Is told how far each part is.
        train_others: Returns baselines, given the examples and the classifier's attention, float32
            `[E, 1, S]`.
    """
    source = vocabulary.encode(texts)
    answers = answers_of(model, source, _of("answers", progress))
    tokens = [tuple(vocabulary.split(text)) for text in texts]
    count = len(texts)
    right = np.array(labels, np.int32) + model.column_offset
    examples = Examples(
        source=source,
        source_tokens=tuple(tokens),
        answer_ids=answers,
        answer_tokens=tuple((label_names[row[0] - model.column_offset],) for row in answers),
        reference=RaggedIds(right, np.arange(count + 1)),
        reference_tokens=tuple((label_names[label],) for label in labels),
        compared=source.lengths,
        alignments=(None,) * count,
        fields=(None,) * count,
        groups=(None,) * count,
        output_names=tuple(label_names),
    )
    attention = attention_of(model, examples)
    baselines = train_others(examples, attention) if train_others else None
    measured = measure_parts(model, examples, attention, seed, parts, progress, baselines)
    pairs = [Pair(text, label_names[label]) for text, label in zip(texts, labels, strict=True)]
    return summarise(measured, seed, "classification", description, fingerprint(pairs))
