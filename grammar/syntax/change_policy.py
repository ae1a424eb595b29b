"""The changes that a query takes from its streams: the values of `set changes`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from attrs import frozen

from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.syntax.accent_forms import WORDS

ANY = "any"
KINDS = ("+", "-", "alter", *WORDS)
"""Kinds of changes: the words that accents begin with."""
_SYNONYMS = {"−": "-", "≀": "alter", "add": "+", "drop": "-"}
_POLICY = re.compile(r"allow\s*\{(.*)\}", re.DOTALL)
_KIND = re.compile(r"\s*([^\s(),]+)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


@frozen
class ChangePolicy:
    """`allow {+, unit(t)}`: the kinds of changes that a query takes, each with its attributes; `None`: with all."""

    kinds: Mapping[str, frozenset[str] | None]

    def allows(self, kind: str, attributes: Iterable[str]) -> bool:
        """Returns True for a change of this kind of all of these attributes."""
        names = self.kinds.get(kind, frozenset[str]())
        return names is None or names >= {*attributes}

    @property
    def declared(self) -> tuple[str, ...]:
        """Returns the attributes that it names and that no allowed Add can bring."""
        added = self.kinds.get("+", frozenset[str]())
        if added is None:
            return ()
        of_others = (names for names in self.kinds.values() if names is not None)
        return tuple(sorted(frozenset[str]().union(*of_others) - added))

    def wider(self, kind: str, attributes: Iterable[str]) -> ChangePolicy:
        """Returns the policy that also allows a change."""
        if self.allows(kind, attributes):
            return self
        return ChangePolicy({**self.kinds, kind: (self.kinds.get(kind) or frozenset()) | {*attributes}})

    def __str__(self) -> str:
        kinds = ", ".join(
            kind if names is None else f"{kind}({', '.join(sorted(names))})"
            for kind, names in self.kinds.items()
        )
        return f"allow {{{kinds}}}"


def policy_of(value: str) -> ChangePolicy | None:
    """Returns the policy of a valid value of `set changes`; `None` if it takes any change.

    >>> print(policy_of("allow { drop, unit(t, p),unit(q)}"))
    allow {-, unit(p, q, t)}
    >>> policy_of("allow {+}").wider("rename", ["t"]).kinds
    {'+': None, 'rename': frozenset({'t'})}
    """
    match = _POLICY.fullmatch(value)
    if match is None:
        return None
    kinds: dict[str, frozenset[str] | None] = {}
    for word, names in _KIND.findall(match[1]):
        kind, new = _kind(word), frozenset(re.findall(r"\w+", names)) or None
        earlier = kinds.get(kind, frozenset[str]())
        kinds[kind] = None if new is None or earlier is None else earlier | new
    return ChangePolicy(kinds)


def policy_fault(value: str) -> tuple[str, str] | None:
    """Returns message and hint for a text that is not a value of `set changes`, `None` for a valid one."""
    example = "`set changes = allow {+, unit(t), rename};`"
    if value == ANY:
        return None
    match = _POLICY.fullmatch(value)
    if match is None or _KIND.sub("", match[1]).strip():
        return f"`{value}` is not a policy of changes", f"`{ANY}`, or kinds of changes, as in {example}"
    for word, _ in _KIND.findall(match[1]):
        if _kind(word) not in KINDS:
            return f"unknown kind of change `{word}`", did_you_mean(
                word, KINDS, "kinds"
            ) or f"as in {example}"
    return None


def _kind(word: str) -> str:
    return _SYNONYMS.get(word, word)
