"""The functions of `running`, and what their arguments have to be (theory N14)."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.aggregate_calls import Call
from cedilla.compiler.expressions.aggregates.aggregate_function import Carry
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS as AGGREGATES
from cedilla.compiler.expressions.aggregates.aggregate_parts import (
    no_alter,
    same_alter,
    scaled_alter,
    slope_of_alter,
)
from cedilla.compiler.expressions.counters import INCREASE, INCREASE_SINCE, INCREASES, Counter
from cedilla.compiler.expressions.scalars import type_hints
from cedilla.compiler.expressions.types import STRING, Type
from cedilla.compiler.operators.shared.orders import Frame
from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.formatting.expression_formatter import called, format_expression
from cedilla.grammar.syntax import Attribute, Expression, Literal, Unary

LAST = ("lag", "delta", "delta resets")
"""The functions of a tuple before; their state is its value."""
RANKS = ("rank", "dense_rank")
"""The functions of ties in the order."""
PLACES = ("row_number", *RANKS)
"""The functions of the order alone."""
FUNCTIONS: dict[str, Carry] = {
    "lag": same_alter,
    "delta": slope_of_alter,
    "delta resets": scaled_alter,
    **dict.fromkeys(INCREASES, scaled_alter),
    **{name: AGGREGATES[name].carry for name in ("sum", "count", "min", "max", "avg", "first", "last")},
    "nth": same_alter,
    **dict.fromkeys(PLACES, no_alter),
}
"""Function -> the Alter of its result for one of its argument; `None` absorbs it (theory 2.8, N14)."""
_COUNTS: dict[str, tuple[int, ...]] = {
    "lag": (1, 2),
    "nth": (2,),
    "count": (0, 1),
    INCREASE: (1, 2),
    INCREASE_SINCE: (2, 3),
    **dict.fromkeys(PLACES, (0,)),
}
"""Function -> the possible numbers of its arguments, if not one."""
_INSTEAD = {
    "lead": "the tuple after one is the tuple before it in the opposite order, once its key is closed: "
    "`running[lag(x) as next per k, w on ts desc](R)`, with a window `w`",
    "ntile": "a tile is computed from the number and the count: `running[row_number() as i per w on x](R)`, joined "
    "with `aggregate[count() as n by w](R)`",
    **dict.fromkeys(
        ("percent_rank", "cume_dist"),
        "a share is computed from the rank and the count: `running[rank() as r per w on x](R)`, joined with "
        "`aggregate[count() as n by w](R)`",
    ),
}
"""Function of SQL that reads later tuples -> what to write instead."""
_OF_WINDOWS = (
    "it is a function of aggregates, for example over a sliding window: `aggregate[{call} as y by k, w]"
    "(window[10 minutes every 1 minute on at as w](R))`"
)
_CONDITION = (
    "`sum(if(t > 90, t, 0))` leaves values out; tuples are selected before: `running[...](select[t > 90](R))`"
)
_DISTINCT = (
    "the first of its kind counts: `running[sum(if(i = 1, x, 0)) as total per k on ts]"
    "(running[row_number() as i per k, x on ts](R))`"
)
_FRAMED = ("sum", "count", "min", "max", "avg")
"""The functions of the tuples of any frame."""
_ENDS = ("first", "last")
"""The functions of the tuples of a frame of rows."""
_MAX_PLACE = 1_000_000
"""The most tuples that a function looks back."""
COUNTERS = ("delta resets", *INCREASES)
"""Functions of counters, which begin again at zero."""
DIFFERENCES = ("delta", *COUNTERS)
_MAX_DIGITS = 28
"""Digits of a decimal whose running sum has ten more."""
NOWHERE = Span("<running>", 0, 0, 1, 1, 1, 1)


def check_call(call: Call, types: Mapping[str, Type], frame: Frame | None, of: Span | None) -> None:
    """Raises RQ103 or RQ109 unless a call of a running function is right over attributes of some types. `of`: the place
    of the operator."""
    span = call.span or of
    if call.function not in FUNCTIONS:
        usages = [_usage(name) for name in FUNCTIONS if name != INCREASE_SINCE]
        guess = did_you_mean(call.function, FUNCTIONS, "functions")
        hint = guess if guess and guess.startswith("did") else f"functions are {', '.join(usages)}"
        if call.function in AGGREGATES:
            hint = _OF_WINDOWS.format(call=call)
        hint = _INSTEAD.get(call.function, hint)
        raise failure("RQ109", f"unknown running function `{call.function}`", span, hint=hint)
    if call.where is not None or call.distinct:
        hint = _CONDITION if not call.distinct else _DISTINCT if frame is None else _OF_WINDOWS
        hint = hint.format(call=call)
        raise failure("RQ109", "a running function has no condition and no `distinct`", span, hint=hint)
    if frame is not None:
        _check_frame(call, frame, span)
    counts = _COUNTS.get(call.function, (1,))
    if len(call.arguments) not in counts:
        needed = (
            "takes no argument"
            if counts == (0,)
            else f"requires {'one argument' if 1 in counts else 'two arguments'}"
        )
        if call.function == "lag" and len(call.arguments) > 1:
            needed = "has at most two arguments, and no value instead of a missing one"
        message = f"{call.function} {needed}"
        hint = f"as in `{_usage(call.function)}`"
        if call.function == "lag":
            hint += "; `coalesce(before, 0)` of the result has a value for the first tuples"
        raise failure("RQ109", message, span, hint=hint)
    if call.function in ("lag", "nth") and call.arguments[1:]:
        _check_place(call.function, call.arguments[1])
    if call.function in INCREASES:
        _check_counter(Counter.of(call.function, call.arguments), types)
    for argument in call.arguments[:1]:
        type_ = expressions.type_of(argument, types)
        if call.function in ("sum", "avg", *DIFFERENCES) and not type_.is_numeric:
            hint = type_hints.conversion("number", type_, argument)
            raise failure(
                "RQ103", f"{call.function} requires a number, found {type_}", argument.span, hint=hint
            )
        if call.function == "sum" and type_.name == "decimal" and type_.parameters[0] > _MAX_DIGITS:
            text = format_expression(argument)
            message = f"a running sum of {type_} may have more than 38 digits, the most of a decimal"
            scale = min(type_.parameters[1], _MAX_DIGITS)
            hint = f"at most decimal({_MAX_DIGITS}, {scale}), or `double({text})`"
            raise failure("RQ103", message, argument.span, hint=hint)


def _check_frame(call: Call, frame: Frame, span: Span | None) -> None:
    """Raises RQ152 if a function has no frame."""
    if call.function in _FRAMED or (frame.rows is not None and call.function in _ENDS):
        return
    if call.function in _ENDS:
        message = f"{call.function} has a frame of rows, and no other: ties have no order in it"
        raise failure("RQ152", message, span, hint=f"`{_usage(call.function)}` over `last 5 rows`")
    usage = f"running[{_usage(call.function)} as y on ts](running[...](R))"
    hint = f"another `running` without `over` computes it: `{usage}`"
    raise failure("RQ152", f"{call.function} has no frame", span, hint=hint)


def _check_place(function: str, argument: Expression) -> None:
    """Raises RQ109 unless a place is a constant of a size that state may have."""
    match argument:
        case Literal(int() as number) if not isinstance(number, bool) and 1 <= number <= _MAX_PLACE:
            return
        case _:
            hint = f"as in `{function}(x, 2)`"
            if isinstance(argument, Unary):
                hint += f"; {_INSTEAD['lead']}"
            message = f"the second argument of {function} is a whole number from 1 to {_MAX_PLACE}"
            raise failure("RQ109", message, argument.span, hint=hint)


def _usage(function: str) -> str:
    """Returns an example of a call."""
    names = {INCREASE_SINCE: ("x", "begin"), **dict.fromkeys(PLACES, ())}.get(function, ("x",))
    arguments: list[Expression] = [Attribute(name, span=NOWHERE) for name in names]
    if function == "nth":
        arguments.append(Literal(2, "2", span=NOWHERE))
    return called(function, tuple(arguments))


def _check_counter(counter: Counter, types: Mapping[str, Type]) -> None:
    """Raises RQ103 for a temporality that is not a text, or a start that is not a time."""
    if counter.temporality is not None:
        type_ = expressions.type_of(counter.temporality, types)
        if type_ != STRING:
            message = f"the temporality of a point is a string, found {type_}"
            hint = "`increase(x, temporality)`, of tuples with `delta` or `cumulative`"
            raise failure("RQ103", message, counter.temporality.span, hint=hint)
    if counter.start is not None:
        type_ = expressions.type_of(counter.start, types)
        if type_.name not in ("timestamp", "int", "long"):
            message = f"the start of a counter is a timestamp or a whole number, found {type_}"
            hint = "`increase(x since begin)`, with `begin: timestamp`"
            raise failure("RQ103", message, counter.start.span, hint=hint)
