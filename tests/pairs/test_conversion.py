"""Dictionaries as they are downloaded: what each seems to be, and the pairs that it holds."""

import pytest

from keras_attention.errors import UserError
from keras_attention.pairs.conversion import ConversionOptions, convert
from keras_attention.pairs.forms import recognise
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs, write_pairs

CMUDICT = """\
;;; # CMUdict  --  version
!EXCLAMATION-POINT  EH2 K S
#HASH-MARK  HH AE1 SH
CAFE  K AE1 F  # french
READ  R EH1 D
READ(2)  R IY1 D
ALONE(3)  AH0 L
"""

# Name, content, the form, the pairs as "source=target", and parts of the line that is printed.
FILES = [
    ("CMUdict", CMUDICT, "cmudict",
     ["!EXCLAMATION-POINT=EH2 K S", "#HASH-MARK=HH AE1 SH", "CAFE=K AE1 F", "READ=R EH1 D",
      "READ=R IY1 D", "ALONE=AH0 L"],
     ["6 pairs from a pronouncing dictionary like CMUdict", "comments left out: 1",
      "remarks left out: 1", "variant numbers taken off: 2", "--target-tokens word"]),
    ("CMUdict of one space", "a AH0\na(2) EY1\nab AE1 B # x, y\n", "cmudict",
     ["a=AH0", "a=EY1", "ab=AE1 B"], ["variant numbers taken off: 1", "remarks left out: 1"]),
    ("WikiPron", "cat\tk æ t\nread\tɹ iː d\nread\tɹ ɛ d\n", "tabs",
     ["cat=k æ t", "read=ɹ iː d", "read=ɹ ɛ d"], ["3 pairs", "--target-tokens word"]),
    ("CMUdict with tabs", "READ\tR EH1 D\nREAD(2)\tR IY1 D # note\n", "tabs",
     ["READ=R EH1 D", "READ=R IY1 D"], ["variant numbers taken off: 1", "remarks left out: 1"]),
    ("IPA in slashes", "cat\t/ˈkæt/\nread\t/ɹiːd/, /ɹɛd/\n", "tabs",
     ["cat=ˈk æ t", "read=ɹ iː d", "read=ɹ ɛ d"],
     ["slashes or brackets taken off: 2", "targets cut into phones: 2"]),
    ("IPA", "church\tt͡ʃɜːt͡ʃ\nwant\tbɛ̃tʰ\n", "tabs", ["church=t͡ʃ ɜː t͡ʃ", "want=b ɛ̃ tʰ"],
     ["targets cut into phones: 2"]),
    ("scores", "cat\tk æ t\t0.93\ndog\td ɔ ɡ\t1e-3\n", "tabs", ["cat=k æ t", "dog=d ɔ ɡ"],
     ["lines of which further columns were left out: 2"]),
    ("licences", "Go.\tVa !\tCC-BY 2.0 (France)\nRun!\tCours !\tCC-BY 2.0\n", "tabs",
     ["Go.=Va !", "Run!=Cours !"], ["further columns were left out: 2"]),
    ("commas", 'word,phones\n"a,b","say ""x"""\nc,y\n', "csv", ['a,b=say "x"', "c=y"],
     ["headings left out: 1", "comma-separated"]),
    ("semicolons", "a;x, y\nb;z, w\n", "semicolons", ["a=x, y", "b=z, w"], ["semicolon"]),
    ("two spaces", "new york  n u j\nice cream  a i s\n;;; c\n# d\n", "spaces",
     ["new york=n u j", "ice cream=a i s"], ["comments left out: 2"]),
    ("Windows", "\ufeffa\tb\r\n\r\nc\td\r\n", "tabs", ["a=b", "c=d"], ["2 pairs"]),
    ("repeated", "a\tb\na\tb\nc\td\n", "tabs", ["a=b", "c=d"], ["repeated pairs left out: 1"]),
    ("parentheses of a text", "f(2)\t4\ng\t1\n", "tabs", ["f(2)=4", "g=1"], ["2 pairs"]),
    ("numbers after #", "a\titem # 1\nb\titem # 2\n", "tabs", ["a=item # 1", "b=item # 2"], []),
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    def write(content: str, encoding: str = "utf-8"):
        path = tmp_path / "downloaded"
        path.write_bytes(content.encode(encoding))
        return path

    return write


@pytest.mark.parametrize(("content", "form", "pairs", "says"), [f[1:] for f in FILES],
                         ids=[f[0] for f in FILES])  # fmt: skip
def test_a_file_as_it_is_downloaded(file, tmp_path, content, form, pairs, says):
    converted = convert(file(content), ConversionOptions())
    assert converted.form.name == form == recognise(content.replace("\r", "").split("\n")).name
    assert [f"{pair.source}={pair.target}" for pair in converted.pairs] == pairs
    line = converted.to_text()
    assert "\n" not in line and all(part in line for part in says), line
    write_pairs(tmp_path / "pairs.tsv", converted.pairs)
    assert read_pairs(tmp_path / "pairs.tsv") == converted.pairs
    # What is written is pairs: converted again it stays.
    again = convert(tmp_path / "pairs.tsv", ConversionOptions())
    assert again.pairs == converted.pairs


def test_an_alignment_is_kept(file):
    assert convert(file("ab\txy\t0-0 1p1\nc\tz\n"), ConversionOptions()).pairs[0].alignment
    with pytest.raises(UserError, match=r"downloaded:2: link 3-0 leaves the pair"):
        convert(file("ab\txy\t0-0 1p1\nc\tz\t3-0\n"), ConversionOptions())


def test_what_can_be_asked_for(file):
    def pairs(**options):
        return convert(path, ConversionOptions(**options)).pairs

    path = file(CMUDICT)
    assert pairs(first_variant_only=True, source_case="lower")[-2:] == [
        Pair("read", "R EH1 D"), Pair("alone", "AH0 L")]  # fmt: skip
    assert pairs(drop_stress=True)[-1] == Pair("ALONE", "AH L")
    path = file("1\tcat\tk a t\n2\tdog\td o g\n")
    assert pairs(columns=(2, 3)) == [Pair("cat", "k a t"), Pair("dog", "d o g")]
    assert pairs(columns=(3, 2))[0] == Pair("k a t", "cat")
    path = file("DÉJÀ  D EY1\n", "latin-1")
    assert pairs(encoding="latin-1") == [Pair("DÉJÀ", "D EY1")]
    path = file("a\tb\nc\td\n", "utf-16")
    assert pairs(encoding="utf-16") == [Pair("a", "b"), Pair("c", "d")]


def test_a_line_in_another_form_is_named_or_left_out(file):
    content = "".join(f"w{i}\tx{i}\n" for i in range(20)) + "stray\nw\t\n"
    with pytest.raises(UserError, match=r"downloaded:21: is not in the form of the other lines"):
        convert(file(content), ConversionOptions())
    converted = convert(file(content), ConversionOptions(skip_bad_lines=True))
    assert len(converted.pairs) == 20
    assert "lines that are not in the form left out: 2" in converted.to_text()


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("just words\nof a text\n", {}, "nine of ten lines should have one form"),
        ("", {}, "nine of ten lines"),
        ("\xff\n".encode("latin-1"), {}, "downloaded:1: is not utf-8; try --encoding latin-1"),
        ("a\tb\n", {"encoding": "nosuch"}, "--encoding: is not known"),
        ("a\tb\n", {"columns": (1, 3)}, "downloaded:1: is not in the form"),
        ("a\tb\0\n", {}, "downloaded:1: is not in the form"),
        ("a\tb\n", {"form": "csv"}, "downloaded:1: .*comma-separated"),
        ("word\tipa\n", {}, "holds no pair"),
    ],
)
def test_what_cannot_be_converted(file, content, options, says):
    path = file("")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=says):
        convert(path, ConversionOptions(**options))
