"""The fields of a schema: their paths, types, units, and what tells the same field in another version."""

from __future__ import annotations

from attrs import frozen

from cedilla.compiler.plan.field_paths import FieldPath

UNITS = ("unit", "ucumUnit")
"""The properties of a field, or of its type, that name its unit."""


@frozen
class SchemaField:
    """A field that an attribute can read. `type`: that of the attribute, empty if none can. `stored`: the type as the
    schema has it. `earlier`: its paths by the aliases of it and of the records around it. `numbers`: those of the field
    and of the messages around it, which Protobuf keeps if a name changes. `symbols`: those of an enum, with their
    `codes` in Protobuf."""

    path: FieldPath
    type: str
    stored: str
    is_optional: bool = False
    unit: str | None = None
    earlier: tuple[FieldPath, ...] = ()
    numbers: tuple[int, ...] = ()
    symbols: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Its name in its record."""
        *_, name = self.path
        return name
