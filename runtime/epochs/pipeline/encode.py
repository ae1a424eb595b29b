"""Encodes canonical results for a sink (theory D0)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import BOOLEAN, VERSION, Type, column
from cedilla.compiler.expressions.types.versions import text_sql
from cedilla.compiler.expressions.units.altered_decimals import encoded_sql, written_type
from cedilla.compiler.facts.facts import ABSENT, Facts
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.alternatives import narrowed
from cedilla.compiler.regions.double_arithmetic import sql_over
from cedilla.runtime.connectors.formats.element_texts import element_wise
from cedilla.runtime.connectors.records.marker_files import MARK
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.engines.spark.columns import Columns, as_double, beyond_failure, columns_of, data_type
from cedilla.runtime.engines.spark.lookups import Lookups, Tables


def encoded(
    frame: DataFrame,
    sink: SinkState,
    facts: Facts,
    during: Facts | None,
    emit: str = "",
    around: Callable[[], Tree] = lambda: True,
) -> tuple[DataFrame, Columns]:
    """Returns a DataFrame in the units that the sink announced before this epoch (theory 3.3), with one expression for
    each attribute, and its columns.

    With `during`, the facts of the current epoch, values are left out inside announced Drops (`set drop = eager`).
    Without it, the frame no longer contains such values. An attribute that exists for no tuple has no column, unless
    there would be no column at all. `emit`: the sink's name, under which large tables of points are cached. `around`:
    returns a region around its rows.

    After an edit a relation may lack attributes that the sink named in its units: its tuples are undefined on them.
    """
    if during is not None:
        frame = _without_dropped(frame, facts.types, sink.dropped(during), emit)
    lookups = Lookups(Tables.of(frame.sparkSession), facts.types, {})
    texts: list[str] = []
    existing = [name for name in facts.types if sink.present.get(name, ABSENT) is not ABSENT]
    types = {name: facts.types[name] for name in existing or facts.types}
    lacking = (sink.types.keys() | sink.present.keys()) - facts.types.keys()
    scale = {name: regions.without(sink.scale.get(name, IDENTITY), lacking) for name in types}
    written_types = {name: written_type(type_, scale[name]) for name, type_ in types.items()}
    columns = columns_of(written_types)
    for name, kind in columns.items():
        text = lookups.expression(
            ("encoded", emit, name, kind.simpleString()),
            narrowed(scale[name], around),
            *_encoding(name, types[name], written_types[name]),
        )
        texts.append(text if text == column(name) else f"{text} AS {column(name)}")
    return lookups.joined(frame).selectExpr(*texts), columns


def marked(frame: DataFrame | None, columns: Columns) -> tuple[DataFrame | None, Columns]:
    """Returns encoded rows with the mark of provisional ones before their columns."""
    if frame is None:
        return None, columns
    return frame.select(F.lit(True).alias(MARK), *map(column, columns)), {MARK: data_type(BOOLEAN), **columns}


def _without_dropped(
    frame: DataFrame, types: Mapping[str, Type], dropped: Mapping[str, Tree], emit: str
) -> DataFrame:
    """Leaves out values inside announced Drops. Readers evaluate conditions without these values: those of other
    attributes' functions, and those that decide whether further attributes exist. These are then left out, too."""
    changed = dropped.keys()
    for _ in dropped:
        lookups = Lookups(Tables.of(frame.sparkSession), types, {})
        texts = {name: column(name) for name in types}
        for name in changed:
            is_dropped = lookups.predicate(("left out", emit, name), dropped[name])
            texts[name] = f"IF({is_dropped}, NULL, {column(name)}) AS {column(name)}"
        frame = lookups.joined(frame).selectExpr(*texts.values())
        changed = {name for name, region in dropped.items() if regions.attributes(region) & changed}
        if not changed:
            break
    return frame


_Encoding = tuple[Callable[[Affine], str], Callable[[Sequence[str]], str] | None]


def _encoding(name: str, type_: Type, written_type: Type) -> _Encoding:
    """Returns SQL for the values of a column under a function, and the same with the function's numbers in columns, if
    there is one. `type_`: of the column; `written_type`: of the values. A value that these may not keep fails
    (RQ310)."""
    value, kind = column(name), data_type(written_type)
    if type_.innermost == VERSION:
        return lambda _: element_wise(text_sql, value, kind), None
    if written_type == type_:
        return _in_doubles(value, kind)
    if (double := as_double(name, value, data_type(type_), kind)) is not None:
        return _in_doubles(f"({double})", kind)
    before, after = type_.innermost, written_type.innermost
    return lambda f: element_wise(
        partial(encoded_sql, type_=before, function=f, wanted=after, failure=beyond_failure(name)),
        value,
        kind,
    ), None


def _in_doubles(value: str, kind: DataType) -> _Encoding:
    return (
        lambda f: value if f.is_identity else element_wise(f.sql, value, kind),
        lambda numbers: element_wise(lambda e: sql_over(e, numbers), value, kind),
    )
