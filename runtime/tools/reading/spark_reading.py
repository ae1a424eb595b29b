"""Reads an output as a Spark DataFrame.

Its accents become one expression for each altered attribute, chosen by position and region as for a query's
source (`intake`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import evolve
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType

from cedilla.compiler.expressions.types import DOUBLE, STRING, VERSION, Type, column, quote
from cedilla.compiler.expressions.types.versions import text_sql
from cedilla.compiler.expressions.units.altered_decimals import decoded_sql, encoded_sql
from cedilla.compiler.regions import POSITION, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.double_arithmetic import sql_over
from cedilla.runtime.connectors.formats.element_texts import element_wise
from cedilla.runtime.connectors.formats.listing import listed_files
from cedilla.runtime.connectors.formats.source import CORRUPT, MAX_FILES, Format, InputFile, Numbered
from cedilla.runtime.connectors.formats.source_formats import FORMATS
from cedilla.runtime.connectors.records.entries import TYPES_HINT, unreadable
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.spark.columns import Columns, as_double, columns_of, data_type, type_named
from cedilla.runtime.engines.spark.frames import union_by_name
from cedilla.runtime.engines.spark.lookups import Lookups, Tables
from cedilla.runtime.tools.reading.units import DAY, MOMENT, Units, added, mixed


def spark_frame(spark: SparkSession, folder: str, units: str, declared: Mapping[str, Type]) -> DataFrame:
    """Returns the tuples of an output, unordered. Lazy, except for accents and undeclared types.

    Raises `DiagnosticError`: RQ422; RQ423 for XML without declared types.
    """
    files = listed_files(Files(), folder)
    slices = [dict(enumerate(files[first : first + MAX_FILES])) for first in range(0, len(files), MAX_FILES)]
    format_ = _format(files)
    declared_units = Units(declared)
    types = _value_types(spark, format_, slices)
    accents = [[m for m in scan.markers if m.kind == "accent"] for scan in format_.scans(spark, slices)]
    texts = [[(marker.wire(declared), marker.position) for marker in part] for part in accents]
    declared_units.declare(
        {**types, **dict(filter(None, (added(text) for part in texts for text, _ in part)))}
    )
    states: list[Mapping[str, Tree]] = []
    for part in texts:
        for text, position in part:
            declared_units.accent(text, position)
        if declared_units.came_back is not None and units != "canonical":
            raise mixed(declared_units.came_back, units)
        states.append(declared_units.state.originals.placed)
        after = declared_units.state
        declared_units.state = evolve(after, originals=after.originals.next_epoch())
    if format_ is FORMATS["xml"] and (unknown := sorted(types.keys() - declared_units.declared.keys())):
        problem = f"the type of `{unknown[0]}` is not known, and XML does not tell it"
        raise unreadable(folder, problem, TYPES_HINT)
    if not slices:
        return spark.createDataFrame([], ", ".join(f"{column(n)} {t.spark}" for n, t in declared.items()))
    frames: list[DataFrame] = []
    columns: Columns = {}
    for number, (part, placed) in enumerate(zip(slices, states, strict=True)):
        types = declared_units.state.types_of_raw
        rows = _readable(format_.tuples(spark, part, types), format_)
        slot = (folder, units, number)
        columns = columns_of(types)
        positions = {POSITION: column(POSITION)}
        frame, columns = _converted(rows, columns, declared_units, placed, ("decoded", *slot), positions)
        if units == "latest":
            frame, _ = _converted(frame, columns, declared_units, declared_units.scale, ("latest", *slot), {})
        versions = [name for name, type_ in types.items() if type_.innermost == VERSION]
        if versions:
            texts = {n: F.expr(element_wise(text_sql, column(n), columns[n])) for n in versions}
            frame = frame.withColumns(texts)
        frames.append(frame)
    return union_by_name(columns, *frames)


def _format(files: Sequence[InputFile]) -> Format:
    ending = next((file.path.rpartition(".")[2] for file in files if not file.is_markers), "")
    return FORMATS.get(ending, FORMATS["json"])


def _readable(rows: DataFrame, format_: Format) -> DataFrame:
    """Returns the tuples; a malformed one ends the job."""
    message = quote(f"RQ423: {format_.malformed}: ")
    bad = f"{column(CORRUPT)} IS NOT NULL AND raise_error(concat({message}, {column(CORRUPT)})) IS NULL"
    return rows.where(f"NOT ({bad})")


def _converted(
    frame: DataFrame,
    columns: Columns,
    units: Units,
    trees: Mapping[str, Tree],
    purpose: tuple[object, ...],
    places: Mapping[str, str],
) -> tuple[DataFrame, Columns]:
    """Converts the attributes of rows, each by the function of its cell. `columns`: those of the rows. Returns the
    columns then, too."""
    lookups = Lookups(Tables.of(frame.sparkSession), units.state.types_of_raw, places)
    texts: list[str] = []
    made: dict[str, DataType] = {}
    for name, before in columns.items():
        value, kind, tree = column(name), before, trees.get(name, IDENTITY)
        if tree != IDENTITY and (double := as_double(name, value, kind, DoubleType())):
            value, kind = f"({double})", DoubleType()
        if name in units.state.numbers.raw_types:
            leaf, kind = _exactly(units.state, name, is_decoding=purpose[0] == "decoded")
            texts.append(f"{lookups.expression((*purpose, name), tree, leaf)} AS {column(name)}")
            made[name] = kind
            continue
        through: Callable[[Callable[[str], str]], str] = partial(element_wise, value=value, kind=kind)
        text = lookups.expression(
            (*purpose, name),
            tree,
            lambda f, v=value, t=through: v if f.is_identity else t(f.sql),
            lambda numbers, t=through: t(partial(sql_over, numbers=numbers)),
        )
        made[name] = kind
        texts.append(text if text == column(name) else f"{text} AS {column(name)}")
    return lookups.joined(frame).selectExpr(*texts), made


def _exactly(state: SourceState, name: str, *, is_decoding: bool) -> tuple[Callable[[Affine], str], DataType]:
    """Returns SQL for the values of an altered decimal under a function, and their type (theory N12). A job fails if a
    canonical value is not of the declared type."""
    raw, type_, value = state.numbers.raw_types[name], state.types[name], column(name)
    if not is_decoding:
        return (lambda function: encoded_sql(value, type_, function, raw)), data_type(raw)
    failure = f"raise_error({quote(f'RQ423: `{name}` is not of type {type_} in canonical units')})"

    def decoded(function: Affine) -> str:
        text = decoded_sql(value, raw, function, type_)
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE coalesce({text}, {failure}) END"

    return decoded, data_type(type_)


# --- types that are not declared
# -----------------------------------------------------------------------------


def _value_types(spark: SparkSession, format_: Format, slices: Sequence[Numbered]) -> dict[str, Type]:
    """Returns the attributes of tuples with the types of their values.

    Reads the files once, twice if there are texts.
    """
    types: dict[str, Type] = {}
    for part in slices:
        for name, kinds in format_.fields(spark, part).items():
            kind = "string" if kinds.common == "void" else kinds.common
            kind_type = type_named(kind.replace("<void>", "<double>"))  # empty arrays, as in `Units`
            try:
                kind_type.spark  # noqa: B018
            except KeyError:  # not a type of the language: read as text
                kind_type = STRING
            before = types.get(name, kind_type)
            types[name] = kind_type if kind_type == before else _both(before, kind_type)
    texts = [name for name, type_ in types.items() if type_ == STRING]
    if texts and format_ is FORMATS["json"]:
        types |= _times(spark, format_, slices, texts)
    return types


def _both(first: Type, second: Type) -> Type:
    return DOUBLE if first.is_numeric and second.is_numeric else STRING


def _times(
    spark: SparkSession, format_: Format, slices: Sequence[Numbered], texts: Sequence[str]
) -> dict[str, Type]:
    """Returns the text attributes whose values are all moments, or all days, in ISO form."""
    every = [
        f"bool_and({column(name)} RLIKE {quote(f'^({pattern})$')}) AS {kind}_{number}"
        for number, name in enumerate(texts)
        for kind, pattern in (("timestamp", MOMENT), ("date", DAY))
    ]
    rows = (format_.tuples(spark, part, dict.fromkeys(texts, STRING)) for part in slices)
    kinds = union_by_name(texts, *rows).selectExpr(*every).first()
    assert kinds is not None
    return {
        name: Type(kind)
        for number, name in enumerate(texts)
        for kind in ("timestamp", "date")
        if kinds[f"{kind}_{number}"]
    }
