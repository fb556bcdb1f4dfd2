"""The pronunciation tasks of SIGMORPHON: languages, and the word error rates to compare with."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Task:
    """One shared task, or one size of it.

    Attributes:
        words: Training words of each language.
        published: Test WER of the organisers' baseline, in per cent.
        baseline: What that baseline is.
    """

    words: int
    published: dict[str, float]
    baseline: str


TASKS = {
    # Gorman et al., 2020: fairseq, tuned for each language by the organisers.
    "2020": Task(
        3600,
        {
            "ady": 28.00,
            "arm": 14.67,
            "bul": 31.11,
            "dut": 16.44,
            "fre": 6.22,
            "geo": 26.44,
            "gre": 18.89,
            "hin": 6.67,
            "hun": 5.33,
            "ice": 10.00,
            "jpn": 7.56,
            "kor": 46.89,
            "lit": 19.11,
            "rum": 10.67,
            "vie": 4.67,
        },
        "an LSTM with attention, tuned for each language",
    ),
    # github.com/sigmorphon/2021-task1, README.
    "2021-high": Task(33_344, {"eng_us": 41.94}, "ten neural transducers that vote"),
    "2021-medium": Task(
        8000,
        {
            "arm_e": 7.0,
            "bul": 18.3,
            "dut": 14.7,
            "fre": 8.5,
            "geo": 0.0,
            "hbs_latn": 32.1,
            "hun": 1.8,
            "jpn_hira": 5.2,
            "kor": 16.3,
            "vie_hanoi": 2.5,
        },
        "ten neural transducers that vote",
    ),
    "2021-low": Task(
        800,
        {
            "ady": 22.0,
            "gre": 21.0,
            "ice": 12.0,
            "ita": 19.0,
            "khm": 34.0,
            "lav": 55.0,
            "mlt_latn": 19.0,
            "rum": 10.0,
            "slv": 49.0,
            "wel_sw": 10.0,
        },
        "ten neural transducers that vote",
    ),
}
