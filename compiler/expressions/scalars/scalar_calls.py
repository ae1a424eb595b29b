"""Calls of scalar functions: their types, their errors, their SQL.

Over 400 lines, as each kind of argument is tested and converted in one place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from fractions import Fraction

from attrs import evolve

from cedilla.compiler.expressions.aggregates import aggregate_functions
from cedilla.compiler.expressions.scalars import (
    changing_functions,
    encoding_sql,
    list_sql,
    regexes,
    scalar_sql,
    type_hints,
)
from cedilla.compiler.expressions.scalars.function_hints import hint_for_scalar
from cedilla.compiler.expressions.scalars.regex_ambiguity import is_ambiguous
from cedilla.compiler.expressions.scalars.scalar_functions import (
    ARGUMENTS,
    BOUNDS,
    DATE,
    FORMAT,
    FUNCTIONS,
    INT,
    UNITS,
    Function,
)
from cedilla.compiler.expressions.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    TIMESTAMP,
    Type,
    decimals,
    patterns,
    quote,
)
from cedilla.compiler.expressions.units.conversions import whole_constant
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.syntax import Attribute, Binary, Case, Expression, Literal, Scalar

_LIKE = re.compile(r"(?:[^\\]|\\[_%\\])*", re.DOTALL)


def check(node: Scalar, types: Sequence[Type]) -> Type:
    """Returns the type of a call with arguments of these types.

    Raises `DiagnosticError`: RQ117 for an unknown function, RQ103 for invalid arguments.
    """
    function = function_of(node)
    kinds = _kinds(function, node)
    for kind, argument, type_ in zip(kinds, node.arguments, types, strict=True):
        if not _fits(kind, argument, type_, node):
            actual = f"{argument.text}" if isinstance(argument, Literal) else str(type_)
            message = f"{function.name} requires {ARGUMENTS[kind].word}, found {actual}"
            raise failure(
                "RQ103", message, argument.span, hint=_hint(function, node, types, kind, argument, type_)
            )
    chosen = [(a, t) for k, a, t in zip(kinds, node.arguments, types, strict=True) if k == "same"]
    same = common(chosen, function.name) if chosen else None
    if callable(function.gives):
        return function.gives(list(zip(node.arguments, types, strict=True)))
    if isinstance(function.gives, Type):
        return function.gives
    assert same is not None
    return same


def _hint(
    function: Function, node: Scalar, types: Sequence[Type], kind: str, argument: Expression, type_: Type
) -> str | None:
    """Returns a hint: the replacement of an argument that a function does not take, if there is one."""
    if len(types) > 1:
        turned = list(zip(_kinds(function, node), reversed(node.arguments), reversed(types), strict=True))
        with suppress(DiagnosticError):
            if all(_fits(k, a, t, node) for k, a, t in turned):
                order = ", ".join(format_expression(operand) for _, operand, _ in turned)
                return f"the other way round: `{node.name}({order})`"
    is_word = isinstance(argument, Literal) and str(argument.value).isalpha()
    near = suggest(str(argument.value), UNITS) if isinstance(argument, Literal) and is_word else None
    if kind in ("unit", "dateunit") and near is not None:
        return f"did you mean `'{near}'`?"
    if type_ == BOOLEAN and isinstance(argument, Binary) and len(node.arguments) == 1:
        inside = Scalar(node.name, (argument.left,), span=node.span)
        return f"the comparison comes after the call: `{format_expression(evolve(argument, left=inside))}`"
    if function.name == "trunc" and type_.is_numeric:
        return "`round(x, 2)` rounds to digits, `long(x)` cuts all of them off"
    wanted = "number" if ARGUMENTS[kind].word == "a number" else kind
    hint = type_hints.conversion(wanted, type_, argument) or ARGUMENTS[kind].hint
    return hint or _usage(node.name, function, len(types))


_WIDTH = (INT, LONG, DOUBLE)


def common(parts: Sequence[tuple[Expression, Type]], what: str) -> Type:
    """Returns the common type of several values, with numbers widened.

    Raises RQ103 at the first that does not fit.
    """
    result = parts[0][1]
    for part, type_ in parts[1:]:
        if type_ != result and not (result.is_numeric and type_.is_numeric):
            moment = {"timestamp", "date"} & {type_.name, result.name}
            hint = f'a constant is written `{min(moment)}("2013-01-31")`' if moment else None
            hint = hint or type_hints.comparison((result, type_), (parts[0][0], part))
            message = f"{what} requires values of one type, found {result} and {type_}"
            raise failure("RQ103", message, part.span, hint=hint)
    return _widest(parts)


def _widest(parts: Sequence[tuple[Expression, Type]]) -> Type:
    """Returns the type that holds several values of one kind."""
    types = [type_ for _, type_ in parts]
    if all(type_ == types[0] for type_ in types):
        return types[0]
    if DOUBLE in types or all(type_.is_integral for type_ in types):
        return max((type_ for type_ in types if type_ in _WIDTH), key=_WIDTH.index)
    return decimals.common_type(decimals.digits_of(*part) for part in parts)


def check_constants(node: Scalar, types: Container[str]) -> None:
    """Raises RQ103 where a constant is written without quotes, as in `date_trunc(hour, at)`."""
    function = function_of(node)
    for kind, argument in zip(_kinds(function, node), node.arguments, strict=True):
        if kind not in ("unit", "dateunit") or not isinstance(argument, Attribute) or argument.name in types:
            continue
        near = suggest(argument.name, UNITS)
        hint = f"did you mean `'{near}'`?" if near else ARGUMENTS[kind].hint
        message = f"{function.name} requires {ARGUMENTS[kind].word}, found {argument.name}"
        raise failure("RQ103", message, argument.span, hint=hint)


def function_of(node: Scalar) -> Function:
    """Returns the function of a call. Raises RQ117 for an unknown one, RQ109 for `distinct` or a condition."""
    if node.name in FUNCTIONS and (node.distinct or node.where is not None):
        message = f"`{node.name}` is a function of one tuple: it has neither `distinct` nor a condition"
        raise failure("RQ109", message, node.span, hint="`if(condition, a, b)` chooses between two values")
    if node.name in FUNCTIONS:
        return FUNCTIONS[node.name]
    if node.name == "unix_timestamp" and node.arguments:
        raise failure(
            "RQ117", "unknown function `unix_timestamp`", node.span, hint="did you mean `unix_seconds(at)`?"
        )
    if node.name in changing_functions.NAMES:
        raise changing_functions.refused(node.name, node.span)
    if node.name in aggregate_functions.FUNCTIONS:
        hint = f"`aggregate[{aggregate_functions.FUNCTIONS[node.name].usage} as name by k, w](R)`"
        if node.name in _OF_ONE_TUPLE and len(node.arguments) > 1:
            hint = f"of several values of one tuple it is `{_OF_ONE_TUPLE[node.name]}(x, y)`"
        raise failure(
            "RQ117", f"`{node.name}` is a function of many tuples, here is one", node.span, hint=hint
        )
    unknown = f"unknown function `{node.written or node.name}`"
    raise failure("RQ117", unknown, node.span, hint=hint_for_scalar(node.name))


_OF_ONE_TUPLE = {"max": "greatest", "min": "least", "bit_and": "bitwise_and", "bit_or": "bitwise_or"}
"""Aggregate function -> the function of one tuple for which it may be mistaken."""


def check_count(node: Scalar) -> None:
    """Raise RQ103 where a call has too few arguments, or too many."""
    _kinds(function_of(node), node)


def _kinds(function: Function, node: Scalar) -> tuple[str, ...]:
    """Returns the kind of each argument. Raises RQ103 for too few or too many."""
    count, most = len(node.arguments), len(function.takes)
    if count < function.required or (count > most and not function.repeats):
        required = f"{function.required}" + (f" or {most}" if most > function.required else "")
        number = f"at least {function.required}" if function.repeats else required
        noun = "argument" if number.endswith("1") else "arguments"
        message = f"{function.name} requires {number} {noun}, found {count}"
        raise failure("RQ103", message, node.span, hint=_usage(node.name, function, count))
    return (*function.takes[:count], *function.takes[-1:] * (count - most))


_OTHER_ARITY = {
    ("isnull", 2): "`coalesce(x, 0)` replaces what is undefined",
    ("ifnull", 1): "`isnull(x)` asks whether it is undefined",
    ("trunc", 1): "`long(x)` cuts the digits of a number off",
    ("date", 2): "a text is read in ISO form: `date(s)` has no pattern",
    ("timestamp", 2): "a text is read in ISO form: `timestamp(s)` has no pattern",
    (
        "datediff",
        3,
    ): "`datediff(ended, began)` counts days; `(ended - began) / 1 hour` counts hours of timestamps",
    ("date_add", 3): "`date_add(d, n)` adds days, `add_months(d, n)` months",
}
"""Function and number of arguments -> the hint."""


def _usage(name: str, function: Function, count: int) -> str:
    """Returns how a function is called with this number of arguments."""
    called = f"as in `{name}({function.sample(count)})`"
    other = _OTHER_ARITY.get((function.name, count))
    return f"{called}; {other}" if other else called


def _fits(kind: str, argument: Expression, type_: Type, node: Scalar) -> bool:
    constant = argument.value if isinstance(argument, Literal) else None
    match kind:
        case "number" | "whole" | "word" | "length" | "place" | "days" | "months" | "bit":
            return type_.is_numeric
        case "string" | "boolean":
            return type_.name == kind
        case "timestamp" | "date":
            if isinstance(constant, str):
                patterns.value_of(Type(kind), Literal(constant, repr(constant), span=argument.span))
                return True
            return type_.name in ("timestamp", "date")
        case "plain":
            return type_.is_numeric or type_.name in ("string", "boolean")
        case "dated":
            return type_.name in ("timestamp", "date", "string")
        case "digits":
            digits = whole_constant(argument)
            return type_ == INT and digits is not None and abs(digits) <= 15
        case "factor" | "coefficient" | "divisor":
            number = whole_constant(argument)
            return number is not None and (
                kind == "coefficient" or number > 0 or (kind == "factor" and number != 0)
            )
        case "base":
            return type_ == INT and isinstance(constant, int) and 2 <= constant <= 36
        case "bits":
            return type_ == INT and constant in (224, 256, 384, 512)
        case "group":
            groups = re.compile(str(getattr(node.arguments[1], "value", ""))).groups
            return type_ == INT and isinstance(constant, int) and constant <= groups
        case "regex":
            return isinstance(constant, str) and regexes.is_regex(constant) and _ends(constant, argument)
        case "buckets":
            return type_.element in (INT, LONG)
        case "list":
            return type_.element is not None
        case "numbers":
            return type_.element in (INT, LONG, DOUBLE)
        case "separator":
            return isinstance(constant, str) and bool(constant)
        case "bounds":
            return type_.element is not None and type_.element.is_numeric
        case "share":
            return type_.is_numeric and isinstance(constant, int | Fraction) and 0 <= constant <= 1
        case "value":
            return type_.element is None
        case "same":
            return type_.element is None or node.name not in ("greatest", "least", "nullif")
        case "any":
            return True
        case _:
            return isinstance(constant, str) and _CONSTANTS[kind](constant)


def _ends(pattern: str, argument: Expression) -> bool:
    """Raises RQ012 for a regular expression whose search may not end."""
    if is_ambiguous(pattern):
        message = "a text can match a repetition of this regular expression in too many ways to try"
        hint = (
            "write one repetition for two that take the same text, `a+` for `(a+)+`, or a separator between them, "
            "`(a+-)+`"
        )
        raise failure("RQ012", message, argument.span, hint=hint)
    return True


_CONSTANTS: dict[str, Callable[[str], bool]] = {
    "unit": lambda text: text.lower() in UNITS,
    "dateunit": lambda text: text.lower() in UNITS[-4:],
    "format": lambda text: bool(text) and not FORMAT.sub("", text),
    "like": lambda text: bool(_LIKE.fullmatch(text)),
    "replacement": lambda text: not set(text) & {"$", "\\"},
}


def sql(node: Scalar, types: Sequence[Type], texts: Sequence[str]) -> str:
    """Writes a checked call in Spark SQL. `types` and `texts`: those of the arguments."""
    function = FUNCTIONS[node.name]
    kinds = _kinds(function, node)
    if function.sql != f"{function.name}({{all}})":
        texts = [
            t if is_atom(a) or isinstance(a, Case) else f"({t})"
            for a, t in zip(node.arguments, texts, strict=True)
        ]
    same = [(a, t) for kind, a, t in zip(kinds, node.arguments, types, strict=True) if kind == "same"]
    common_type = common(same, function.name) if same else None
    numbers, widened = _numbers(function, kinds, node.arguments, types, texts)
    arguments = [
        as_type(argument, type_, text, common_type)
        if kind == "same" and common_type
        else _converted(kind, argument, type_, text)
        for kind, argument, type_, text in zip(kinds, node.arguments, numbers, widened, strict=True)
    ]
    if callable(function.sql):
        text = function.sql(arguments, numbers)
    else:
        text = function.sql.format(*arguments, all=", ".join(arguments))
    counts, gives = not _COUNTS.isdisjoint(kinds), function.gives
    return (
        scalar_sql.within_years(text, gives)
        if counts and isinstance(gives, Type) and gives in _MOMENTS
        else text
    )


_MOMENTS = (TIMESTAMP, DATE)
_COUNTS = {"number", "whole", "word", *BOUNDS}
"""Kinds of arguments that may move a moment to any year."""


def is_atom(expression: Expression) -> bool:
    """Returns True if the SQL of an expression can be an operand; that of `floor` is a sum."""
    if isinstance(expression, Scalar):
        return FUNCTIONS[expression.name].name not in ("floor", "ceil")
    return isinstance(expression, Attribute | Literal)


def _numbers(
    function: Function,
    kinds: Sequence[str],
    arguments: Sequence[Expression],
    types: Sequence[Type],
    texts: Sequence[str],
) -> tuple[list[Type], list[str]]:
    """Returns types and SQL of the arguments if decimals are among the numbers.

    All are decimals, with the digits that they may have, or doubles for a function that computes in doubles.
    """
    changed, numbers_sql = list(types), list(texts)
    numbers = [index for index, kind in enumerate(kinds) if kind == "number"]
    if "decimal" not in [types[index].name for index in numbers]:
        return changed, numbers_sql
    exact = callable(function.gives) and all(decimals.is_exact(types[index]) for index in numbers)
    for index in numbers:
        argument, type_, text = arguments[index], types[index], texts[index]
        if exact:
            digits = decimals.digits_of(argument, type_)
            numbers_sql[index] = decimals.as_decimal(text, argument, type_)
            changed[index] = Type("decimal", (max(1, digits.total), digits.after))
        elif type_.name == "decimal":
            numbers_sql[index], changed[index] = as_type(argument, type_, text, DOUBLE), DOUBLE
    return changed, numbers_sql


def as_type(value: Expression, type_: Type, text: str, wanted: Type) -> str:
    """Widens a value to a type explicitly, because engines differ in their own widening."""
    if type_ == wanted:
        return text
    if isinstance(value, Literal) and wanted in (LONG, DOUBLE):
        return f"{value.value}L" if wanted == LONG else DOUBLE.sql(wanted.value(value))
    if wanted == DOUBLE:
        return decimals.as_double(text, type_)
    if wanted.name != "decimal":
        return f"CAST({text} AS {wanted.spark})"
    digits, room = decimals.digits_of(value, type_), decimals.digits_of_type(wanted)
    cast = "CAST" if digits.before <= room.before else "try_cast"
    return f"{cast}({decimals.as_decimal(text, value, type_)} AS {wanted.spark})"


def _converted(kind: str, argument: Expression, type_: Type, text: str) -> str:
    """Converts an argument to the kind that the function takes."""
    if kind in ("timestamp", "date"):
        wanted = Type(kind)
        if isinstance(argument, Literal):
            return wanted.sql(patterns.value_of(wanted, argument))
        return text if type_ == wanted else f"CAST({text} AS {wanted.spark})"
    if kind in ("group", "base"):
        return text
    if kind == "word":
        return encoding_sql.as_word(text, type_)
    if kind == "share" and isinstance(argument, Literal):
        return DOUBLE.sql(DOUBLE.value(argument))
    if kind == "whole" or kind in BOUNDS:
        low, high = BOUNDS.get(kind, (-(2**31), 2**31 - 1))
        if (
            isinstance(argument, Literal)
            and isinstance(argument.value, int)
            and low <= argument.value <= high
        ):
            return text
        if type_ == DOUBLE:
            text = f"round({text})"  # an altered whole number may be slightly off
        elif type_.name == "decimal":
            text = f"round({text}, 0)"
        whole = scalar_sql.as_int(text, type_, low, high)
        # A negative length means none, but not on every engine.
        return f"IF({whole} < 0, 0, {whole})" if kind == "length" else whole
    if isinstance(argument, Literal) and isinstance(argument.value, str) and kind in ("unit", "dateunit"):
        return quote(argument.value.lower())
    if isinstance(argument, Literal) and isinstance(argument.value, str) and kind == "separator":
        return list_sql.pattern(argument.value)
    if isinstance(argument, Literal) and isinstance(argument.value, str) and kind == "regex":
        return quote(regexes.written(argument.value))
    return text
