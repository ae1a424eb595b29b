"""Packs Cedilla, and what its grammar, compiler and reference import, for the playground page; lists words to color.

    python -m tests.docs.playground FOLDER

Only pure Python is packed: Pyodide has the rest. This module imports nothing that the extra `site` lacks.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
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


def words() -> dict[str, list[str]]:
    """Returns the words of the language by the kinds that the page colors."""
    from cedilla.grammar import highlighting

    return {
        "statement": sorted(highlighting.STARTS),
        "relational": sorted(highlighting.RELATIONAL),
        "accent": sorted(highlighting.ACCENTS),
        "type": sorted(highlighting.TYPES),
        "other": sorted({*highlighting.OTHERS, *highlighting.CONSTANTS}),
    }


def main(folder: Path) -> None:
    """Writes the archive and the list of words beside the page."""
    pack(folder / "cedilla.zip")
    (folder / "words.json").write_text(json.dumps(words()), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
