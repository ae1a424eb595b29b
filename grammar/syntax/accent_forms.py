"""Makes rules of the grammar, nodes, texts and hints from the forms of changes in accents, one line each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from attrs import frozen

from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax.marker_nodes import CHANGES, Change

_PART = re.compile(r"\{(\w+):(\w+):((?:[^{}]|\{[^{}]*\})*)\}|([\[\]])|([^\s\[\]{}\w]|\w+)")
_SEVERAL, _LISTS = "several", {"several": "_changed"}
"""The rule of one attribute, or of a list whose attributes all get the change, and its name in `rq.lark`."""


@frozen
class Hole:
    """A part that a field of the node fills. `rule`: that of `rq.lark`, or its token; `example`: its text in hints."""

    field: str
    rule: str
    example: str


Part = str | Hole


@frozen
class AccentForm:
    """The form of a change: its word, then words, signs and holes, in groups; True for one that may be missing."""

    node: type[Change]
    word: str
    groups: tuple[tuple[tuple[Part, ...], bool], ...]

    @property
    def rule(self) -> str:
        """The name of its rule."""
        return f"to_{self.word}"

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The holes in their order."""
        return tuple(part for group, _ in self.groups for part in group if isinstance(part, Hole))

    @property
    def of_several(self) -> bool:
        """True if one accent may change several attributes."""
        return any(hole.rule == _SEVERAL for hole in self.holes)

    @property
    def example(self) -> str:
        """A text of this form, for hints."""
        return self._text(
            [
                [_part_text(part, _example) for part in group]
                for group, is_optional in self.groups
                if not is_optional
            ]
        )

    @property
    def grammar(self) -> str:
        """The rule in the language of lark, and the token of its word."""
        groups = [(" ".join(map(_in_lark, group)), is_optional) for group, is_optional in self.groups]
        body = " ".join(f"[{group}]" if is_optional else group for group, is_optional in groups)
        return f'{self.rule}: "{self.word}" "(" {body} ")"\n{self.word.upper()}: "{self.word}"'

    def nodes(self, parts: Sequence[Any], span: Span) -> tuple[Change, ...]:
        """Returns the nodes of a text, one for each attribute. `parts`: the values of the holes, `None` if missing."""
        values = {hole.field: part for hole, part in zip(self.holes, parts, strict=True) if part is not None}
        names = values.pop("name")
        several = cast("tuple[str, ...]", names) if isinstance(names, tuple) else (names,)
        return tuple(self.node(name=str(name), **values, span=span) for name in several)

    def text(self, nodes: Sequence[Change], text: Callable[[str, Any], str]) -> str:
        """Returns the text of nodes that differ in their attributes only; `text` writes a value by its rule."""
        first, *others = nodes
        names = ", ".join(node.name for node in nodes)

        def value(hole: Hole) -> str:
            if hole.field == "name":
                return f"{{{names}}}" if others else names
            return text(hole.rule, getattr(first, hole.field))

        return self._text(
            [
                [_part_text(part, value) for part in group]
                for group, optional in self.groups
                if not optional or _has(first, group)
            ]
        )

    def _text(self, groups: list[list[str]]) -> str:
        text = " ".join(part for group in groups for part in group)
        return f"{self.word}({re.sub(r' ,', ',', text)})"


def _part_text(part: Part, value: Callable[[Hole], str]) -> str:
    return part if isinstance(part, str) else value(part)


def _example(hole: Hole) -> str:
    return hole.example


def _has(node: Change, group: Sequence[Part]) -> bool:
    return all(getattr(node, part.field) not in (None, False) for part in group if isinstance(part, Hole))


def _in_lark(part: Part) -> str:
    return f'"{part}"' if isinstance(part, str) else _LISTS.get(part.rule, part.rule)


def _form(node: type[Change]) -> AccentForm:
    word, body = node.form.removesuffix(")").split("(", 1)
    groups: list[tuple[list[Part], bool]] = [([], False)]
    for field, rule, example, bracket, literal in _PART.findall(body):
        if bracket:
            groups.append(([], bracket == "["))
        else:
            groups[-1][0].append(Hole(field, rule, example) if field else literal)
    return AccentForm(node, word, tuple((tuple(group), optional) for group, optional in groups if group))


FORMS = {form.rule: form for form in map(_form, CHANGES)}
"""Rule of the grammar -> its form."""
OF_NODE = {form.node: form for form in FORMS.values()}
"""Node -> its form."""
WORDS = tuple(form.word for form in FORMS.values())
"""The words of the changes."""


def grammar() -> str:
    """Returns the rules of all forms in the language of lark."""
    rules = [form.grammar for form in FORMS.values()]
    words = " | ".join(form.word.upper() for form in FORMS.values())
    return "\n".join([*rules, f"_change: {' | '.join(FORMS)}", f"_change_word: {words}", ""])
