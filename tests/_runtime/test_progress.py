"""Progress off a terminal: seldom, and with the time that is left."""

import pytest

from keras_attention._runtime.progress import EVERY, ProgressLines, duration


def lines_of(total, steps, seconds_each, done=0):
    now = [0.0]
    lines = []
    progress = ProgressLines(total, lines.append, done, clock=lambda: now[0])
    for step in range(done + 1, done + steps + 1):
        now[0] += seconds_each
        progress.tell(step, "loss 1.0")
    return lines


def test_a_line_now_and_then_with_what_is_left():
    lines = lines_of(total=100, steps=100, seconds_each=1.0)
    assert len(lines) == 100 // EVERY
    assert lines[0] == "  step 30 of 100, loss 1.0, about 1 min left"
    assert lines[2] == "  step 90 of 100, loss 1.0, about 10 s left"


def test_other_units_and_nothing_between():
    now, lines = [0.0], []
    progress = ProgressLines(300, lines.append, clock=lambda: now[0], unit="sentence")
    now[0] = 40.0
    progress.tell(100)
    assert lines == ["  sentence 100 of 300, about 1 min left"]
    assert progress.seconds_left(200) == 20.0  # 200 in 40 seconds
    assert progress.seconds_left(300) == 0.0


def test_a_short_task_says_nothing():
    assert lines_of(total=100, steps=100, seconds_each=0.1) == []


def test_steps_of_an_earlier_process_took_no_time_here():
    lines = lines_of(total=1000, steps=30, seconds_each=1.0, done=910)
    assert lines == ["  step 940 of 1,000, loss 1.0, about 1 min left"]


def test_more_steps_than_were_expected_leave_nothing():
    assert lines_of(total=10, steps=30, seconds_each=1.0)[0].endswith("about 1 s left")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1 s"), (59, "59 s"), (60, "1 min"), (3540, "59 min"), (3600, "1 h 00 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text
    assert duration(7500) == "2 h 05 min"
