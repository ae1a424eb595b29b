"""Reads telemetry schemas of OpenTelemetry, file format 1.0 and 1.1: the changes of each version."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, assert_never

from attrs import frozen

from cedilla.compiler.expressions.types.versions import is_version, key_of
from cedilla.compiler.included import utf8_text
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean

FORMATS = ("1.0.0", "1.1.0")
"""The file formats that are read."""
READ = ("all", "resources", "metrics")
"""The sections about metrics, in the order of their application."""
LEFT_OUT = ("spans", "span_events", "logs")
"""The sections about other telemetry."""
_REGISTRY = re.compile("(manifest|resolved|definition)/")
"""The formats of schema v2."""


@frozen
class RenamedAttributes:
    """New names of attributes. `pairs`: old and new; `metrics`: those that have them, all if empty; `section`: where
    the attributes are."""

    section: str
    pairs: tuple[tuple[str, str], ...]
    metrics: tuple[str, ...]
    span: Span


@frozen
class RenamedMetrics:
    """New names of metrics, old and new."""

    pairs: tuple[tuple[str, str], ...]
    span: Span


@frozen
class SplitMetric:
    """A metric that became several, one for each value of an attribute. `parts`: new name and value."""

    metric: str
    key: str
    parts: tuple[tuple[str, str], ...]
    span: Span


Change = RenamedAttributes | RenamedMetrics | SplitMetric


@frozen
class Version:
    """A version, and its changes since the one before, in the order of their application."""

    name: str
    changes: tuple[Change, ...]
    elsewhere: tuple[RenamedAttributes, ...] = ()
    """New names of attributes that the file has for other telemetry only."""

    @property
    def bound(self) -> str:
        """The version that precedes all its forms. Its pre-releases, such as `1.40.0-dev`, have its names: they are
        views of one release (OTEP 4815)."""
        return self.name if "-" in self.name else f"{_shortest(self.name)}-0"


def _shortest(version: str) -> str:
    """Returns a version without numbers 0 at its end.

    >>> _shortest("1.20.0")
    '1.20'
    """
    numbers = version.partition("+")[0].lstrip("vV").split(".")
    while len(numbers) > 1 and not numbers[-1].strip("0"):
        numbers.pop()
    return ".".join(numbers)


@frozen
class TelemetrySchema:
    """A file. `versions`: the oldest first."""

    url: str
    versions: tuple[Version, ...]


def read_file(path: str) -> str:
    """Returns the text of a file, or of standard input for `-`. Raises `DiagnosticError` RQ507 if it cannot be read."""
    try:
        return utf8_text(sys.stdin.buffer.read if path == "-" else Path(path).read_bytes)
    except ValueError as reason:
        raise _fault(f"{path} cannot be read: {reason}", None) from None


def read_schema(text: str, name: str) -> TelemetrySchema:
    """Parses a file. Raises `DiagnosticError` RQ507 with a position if it is not a telemetry schema, RQ509 if the
    parser of YAML is not installed."""
    try:
        import yaml
    except ImportError:
        message = "telemetry schemas are YAML, whose parser is not installed"
        raise failure("RQ509", message, hint="pip install 'cedilla[otlp]'") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = " ".join(str(getattr(problem, "problem", None) or problem).split())
        raise _fault(f"the file is not YAML: {reason}", _span(mark, mark, name) if mark else None) from None
    except RecursionError:
        raise _fault("the file is nested too deeply", None) from None
    return _File(name).schema(root)


def _fault(message: str, span: Span | None, hint: str = "") -> DiagnosticError:
    form = "a file with `file_format: 1.1.0`, as https://opentelemetry.io/schemas/1.44.0 serves it"
    return failure("RQ507", message, span, hint=hint or form)


_BY_HAND = (
    "state the new names between two versions, which `weaver registry diff --v2` lists: "
    '`[[schema < "1.43-0", rename("http.method", method)]]`'
)


def _span(start: Any, end: Any, name: str) -> Span:
    return Span(name, start.index, end.index, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


@frozen
class _File:
    """Reads the nodes of a file. `name`: for positions."""

    name: str

    def schema(self, root: Any) -> TelemetrySchema:
        if root is None:
            raise _fault("the file is empty", None)
        fields = {key: value for key, _, value in self.items(root, "the file")}
        if "baseline_schema_url" in fields:
            raise _fault("a list of differences is not a telemetry schema", self.span(root), _BY_HAND)
        if "file_format" not in fields:
            raise _fault("the file has no `file_format`, so it is not a telemetry schema", self.span(root))
        form = self.scalar(fields["file_format"], "`file_format`")
        if _REGISTRY.match(form):
            message = f"a file of schema v2 ({form}) does not say since which version a name is the new one"
            raise _fault(message, self.span(fields["file_format"]), _BY_HAND)
        if form not in FORMATS:
            message = f"the file has the format {form}, and {' and '.join(FORMATS)} are read"
            raise _fault(message, self.span(fields["file_format"]))
        url = self.scalar(fields["schema_url"], "`schema_url`") if "schema_url" in fields else ""
        if "versions" not in fields:
            raise _fault("the file has no `versions`", self.span(root))
        versions = [self.version(*item) for item in self.items(fields["versions"], "`versions`")]
        return TelemetrySchema(url, tuple(sorted(versions, key=lambda version: key_of(version.name))))

    def version(self, name: str, key: Any, node: Any) -> Version:
        if not is_version(name):
            raise _fault(f"`{name}` under `versions` is not a version", self.span(key))
        changes: dict[str, list[Change]] = {}
        elsewhere: list[RenamedAttributes] = []
        for section, where, inner in self.items(node, f"version {name}"):
            if section not in (*READ, *LEFT_OUT):
                hint = did_you_mean(section, (*READ, *LEFT_OUT), "sections") or ""
                raise _fault(f"version {name} has a section `{section}`", self.span(where), hint)
            every = [*self.changes(section, inner)]
            if section in READ:
                changes[section] = every
            else:
                elsewhere += [change for change in every if isinstance(change, RenamedAttributes)]
        ordered = tuple(change for section in READ for change in changes.get(section, ()))
        return Version(name, ordered, tuple(elsewhere))

    def changes(self, section: str, node: Any) -> Iterator[Change]:
        for word, where, listed in self.items(node, f"section `{section}`"):
            if word != "changes":
                raise _fault(
                    f"section `{section}` has `{word}`", self.span(where), "its changes are below `changes:`"
                )
            for item in self.sequence(listed, f"`changes` of `{section}`"):
                for kind, key, inner in self.items(item, "a change"):
                    yield from self.change(section, kind, key, inner)

    def change(self, section: str, kind: str, key: Any, node: Any) -> Iterator[Change]:
        span = self.span(key)
        match kind:
            case "rename_attributes":
                fields = self.fields(node, kind, ("attribute_map",), _LIMITS)
                pairs = self.pairs(fields["attribute_map"], "`attribute_map`")
                metrics = self.names(fields["apply_to_metrics"]) if "apply_to_metrics" in fields else ()
                yield RenamedAttributes(section, pairs, metrics, span)
            case "rename_metrics" if section == "metrics":
                yield RenamedMetrics(self.pairs(node, f"`{kind}`"), span)
            case "split" if section == "metrics":
                fields = self.fields(
                    node, kind, ("apply_to_metric", "by_attribute", "metrics_from_attributes")
                )
                metric = self.scalar(fields["apply_to_metric"], "`apply_to_metric`")
                by = self.scalar(fields["by_attribute"], "`by_attribute`")
                parts = self.pairs(fields["metrics_from_attributes"], "`metrics_from_attributes`")
                yield SplitMetric(metric, by, parts, span)
            case "rename_events" if section == "span_events":
                return
            case _:
                hint = did_you_mean(kind, ("rename_attributes", "rename_metrics", "split"), "changes") or ""
                raise _fault(f"section `{section}` has a change `{kind}`", span, hint)

    def fields(
        self, node: Any, what: str, required: Sequence[str], others: Sequence[str] = ()
    ) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, key, value in self.items(node, f"`{what}`"):
            if name not in (*required, *others):
                hint = did_you_mean(name, (*required, *others), "fields") or ""
                raise _fault(f"`{what}` has a field `{name}`", self.span(key), hint)
            fields[name] = value
        for name in required:
            if name not in fields:
                raise _fault(f"`{what}` has no `{name}`", self.span(node))
        return fields

    def pairs(self, node: Any, what: str) -> tuple[tuple[str, str], ...]:
        return tuple((name, self.scalar(value, what)) for name, _, value in self.items(node, what))

    def names(self, node: Any) -> tuple[str, ...]:
        what = "`apply_to_metrics`"
        return tuple(self.scalar(item, what) for item in self.sequence(node, what))

    def items(self, node: Any, what: str) -> list[tuple[str, Any, Any]]:
        """Returns the keys of a map with their nodes and values; nothing for what is left empty."""
        if _is_nothing(node):
            return []
        if node.id != "mapping":
            raise _fault(f"{what} is not a map", self.span(node))
        items = [(self.scalar(key, what), key, value) for key, value in node.value]
        names = [name for name, _, _ in items]
        for number, (name, key, _) in enumerate(items):
            if name in names[:number]:
                raise _fault(f"{what} has `{name}` twice", self.span(key))
        return items

    def sequence(self, node: Any, what: str) -> list[Any]:
        if _is_nothing(node):
            return []
        if node.id != "sequence":
            raise _fault(f"{what} is not a list", self.span(node))
        return node.value

    def scalar(self, node: Any, what: str) -> str:
        if node.id != "scalar":
            raise _fault(f"{what} has a list or a map in place of a name", self.span(node))
        if not (node.value and node.value.isprintable()):
            raise _fault(f"{what} has an empty name, or one with control characters", self.span(node))
        return node.value

    def span(self, node: Any) -> Span:
        return _span(node.start_mark, node.end_mark, self.name)


_LIMITS = ("apply_to_metrics", "apply_to_spans", "apply_to_events")


def _is_nothing(node: Any) -> bool:
    return node.id == "scalar" and node.tag == "tag:yaml.org,2002:null"


def undone(change: Change) -> Change | None:
    """Returns the change that leads back; `None` for a split, whose parts have lost the attribute."""
    match change:
        case RenamedAttributes():
            back = tuple((new, old) for old, new in change.pairs)
            return RenamedAttributes(change.section, back, change.metrics, change.span)
        case RenamedMetrics():
            return RenamedMetrics(tuple((new, old) for old, new in change.pairs), change.span)
        case SplitMetric():
            return None
        case _:
            assert_never(change)
