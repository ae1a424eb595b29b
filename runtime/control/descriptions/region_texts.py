"""Regions as text for people: patterns in the wire format; of many, only the first ones."""

from __future__ import annotations

from itertools import islice

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import patterns
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.markers import punctuation_text
from cedilla.compiler.facts.schemes import is_finite
from cedilla.compiler.regions import Tree
from cedilla.runtime.control.descriptions.boxes import simple_boxes

MAX_SHOWN = 8
"""Maximum number of texts shown for one kind; the rest is given as a number."""


_MAX_TEXTS = 1000
"""Maximum number of texts of a region that are made."""


def region_texts(facts: Facts, region: Tree) -> list[str]:
    """Returns a region in canonical values as patterns; of very many, only the first ones."""
    for name in regions.attributes(region):
        if is_finite(name, facts):
            region = regions.intersection(region, facts.universe[name].members)
    texts = (
        punctuation_text(text or ("*",))
        for box in simple_boxes(region, facts.universe, facts.closed)
        for text in patterns.texts(box, facts.types, outer=False)
    )
    return list(islice(texts, _MAX_TEXTS))


def joined_texts(texts: list[str]) -> list[str]:
    """Returns patterns as one text; of many, only the first ones."""
    if not texts:
        return []
    more = "" if len(texts) == _MAX_TEXTS else f"{len(texts) - MAX_SHOWN} "
    return [" or ".join(texts[:MAX_SHOWN]) + (f" and {more}more" if len(texts) > MAX_SHOWN else "")]
