"""What is wrong or odd in data files: everything in one go, with the first lines that have it."""

import collections
import dataclasses
import json
import os
import pathlib
import statistics
from collections.abc import Sequence

from keras_attention.checks import character_rules, form_rules, pair_rules, word_rules
from keras_attention.checks.findings import Finding, Part, Place, Rule, Severity, number_of
from keras_attention.checks.places import PlacesInFiles
from keras_attention.errors import UserError
from keras_attention.pairs.forms import recognise
from keras_attention.pairs.lines import LineError, is_blank, iterate_raw_lines, strip_line
from keras_attention.pairs.pair import Pair, parse_line
from keras_attention.pairs.splits import Splits, split_files, twin_key
from keras_attention.text.normal_form import NO_FORM, normalise
from keras_attention.text.tokens import VocabularyKind, counted_tokens

_QUICK_RULES: tuple[Rule, ...] = (
    pair_rules.identical_targets,
    pair_rules.copies,
    pair_rules.conflicts,
    pair_rules.long_texts,
    pair_rules.longest_output,
    pair_rules.leaks,
    pair_rules.unseen_tokens,
    word_rules.rare_words,
)
_RULES: tuple[Rule, ...] = (
    *_QUICK_RULES,
    pair_rules.headings,
    pair_rules.quotation_marks,
    pair_rules.partial_alignment,
    pair_rules.duplicates,
    pair_rules.near_leaks,
    form_rules.variants,
    form_rules.remarks,
    form_rules.unsegmented_phones,
    character_rules.odd_characters,
    character_rules.encoded_twice,
    character_rules.edge_spaces,
    character_rules.normal_forms,
)
# What is accepted in a file and worth knowing.
_HARMLESS = {
    "byte_order_mark": "the file begins with a byte-order mark, which is not read as text",
    "windows_line_ends": "lines end in CR LF, as on Windows; both are taken off",
    "blank_lines": "blank lines are skipped",
    "no_final_line_end": "the last line has no end: was the file cut short?",
}
_SEVERITIES = ("error", "warning", "info")


@dataclasses.dataclass(frozen=True)
class Report:
    """What `check_data` found: `figures` by file, and findings, the gravest first."""

    path: str
    figures: dict[str, dict]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether training accepts the data."""
        return not self.count("error")

    def count(self, severity: str) -> int:
        """How many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def to_json(self) -> str:
        """The report as a JSON object: path, ok, figures, findings."""
        content = {"path": self.path, "ok": self.ok, "figures": self.figures}
        content["findings"] = [dataclasses.asdict(finding) for finding in self.findings]
        return json.dumps(content, ensure_ascii=False, indent=2)

    def to_text(self) -> str:
        """The report as lines for a terminal: figures, findings, and a last line of counts."""
        lines = [f"{name}: {_figures_text(numbers)}" for name, numbers in self.figures.items()]
        for finding in self.findings:
            count = f" ({_lines_text(finding)})" if finding.lines else ""
            lines.append(f"{finding.severity}: {finding.place}: {finding.message}{count}")
        counts = (number_of(self.count(severity), severity) for severity in ("error", "warning"))
        return "\n".join([*lines, ", ".join(counts)])


