"""Texts that go wrong: mutations of right ones, for tests that nothing but coded diagnostics comes of them, in time."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.kit import ROOT

SECONDS = 5.0
"""Processor time: longer than this nothing may take, however busy the machine is."""

NUMBERS = [
    "1e99999999999999999999",
    "-1e-99999999999999999999",
    "1e999999999",
    "1e-999999999",
    "1e400",
    "0e99999999999999999999",
    "9" * 5000,
    "0." + "7" * 5000,
    "1" + "0" * 300,
    "-9223372036854775809",
    "NaN",
    "-Infinity",
    "0x1F",
    "1_000",
    "٣",
]
SIGNS = [
    *"\"'\\{}[]()<>,;:=+-*/%|&!?#@$~`^._ \t\n\r\x00\x07\x1b\x7f\u2028\ufeff\ufffdéπ≀∧−😀",
    *(
        "\\ud800",
        "\\u0000",
        "\\x",
        '\\"',
        "null",
        "true",
        "[[",
        "]]",
        ":=",
        "->",
        "||",
        "$accent",
        "$punctuation",
    ),
    *(
        "&#0;",
        "&lt;",
        "<!--",
        "-->",
        "<?",
        "]]>",
        '""',
        "\r\n",
        "-- ",
        "/*",
        "case ",
        " or ",
        " not ",
        " in {",
    ),
]
OPENING = ["[", "{", "(", "[[", '{"a":', '"', "<a>", "not ", "-", "select[a](", "case when a then "]
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")


def mutated(rng: Random, text: str, others: Sequence[str]) -> str:
    """A text with one to four changes, most of which are small."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        text = _changed(rng, text, others)
    return text


def _changed(rng: Random, text: str, others: Sequence[str]) -> str:
    begin = rng.randrange(len(text) + 1)
    end = min(len(text), begin + rng.choice((0, 1, 1, 2, 5, 20, 100)))
    match rng.randrange(9):
        case 0:
            return text[:begin] + text[end:]
        case 1:
            return text[:begin] + rng.choice(SIGNS) + text[end:]
        case 2:
            return text[:begin] + text[begin:end] * rng.choice((2, 2, 3, 30)) + text[end:]
        case 3:
            return text[:begin]
        case 4:
            other = rng.choice(others)
            at = rng.randrange(len(other) + 1)
            return text[:begin] + other[at : at + rng.randrange(80)] + text[end:]
        case 5 | 6:
            return _with_other_number(rng, text)
        case 7:
            return text[:begin] + rng.choice(OPENING) * rng.choice((1, 3, 50, 400)) + text[begin:]
        case _:
            return _with_pieces_moved(rng, text)


def _with_other_number(rng: Random, text: str) -> str:
    places = [*re.finditer(r"\d+(?:\.\d+)?", text)]
    if not places:
        return text
    match = rng.choice(places)
    return text[: match.start()] + rng.choice(NUMBERS) + text[match.end() :]


def _with_pieces_moved(rng: Random, text: str) -> str:
    pieces = _PIECE.findall(text)
    if len(pieces) > 1:
        at, to = rng.randrange(len(pieces)), rng.randrange(len(pieces))
        pieces[at], pieces[to] = pieces[to], pieces[at]
    return "".join(pieces)


def mutations(rng: Random, seeds: Sequence[str], count: int) -> Iterator[str]:
    """Yields a number of mutated texts."""
    for _ in range(count):
        yield mutated(rng, rng.choice(seeds), seeds)


@contextmanager
def in_time(text: object, seconds: float = SECONDS) -> Iterator[None]:
    """Fails where what is done with a text takes too long, and names the text where an exception comes out."""

    def fail(number: int, frame: object) -> None:
        raise AssertionError(f"longer than {seconds} s: {str(text)[:2000]!r}")

    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except AssertionError:
        raise
    except Exception as problem:
        raise AssertionError(f"{problem!r} of {str(text)[:4000]!r}") from problem
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def queries() -> list[str]:
    """Right and wrong queries of the project."""
    shipped = [path.read_text("utf-8") for path in sorted((ROOT / "queries").rglob("*.rq"))]
    golden = _golden(
        "grammar/golden/queries.txt", "compiler/golden/complain.txt", "compiler/golden/compile.txt"
    )
    return [text for text in (*shipped, *golden) if len(text) < 3000]


def markers() -> list[str]:
    """Right and wrong accents and punctuations of the project."""
    return _golden("grammar/golden/markers.txt")


def _golden(*names: str) -> list[str]:
    texts = [block.partition("----\n")[0] for name in names for block in _blocks(ROOT / "tests" / name)]
    inputs = ("\n".join(line for line in text.splitlines() if not line.startswith("##")) for text in texts)
    return [text for text_ in inputs if (text := text_.strip().partition("\n")[2])]


def _blocks(path: Path) -> list[str]:
    return path.read_text("utf-8").split("====\n")
