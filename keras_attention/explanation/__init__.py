"""Is this attention an explanation? Measurements on a trained model, a report, a verdict.

    python -m keras_attention explain RUN [DATA.tsv] [--out DIR] [--only PART] [--train-baselines]

`subject` opens a model, `importance`, `interventions`, `adversary`, `erasure`, `alignment` and
`baselines` measure, `audit` calls them, `verdict` judges by one table of thresholds, `report` holds
the result, `report_html` and `figures` show it. Definitions and sources: docs/explanation.md.
"""
