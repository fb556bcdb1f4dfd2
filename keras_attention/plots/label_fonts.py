"""Fonts that have the characters of labels.

matplotlib's own DejaVu Sans has no Hangul, kana or Han; what it cannot draw becomes an empty box.
Here labels get the list of font families that can draw them, and a character that no installed font
has is written as its code point, with one warning.
"""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import unicodedata
import warnings
from collections.abc import Iterable

from matplotlib import font_manager

BASE_FAMILY = "DejaVu Sans"  # comes with matplotlib, so it is there everywhere

# Asked in this order before all other installed fonts, because some fonts hold a script badly.
PREFERRED_FAMILIES = (
    "Noto Sans CJK KR",
    "Noto Sans CJK JP",
    "Noto Sans KR",
    "NanumGothic",
    "Apple SD Gothic Neo",
    "AppleGothic",
    "Malgun Gothic",
    "Hiragino Sans",
    "Yu Gothic",
    "Noto Sans CJK SC",
    "PingFang SC",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "Noto Sans Arabic",
    "Noto Naskh Arabic",
    "Noto Sans",
    "Noto Emoji",
    "Symbola",
    "Segoe UI Emoji",
)

_warned_scripts: set[str] = set()


def drawable(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """What to draw for `texts` (all of them visible labels) and the font families to draw it with.

    Returns the texts, characters that no installed font has replaced by their code points, and the
    families in order, the first of which is matplotlib's own. Warns once per script about the
    replaced ones (UserWarning).
    """
    texts = list(texts)
    wanted = {character for text in texts for character in text}
    families, missing = _families_for(frozenset(wanted))
    if not missing:
        return texts, list(families)
    _warn_once(missing)
    spelt = {ord(character): f"U+{ord(character):04X}" for character in missing}
    return [text.translate(spelt) for text in texts], list(families)


@functools.lru_cache(maxsize=256)
def _families_for(characters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Families that together draw `characters`, and the characters that remain undrawn."""
    base = font_manager.findfont(font_manager.FontProperties(family=BASE_FAMILY))
    missing = {c for c in characters if ord(c) not in _code_points(base, 0)}
    families = [BASE_FAMILY]
    for look_again in (False, True):
        if missing and look_again:
            _register_new_fonts()
        for entry in _candidates() if missing else ():
            index = getattr(entry, "index", 0)  # matplotlib 3.10 knows no collections
            found = {c for c in missing if ord(c) in _code_points(entry.fname, index)}
            if found:
                families.append(entry.name)
                missing -= found
            if not missing:
                break
    return tuple(families), frozenset(missing)


def _candidates() -> list[font_manager.FontEntry]:
    """One upright regular face of each installed family, preferred families first."""
    rank = {name: place for place, name in enumerate(PREFERRED_FAMILIES)}
    faces: dict[str, font_manager.FontEntry] = {}
    for entry in font_manager.fontManager.ttflist:
        upright = entry.style == "normal" and entry.weight in (400, "normal", "regular", "book")
        # Last Resort claims every character and draws boxes.
        if upright and entry.name != BASE_FAMILY and "Last Resort" not in entry.name:
            faces.setdefault(entry.name, entry)
    return sorted(faces.values(), key=lambda face: (rank.get(face.name, len(rank)), face.name))


@functools.lru_cache(maxsize=512)
def _code_points(path: str, index: int) -> frozenset[int]:
    try:
        return frozenset(_open_face(path, index).get_charmap())
    except (OSError, RuntimeError):  # a font file that was removed, or that FreeType cannot read
        return frozenset()


def _open_face(path: str, index: int):
    return font_manager.get_font(font_manager.FontPath(path, index) if index else path)


def _register_new_fonts() -> None:
    """Tells matplotlib of fonts that its cache does not know yet, and of NanumGothic from the
    `koreanize-matplotlib` package (the package is not imported: it would change rcParams)."""
    paths = set(font_manager.findSystemFonts())
    package = importlib.util.find_spec("koreanize_matplotlib")
    if package is not None:
        folders = package.submodule_search_locations or []
        paths |= {str(path) for folder in folders for path in pathlib.Path(folder).rglob("*.ttf")}
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in sorted(paths - known):
        try:
            font_manager.fontManager.addfont(path)
        except (OSError, RuntimeError, NotImplementedError):  # bitmap fonts and broken files
            continue


def _warn_once(missing: frozenset[str]) -> None:
    scripts = {_script(character) for character in missing}
    if scripts <= _warned_scripts:
        return
    _warned_scripts.update(scripts)
    example = min(missing)
    warnings.warn(
        f"No installed font has the characters of some labels ({', '.join(sorted(scripts))}), so "
        f"they are drawn as code points, for example U+{ord(example):04X} for {example!r}. Install "
        "a font that has them, such as Noto Sans CJK, or `pip install koreanize-matplotlib`.",
        stacklevel=5,
    )


def _script(character: str) -> str:
    """A word for the script, from the character's Unicode name: HANGUL, CJK, ARABIC."""
    if unicodedata.category(character).startswith("S"):
        return "symbols"
    return unicodedata.name(character, "unnamed").split(" ")[0].split("-")[0]
