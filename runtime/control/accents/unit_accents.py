"""Expands unit accents and units that tuples name: each becomes one Alter for each unit among the tuples (theory N4,
N5). Also keeps the units that accents have named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, SourceAlter, ToLevel, ToUnit
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.expressions.units.units import conversion, leads
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import Attribute, Source
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.composition import after
from cedilla.compiler.regions.logarithms import Power, has_logarithm
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.runtime.control.accents.trees import unlike

Named = Mapping[str, tuple[str, ...]]
"""Maps each attribute to the units that accents have named for it, the first one first."""
MAX_NAMES = 64
"""Maximum number of remembered unit names of one attribute."""


def first_alters(source: Source) -> Iterator[tuple[Tree, Alter]]:
    """Yields the Alters that a source begins with. Each pairs the tuples that name a unit with the Alter from the
    canonical unit to it (theory N5)."""
    for attribute in source.attributes:
        if attribute.unit_from is not None:
            yield from alters_by_name(attribute, attribute.unit_from[1])


def alters_by_name(attribute: Attribute, units: Iterable[str]) -> Iterator[tuple[Tree, Alter]]:
    """Yields the Alters of some of the units that tuples name, as `first_alters`."""
    if attribute.unit is None or attribute.unit_from is None:
        return
    for unit in units:
        function = conversion(attribute.unit, unit)
        if not function.is_identity:
            yield regions.values(attribute.unit_from[0], [short(unit)]), Alter(attribute.name, function)


def with_unit(units: Mapping[str, str], added: Add) -> Mapping[str, str]:
    """Returns the units that Adds have named, including this one: the first of each attribute, unless its values are
    converted."""
    if added.unit is None or added.attribute in units or added.converts:
        return units
    return {**units, added.attribute: added.unit}


def with_name(named: Named, change: Alter | ToUnit | ToLevel | Add) -> Named:
    """Returns the units that accents have named, including this one. Only attributes with a known canonical unit count,
    because only their names were looked up."""
    names = named.get(change.attribute, ())
    is_known = change.of is not None if isinstance(change, Alter) else True
    if change.unit is None or not is_known or change.unit in names or len(names) >= MAX_NAMES:
        return named
    return {**named, change.attribute: (*names, change.unit)}


def bent_unit(name: str, span: Span | None = None) -> DiagnosticError:
    """Returns RQ463: an accent names a unit of an attribute whose values a function turns or bends."""
    message = f"the accent names a unit of `{name}`, whose values an accent has turned or bent"
    return failure("RQ463", message, span, hint=f"leave the unit out: `alter({name}, y -> ...)`")


def misnamed(
    alter: Alter, functions: Tree, original: Tree, may_come: Callable[[Tree], bool]
) -> Affine | None:
    """Returns the composed function of tuples that an Alter does not bring to the unit that it names; `None` if all
    tuples arrive there.

    `functions`: tree over raw values, `False` for unchanged cells. `original`: the function from raw to canonical
    values. `may_come`: returns True if tuples of a raw region may still come.
    """
    if alter.unit is None or alter.of is None:
        return None
    wrong = unlike(functions, original, conversion(alter.of, alter.unit))
    for undone, cell in regions.cells(regions.restricted(original, wrong)).items():
        if undone is not False and may_come(cell):
            if not isinstance(undone, Affine):
                raise bent_unit(alter.attribute)
            return alter.function.after(undone.inverse())
    return None


_SAMPLE = 10
"""A value that shows in a message what a function does."""


def not_in_unit(accent: Accent, alter: Alter, altered: Affine, names: tuple[str, ...]) -> DiagnosticError:
    """Returns RQ219: the values of some tuples are not in the unit that an Alter names. `altered`: the function from
    canonical values to theirs after the Alter. `names`: units that they may be in."""
    of, unit = alter.of or "", alter.unit or ""
    name = next((candidate for candidate in (of, *names) if leads(altered, of, candidate)), None)
    wanted = conversion(of, unit)
    before, after = altered.at_text(_SAMPLE), wanted.at_text(_SAMPLE)
    why = f"by this function {_SAMPLE} {of} would be written as {before}, which is not {after} {unit}"
    why += "" if name is None else f"; it would be in {name}"
    return failure(
        "RQ219",
        f"the accent says that `{alter.attribute}` is in {unit} from here on, but some described tuples are not",
        accent.span,
        hint=f"y in {of} is {wanted.text('y')} in {unit}; `unit({alter.attribute}, {unit_text(unit)})` converts "
        "from any unit that is in force",
        notes=(why,),
    )


def check_no_logarithm(accent: Accent, original: Tree) -> None:
    """Raises `DiagnosticError` RQ340 if a source would have to undo a power after an accent. `original`: the functions
    from raw to canonical values of the attribute."""
    if any(map(has_logarithm, regions.leaves(original))):
        name = accent.primitive.attribute
        message = f"values of `{name}` would be powers of those before, which Cedilla cannot undo"
        hint = f"declare `{name}` as the power, in mW, and send `[[unit({name}, dBm)]]` before levels"
        raise failure("RQ340", message, accent.span, hint=hint)


def alters_of(
    accent: Accent, change: ToUnit | ToLevel, original: Tree, is_anywhere: Callable[[Tree], bool]
) -> list[Accent]:
    """Returns the Alters that lead to the new unit; tuples that are in it already need none.

    `original`: tree over raw values, the function from raw to canonical values. `is_anywhere`: returns True if tuples
    of a raw region may have the attribute. Raises `DiagnosticError` RQ201 if the unit in force depends on the values of
    the attribute itself, RQ463 if a function has turned or bent them, other than to levels.
    """
    name = change.attribute
    alters: list[Accent] = []
    # Of what is described alone: many other tuples may have other functions.
    for undone, described in regions.cells(regions.restricted(original, accent.description)).items():
        if undone is False:
            continue
        if not isinstance(undone, Affine | Power):
            if is_anywhere(described):
                raise bent_unit(name, accent.span)
            continue
        function = after(change.function, undone)
        if function.is_identity:
            continue
        if name in regions.attributes(described):
            why = f"which unit `{name}` is in depends on `{name}` itself"
            raise failure(
                "RQ201", why, accent.span, hint="write the function by an `alter`, which depends on no unit"
            )
        if is_anywhere(described):
            is_affine = isinstance(function, Affine)
            alter = Alter(name, function) if is_affine else SourceAlter(name, function)
            alters.append(evolve(accent, description=described, primitive=alter))
    return alters
