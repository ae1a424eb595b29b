"""Whatever texts a query has, its pictures are pictures, and only their labels differ."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from cedilla import compile_query
from cedilla.compiler.explain.diagram import dot, mermaid
from cedilla.compiler.explain.picture import svg
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.diagnostics.printable import printable
from tests.kit.foreign_text import NAMES, TEXTS, constant, is_unicode

QUERY = """
stream {name}(k: long, s: string in {{{text}}}, x: double unit "m") from json "in";
kept := select[s = {text} and x > 1](project[k, s, x]({name}));
emit kept to json {path};
"""
SECRETS = ("hunter2", "key:secret", "user:pass")
SHOWN = {kind: text for kind, text in TEXTS.items() if is_unicode(text) and len(text) < 1_000}


def plan_of(name: str, text: str, path: str) -> Plan | None:
    """Returns a plan; `None` if the query is refused."""
    try:
        return compile_query(QUERY.format(name=name, text=constant(text), path=constant(path)), "q.rq").plan
    except DiagnosticError:
        return None


def plans(text: str) -> list[Plan]:
    """Returns the plans with a text as a constant and as a path, as far as it can be one."""
    return [plan for path in ("out", text) if (plan := plan_of("r", text, path)) is not None]


LABELS = {dot: r'"(?:[^"\\]|\\.)*"', mermaid: r'"[^"]*"'}
"""A string of each language: Mermaid has no sign that escapes another."""


(PLAIN,) = plans("out")[:1]
DRAWN = [plan for text in SHOWN.values() for plan in plans(text)] + [
    plan for name in NAMES.values() if (plan := plan_of(name, "a", "out")) is not None
]


def test_a_picture_of_graphviz_or_mermaid_differs_in_labels_only() -> None:
    assert len(DRAWN) > len(SHOWN)
    for draw, label in LABELS.items():
        for plan in DRAWN:
            picture = draw(plan)
            assert re.sub(label, "", picture) == re.sub(label, "", draw(PLAIN))
            assert printable(picture) == picture
            assert not any(secret in picture for secret in SECRETS)


def test_no_label_is_a_directive_of_mermaid() -> None:
    """Which Mermaid reads anywhere in its text."""
    assert all("%%" not in mermaid(plan) for plan in DRAWN)


def test_a_picture_of_a_notebook_is_xml_with_the_same_elements() -> None:
    def elements(picture: str) -> list[str]:
        return sorted({element.tag.rpartition("}")[2] for element in ElementTree.fromstring(picture).iter()})

    for plan in DRAWN:
        assert elements(svg(plan)) == elements(svg(PLAIN))
        assert not any(secret in svg(plan) for secret in SECRETS)
