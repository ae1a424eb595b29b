"""Accents that the query states: they precede the first tuple of their source (theory N10)."""

from __future__ import annotations

from attrs import define, evolve, field

from cedilla.compiler.changes import (
    Add,
    EpochChange,
    Grow,
    Rename,
    ToZone,
)
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.marker_parser import accent_of, epoch_change_of
from cedilla.compiler.plan.field_paths import renamed_field
from cedilla.compiler.plan.sources import Source, StatedAccent
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import format_accent
from cedilla.grammar.syntax import AccentText
from cedilla.grammar.syntax import StatedAccent as StatedAccentNode


@define
class SourceEvolution:
    """The types, units and names of a source after the accents that the query states of it."""

    source: Source
    types: dict[str, Type]
    units: dict[str, str]
    names: dict[str, str] = field(factory=dict[str, str])

    @classmethod
    def of(cls, source: Source) -> SourceEvolution:
        """Returns those of the declaration."""
        types = {a.name: evolve(a.type, zone=a.zone) for a in source.attributes}
        return cls(source, types, source.units)

    def stated(self, node: StatedAccentNode) -> StatedAccent:
        """Checks an accent after those before it. Raises `DiagnosticError`: codes of accents, RQ145 and RQ146 for the
        name in a rename, RQ236 for a growth, and RQ339 for texts of another form where none can change.

        Only the run can see whether it ends the query (RQ209 to RQ211): this depends on all accents together.
        """
        text = format_accent(node.accent)
        for single in node.accent.singles:
            self._take(single, text)
        return StatedAccent(text, node.span.line, node.span)

    def _take(self, node: AccentText, text: str) -> None:
        primitive, source = node.primitive, self.source
        if (change := epoch_change_of(node, text, self.types, self.names)) is not None:
            self._take_change(change)
            return
        own = source.own_units
        accent = accent_of(node, text, self.types, units=self.units, names=self.names, own=own)
        change = accent.primitive
        if isinstance(change, Add):
            self.types.setdefault(change.attribute, change.type)
            if change.unit is not None:
                self.units.setdefault(change.attribute, change.unit)
        elif isinstance(change, Rename):
            self.names[renamed_field(change.name, source.format, primitive.span)] = change.attribute

    def _take_change(self, change: EpochChange) -> None:
        if isinstance(change, Grow):
            hint = f"the declaration lists the values: `{change.attribute}: ... in {{...}}`"
            raise failure("RQ236", "a domain grows only inside a stream", change.span, hint=hint)
        self.source.check_form(change)
        if isinstance(change, ToZone):
            name = change.attribute
            self.types[name] = evolve(self.types[name], zone=change.form)
