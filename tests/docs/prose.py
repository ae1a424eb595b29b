"""Finds phrases in prose that readers have to decode: `python -m tests.docs.prose PATH...` lists them with plain words.

A text is a paragraph, a list item or a table row of a page, a docstring or a comment. With `literals` before the paths
it is a string of a module or of the live page that a reader may see: a message, a hint, a help. Code does not count.
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


_SHORTEST = 4
"""Words of a literal that is a phrase; shorter ones are names, or parts of a text."""
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_INSERTED = re.compile(r"\$\{(?:[^{}]|\{[^{}]*\})*\}")


def literals(paths: Iterable[Path]) -> Iterator[Text]:
    """Yields the strings of at least four words that are not docstrings: in modules, and in scripts of pages.

    An f-string is one text, in which a value is one word.
    """
    for path in paths:
        if path.is_dir():
            yield from literals(sorted(path.iterdir()))
        elif path.suffix in (".py", ".js"):
            source = path.read_text("utf-8")
            for line, text in (_strings if path.suffix == ".py" else _script_strings)(source):
                words = " ".join(_CODE.sub("x", text).split())
                if len(words.split()) >= _SHORTEST:
                    yield Text(path, line, words)


def _strings(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    inner = {text for _, text in docstrings(tree)}
    parts = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(str(text)) if id(node) not in parts and text not in inner:
                yield node.lineno, text
            case ast.JoinedStr(values):
                shown = (part.value if isinstance(part, ast.Constant) else "x" for part in values)
                yield node.lineno, "".join(map(str, shown))
            case _:
                pass


def _script_strings(source: str) -> Iterator[tuple[int, str]]:
    for match in _QUOTED.finditer(source):
        yield source.count("\n", 0, match.start()) + 1, _INSERTED.sub("x", match[1] or match[2] or "")


def main(names: list[str]) -> None:
    read = texts if names[:1] != ["literals"] else literals
    for text in read(Path(name) for name in names if name != "literals"):
        if phrases := text.phrases():
            print(f"{text.path}:{text.line}: {'; '.join(phrases)}\n    {text.words[:160]}")


if __name__ == "__main__":
    main(sys.argv[1:])
