"""Suggests the known word for a misspelt one, if it is all but certain."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from cedilla.grammar.diagnostics import DiagnosticError, Span, failure

_LISTED = 20
"""A hint lists at most this many known words."""


def suggest(word: str, words: Iterable[str], most: int = 3, *, checked: bool = False) -> str | None:
    """Returns the known word that `word` misspells by `most` letters or fewer, or `None` where several words or none
    are near enough.

    Names that differ only in digits are different names. In a word of three letters another letter makes another
    word (`lag` is not `log`); a letter too many, a missing one or two exchanged ones are slips. `checked`: the caller
    checks the guess, so that another letter may be a slip there, too.
    """
    by_lower: dict[str, str] = {}
    for candidate in words:
        by_lower.setdefault(candidate.lower(), candidate)
    lower = word.lower()
    if lower in by_lower:
        return by_lower[lower]
    near = [(edits(lower, other), other) for other in by_lower if _may_be(lower, other, most, checked)]
    fewest = min(near)[0] if near else 0
    least = [other for count, other in near if count == fewest]
    if (
        not checked
        and len(lower) == 2
        and any(len(other) == 2 and edits(lower, other) == fewest for other in by_lower)
    ):
        return by_lower.get(lower[::-1])
    if len({other.removesuffix("s") for other in least}) == 1:  # one word, in the singular and the plural
        least = [other for other in least if other.endswith("s") == lower.endswith("s")] or least
    return by_lower[least[0]] if len(least) == 1 else None


def did_you_mean(word: str, words: Iterable[str], what: str) -> str:
    """Returns a hint for an unknown word: the likely one, and the known ones."""
    words = list(words)
    guess = suggest(word, words) or _begins_alike(word, words)
    shown = ", ".join(words[:_LISTED]) + (", ..." if len(words) > _LISTED else "")
    listed = f"known {what}: {shown}" if words else f"known {what}: none"
    return listed if guess is None else f"did you mean `{guess}`? {listed}"


def unknown_attribute(
    name: str, attributes: Iterable[str], span: Span | None, where: str = ""
) -> DiagnosticError:
    """Returns RQ102 for an attribute that does not exist. `where`: the part of the text, with a preposition."""
    what = " ".join(filter(None, (f"unknown attribute `{name}`", where)))
    return failure("RQ102", what, span, hint=did_you_mean(name, attributes, "attributes"))


def edits(a: str, b: str) -> int:
    """Letters to insert, delete, replace or exchange with their neighbour to make `b` of `a` (optimal string
    alignment)."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, other in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _may_be(word: str, other: str, most: int, checked: bool) -> bool:
    """Returns True if one word may be a slip for the other."""
    size = max(len(word), len(other))
    most = min(most, 1 if size < 6 else 2 if size < 9 else 3)
    if abs(len(word) - len(other)) > most or _letters(word) == _letters(other):
        return False
    if not checked and size <= 3 and len(word) == len(other) and sorted(word) != sorted(other):
        return False
    return edits(word, other) <= most


def _letters(word: str) -> str:
    return re.sub(r"\d+", "", word)


def _begins_alike(word: str, words: Iterable[str]) -> str | None:
    """The one known name that is a longer or a shorter form of a word: `temp` and `temperature`."""
    lower = word.lower()
    alike = [
        candidate
        for candidate in words
        if min(len(candidate), len(word)) > 2
        and _letters(lower) != _letters(candidate.lower())
        and (candidate.lower().startswith(lower) or lower.startswith(candidate.lower()))
    ]
    return alike[0] if len(alike) == 1 else None


def misspelt(word: str, words: Iterable[str]) -> str | None:
    """The known name that a word is all but surely: names that differ in digits only are different ones."""
    for near in difflib.get_close_matches(word, list(words), n=3, cutoff=0.81):
        if _letters(near) != _letters(word):
            return near
    return None


def resembles(word: str, words: Iterable[str]) -> bool:
    """Returns True where a word may be a slip for a known one, however faint the likeness."""
    return bool(difflib.get_close_matches(word.lower(), [candidate.lower() for candidate in words], n=1))
