"""Which epoch's weights are kept: the one whose validation figures score highest.

By default that is exact match once a good share of the answers is right to the last character.
Below that share, as for sentences at any time, a few answers more or less are chance, and chrF
tells the epochs apart. Both are of decoded answers: on sentences the teacher-forced loss rises
again while translations still get better. Token error rate would not do: where most of a sentence
is wrong, it prefers answers that are too short.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from keras_attention.evaluation.sentences import ENOUGH_RIGHT

# The column of `history.csv` for each measure that may be named, and whether more is better.
COLUMNS = {
    "exact_match": ("valid_exact_match", True),
    "token_error_rate": ("valid_token_error_rate", False),
    "loss": ("valid_loss", False),
    "bleu": ("valid_bleu", True),
    "chrf": ("valid_chrf", True),
}
PARTS = 3  # numbers of a score


def selection_score(row: Mapping, select_by: str) -> list[float]:
    """What epochs are compared by: of two lists the larger one is of the better epoch.

    Args:
        row: Of `history.csv`. A figure that it lacks, as a row of an earlier version may, counts as
            the worst there is.
        select_by: The option: "auto" or a key of `COLUMNS`.

    Returns:
        `PARTS` numbers: 1 where "auto" looks at exact match, else 0; the measure, such that more is
        better; and of equal ones the loss, negated.
    """
    level = 0.0
    if select_by == "auto":
        enough = row["valid_exact_match"] >= ENOUGH_RIGHT
        level, select_by = float(enough), "exact_match" if enough else "chrf"
    return [level, _worth(row, select_by), _worth(row, "loss")]


def _worth(row: Mapping, measure: str) -> float:
    column, more_is_better = COLUMNS[measure]
    value = row.get(column)
    if value is None or math.isnan(value):
        return -math.inf
    return value if more_is_better else -value
