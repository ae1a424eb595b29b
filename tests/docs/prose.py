"""Finds phrases in prose that readers have to decode: `python -m tests.docs.prose PATH...` lists them with plain words.

A text is a paragraph, a list item or a table row of a page, a docstring or a comment. Code in it does not count.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path

from attrs import frozen

PHRASES = tomllib.loads((Path(__file__).parent / "phrases.toml").read_text("utf-8"))
"""Plain words -> the phrases that they replace."""
MAX_WORDS = 35
"""Words of a sentence that no reader keeps in mind."""
_PATTERNS = [(plain, re.compile("|".join(phrases), re.IGNORECASE)) for plain, phrases in PHRASES.items()]
_EXAMPLE = re.compile(r"^>>> .*(\n.+)*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"``.+?``|`[^`]*`|^ {4}.*$", re.MULTILINE)
_BEGINS = re.compile(r"\s*([|#]|[-*] |\d+\. )")
"""A row of a table, a heading or an item of a list."""
_SENTENCE = re.compile(r"(?<=[.:;!?])\s+|, (?:and )?(?=RQ\d)")
"""Ends a sentence, or an item of a list of codes."""
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@frozen
class Text:
    """A text and the line of its file."""

    path: Path
    line: int
    words: str

    def phrases(self) -> list[str]:
        """Returns each phrase with the plain words for it."""
        matches = ((plain, pattern.search(self.words)) for plain, pattern in _PATTERNS)
        return [f"`{match[0].strip()}`: {plain}" for plain, match in matches if match]

    def longest(self) -> int:
        """Returns the words of its longest sentence; tables have none."""
        sentences = [] if "|" in self.words else _SENTENCE.split(self.words)
        return max((len(sentence.split()) for sentence in sentences), default=0)


def texts(paths: Iterable[Path]) -> Iterator[Text]:
    """Yields the texts of pages and modules, also of those in folders."""
    for path in paths:
        if path.is_dir():
            yield from texts(sorted(path.iterdir()))
        elif path.suffix in (".md", ".py"):
            source = path.read_text("utf-8")
            numbered = (
                _paragraphs(source)
                if path.suffix == ".md"
                else (
                    *_comments(source),
                    *((n, _EXAMPLE.sub("", cleandoc(text))) for n, text in docstrings(source)),
                )
            )
            yield from (Text(path, line, " ".join(_CODE.sub("x", text).split())) for line, text in numbered)


def _paragraphs(source: str) -> Iterator[tuple[int, str]]:
    lines: list[str] = []
    without_code = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), source)
    for number, line in enumerate([*without_code.splitlines(), ""], 1):
        if lines and (not line.strip() or _BEGINS.match(line)):
            yield number - len(lines), "\n".join(lines)
            lines = []
        if line.strip(" |-:"):
            lines.append(line)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(
            ("# type:", "# noqa", "# pyright:")
        ):
            yield token.start[0], token.string.lstrip("# ")


def docstrings(source: str | ast.Module) -> Iterator[tuple[int, str]]:
    """Yields docstrings, also those after an attribute."""
    for node in ast.walk(source if isinstance(source, ast.Module) else ast.parse(source)):
        if isinstance(node, _DOCUMENTED):
            for statement in node.body:
                value = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield statement.lineno, value.value


def main(names: list[str]) -> None:
    for text in texts(map(Path, names)):
        if phrases := text.phrases():
            print(f"{text.path}:{text.line}: {'; '.join(phrases)}\n    {text.words[:160]}")


if __name__ == "__main__":
    main(sys.argv[1:])
