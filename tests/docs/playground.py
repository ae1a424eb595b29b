"""Packs Cedilla, and what its grammar, compiler and reference import, for the playground page.

    python -m tests.docs.playground FILE.zip

Only pure Python is packed: Pyodide has the rest.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from tests.kit import ROOT

PACKAGES = (
    *("attrs", "click", "filelock", "flexcache", "flexparser", "fsspec", "immutables", "lark", "networkx"),
    *("pint", "platformdirs", "typing_extensions", "ucumvert"),
)
"""Distributions that the compiler and the reference import."""
_LEFT_OUT = {"__pycache__", "tests", "testsuite"}


def files() -> Iterator[tuple[Path, str]]:
    """Yields the files of the archive, each with its name there."""
    for name in PACKAGES:
        for file in distribution(name).files or ():
            parts = Path(str(file)).parts
            is_part = file.suffix in (".py", ".txt", ".lark", ".xml") or file.name == "METADATA"
            if is_part and ".." not in parts and not _LEFT_OUT & set(parts):
                yield Path(str(file.locate())), file.as_posix()
    yield ROOT / ".links" / "cedilla" / "__init__.py", "cedilla/__init__.py"
    for top in ("grammar", "compiler", "runtime"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".py", ".txt", ".lark", ".toml"):
                yield path, f"cedilla/{path.relative_to(ROOT).as_posix()}"


def pack(archive: Path) -> None:
    """Writes the archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, name in files():
            packed.write(path, name)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
