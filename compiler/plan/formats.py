"""The formats of sources and sinks, by their names in the language."""

from __future__ import annotations

from cedilla.compiler.plan.telemetry import REQUESTS
from cedilla.compiler.plan.topics import TOPIC
from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.hints import synonyms

DELTA = "delta"
"""The format whose paths are tables of Delta Lake."""
FORMATS = (DELTA, "json", TOPIC, "parquet", "xml")
"""Formats that sources and sinks can have."""
SOURCES = ("csv", *REQUESTS, *FORMATS)
"""Formats that sources can have."""
SINKS = FORMATS
"""Formats that sinks can have."""


def check_source_format(name: str, span: Span) -> None:
    """Raises RQ113 if sources do not have the format."""
    if name not in SOURCES:
        raise failure("RQ113", f"unknown format `{name}`", span, hint=_known_format(name, SOURCES))


def check_sink_format(name: str, span: Span) -> None:
    """Raises RQ113 if sinks do not have the format."""
    if name == "csv":
        hint = "CSV has no place for the markers of an output: `json`, `parquet` or `xml`; `cedilla read` prints tables"
        raise failure("RQ113", f"`{name}` is read, and not written", span, hint=hint)
    if name in REQUESTS:
        raise failure(
            "RQ113", f"`{name}` is read, and not written", span, hint="`json`, `parquet`, `xml` or `kafka`"
        )
    if name not in SINKS:
        raise failure("RQ113", f"unknown format `{name}`", span, hint=_known_format(name, SINKS))


def _known_format(name: str, formats: tuple[str, ...]) -> str | None:
    if (hint := synonyms.NO_FORMATS.get(name.lower())) is not None:
        return f"{hint}; known formats: {', '.join(formats)}"
    synonym = synonyms.FORMATS.get(name.lower())
    return f"did you mean `{synonym}`?" if synonym in formats else did_you_mean(name, formats, "formats")
