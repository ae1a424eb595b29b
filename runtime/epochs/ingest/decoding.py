"""SQL of one canonical value from raw ones: undoes swaps, sentinels, codes and functions (theory D0, N3, N11, N12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LARGEST, Type, column
from cedilla.compiler.expressions.units.altered_decimals import decoded_sql
from cedilla.compiler.regions import PARTITION, POSITION, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.alternatives import narrowed
from cedilla.compiler.regions.composition import Bent, affine_of
from cedilla.compiler.regions.double_arithmetic import sql_over
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.runtime.connectors.formats.element_texts import element_wise
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.spark.columns import data_type
from cedilla.runtime.engines.spark.lookups import Lookups


def in_its_place(source: str, name: str, state: SourceState, lookups: Lookups) -> str:
    """Returns SQL for a raw value, taken from the place of another attribute if they are swapped (theory N11)."""
    if (other := state.swaps.partners.get(name)) is None:
        return column(name)
    pair = " ".join(sorted((name, other)))
    is_swapped = lookups.predicate(("swapped", source, name), state.swaps.placed[pair])
    return f"CASE WHEN {is_swapped} THEN {column(other)} ELSE {column(name)} END AS {column(name)}"


def without_sentinels(source: str, name: str, state: SourceState, lookups: Lookups) -> str:
    """Returns SQL for a raw value, null in place of a sentinel (theory N11)."""
    is_sentinel = lookups.predicate(("sentinels", source, name), state.sentinels.placed[name])
    return f"CASE WHEN NOT coalesce({is_sentinel}, false) THEN {column(name)} END AS {column(name)}"


def decoded_value(
    source: str, name: str, state: SourceState, lookups: Lookups, around: Callable[[], Tree]
) -> str:
    """Returns SQL for a canonical value: one flat expression over regions, positions and tables of points (design,
    section 9). `around`: returns a region around the raw tuples."""
    tree = narrowed(state.originals.placed.get(name, IDENTITY), around)
    value = column(name)
    if name in state.codes:
        return lookups.expression(
            ("decoded", source, name), tree, partial(_uncoded, value, state.types[name])
        )
    if (raw := state.numbers.raw_types.get(name)) is not None:
        return lookups.expression(
            ("decoded", source, name), tree, partial(_exact, value, raw, state.types[name])
        )
    kind = data_type(state.types[name])
    return lookups.expression(
        ("decoded", source, name),
        tree,
        lambda f: element_wise(f.sql, value, kind),
        lambda numbers: element_wise(partial(_over, numbers), value, kind),
    )


def _over(numbers: Sequence[str], value: str) -> str:
    return sql_over(value, numbers)


def _exact(value: str, raw: Type, type_: Type, function: Affine | Bent) -> str:
    affine = affine_of(function)
    assert affine is not None  # others make doubles of an attribute
    return decoded_sql(value, raw, affine, type_)


def _uncoded(value: str, type_: Type, function: Affine | ValueMapping) -> str:
    """Returns SQL for the canonical value of a code, null for an unknown one; without a code, the value itself."""
    if not isinstance(function, ValueMapping):
        return value
    cases = (f"WHEN {type_.sql(raw)} THEN {type_.sql(canonical)}" for raw, canonical in function.pairs)
    if function.left_out is None:
        return f"CAST(CASE {value} {' '.join(cases)} END AS {type_.spark})"
    without = (f"WHEN {type_.sql(raw)} THEN NULL" for raw in function.left_out)
    return f"CAST(CASE {value} {' '.join((*cases, *without))} ELSE {value} END AS {type_.spark})"


def beyond_tests(raw: str, decoded: str) -> Iterable[str]:
    """Returns SQL tests for a value, raw or canonical, that a double cannot keep; null if it is undefined."""
    return (f"abs({value}) >= {LARGEST}D" for value in dict.fromkeys((raw, decoded)))


def depends_on_places(state: SourceState) -> bool:
    """Returns True if the values of a tuple depend on its position, or on the partition of its file."""
    of_names = state.originals.placed, state.names.placed, state.sentinels.placed, state.swaps.placed
    trees = (tree for placed in of_names for tree in placed.values())
    return any({POSITION, PARTITION} & regions.attributes(tree) for tree in trees)
