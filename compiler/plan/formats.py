"""Describes each format in one record, which all other packages ask.

Its reader is in `cedilla.runtime.connectors.formats.source_formats`, its sink in
`cedilla.runtime.connectors.formats.sinks.formats`; tests demand both for each record. The page
`docs/adding-a-format.md` leads through a new one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from attrs import frozen

from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean


@frozen(kw_only=True)
class FormatKind:
    """A format of sources, and of outputs unless `not_written` says how outputs are written instead.

    `place`: what a path of it is. `fields`: where an attribute is read from: `objects` with paths into them, data
    `points` of requests, `columns` of any name in a header, or a field of the attribute's own `name`. `texts`: its
    numbers and times may be texts, with a decimal comma or a zone. `undefined_texts`: some texts may mean no value
    (`none`). `columnar`: files have typed columns, not lines. `recorded`: the format of files with the records of a
    topic. `by_catalog`: its outputs are tables of a catalog. `beside`: the fields of its records next to their values,
    as `from record "schema"` reads it. `is_updated`: outputs may have provisional rows (`as latest by`).
    """

    name: str
    place: Literal["folder", "table", "topic"] = "folder"
    fields: Literal["objects", "points", "columns", "name"] = "name"
    texts: bool = False
    undefined_texts: bool = False
    columnar: bool = False
    recorded: str = ""
    by_catalog: bool = False
    beside: tuple[str, ...] = ()
    not_written: str = ""
    is_updated: bool = False

    @property
    def is_topic(self) -> bool:
        """True if its paths are addresses of topics."""
        return self.place == "topic"

    @property
    def is_table(self) -> bool:
        """True if its paths are tables with a log, and not folders of files."""
        return self.place == "table"

    @property
    def has_objects(self) -> bool:
        """True if its tuples are objects: attributes, lists and the new names of renames may be at paths."""
        return self.fields == "objects"

    @property
    def has_requests(self) -> bool:
        """True if its lines or records are requests of OpenTelemetry, of many data points each."""
        return self.fields == "points"

    @property
    def has_columns(self) -> bool:
        """True if an attribute may be read from a column of any name."""
        return self.fields == "columns"

    @property
    def has_any_names(self) -> bool:
        """True if a field may have any name, in quotes."""
        return self.fields != "name"

    @property
    def has_alternatives(self) -> bool:
        """True if an attribute may be read from one of several fields."""
        return self.fields in ("objects", "columns")

    @property
    def in_files(self) -> str:
        """The format of files with its tuples: its own, or of a topic that of recorded records."""
        return self.recorded or self.name


_NO_MARKERS = (
    "a CSV file cannot contain an output's markers: write `json`, `parquet` or `xml`; "
    "`cedilla read` prints tables"
)
_BESIDE = ("key", "timestamp", "partition", "offset", "schema")
_NO_REQUESTS = "write `json`, `parquet`, `xml` or `kafka`"

FORMATS: Mapping[str, FormatKind] = {
    kind.name: kind
    for kind in (
        FormatKind(
            name="csv",
            fields="columns",
            texts=True,
            undefined_texts=True,
            not_written=_NO_MARKERS,
        ),
        FormatKind(name="otlp", fields="points", not_written=_NO_REQUESTS),
        FormatKind(
            name="kafka_otlp",
            place="topic",
            fields="points",
            recorded="otlp",
            beside=_BESIDE,
            not_written=_NO_REQUESTS,
        ),
        FormatKind(name="delta", place="table", columnar=True, beside=("version",), is_updated=True),
        FormatKind(
            name="iceberg",
            place="table",
            columnar=True,
            by_catalog=True,
            beside=("schema", "snapshot"),
        ),
        FormatKind(name="json", fields="objects", texts=True, is_updated=True),
        FormatKind(
            name="kafka",
            place="topic",
            fields="objects",
            texts=True,
            recorded="json",
            beside=_BESIDE,
            is_updated=True,
        ),
        FormatKind(name="parquet", columnar=True),
        FormatKind(name="xml", texts=True),
    )
}
"""All formats, by their names in the language."""


def names_where(holds: Callable[[FormatKind], bool]) -> tuple[str, ...]:
    """Returns the names of the formats of a kind, for messages."""
    return tuple(name for name, kind in FORMATS.items() if holds(kind))


WITH_TEXTS = names_where(lambda kind: kind.texts)
"""Formats whose texts may be numbers with a decimal comma, or local times."""
SOURCES = tuple(FORMATS)
"""Formats that sources can have."""
SINKS = names_where(lambda kind: not kind.not_written)
"""Formats that outputs can have."""


def check_source_format(name: str, span: Span) -> None:
    """Raises RQ113 if sources do not have the format."""
    if name not in SOURCES:
        raise failure("RQ113", f"unknown format `{name}`", span, hint=_known_format(name, SOURCES))


def check_sink_format(name: str, span: Span) -> None:
    """Raises RQ113 if outputs do not have the format."""
    if name in FORMATS and FORMATS[name].not_written:
        message = f"an output cannot have the format `{name}`, which is for reading only"
        raise failure("RQ113", message, span, hint=FORMATS[name].not_written)
    if name not in SINKS:
        raise failure("RQ113", f"unknown format `{name}`", span, hint=_known_format(name, SINKS))


def _known_format(name: str, formats: tuple[str, ...]) -> str | None:
    from cedilla.grammar.hints import synonyms  # which connectors do without

    if (hint := synonyms.NO_FORMATS.get(name.lower())) is not None:
        return f"{hint}; known formats: {', '.join(formats)}"
    synonym = synonyms.FORMATS.get(name.lower())
    return f"did you mean `{synonym}`?" if synonym in formats else did_you_mean(name, formats, "formats")


_CATALOGUED = re.compile(r"[A-Za-z_]\w*:[^/\\:]+(?:\.[^/\\:]+)+")


def catalogued(path: str) -> bool:
    """Returns True for a table by its catalog, `CATALOG:NAMESPACE.TABLE`."""
    return _CATALOGUED.fullmatch(path) is not None
