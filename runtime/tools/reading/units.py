"""The units of a stream that is read: decodes values by the accents so far (theory 2.5, D0).

The control plane is the engine's own, without the parts that a reader does not need: validity of markers,
closed regions, presence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import OF_NODE, Add, Alter, AtSource, SourceFunction
from cedilla.compiler.expressions.types import (
    BOOLEAN,
    DOUBLE,
    LARGEST,
    STRING,
    Type,
    array_of,
    decimal_notation,
)
from cedilla.compiler.expressions.types.versions import is_version
from cedilla.compiler.expressions.units.altered_decimals import holds, keeps_digits
from cedilla.compiler.facts.facts import ORIGINAL
from cedilla.compiler.facts.marker_parser import read_accent
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import Attribute, Source
from cedilla.compiler.regions import Tree, Value
from cedilla.compiler.regions.affine import IDENTITY, exact
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.parser import parse_accent, single_accents
from cedilla.runtime.connectors.records.entries import TYPES_HINT, unreadable
from cedilla.runtime.connectors.records.json_objects import NOT_FINITE
from cedilla.runtime.connectors.records.values import applied, number_to_json, value_of_json
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.markers.source_marker_parser import raw_quantities
from cedilla.runtime.control.sources.source_state import SourceState

Item = Mapping[str, Any]

DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
MOMENT = DAY + "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
"""Texts that count as days and moments without a declared type; regular expressions of Python and Java."""


def type_of_value(value: Any) -> Type:
    """Infers the type of a value: numbers are doubles, texts in ISO form are moments and days."""
    match value:
        case bool():
            return BOOLEAN
        case Decimal():
            return Type("decimal", (38, max(0, -int(value.as_tuple().exponent))))
        case int() | float():
            return DOUBLE
        case datetime():
            return Type("timestamp")
        case date():
            return Type("date")
        case list():
            return array_of(
                next((type_of_value(element) for element in value if element is not None), DOUBLE)
            )
        case str() if value in NOT_FINITE:
            return DOUBLE
        case str() if re.fullmatch(MOMENT, value):
            return Type("timestamp")
        case str() if re.fullmatch(DAY, value):
            return Type("date")
        case _:
            return STRING


def _of_doubles(type_: Type) -> Type:
    """Returns the type of an array whose values an Alter turns into doubles."""
    return DOUBLE if type_.element is None else array_of(_of_doubles(type_.element))


class Units:
    """Takes a stream's accents in order. `state`: the state after them; `declared`: types that are not
    inferred.

    Undeclared attributes are learned from tuples and accents.
    """

    def __init__(self, types: Mapping[str, Type]) -> None:
        self.declared = dict(types)
        # All is closed, so that no accent is refused (P-dead).
        self.state = evolve(_start(types), closed=True)
        self.came_back: str | None = None
        """The first accent that adds an attribute which had other units when it was dropped."""
        self._rounded: set[str] = set()
        """The arrays that an Alter has turned into doubles."""
        self._scale: Mapping[str, Tree] | None = None
        self._needed: frozenset[str] = frozenset()

    def learn(self, item: Item) -> None:
        """Declares a tuple's new attributes.

        An Alter before any tuple cannot distinguish a number from an array of numbers, and an empty array does not show
        the type of its elements.
        """
        types = self.state.types
        new = {n: type_of_value(v) for n, v in item.items() if n not in types and v is not None}
        if new:
            self.declare(new)
        deeper = {
            n: array
            for n, v in item.items()
            if isinstance(v, list) and n in types and n not in self.declared
            if (array := _of_doubles(type_of_value(v))).depth > types[n].depth
        }
        if deeper:
            self.state = evolve(self.state, types={**types, **deeper})

    def declare(self, types: Mapping[str, Type]) -> None:
        """Declares unknown attributes as present from the start."""
        more, state = _start({n: t for n, t in types.items() if n not in self.state.types}), self.state
        self.state = evolve(
            state,
            types={**state.types, **more.types},
            universe={**state.universe, **more.universe},
            presence=state.presence.with_trees(more.present),
        )

    def accent(self, text: str, position: int = 0) -> None:
        """Takes an accent.

        Raises `DiagnosticError` as for the markers of a source. Ignores growths of domains.
        """
        for single in single_accents(text):
            self._single(single, position)

    def _single(self, text: str, position: int) -> None:
        if isinstance(parse_accent(text).primitive, syntax.GrowDomain):
            return
        if issubclass(OF_NODE[type(parse_accent(text).primitive)], AtSource):
            why = "no output renames, recodes, swaps or lists missing values: a query undoes these at its sources"
            raise failure("RQ460", "the accent cannot be read here", hint=why)
        primitive = parse_accent(text).primitive
        if isinstance(primitive, syntax.DropAttribute) and primitive.name not in self.state.types:
            return  # it has no units to forget, and only its values show its type
        self.declare(dict(_mentioned(text)))
        accent = read_accent(text, self.state.types, arrays=True, units=self.state.notes.added_units)
        self._check_order(accent)
        if isinstance(accent.primitive, SourceFunction):
            why = "no output turns or bends values: a query undoes that at its sources"
            raise failure("RQ460", "the accent cannot be read here", accent.span, hint=why)
        region = regions.intersection(accent.description, raw_quantities(self.state, accent.quantities))
        accent = evolve(accent, description=region, quantities={})
        name, before = accent.primitive.attribute, self.state
        if isinstance(accent.primitive, Add):
            if name in before.types and name not in self.declared:  # the type was inferred
                before = evolve(before, types={**before.types, name: accent.primitive.type})
            self.declared.setdefault(name, accent.primitive.type)
            lost = regions.within(
                before.canonical(accent.description),
                before.units.get(name, ORIGINAL),
                lambda history: not history[-1].is_identity,
            )
            if self.came_back is None and not regions.is_empty(lost, before.universe):
                self.came_back = text
        state = evolve(with_accent(before, accent, position), dropped={})
        if (array := before.types.get(name, DOUBLE)).element is not None:
            state = evolve(state, types={**state.types, name: _of_doubles(array)})
            if isinstance(accent.primitive, Alter) and not keeps_digits(accent.primitive.function):
                self._rounded.add(name)
        self.state, self._scale = state, None
        maps = (*state.original.items(), *state.units.items())
        self._needed = frozenset(n for name, tree in maps for n in (name, *regions.attributes(tree)))

    def _check_order(self, accent: Accent) -> None:
        """Raises RQ423 for bounds that order versions in one way and strings in another one, if no type is declared."""
        for name in sorted(accent.mentions - self.declared.keys()):
            others = regions.attributes(accent.description) - {name}
            members = regions.exists(accent.description, others, self.state.universe)
            cuts = members.cuts if isinstance(members, regions.Level) else ()
            if self.state.types[name] == STRING and cuts and all(is_version(value) for value, _ in cuts):
                problem = f"`{name}` may be a string or a version, and the accent has a bound of it"
                raise unreadable(f"`{accent.text}`", problem, TYPES_HINT)

    @property
    def scale(self) -> Mapping[str, Tree]:
        """Attribute -> tree over canonical values: the function to the units at this position."""
        if self._scale is None:
            self._scale = self.state.forward_maps
        return self._scale

    # --- tuples ---

    def decoded(self, item: Item, end: Units | None = None) -> dict[str, Any]:
        """Returns a tuple at this position in canonical units, or in the units of `end`.

        Raises `ValueError` if a value is not of its attribute's type.
        """
        raw = {n: self._value(n, item[n]) for n in self._needed if item.get(n) is not None}
        canonical = {n: _through(self.state.original.get(n, IDENTITY), raw, v) for n, v in raw.items()}
        for name in canonical.keys() & self.state.numbers.raw_types.keys():
            if not holds(self.state.types[name], canonical[name]):  # type: ignore[arg-type]
                raise ValueError(
                    f"`{name}` is not of type {self.state.types[name]} in canonical units: {item[name]}"
                )
        if end is None:
            final = canonical
        else:
            more = {n: self._value(n, item[n]) for n in end._needed - raw.keys() if item.get(n) is not None}
            canonical |= more
            raw |= more
            final = {n: _through(end.scale.get(n, IDENTITY), canonical, v) for n, v in canonical.items()}
        result = dict(item)
        units = self if end is None else end
        result.update(
            {
                n: _output_value(v, item[n], is_exact=units._is_exact(n))
                for n, v in final.items()
                if v != raw[n]
            }
        )
        return result

    def _is_exact(self, name: str) -> bool:
        """Returns True for altered decimals, alone or in arrays, that keep all of their digits."""
        if name in self.state.numbers.raw_types:
            return True
        declared = self.declared.get(name, DOUBLE)
        return (
            declared.element is not None
            and declared.innermost.name == "decimal"
            and name not in self._rounded
        )

    def _value(self, name: str, value: Any) -> Value:
        """Converts a value for the control plane; values without functions stay unchanged."""
        if self.state.types[name].has_units and _is_not_finite(value):
            # Increasing functions keep infinities; NaN is ordered above all numbers, as in Spark.
            return -math.inf if str(value).startswith("-") else math.inf  # type: ignore[return-value]
        return self._typed(self.state.types[name], value)

    def _typed(self, type_: Type, value: Any) -> Value:
        if type_.is_numeric and isinstance(value, int | float | Decimal) and not _is_not_finite(value):
            return exact(Fraction(str(value)))
        if type_.element is not None and isinstance(value, list) and None not in value:
            return tuple(self._typed(type_.element, element) for element in value)  # type: ignore[return-value]
        return value_of_json(type_, _plain(value))


def _is_not_finite(value: Any) -> bool:
    return (
        value in NOT_FINITE
        if isinstance(value, str)
        else isinstance(value, float) and not math.isfinite(value)
    )


def _start(types: Mapping[str, Type]) -> SourceState:
    attributes = [Attribute(name, type_) for name, type_ in types.items()]
    source = Source(name="stream", attributes=attributes, format="json", path="")
    return SourceState.start(source, frozenset(types))


def _through(tree: Tree, row: Mapping[str, Value], value: Value) -> Value:
    function = regions.contains(tree, row)
    return value if function.is_identity or isinstance(value, float) else applied(function, value)


def _output_value(value: Value, came: Any, *, is_exact: bool) -> Any:
    """Writes a value as an output does: a double, or all digits of a whole number that doubles cannot hold, or of an
    altered decimal (`is_exact`).

    `came`: the original value; NaN and infinities inside arrays stay as in it.
    """
    if is_exact and isinstance(value, int | Fraction) and (text := decimal_notation(value)) is not None:
        return Decimal(text)
    if isinstance(value, tuple):
        return [
            c if _is_not_finite(c) else _output_value(v, c, is_exact=is_exact)
            for v, c in zip(value, came, strict=True)
        ]
    is_whole = isinstance(came, int) and isinstance(value, int) and abs(value) >= LARGEST
    return value if is_whole or isinstance(value, str | bool) else number_to_json(value)


def _plain(value: Any) -> Any:
    """Converts a value to the form that `json_objects.parse_line` gives."""
    match value:
        case float():
            return Decimal(repr(value))
        case datetime() | date():
            return value.isoformat()
        case list():
            return [_plain(element) for element in value]
        case _:
            return value


def added(text: str) -> tuple[str, Type] | None:
    """Returns the attribute that an accent adds, with its type."""
    primitive, *_ = parse_accent(text).primitives
    return (primitive.name, Type.of(primitive.type)) if isinstance(primitive, syntax.AddAttribute) else None


def _mentioned(text: str) -> Iterable[tuple[str, Type]]:
    """Yields the types that an accent implies for attributes that no tuple has had yet."""
    node = parse_accent(text)
    if not isinstance(node.primitive, syntax.AddAttribute):
        yield node.primitive.name, DOUBLE
    for condition in node.description:
        yield condition.attribute, _type_in(condition.pattern)


def _type_in(pattern: object) -> Type:
    match pattern:
        case syntax.Comparison(_, literal):
            literals = [literal]
        case syntax.SetPattern(values):
            literals = [*values]
        case syntax.RangePattern(low, high):
            literals = [bound for bound in (low, high) if bound is not None]
        case _:
            literals = []
    types = {
        type_of_value(bound.value) if isinstance(bound.value, str | bool) else DOUBLE for bound in literals
    }
    return types.pop() if len(types) == 1 else STRING


def mixed(accent: str, units: str) -> DiagnosticError:
    """Returns RQ422: a single unit is requested for an attribute that has none."""
    message = f"an attribute that had other units when it was dropped has no {units} units: {accent}"
    hint = "`canonical` gives the values before and after in the units of their own beginnings"
    return failure("RQ422", message, hint=hint)
