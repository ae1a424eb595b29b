"""`cedilla validate`: checks that an accented-punctuated stream is valid (paper, section 3; theory G34, 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, field

from cedilla.compiler.changes import EpochChange
from cedilla.compiler.facts.markers import Accent, Punctuation
from cedilla.grammar.diagnostics import Diagnostic, to_json
from cedilla.grammar.diagnostics.printable import counted
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.markers.undeclared import PassedOver
from cedilla.runtime.tools.stream_tools.schema import Schema
from cedilla.runtime.tools.stream_tools.stream_checker import Row, StreamChecker


@define
class Verdict:
    """Counts of lines and items, the findings by code, and the warnings, which a valid stream may have."""

    lines: int = 0
    tuples: int = 0
    accents: int = 0
    punctuations: int = 0
    findings: Counter[str] = field(factory=Counter[str])
    warnings: Counter[str] = field(factory=Counter[str])

    @property
    def valid(self) -> bool:
        return not self.findings


def validate(
    lines: Iterable[Line],
    schema: Schema,
    on_finding: Callable[[Diagnostic], None] = lambda diagnostics: None,
    verdict: Verdict | None = None,
) -> Verdict:
    """Checks a stream and reports every error and warning, in order. An invalid line changes nothing.

    `verdict`: that of other streams, to which this one is added.

    Findings: RQ0xx, RQ201 to RQ212 and RQ216 for markers, RQ301 to RQ306 for tuples; warnings: those of
    `warnings_about`, RQ233 and RQ341. The last note of each is its place and its text. Memory grows with the number
    of different descriptions and patterns, not with tuples.
    """
    follower = StreamChecker(schema, is_strict=True)
    verdict = verdict or Verdict()
    for line in lines:
        verdict.lines += 1
        for single in line.singles:
            item, diagnostics = follower.take(single)
            verdict.tuples += isinstance(item, Row)
            passed = isinstance(item, PassedOver)
            is_accent = item.kind == "accent" if passed else isinstance(item, Accent | EpochChange)
            verdict.accents += is_accent
            verdict.punctuations += not is_accent and isinstance(item, Punctuation | PassedOver)
            for diagnostic in diagnostics:
                (verdict.findings if diagnostic.severity == "error" else verdict.warnings)[
                    diagnostic.code
                ] += 1
                on_finding(diagnostic)
    return verdict


def verdict_json(verdict: Verdict, shown: Iterable[Diagnostic]) -> dict[str, Any]:
    """Returns the verdict and findings as plain JSON values."""
    return {
        "version": 1,
        "valid": verdict.valid,
        "lines": verdict.lines,
        "tuples": verdict.tuples,
        "accents": verdict.accents,
        "punctuations": verdict.punctuations,
        "counts": dict(sorted(verdict.findings.items())),
        "warnings": dict(sorted(verdict.warnings.items())),
        "findings": [to_json(diagnostic) for diagnostic in shown],
    }


def verdict_text(verdict: Verdict, name: str, shown: int) -> str:
    """Writes the verdict in one line."""
    counts = {
        "line": verdict.lines,
        "tuple": verdict.tuples,
        "accent": verdict.accents,
        "punctuation": verdict.punctuations,
    }
    read = ", ".join(counted(count, noun) for noun, count in counts.items())
    warned = counted(verdict.warnings.total(), "warning")
    warnings = f", {warned} ({_counts(verdict.warnings)})" if verdict.warnings else ""
    total = verdict.findings.total()
    left = total + verdict.warnings.total() - shown
    warnings += f", {left:,} not shown" if left else ""
    if verdict.valid:
        return f"{name}: valid{warnings} ({read})"
    return f"{name}: not valid, {counted(total, 'error')} ({_counts(verdict.findings)}){warnings} ({read})"


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{code}: {count:,}" for code, count in sorted(counted.items()))
