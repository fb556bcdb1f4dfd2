"""Writes docs/reference from docstrings and from `Config`: `python -m docs.making.reference`.

docs/public.toml says what is public; the package is parsed and not imported, so that no backend is
needed (but for `Config`, whose options are data). `tests/test_reference.py` compares the pages with
what this would write, and holds every public docstring to be complete.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pathlib
import re
import textwrap
import tomllib
from collections.abc import Iterator

import griffe

from keras_attention.config import Config, flag_of, type_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"
PUBLIC = ROOT / "docs" / "public.toml"
PACKAGE = "keras_attention"
NOTE = "<!-- written by `python -m docs.making.reference`; change the docstring, not this page -->"
ENTRY = re.compile(r"^(\w+): ", re.M)  # of a section that Google's style does not know
SHAPE = re.compile(r"[\[(](?:\.\.\.|[A-Z]\w*|n)\b|shape|scalar")
OF_THE_CALLER = {"self", "cls"}


def load() -> griffe.Module:
    """The package, parsed, with docstrings in Google's style."""
    return griffe.load(
        PACKAGE,
        search_paths=[str(ROOT)],
        docstring_parser=griffe.Parser.google,
        allow_inspection=False,
        docstring_options={
            "warnings": False,
            "returns_multiple_items": False,
            "returns_named_value": False,
        },
    )


def public() -> dict:
    """What docs/public.toml holds."""
    return tomllib.loads(PUBLIC.read_text(encoding="utf-8"))


def public_pages() -> list[dict]:
    return public()["pages"]


def names_in_all(package: griffe.Module) -> dict[str, griffe.Object]:
    """What the `__all__` of the package and its packages make public: dotted name to object."""
    found = {}
    modules = [package, *(m for m in package.modules.values() if m.is_package)]
    for module in modules:
        for export in module.exports or ():
            name = str(export)
            if not name.startswith("__"):
                member = module.members.get(name)
                found[f"{module.path}.{name}"] = member.final_target if member.is_alias else member
    return found


def object_at(package: griffe.Module, path: str) -> griffe.Object:
    """The class or function at a path below the package.

    Raises:
        LookupError: there is none; docs/public.toml is out of date.
    """
    try:
        found = package[path]
    except KeyError:
        raise LookupError(f"docs/public.toml: {PACKAGE}.{path} does not exist") from None
    return found.final_target if found.is_alias else found


def public_methods(item: griffe.Object) -> Iterator[griffe.Function]:
    """Methods and properties of a class that have a docstring and no underscore."""
    for name, member in item.members.items():
        if not name.startswith("_") and not member.is_alias and member.docstring:
            if member.is_function or "property" in member.labels:
                yield member


def parameters_of(item: griffe.Object) -> list[str]:
    """Names that a caller gives: of the function, or of the class' constructor."""
    if item.is_attribute:
        return []
    if item.is_class:
        if "__init__" in item.members:
            item = item.members["__init__"]
        else:
            return [
                name
                for name, member in item.members.items()
                if member.is_attribute
                and "property" not in member.labels
                and member.annotation is not None
                and "ClassVar" not in str(member.annotation)
                and not name.startswith("_")
            ]
    return [p.name.lstrip("*") for p in item.parameters if p.name not in OF_THE_CALLER]


def signature(item: griffe.Object) -> str:
    """The object as one would call it, one parameter a line where it is long."""
    target = item.members.get("__init__", item) if item.is_class else item
    if item.is_class and target is item:
        parts = []
        for name in parameters_of(item):
            member = item.members[name]
            parts.append(f"{name}: {member.annotation}")
    elif "property" in item.labels:
        return f"{item.name}: {item.annotation}"
    else:
        parts = [_parameter(p) for p in target.parameters if p.name not in OF_THE_CALLER]
        parts = _with_markers(target, parts)
    returns = "" if item.is_class or target.returns is None else f" -> {target.returns}"
    line = f"{item.name}({', '.join(parts)}){returns}"
    if len(line) <= 88:
        return line
    inner = "".join(f"    {part},\n" for part in parts)
    return f"{item.name}(\n{inner}){returns}"


def _parameter(parameter: griffe.Parameter) -> str:
    stars = {"variadic positional": "*", "variadic keyword": "**"}
    text = stars.get(parameter.kind.value if parameter.kind else "", "") + parameter.name
    if parameter.annotation is not None:
        text += f": {parameter.annotation}"
    if parameter.default is not None and not text.startswith("*"):
        text += f" = {parameter.default}" if parameter.annotation is not None else ""
        text += f"={parameter.default}" if parameter.annotation is None else ""
    return text


def _with_markers(function: griffe.Function, parts: list[str]) -> list[str]:
    """The parameters with the `*` before those that can only be named."""
    parameters = [p for p in function.parameters if p.name not in OF_THE_CALLER]
    for index, parameter in enumerate(parameters):
        if parameter.kind is griffe.ParameterKind.keyword_only:
            if not any(part.startswith("*") for part in parts[:index]):
                return [*parts[:index], "*", *parts[index:]]
            break
    return parts


def docstring_of(item: griffe.Object) -> str:
    return inspect.cleandoc(item.docstring.value) if item.docstring else ""


