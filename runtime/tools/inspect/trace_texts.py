"""Writes the effects of markers: for people, and as JSON values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import asdict

from cedilla.compiler.explain.wrapping import columns
from cedilla.grammar.diagnostics import render, to_json
from cedilla.runtime.control.descriptions.region_texts import MAX_SHOWN
from cedilla.runtime.tools.inspect.trace import MarkerTrace, RelationEffect


def trace_text(traced: MarkerTrace, width: int | None = None) -> str:
    """Writes a marker with a line per relation (its output, reaction and waiting accents), then warnings. `width`: that
    of lines, any if it is `None`."""
    texts = {warning.span.source: traced.text for warning in traced.warnings if warning.span is not None}
    warnings = ["", render(traced.warnings, texts)] if traced.warnings else []
    rows = [
        [f"{at.title} {at.relation}".strip(), _announced_text(at), _why(at)]
        for at in (*traced.relations, *traced.outputs)
    ]
    return "\n".join([f"{traced.text} on {traced.source}", *columns(rows, width), *warnings])


def _announced_text(at: RelationEffect) -> str:
    texts = [*at.says.adds, *at.says.punctuations, *at.says.alters, *at.says.drops]
    return "   ".join(_first(texts)) or "nothing"


def _first(texts: list[str]) -> list[str]:
    more = len(texts) - MAX_SHOWN
    return [*texts[:MAX_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _why(at: RelationEffect) -> str:
    line = [f"line {at.line}"] if at.title not in ("", "emit") and at.line else []
    return "; ".join([*at.does, *at.waits, *(f"releases {text}" for text in at.releases), *line])


def trace_json(traced: Iterable[MarkerTrace]) -> dict[str, Any]:
    """Returns the traces as plain JSON values."""
    markers = [
        {**asdict(effect), "warnings": [to_json(warning) for warning in effect.warnings]} for effect in traced
    ]
    return {"version": 1, "markers": markers}