def check_data(
    path: str | os.PathLike,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
) -> Report:
    """Looks at a data file, or at the folder of `train.tsv`, `valid.tsv` and `test.tsv`.

    Goes on after every bad line; `report.ok` says whether training would accept the data. Raises
    UserError only where there is nothing to look at: no such file, a folder without data.
    """
    path = pathlib.Path(path)
    findings: list[Finding] = []
    files = {path.name: [path]}
    if path.is_dir():
        files = {}
        for name in Splits._fields:
            try:
                files[name] = split_files(path, name)
            except UserError as error:
                message = "the file is missing; a folder needs train.tsv, valid.tsv and test.tsv"
                if list(path.glob(f"{name}*.tsv*")):  # but it is unclear which is meant
                    message = str(error).removeprefix(f"{path}: ")
                findings.append(Finding("missing_file", "error", f"{name}.tsv", 1, (), message))
        if not files:
            raise UserError(f"{path}: the folder has no train.tsv, valid.tsv and test.tsv")
    elif not path.exists():
        raise UserError(f"{path}: no such file or folder; check the path")
    parts = []
    for name, files_of_part in files.items():
        part, in_files = _read_part(name, files_of_part, source_tokens, target_tokens)
        parts.append(part)
        findings += in_files
    if not path.is_dir() and not any(finding.severity == "error" for finding in findings):
        sources = {twin_key(pair.source) for pair in parts[0].pairs}
        if len(sources) < 3:
            message = (
                f"{number_of(len(sources), 'source')}, too few to split: 3 are needed that differ "
                "in more than case, spaces and the form of characters"
            )
            findings.append(parts[0].finding("too_few_sources", "error", [0], message))
    for rule in _RULES:
        findings += rule(parts, source_tokens, target_tokens)
    findings.sort(key=lambda finding: _SEVERITIES.index(finding.severity))
    numbers = {part.name: _figures(part, source_tokens, target_tokens) for part in parts}
    return Report(str(path), numbers, tuple(findings))


def quick_findings(
    splits: Splits,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
    source_form: str = NO_FORM,
    data: str | os.PathLike | None = None,
) -> tuple[Finding, ...]:
    """Warnings worth a line before training starts: a fraction of a second for 50,000 pairs.

    Sources are looked at in the normal form in which the model reads them.

    Args:
        data: The file or folder that the pairs were read from, so that findings name file and line.
    """
    parts = [
        Part(name, _with_normal_sources(pairs, source_form), _places(name, pairs, data))
        for name, pairs in splits._asdict().items()
    ]
    return tuple(
        finding for rule in _QUICK_RULES for finding in rule(parts, source_tokens, target_tokens)
    )


def _places(name: str, pairs: Sequence[Pair], data: str | os.PathLike | None) -> Sequence[Place]:
    return () if data is None else PlacesInFiles(name, pairs, data)


def _with_normal_sources(pairs: Sequence[Pair], form: str) -> Sequence[Pair]:
    if form == NO_FORM:  # To copy 50,000 pairs takes as long as to check them
        return pairs
    return [pair._replace(source=normalise(pair.source, form)) for pair in pairs]


def _read_part(
    name: str,
    files: list[pathlib.Path],
    source_tokens: VocabularyKind,
    target_tokens: VocabularyKind,
) -> tuple[Part, list[Finding]]:
    """As `_read`, of a part that may lie in several files, where one may be empty."""
    read = [_read(file, source_tokens, target_tokens) for file in files]
    if len(read) == 1:
        return read[0]
    pairs = [pair for part, _ in read for pair in part.pairs]
    places = [place for part, _ in read for place in part.places]
    findings = [
        finding
        for _, in_file in read
        for finding in in_file
        if finding.kind != "empty_file" or not pairs
    ]
    return Part(f"{name}-*.tsv", pairs, places), findings


