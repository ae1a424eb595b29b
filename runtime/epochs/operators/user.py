"""A user's operator with Spark: its function over this epoch's tuples, or over those of closed groups (paper, section
6; theory 2.2)."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type, column
from cedilla.compiler.operators import User
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.engines.spark.columns import ORDER, columns_of
from cedilla.runtime.engines.spark.frames import is_connect, stacked, where_inside
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

Function = Callable[..., Any]


class UserDataflow(Dataflow):
    """Calls the function if it can have tuples in the epoch, and checks its result."""

    def run(self, epoch: Epoch, operator: User, *frames: DataFrame) -> DataFrame:  # type: ignore[override]
        inputs = self._closed(epoch, operator, frames) if operator.waits else list(frames)
        types = epoch.after[operator.name].types
        if not epoch.has_rows(operator.name):
            nothing = (f"CAST(NULL AS {t.spark}) AS {column(n)}" for n, t in types.items())
            return frames[0].sparkSession.range(0).selectExpr(*nothing)
        return _checked(epoch, operator, _called(operator, inputs))

    def _closed(self, epoch: Epoch, operator: User, frames: Iterable[DataFrame]) -> list[DataFrame]:
        """Returns all tuples of the groups that this epoch closes, for each input, and stores those of open groups."""
        passing, purged = _closing(epoch, operator), operator.closed_groups(epoch.inputs(operator.name))
        inputs: list[DataFrame] = []
        for side, frame in enumerate(frames):
            busy, key = epoch.has_rows(operator.inputs[side]), _key(operator, side)
            columns = columns_of(epoch.types(operator.inputs[side]))
            new = epoch.cached(frame.select(*map(column, columns)), 2 if busy else 0)
            old = epoch.state.read(key, columns)
            epoch.update_state(key, new if busy else None, purged, columns)
            rows = stacked(columns, old, new if busy else None)
            inputs.append(where_inside(new if rows is None else rows, passing, columns))
        return inputs

    def has_output(self, epoch: Epoch, operator: User) -> bool:
        return (
            _closing(epoch, operator) is not False if operator.waits else super().has_output(epoch, operator)
        )

    def attribute_states(self, epoch: Epoch, operator: User, attribute: str) -> Iterable[AttributeState]:
        if operator.waits and attribute not in operator.computed:
            purged = operator.closed_groups(epoch.inputs(operator.name))
            for side, name in enumerate(operator.inputs):
                columns = columns_of(epoch.types(name))
                yield AttributeState(_key(operator, side), column(attribute), [attribute], columns, purged)


def _key(operator: User, side: int) -> str:
    return operator.name if len(operator.inputs) == 1 else f"{operator.name}.{('left', 'right')[side]}"


def _closing(epoch: Epoch, operator: User) -> Tree:
    """Returns the groups that this epoch closes."""
    inputs, before = epoch.inputs(operator.name), epoch.inputs_before(operator.name)
    region = regions.difference(operator.closed_groups(inputs), operator.closed_groups(before))
    return False if all(regions.is_empty(region, facts.universe) for facts in inputs) else region


def _called(operator: User, frames: list[DataFrame]) -> DataFrame:
    function = function_of(operator)
    try:
        result = function(*frames)
        if isinstance(result, DataFrame) and is_connect(result):
            _ = result.schema  # a server reports errors in a plan only on such a request
    except Exception as problem:
        message = f"{operator.function} of `{operator.label}` failed: {_one_line(problem)}"
        raise _failed("RQ408", operator, message, _GIVEN) from problem
    if not isinstance(result, DataFrame):
        message = (
            f"{operator.function} of `{operator.label}` returned {type(result).__name__}, not a DataFrame"
        )
        raise _failed("RQ409", operator, message, _GIVEN)
    return result


_GIVEN = "a function of an operator is given DataFrames, one for each input, and returns a DataFrame"


def _checked(epoch: Epoch, operator: User, result: DataFrame) -> DataFrame:
    """Returns the result with the columns of the operator's output; columns for added attributes are optional."""
    start, types = epoch.plan.start[operator.name].types, epoch.after[operator.name].types
    counts = Counter(result.columns)
    if missing := [name for name in start if name not in counts]:
        hint = "it returns the attributes of its inputs, or those that `returns (...)` declares"
        raise _wrong(operator, f"without {_quoted(missing)}", hint)
    ordered = operator.name in epoch.plan.placed
    if ordered and ORDER not in counts:
        hint = "another operator needs the order of arrival, so the function has to keep this column"
        raise _wrong(operator, f"without `{ORDER}`", hint)
    added = {n for i in operator.inputs for n in epoch.after[i].types if n not in epoch.plan.start[i].types}
    if extra := [n for n in counts if n not in types and n not in added and "$" not in n]:
        hint = f"`returns (...)` declares what a function adds; declared are {', '.join(types)}"
        raise _wrong(operator, f"with {_quoted(extra)}, which nothing declares", hint)
    if twice := [n for n, count in counts.items() if count > 1]:
        raise _wrong(operator, f"with two columns {_quoted(twice)}", "`.drop` leaves one of them out")
    kinds = {f.name: f.dataType.simpleString() for f in result.schema.fields}
    columns = [
        _cast(operator, n, kinds[n], type_) if n in counts else F.lit(None).cast(type_.spark).alias(n)
        for n, type_ in types.items()
    ]
    return result.select(*columns, *([F.col(ORDER)] if ordered else []))


