"""Every measured number on a page comes from a results file, and the two agree."""

import ast
import json
import re

import pytest

from docs.making import numbers
from docs.making.figures import NotMeasured, evaluate
from tests.support import ROOT

TRACES, CHECKED, EVERYWHERE = numbers.load()
BENCHMARKS = ROOT / "benchmarks"
# Started by other benchmarks, or shared by them.
PARTS = {
    *("plain_keras.py", "torch_seq2seq.py", "torch_sentences.py", "g2p_tasks.py"),
    *("result_files.py", "__init__.py"),
}


def problems_of(page: str) -> list[numbers.Problem]:
    return numbers.check_page(page, [t for t in TRACES if t.page == page], EVERYWHERE)


@pytest.mark.parametrize("page", CHECKED)
def test_numbers_are_traced_and_agree_with_the_results(page):
    wrong = [str(problem) for problem in problems_of(page) if problem.kind != "not measured"]
    assert not wrong, "\n".join(["see docs/numbers.toml", *wrong])


@pytest.mark.parametrize("page", CHECKED)
def test_numbers_are_measured(page):
    missing = {str(problem) for problem in problems_of(page) if problem.kind == "not measured"}
    assert not missing, "\n".join(["run `python -m benchmarks.NAME` for:", *sorted(missing)])


def test_every_trace_belongs_to_a_page():
    assert {trace.page for trace in TRACES} <= set(CHECKED)


def test_every_benchmark_writes_its_results():
    for path in sorted(BENCHMARKS.glob("*.py")):
        if path.name not in PARTS:
            names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
            assert "write_results" in names, f"{path.name} writes no results file"


@pytest.mark.parametrize("path", sorted(numbers.RESULTS.glob("*.json")), ids=lambda p: p.stem)
def test_a_results_file_says_how_it_was_measured(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    assert set(content) == {"command", "environment", "results"}
    module = re.match(r"python -m benchmarks\.(\w+)", content["command"])[1]
    assert content["results"] and {"python", "processor"} <= set(content["environment"])
    assert (BENCHMARKS / f"{module}.py").is_file()


# ---------------------------------------------------------------- the check itself

PAGE = """# Speed

It takes 1.5 s, or 40 % of
the time, on 1,000 texts (`--seed 17`).

| a | 2.25 |

```python
x = 3.75
```

The block says 3.75. In 2019 it was 8.
"""


@pytest.fixture
def a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    return tmp_path / "page.md"


def found(*texts: str) -> list[tuple[str, int]]:
    traces = [numbers.Trace("page.md", text, {}) for text in texts]
    return [(p.kind, p.line) for p in numbers.check_page("page.md", traces, [])]


def test_untraced_numbers_are_found(a_page):
    # 17 is code, 3.75 is executed, 2019 is a year and 8 is small.
    assert found() == [("untraced", 3), ("untraced", 3), ("untraced", 4), ("untraced", 6)]


def test_a_traced_number_must_agree(a_page):
    rest = "on 1,000 texts", "| a | 2.25 |"
    assert found("It takes {3 / 2:.1f} s, or {0.4 * 100:.0f} % of the time", *rest) == []
    wrong = found("It takes {1.4:.1f} s, or {0.4 * 100:.0f} % of the time", *rest)
    assert wrong == [("differs", 3)]


def test_a_trace_without_its_place_is_found(a_page):
    assert ("not found", 1) in found("It took {1.5:.1f} s")


def test_what_nobody_measured_is_told(a_page):
    assert ("not measured", 3) in found("takes {no_such_benchmark.seconds:.1f} s")
    with pytest.raises(NotMeasured, match=r"no_such_benchmark\.json is not there"):
        evaluate("no_such_benchmark.seconds")
    with pytest.raises(NotMeasured, match="has no row with {'units': 7}"):
        evaluate("training_step(units=7).share")


def test_numbers_are_written_into_the_page(a_page):
    traces = [
        numbers.Trace("page.md", "It takes {1 / 3:.2f} s, or {7 * 9:.0f} % of the time", {}),
        numbers.Trace("page.md", "| a | {*| [two, two + 1]:.2f} |", {"two": "1 + 1"}),
        numbers.Trace("page.md", "on {unknown_benchmark.n:,} texts", {}),
    ]
    assert numbers.write_page("page.md", traces)
    text = a_page.read_text(encoding="utf-8")
    assert "It takes 0.33 s, or 63 % of\nthe time, on 1,000 texts" in text
    assert "| a | 2.00 | 3.00 |" in text
    assert not numbers.write_page("page.md", traces)


def test_words_that_no_longer_hold_are_found(a_page):
    for holds, expected in (("1 < 2", []), ("training_step[0].share > 1", [("differs", 12)])):
        claim = numbers.Trace("page.md", "In 2019 it was 8.", {}, holds)
        problems = numbers.check_page("page.md", [claim], [])
        assert [(p.kind, p.line) for p in problems if p.kind != "untraced"] == expected


def test_rows_of_results_are_found_by_their_values():
    share = evaluate("training_step(batch_size=256, units=128).share")
    assert 0 < share < 1
    assert evaluate("[row.units for row in training_step if row.batch_size == 256]")[0] == 128


def test_the_verdict_on_the_pages_is_the_audit_s():
    overall = evaluate("audit.verdict.overall")  # "attention MIGHT be an explanation here"
    words = overall.removeprefix("attention ").removesuffix(" here")
    for name in ("README.md", "README.ko.md"):
        row = next(
            line
            for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
            if "benchmarks.audit" in line
        )
        assert f"| {words} |" in row
    for name in ("docs/course", "docs/ko"):
        page = (ROOT / name / "12-erasure-and-alignment.md").read_text(encoding="utf-8")
        assert words.split()[0] in page
