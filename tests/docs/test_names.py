"""Docstrings and comments name modules, classes and functions that exist: a rename does not forget them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.prose import docstrings
from tests.kit import ROOT

pytestmark = pytest.mark.quick

FOLDERS = ("grammar", "compiler", "runtime")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
SOURCES = {path: path.read_text("utf-8") for path in FILES}
TREES = {path: ast.parse(source) for path, source in SOURCES.items()}
CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
WRITTEN_TOGETHER = re.compile(r"[A-Za-z]+_\w+|[A-Z][a-z]+[A-Z]\w+|_\w+")
"""Names that are no words of English, of a query or of a stream."""

OF_OTHERS = {
    *("pyarrow", "pathlib", "spark", "java.home", "pyspark_cedilla"),
    *("AnyValue", "ExportMetricsServiceRequest", "AdminClient", "unionByName", "regr_slope", "NO_COLOR"),
}
"""Names of libraries, protocols and settings, and their roots."""
EXAMPLES = {
    *(
        "address.city",
        "devices.s",
        "q.s",
        "R.a",
        "sensors.t",
        "state.upper",
        "f_to_c",
        "kind_2",
        "t_c",
        "temp_c",
        "latency_ms",
        "roomTemp_C",
    ),
    *("NAME.markers", "PATH_markers", "plan.json", "batch.json"),
}
"""Names in queries and streams, and files of runs."""


def bound(body: list[ast.stmt]) -> Iterator[str]:
    """Yields the names that statements bind, also in branches."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case _:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        yield node.id


def parts(path: Path) -> tuple[str, ...]:
    """Returns the parts of a module's name after that of the package."""
    names = path.relative_to(ROOT).with_suffix("").parts
    return names[:-1] if names[-1] == "__init__" else names


MODULES = {parts(path): {*bound(tree.body)} for path, tree in TREES.items()}
PACKAGES: dict[tuple[str, ...], set[str]] = {}
"""A module or a package -> the names in it and below."""
for module, names in MODULES.items():
    for end in range(1, len(module) + 1):
        PACKAGES.setdefault(module[:end], set()).update(names, module[end : end + 1])
CLASSES = [node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


@cache
def members(name: str) -> frozenset[str]:
    """Returns what the classes of a name have, also by inheritance."""
    named = [node for node in CLASSES if node.name == name]
    bases = {ast.unparse(base).split("[")[0].split(".")[-1] for node in named for base in node.bases} - {name}
    return frozenset(member for node in named for member in bound(node.body)).union(*map(members, bases))


def exists(name: str) -> bool:
    """Returns True for a module, a name in a module, a member of a class, a file or a name of a library."""
    *owner, last = name.removeprefix("cedilla.").split(".")
    if not owner:
        return last in WORDS
    if owner[0] in OF_OTHERS:
        return True
    return (
        any(package[-len(owner) :] == tuple(owner) and last in names for package, names in PACKAGES.items())
        or last in members(owner[-1])
        or last in members(owner[-1].title().replace("_", ""))  # a parameter of that class
        or (ROOT / "grammar" / name).exists()
    )


WORDS = {word for source in SOURCES.values() for word in re.findall(r"\w+", CODE.sub("", source))}
WORDS |= {name for package in PACKAGES for name in package}
"""Words of all modules outside of backticks, and names of modules."""


def wrong(piece: str) -> bool:
    """Returns True for a name or a path in a text that nothing has."""
    name = piece.removesuffix("()")
    if name in OF_OTHERS | EXAMPLES:
        return False
    if name.endswith((".py", ".c")):
        return not any(
            path.as_posix().endswith(f"/{name}") for path in (*FILES, *ROOT.glob("runtime/**/*.c"))
        )
    if DOTTED.fullmatch(name):
        return not exists(name)
    if "/" in name and name.partition("/")[0] in {*FOLDERS, "tests", "docs"}:
        return not (ROOT / name).exists()
    return WRITTEN_TOGETHER.fullmatch(name) is not None and name not in WORDS


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the docstrings and comments of a module."""
    yield from docstrings(TREES[path])
    for number, line in enumerate(SOURCES[path].splitlines(), 1):
        yield number, f" {line}".partition(" # ")[2]


def test_names_in_docstrings_and_comments_exist() -> None:
    forgotten = [
        f"{path.relative_to(ROOT)}:{line}: {piece}"
        for path in FILES
        for line, text in texts(path)
        for piece in CODE.findall(text)
        if wrong(piece)
    ]
    assert forgotten == []


@pytest.mark.parametrize(
    ("piece", "is_wrong"),
    [
        ("items.xml_records", True),
        ("records.xml_records", False),
        ("grammar.hints.slips", True),
        ("Plan.plaaced", True),
        ("syntax_hints.py", True),
        ("foreign_words.py", False),
        ("no_such_function", True),
        ("xyz", False),
    ],
)
def test_a_forgotten_name_is_seen(piece: str, is_wrong: bool) -> None:
    assert wrong(piece) == is_wrong
