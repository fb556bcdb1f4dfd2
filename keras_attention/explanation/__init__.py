"""Is this attention an explanation? Measurements on a trained model, a report, a verdict.

    python -m keras_attention explain RUN [DATA.tsv] [--out DIR] [--only PART] [--train-baselines]

Three floors: `measures` opens a model and measures it, `reporting` judges by one table of
thresholds, `pages` shows the result; `audit` calls them. Definitions and sources:
docs/explanation.md.
"""

# What can be measured, in the order of the report; here, so that --help needs no TensorFlow.
PARTS = (
    "agreement",
    "interventions",
    "adversarial",
    "erasure",
    "contrast",
    "randomised",
    "stability",
    "alignment",
)
