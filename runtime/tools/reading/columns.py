"""Converts the tuples of an output to columns of a pandas DataFrame or an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from cedilla.compiler.expressions.types import DOUBLE, LONG, STRING, Type, array_of
from cedilla.compiler.expressions.types.moments import day_of, moment_of
from cedilla.runtime.connectors.records.entries import unreadable
from cedilla.runtime.tools.reading.units import Units, type_of_value

if TYPE_CHECKING:
    import pandas
    import pyarrow

Columns = Mapping[str, tuple[Type, list[Any]]]
_MIDNIGHT = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ALL_DIGITS = Context(prec=38)


def columns(rows: Iterable[Mapping[str, Any]], units: Units) -> Columns:
    """Returns the values of each attribute, `None` for undefined ones, with its declared or common type. An Alter makes
    doubles of a declared number; the common type replaces them if they would round an exact value.

    Raises `DiagnosticError` RQ423 if a value is not of its declared type.
    """
    values_of: dict[str, list[Any]] = {name: [] for name in units.declared}
    count = 0
    for row in rows:
        for name, value in row.items():
            values = values_of.setdefault(name, [])
            values.extend([None] * (count - len(values)))
            values.append(value)
        count += 1
    state = units.state
    histories = {n: state.types_of_raw[n] if n in state.units else t for n, t in units.declared.items()}
    result: dict[str, tuple[Type, list[Any]]] = {}
    for name, values in values_of.items():
        values.extend([None] * (count - len(values)))
        try:
            type_ = histories.get(name)
            if type_ is None or (
                type_.innermost == DOUBLE and not all(_keeps_digits(type_, v) for v in values)
            ):
                type_ = _common(values)
            result[name] = type_, [None if v is None else _typed(type_, v) for v in values]
        except (ValueError, TypeError, ArithmeticError) as problem:
            raise unreadable(f"`{name}`", problem) from None
    return result


def _keeps_digits(type_: Type, value: Any) -> bool:
    """Returns False for an exact number that a type of doubles would round: a `long` that an Alter has changed."""
    if isinstance(value, list):
        return type_.element is None or all(_keeps_digits(type_.element, element) for element in value)
    is_exact = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return type_ != DOUBLE or not is_exact or Decimal(repr(float(value))) == value


def _common(values: Iterable[Any]) -> Type:
    """Returns the common type of values without a declared one."""
    shown = [v for v in values if v is not None]
    if shown and all(isinstance(v, int) and not isinstance(v, bool) for v in shown):
        return LONG if all(-(2**63) <= v < 2**63 for v in shown) else Type("decimal", (38, 0))
    types = {type_of_value(v) for v in shown}
    if types and all(t.is_numeric for t in types):
        return _of_decimals(shown) if any(t.parameters for t in types) else DOUBLE
    if len(types) == 1:
        (type_,) = types
        return array_of(_common(v for group in shown for v in group)) if type_.element else type_
    arrays = types and all(t.element is not None for t in types)
    return array_of(_common(v for group in shown for v in group)) if arrays else STRING


def _of_decimals(values: Iterable[Any]) -> Type:
    """Returns the decimal type that keeps all digits of decimals and doubles; double if none does."""
    numbers = [Decimal(str(value)) for value in values]
    if not all(number.is_finite() for number in numbers):
        return DOUBLE
    places = max(0, *(-int(number.normalize().as_tuple().exponent) for number in numbers))
    whole_digits = max(number.adjusted() + 1 for number in numbers)
    return Type("decimal", (38, places)) if whole_digits + places <= 38 else DOUBLE


def _typed(type_: Type, value: Any) -> Any:
    """Converts a value to its Python type."""
    match type_.name:
        case "double":
            return float(value)
        case "int" | "long" if isinstance(value, int):
            return value
        case "decimal":
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-type_.parameters[1]), context=_ALL_DIGITS)
        case "timestamp" if isinstance(value, str):
            return moment_of(value)
        case "timestamp" if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        case "date":
            return value if isinstance(value, date) else day_of(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "string" | "version":
            return value if isinstance(value, str) else str(value)
        case "array" if type_.element is not None:
            element = type_.element
            return [None if item is None else _typed(element, item) for item in value]
        case _:
            raise ValueError(f"{value!r} is not a value of type {type_}")


# --- pandas and Arrow ------------------------------------------------------------------------------------------


def pandas_frame(rows: Iterable[Mapping[str, Any]], units: Units) -> pandas.DataFrame:
    """Returns a DataFrame.

    Whole numbers and booleans are nullable if some are undefined; undefined doubles are NaN; times are in
    UTC.
    """
    import pandas as pd

    return pd.DataFrame({name: _series(pd, *typed) for name, typed in columns(rows, units).items()})


def _series(pd: Any, type_: Type, values: list[Any]) -> Any:
    undefined = any(value is None for value in values)
    match type_.name:
        case "double":
            return pd.Series(values, dtype="float64")
        case "int" | "long":
            return pd.Series(values, dtype="Int64" if undefined else "int64")
        case "boolean":
            return pd.Series(values, dtype="boolean" if undefined else "bool")
        case "timestamp":
            micros = [None if v is None else (v - _MIDNIGHT) // _MICROSECOND for v in values]
            moments = pd.Series(micros, dtype="Int64").astype("datetime64[us]")
            return moments.dt.tz_localize("UTC")
        case _:
            return pd.Series(values, dtype="object")


def arrow_table(rows: Iterable[Mapping[str, Any]], units: Units) -> pyarrow.Table:
    """Returns a table with a column for each attribute, null for undefined values."""
    import pyarrow as pa

    from cedilla.runtime.connectors.records.arrow_types import arrow_type

    typed = columns(rows, units)
    return pa.table({name: pa.array(values, arrow_type(type_)) for name, (type_, values) in typed.items()})
