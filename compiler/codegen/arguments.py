"""Writes the call of an operator in a program, with its parameters as arguments, and reads it as text of a query."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Mapping
from typing import Any, cast

from attrs import frozen

from cedilla.compiler.expressions.aggregate_calls import Call
from cedilla.compiler.expressions.types import column
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.aggregate import AllBut
from cedilla.grammar.syntax import Attribute, Literal
from cedilla.grammar.syntax.operator_forms import FORMS

_ALIKE = (
    *("avg", "sum", "min", "max", "count", "median", "mode", "product", "bit_and", "bit_or"),
    *("stddev", "stddev_pop", "var_pop", "covar_pop", "corr"),
)
FUNCTIONS = {
    **{name: name for name in _ALIKE},
    "var": "var_samp",
    "covar": "covar_samp",
    "slope": "regr_slope",
    "quantile": "percentile",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "collect": "collect_list",
}
"""Aggregate function -> that of Spark with its meaning. Other calls are texts of the query."""
DISTINCT = "count_distinct"
_WORDS = {"as": "name", "in": "of"}
"""Word of a form -> the argument's name, if Python reserves the word."""


# --- as code of a program ------------------------------------------------------------------------------------


def call_code(operator: Operator, inputs: tuple[str, ...]) -> str:
    """Writes the call of the epoch for an operator; `inputs`: the variables of its inputs."""
    values = operator.arguments()
    if len(inputs) == 1 and len(values) == 1 and "calls" not in values:
        stated = [_code(value) for value in values.values()]
    else:
        ordered = sorted(values.items(), key=lambda item: item[0] == "calls")
        stated = [part for key, value in ordered for part in _keywords(key, value, values)]
    return f"epoch.{operator.call}({', '.join([*inputs, *stated])})"


def _keywords(key: str, value: Any, beside: Mapping[str, Any]) -> list[str]:
    if key != "calls":
        return [f"{_argument_of(key)}={_code(value)}"]
    calls = {
        name: _call_code(call) for name, call in cast("Mapping[str, Call | AllBut | str]", value).items()
    }
    taken = {_argument_of(name) for name in beside}
    if all(_is_argument(name) and name not in taken for name in calls):
        return [f"{name}={code}" for name, code in calls.items()]
    return [f"calls={{{', '.join(f'{name!r}: {code}' for name, code in calls.items())}}}"]


def _is_argument(name: str) -> bool:
    """Returns True if a name can be that of an argument: Python writes some other signs in one form."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _argument_of(key: str) -> str:
    word = _WORDS.get(key, key)
    return f"{word}_" if keyword.iskeyword(word) else word


def _code(value: object) -> str:
    return repr(value)


def _call_code(call: Call | AllBut | str) -> str:
    """Writes a call in Spark's words, if Spark has it for attributes and constants, else in those of the query."""
    if isinstance(call, AllBut):
        return f"all_but({', '.join(map(repr, call.names))})"
    if isinstance(call, str):
        return repr(call)
    name = FUNCTIONS.get(call.function)
    if call.distinct:
        name = DISTINCT if name == "count" else None
    arguments = [_argument_code(argument) for argument in call.arguments] or [repr("*")]
    if name is None or call.where is not None or None in arguments:
        return repr(str(call))
    return f"F.{name}({', '.join(filter(None, arguments))})"


def _argument_code(argument: object) -> str | None:
    match argument:
        case Attribute(name):
            return repr(column(name))
        case Literal(value, text) if not isinstance(value, str | bool):
            return text
        case _:
            return None


# --- as text of a query --------------------------------------------------------------------------------------


@frozen
class Stated:
    """A call of the epoch: its inputs, and its arguments by name, as code."""

    method: str
    inputs: tuple[str, ...]
    arguments: Mapping[str, str]

    @classmethod
    def of(cls, node: ast.expr, operator: Operator) -> Stated | None:
        """Reads the code of a call; `None` for another call."""
        match node:
            case ast.Call(ast.Attribute(ast.Name("epoch"), method), args, keywords):
                count = len(operator.inputs)
                inputs = tuple(ast.unparse(arg) for arg in args[:count])
                alone = next(iter(operator.arguments()), "")
                arguments = {_argument_of(alone): ast.unparse(arg) for arg in args[count:]}
                arguments |= {str(k.arg): ast.unparse(k.value) for k in keywords}
                return cls(method, inputs, arguments)
            case _:
                return None


def query_text(operator: Operator, stated: Stated, relations: Mapping[str, str]) -> str | None:
    """Returns the relation of a query that has such arguments; `None` if its text is not in one place.

    `relations`: variable of the program -> relation.
    """
    inputs = [relations.get(name, name) for name in stated.inputs]
    forms = [form for form in FORMS.values() if form.node.__name__ == type(operator).__name__]
    holes = (hole.key for form in forms for hole in form.holes)
    keys = {_argument_of(key): key for key in (*holes, *operator.arguments()) if key != "calls"}
    texts: dict[str, str] = {}
    calls: list[str] = []
    for name, code in stated.arguments.items():
        match value := ast.parse(code, mode="eval").body:
            case ast.Call(ast.Name("all_but"), args):
                texts |= {"function": name, **({"except": _joined(args)} if args else {})}
            case ast.Dict(names, values) if name == "calls":
                calls += [
                    f"{_call_text(call)} as {_text(n)}" for n, call in zip(names, values, strict=True) if n
                ]
            case ast.List(bounds) if keys.get(name) == "as":
                texts["as"] = f"[{_joined(bounds)}]"
            case _ if name in keys:
                texts[keys[name]] = _text(value)
            case _:
                calls.append(f"{_call_text(value)} as {name}")
    if calls:
        texts["calls"] = ", ".join(calls)
    if len(inputs) == 2:
        return _two_inputs(operator, inputs, texts)
    filled = next(filter(None, (form.filled(texts) for form in forms)), None)
    return None if filled is None else f"{filled}({inputs[0]})"


def _two_inputs(operator: Operator, inputs: list[str], texts: Mapping[str, str]) -> str | None:
    left, right = inputs
    word = operator.method.replace("_", " ")
    if "function" in texts:
        return None
    on = f" on {texts['on']}" if "on" in texts else ""
    return f"{left} {word}{' all' if 'all' in texts else ''} {right}{on}"


def _call_text(node: ast.expr) -> str:
    """Returns a call of a function in the words of the query."""
    names = {spark: name for name, spark in FUNCTIONS.items()}
    match node:
        case ast.Call(ast.Attribute(ast.Name("F"), function), args):
            arguments = ", ".join(_text(arg) for arg in args).replace("`", "")
            if function == DISTINCT:
                return f"count(distinct {arguments})"
            return f"{names.get(function, function)}({'' if arguments == '*' else arguments})"
        case _:
            return _text(node)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value):
            return str(value)
        case ast.List(elements):
            return _joined(elements)
        case ast.Dict(keys, values):
            return ", ".join(f"{_text(k)} as {_text(v)}" for k, v in zip(keys, values, strict=True) if k)
        case _:
            return ast.unparse(node)


def _joined(nodes: list[ast.expr]) -> str:
    return ", ".join(map(_text, nodes))