def _read(
    path: pathlib.Path, source_tokens: VocabularyKind, target_tokens: VocabularyKind
) -> tuple[Part, list[Finding]]:
    """The good pairs of a file, and what its bytes and its bad lines say."""
    pairs, places = [], []
    bad: dict[str, list[int]] = collections.defaultdict(list)
    messages = dict(_HARMLESS)
    findings: list[Finding] = []
    strange: list[bytes] = []  # lines that are no pairs for their columns
    raw = b"\n"
    try:
        for number, raw in iterate_raw_lines(path):
            line = strip_line(number, raw)
            if number == 1 and raw.startswith("\ufeff".encode()):
                bad["byte_order_mark"].append(number)
            if raw.endswith(b"\r\n"):
                bad["windows_line_ends"].append(number)
            if is_blank(line):
                bad["blank_lines"].append(number)
                continue
            try:
                pairs.append(parse_line(line, "", source_tokens, target_tokens))
                places.append(Place(path.name, number))
            except LineError as error:
                bad[error.kind].append(number)
                messages.setdefault(error.kind, str(error).removeprefix(": "))
                if error.kind in ("columns", "alignment"):
                    strange.append(line)
        if not raw.endswith(b"\n"):
            bad["no_final_line_end"].append(number)
    except UserError as error:  # the file as a whole
        message = str(error).removeprefix(f"{path}: ")
        findings.append(Finding("unreadable", "error", path.name, 1, (), message))
    hint = _hint(path, strange) if strange else ""
    for kind, lines in bad.items():
        severity: Severity = "info" if kind in _HARMLESS else "error"
        message = messages[kind] + (hint if kind in ("columns", "alignment") else "")
        findings.append(Finding(kind, severity, path.name, len(lines), tuple(lines[:5]), message))
    if not pairs and not any(finding.severity == "error" for finding in findings):
        message = "is empty, expected lines of source<TAB>target"
        findings.append(Finding("empty_file", "error", path.name, 1, (), message))
    return Part(path.name, pairs, places), findings


def _hint(path: pathlib.Path, strange: Sequence[bytes]) -> str:
    """What all lines of a file say about its form, and what makes pairs of it.

    Args:
        path: The file.
        strange: Those of its lines that do not have the columns of a pair.
    """
    if 2 * sum(b"\r" in line for line in strange) > len(strange):
        return "; the lines hold CR without LF: save the file with LF line ends"
    if 2 * sum(b"\\t" in line and b"\t" not in line for line in strange) > len(strange):
        return "; the lines have a written \\t where a tab should be"
    lines = (strip_line(*line).decode("utf-8", "replace") for line in iterate_raw_lines(path))
    form = recognise(lines)
    if form is None or (form.name == "tabs" and not form.further_columns):
        return ""
    seems = form.description
    if form.name == "tabs":
        seems += ", of which the third holds something else than an alignment"
    return (
        f"; the file seems to be {seems} ({form.fitting:,} of {form.lines:,} lines): "
        f"{form_rules.command(path.name)} turns it into pairs"
    )


def _figures(part: Part, source_tokens: VocabularyKind, target_tokens: VocabularyKind) -> dict:
    """Numbers of a part: pairs, different sources and targets, lengths and vocabulary by side."""
    numbers: dict = {"pairs": len(part.pairs)}
    for side, kind in (("source", source_tokens), ("target", target_tokens)):
        texts = [getattr(pair, side) for pair in part.pairs]
        vocabulary: collections.Counter[str] = collections.Counter()
        lengths: list[int] = []
        for text in texts:
            tokens = counted_tokens(text, kind)
            lengths.append(len(tokens))
            vocabulary.update(tokens)
        numbers[side] = {
            "different": len(set(texts)),
            "shortest": min(lengths, default=0),
            "mean": round(statistics.fmean(lengths), 2) if lengths else 0.0,
            "longest": max(lengths, default=0),
            "vocabulary": len(vocabulary),
            "seen_once": sum(count == 1 for count in vocabulary.values()),
        }
    return numbers


def _figures_text(numbers: dict) -> str:
    sides = (
        f"{side}s {side_numbers['different']:,} different, "
        f"{side_numbers['shortest']}-{side_numbers['longest']} tokens "
        f"(mean {side_numbers['mean']:.1f}), vocabulary {side_numbers['vocabulary']:,}"
        for side, side_numbers in numbers.items()
        if side != "pairs"
    )
    return f"{numbers['pairs']:,} pairs; {'; '.join(sides)}"


def _lines_text(finding: Finding) -> str:
    if finding.count == 1:
        return "1 line"
    more = ", ..." if finding.count > len(finding.lines) else ""
    return f"{finding.count:,} lines: {', '.join(map(str, finding.lines))}{more}"
