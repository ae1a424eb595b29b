"""Makes rules of the grammar, nodes, texts and hints from the forms of operators, one line each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from cedilla.grammar.syntax.relation_nodes import OPERATORS, OneInput

RESERVED = ("select", "project", "window", "aggregate")
"""Words that cannot name a relation; queries that use a later word as a name keep their meaning."""

_PART = re.compile(r"\{(\w+):((?:[^{}]|\{[^{}]*\})*)\}|([\[\]])|([^\s\[\]{}]+)")
_RULES = {
    "Expression": "_expression",
    "int": "NUMBER",
    "str": "NAME",
    "str | tuple[str, str]": "(NAME | bounds)",
    "Measure": "measure",
    "Period": "period",
    "Text": "text",
    "Literal": "literal",
    "Rows | Measure | Ties": "frame",
    "tuple[str, ...]": "names",
    "tuple[SortKey, ...]": "keys",
    "tuple[Renamed, ...]": "renamings",
    "tuple[ProjectItem, ...]": "items",
    "tuple[AggregateCall | ProjectItem, ...]": "calls",
}
"""Type of a node's field -> the rule of `rq.lark` that fills it."""


@frozen
class Hole:
    """A part that a node's field fills, with an example for hints."""

    field: str
    type: str
    example: str
    label: str
    """The word before it, or the operator's."""
    key: str
    """The word before it, or the field's name."""

    @property
    def is_names(self) -> bool:
        """True if it is a list of names."""
        return self.rule == "names"

    @property
    def is_calls(self) -> bool:
        """True if it is a list of named calls of functions."""
        return self.rule == "calls"

    @property
    def is_keys(self) -> bool:
        """True if it is a list of names, each with a direction."""
        return self.rule == "keys"

    @property
    def rule(self) -> str:
        """The rule of the grammar."""
        return _RULES[self.type.removesuffix(" | None")]

    @property
    def missing(self) -> object:
        """Returns the field's value if its optional part is not written."""
        return () if self.type.startswith("tuple") else None


Part = str | Hole


@frozen
class Form:
    """One way to write an operator: its word, and groups of words and holes, each with True if it may be missing."""

    node: type[OneInput]
    rule: str
    word: str
    sign: str | None
    types: dict[str, str]
    groups: tuple[tuple[tuple[Part, ...], bool], ...]
    holes: tuple[Hole, ...]

    @property
    def example(self) -> str:
        """A text of this form, for hints."""
        return f"{self._bracketed([' '.join(map(_example, group)) for group, _ in self.groups])}(R)"

    @property
    def grammar(self) -> str:
        """The rule in the language of lark."""
        groups = [(" ".join(map(_in_lark, group)), is_optional) for group, is_optional in self.groups]
        body = " ".join(f"[{group}]" if is_optional else group for group, is_optional in groups)
        body = f'["[" {groups[0][0]} "]"]' if self._may_be_empty else f'"[" {body} "]"'
        words = f'"{self.word}"' if self.sign is None else f'("{self.word}" | "{self.sign}")'
        return f"{self.rule}: {words} {body} _input"

    def values(self, children: Sequence[Any]) -> dict[str, Any]:
        """Returns the fields of a node from the parts of its text, without the input."""
        values: dict[str, Any] = {
            name: None if type_.endswith("| None") else () for name, type_ in self.types.items()
        }
        for hole, child in zip(self.holes, children, strict=True):
            values[hole.field] = hole.missing if child is None else child
        return values

    def parts(self, node: OneInput, text: Callable[[Hole, Any], str]) -> list[str]:
        """Returns the texts between the brackets of a node; `text` writes the value of a hole."""
        return [
            " ".join(
                part if isinstance(part, str) else text(part, getattr(node, part.field)) for part in group
            )
            for group, is_optional in self.groups
            if not is_optional or _has(node, group)
        ]

    def text(self, node: OneInput, text: Callable[[Hole, Any], str]) -> str:
        """Returns a node's text up to its input; as `parts`."""
        return self._bracketed(self.parts(node, text))

    def filled(self, texts: Mapping[str, str]) -> str | None:
        """Returns a text up to its input, from the texts of holes by key; `None` if one is missing."""
        parts: list[str] = []
        for group, is_optional in self.groups:
            if all(isinstance(part, str) or part.key in texts for part in group):
                parts += [part if isinstance(part, str) else texts[part.key] for part in group]
            elif not is_optional:
                return None
        return self._bracketed(parts)

    def _bracketed(self, parts: Sequence[str]) -> str:
        return self.word if not parts and self._may_be_empty else f"{self.word}[{' '.join(parts)}]"

    @property
    def _may_be_empty(self) -> bool:
        return all(is_optional for _, is_optional in self.groups)


def _has(node: OneInput, group: Sequence[Part]) -> bool:
    return all(isinstance(part, str) or getattr(node, part.field) not in ((), None) for part in group)


def _example(part: Part) -> str:
    return part if isinstance(part, str) else part.example


def _in_lark(part: Part) -> str:
    return part.rule if isinstance(part, Hole) else f'"{part}"'


def _form(node: type[OneInput], text: str, words: Counter[str]) -> Form:
    head, body = text.removesuffix("](R)").split("[", 1)
    word, _, sign = head.partition("|")
    words[word] += 1
    types = {
        field.name: str(field.type) for field in attrs.fields(node) if field.name not in ("span", "input")
    }
    groups: list[tuple[list[Part], bool]] = []
    optional, label = False, word
    for name, example, bracket, literal in _PART.findall(body):
        if bracket or not optional:
            groups.append(([], bracket == "["))
        optional = bracket == "[" or (optional and not bracket)
        if not bracket:
            groups[-1][0].append(
                Hole(name, types[name], example, label, name if label == word else label) if name else literal
            )
            label = literal or word
    rule = word if words[word] == 1 else f"{word}_{words[word]}"
    filled = tuple((tuple(group), is_optional) for group, is_optional in groups if group)
    holes = tuple(part for group, _ in filled for part in group if isinstance(part, Hole))
    return Form(node, rule, word, sign or None, types, filled, holes)


_words = Counter[str]()
FORMS = {form.rule: form for node in OPERATORS for form in (_form(node, text, _words) for text in node.forms)}
"""Rule of the grammar -> its form."""
_OF_NODE = {node: tuple(form for form in FORMS.values() if form.node is node) for node in OPERATORS}
WORDS = tuple(dict.fromkeys(form.word for form in FORMS.values()))
"""The words of the operators."""
SIGNS = {form.sign: form.word for form in FORMS.values() if form.sign is not None}
"""Greek letter -> the word that it stands for."""


def form_of(node: OneInput) -> Form:
    """Returns the form that a node is written in: of those whose required parts it has, the first with the most."""
    possible = [
        form
        for form in _OF_NODE[type(node)]
        if all(is_optional or _has(node, group) for group, is_optional in form.groups)
    ]
    return max(possible, key=lambda form: sum(not is_optional for _, is_optional in form.groups))


def grammar() -> str:
    """Returns the rules of all forms in the language of lark."""
    names = [*(word for word in WORDS if word not in RESERVED), "W"]
    signs = [f'{word.upper()}_SIGN: "{sign}"' for sign, word in SIGNS.items()]
    operator = f"_operator: {' | '.join(FORMS)}"
    reference = " | ".join(["!reference: NAME", *(f'"{name}"' for name in names)])
    return "\n".join([*(form.grammar for form in FORMS.values()), operator, reference, *signs, ""])