def complaints(item: griffe.Object) -> list[str]:
    """What the docstring of a public class or function leaves out."""
    text = docstring_of(item)
    if not text:
        return ["has no docstring"]
    # The options' own help is on the page of options.
    names = [] if item.path == f"{PACKAGE}.config.Config" else parameters_of(item)
    found = [
        f"does not say what {name} is"
        for name in names
        if not re.search(rf"\b{re.escape(name)}\b", text)
    ]
    around = text + (docstring_of(item.parent) if item.parent.is_class else "")
    found += [f"does not say when it raises {e}" for e in raised(item) if e not in around]
    if "ndarray" in signature(item) and not SHAPE.search(text):
        found.append("does not give the shapes of its arrays")
    if item.is_class:
        for method in public_methods(item):
            found += [f"{method.name} {complaint}" for complaint in complaints(method)]
    return found


def raised(item: griffe.Object) -> list[str]:
    """Exceptions that a function's body raises itself, or a class' where it is made."""
    bodies = [item]
    if item.is_class:
        bodies = [item.members[n] for n in ("__init__", "__post_init__") if n in item.members]
    names = set()
    for body in bodies:
        tree = ast.parse(textwrap.dedent(body.source)) if body.is_function else ast.Module([], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                names.add(ast.unparse(node.exc.func).split(".")[-1])
    return sorted(names)


def render(item: griffe.Object, level: int, title: str) -> str:
    """An object's part of a page: heading, signature, docstring, then its methods."""
    lines = [f"{'#' * level} `{title}`", "", "```py", signature(item), "```", ""]
    lines += [_section(section) for section in (item.docstring.parsed if item.docstring else [])]
    if item.is_class:
        lines += [
            render(method, level + 1, f"{item.name}.{method.name}")
            for method in public_methods(item)
        ]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: griffe.DocstringSection) -> str:
    """A section of a docstring in Markdown."""
    if section.kind is griffe.DocstringSectionKind.text:
        return f"{section.value}\n"
    if section.kind is griffe.DocstringSectionKind.admonition:
        text = ENTRY.sub(r"- `\1`: ", section.value.description)
        return f"**{section.title}**\n\n{text}\n"
    heading = {"parameters": "Arguments"}.get(section.kind.value, section.kind.value.capitalize())
    rows = []
    for entry in section.value:
        name = getattr(entry, "name", "") or ""
        if section.kind is griffe.DocstringSectionKind.raises:
            name = str(entry.annotation)
        text = " ".join(entry.description.split())
        rows.append(f"- `{name}`: {text}" if name else f"- {text}")
    return f"**{heading}**\n\n" + "\n".join(rows) + "\n"


def options_page() -> str:
    """Every option of a training, from the dataclass."""
    lines = [
        "# Options",
        "",
        NOTE,
        "",
        "Every option of `python train.py`, and every field of `keras_attention.Config` and of a "
        "run's",
        "`config.json`. A field `batch_size` is the option `--batch-size`.",
    ]
    group = None
    for field in dataclasses.fields(Config):
        if field.metadata["group"] != group:
            group = field.metadata["group"]
            head = "| option | type | default | values | meaning |\n|---|---|---|---|---|"
            lines += ["", f"## {group}", "", head]
        kind, optional = type_of(field)
        lines.append(
            f"| `{flag_of(field)}` | {kind.__name__}{' or none' if optional else ''} "
            f"| {_default(field)} | {_values(field)} | {field.metadata['help']} |"
        )
    return "\n".join(lines) + "\n"


def _default(field: dataclasses.Field) -> str:
    return "" if field.default is None else f"`{field.default}`"


def _values(field: dataclasses.Field) -> str:
    choices, least, below = (field.metadata[key] for key in ("choices", "least", "below"))
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    bounds = [f"at least {least}"] if least is not None else []
    return ", ".join([*bounds, *([f"below {below}"] if below is not None else [])])


def pages() -> dict[str, str]:
    """File name to content of every page of the reference."""
    package, made, contents = load(), {}, []
    public = names_in_all(package)
    short = {item.path: name for name, item in sorted(public.items(), key=lambda p: -len(p[0]))}
    for page in public_pages():
        items = [object_at(package, name) for name in page["names"]]
        made[page["file"]] = "\n".join(
            [
                *(f"# {page['title']}", "", NOTE, ""),
                *(render(item, 2, short.get(item.path, item.path)) for item in items),
            ]
        )
        contents += ["", f"## [{page['title']}]({page['file']})", ""]
        for item in items:
            summary = " ".join(docstring_of(item).split("\n\n")[0].split())
            name = short.get(item.path, item.path)
            contents.append(f"- `{name}`: {summary}")
    made["options.md"] = options_page()
    intro = [
        "# Reference",
        "",
        NOTE,
        "",
        "The public names of the package, as one imports them, and [every option](options.md) of a",
        "training. Names that are not here may change.",
    ]
    made["README.md"] = "\n".join([*intro, *contents]) + "\n"
    return made


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    made = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, content in made.items():
        (FOLDER / name).write_text(content, encoding="utf-8")
        print(f"docs/reference/{name}")


if __name__ == "__main__":
    main()