_WIDER = {
    "int": ("tinyint", "smallint"),
    "bigint": ("tinyint", "smallint", "int"),
    "double": ("tinyint", "smallint", "int", "bigint", "float", "decimal"),
}
"""Maps Spark types to the types whose values they include."""


def _cast(operator: User, name: str, type_name: str, type_: Type) -> Column:
    target = type_.spark.lower()
    if type_name == target:
        return F.col(column(name))
    if type_name.partition("(")[0] in _WIDER.get(target, ()):
        return F.col(column(name)).cast(target)
    hint = f"`.cast({target!r})`, or another type in `returns (...)`"
    raise _wrong(operator, f"with `{name}` as {type_name}, not {target}", hint)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _wrong(operator: User, what: str, hint: str) -> DiagnosticError:
    message = f"{operator.function} of `{operator.label}` returned a DataFrame {what}"
    return _failed("RQ409", operator, message, hint)


# --- finding the function ---


def look_beside(plan: Plan, query: str) -> None:
    """Loads the modules of a plan's user operators; the folder of the query's file comes first for these, and last for
    all other modules."""
    file = Path(query)
    modules = {operator.loads[1] for operator in plan.operators if operator.loads is not None}
    if not modules or not file.is_file() or (folder := str(file.resolve().parent)) in sys.path:
        return
    sys.path.insert(0, folder)
    try:
        for module in modules:
            with suppress(Exception):  # `function_of` says what is wrong
                importlib.import_module(module)
    finally:
        sys.path.remove(folder)
        sys.path.append(folder)


def check_functions(plan: Plan) -> None:
    """Raises `DiagnosticError` RQ407 for the first operator whose function cannot be loaded."""
    for operator in plan.operators:
        if isinstance(operator, User):
            function_of(operator)


def function_of(operator: User) -> Function:
    """Returns the function of an operator. Raises `DiagnosticError` RQ407 without one. Python searches the working
    directory last."""
    name, _, attribute = operator.function.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(name)
    except Exception as problem:
        message = f"the module `{name}` of `{operator.label}` cannot be loaded: {_one_line(problem)}"
        hint = "modules are looked for next to the query's file, on PYTHONPATH and in the working directory"
        raise _failed("RQ407", operator, message, hint) from problem
    function = getattr(module, attribute, None)
    if not callable(function):
        message = (
            f"`{attribute}` of `{operator.label}` is not a function of {getattr(module, '__file__', name)}"
        )
        defined = [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]
        definitions = f"it defines {', '.join(defined)}" if defined else "it defines no function"
        raise _failed("RQ407", operator, message, definitions)
    # Functions for Spark's Python workers are sent by value, because the workers lack the module.
    cloudpickle.register_pickle_by_value(module)
    return function


def _one_line(problem: Exception) -> str:
    """Returns an exception on one line, without the plan that Spark appends."""
    return f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"


def _failed(code: str, operator: User, message: str, hint: str) -> DiagnosticError:
    notes = (f"line {operator.line} of the query uses the operator",)
    return failure(code, message, operator.span, hint=hint, notes=notes)
