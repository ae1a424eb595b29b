"""Plan to PySpark text: a plain function of an epoch per emit, the plan as constructor calls, `main`."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterable

from cedilla.compiler.codegen.layout import lay_out
from cedilla.compiler.plan import Attribute, Emit, Heartbeat, Plan, Source

_RESERVED = {
    *("e", "PLAN", "FUNCTIONS", "main", "Epoch", "DataFrame"),
    *("I", "O", "l"),  # ruff E741: too like 1 and 0
}


_GUARD = """
if __name__ == "__main__":
    main(PLAN, FUNCTIONS)
"""


def generate(plan: Plan, path: str) -> str:
    """The program's text. `path` is the query's file, named in its comments."""
    shown = "".join(c if c.isprintable() else "?" for c in path)
    names = variables([node.name for node in (*plan.sources, *plan.operators)])
    functions = variables([emit.name for emit in plan.emits])
    body = [_function(plan, emit, functions[emit.name], names, shown) for emit in plan.emits]
    table = ", ".join(f"{emit.name!r}: {functions[emit.name]}" for emit in plan.emits)
    code = "\n\n\n".join(
        [
            _plan(plan).rstrip(),
            *(text.rstrip() for text in body),
            lay_out("FUNCTIONS = ", f"{{{table}}}") + _GUARD,
        ]
    )
    return f"{_docstring(shown)}\n{_imports(plan)}\n{code}"


def variables(names: Iterable[str]) -> dict[str, str]:
    """Names of relations as names of Python variables, all different."""
    chosen: dict[str, str] = {}
    for name in names:
        # Python reads identifiers in this form: names that differ only in it would be one variable.
        plain = unicodedata.normalize("NFKC", name)
        variable = "".join(c if f"_{c}".isidentifier() else "_" for c in plain)
        if not variable.isidentifier() or variable.startswith("__"):
            variable = f"r{variable}"
        while keyword.iskeyword(variable) or variable in _RESERVED or variable in chosen.values():
            variable += "_"
        chosen[name] = variable
    return chosen


def _docstring(path: str) -> str:
    written = path.replace("\\", "\\\\").replace('"', "'")
    return (
        f'"""Compiled by Cedilla from {written}.\n\n'
        '`spark-submit` of this file runs the query, with the options of `cedilla run`.\n"""\n'
    )


def _imports(plan: Plan) -> str:
    operators = sorted({type(operator).__name__ for operator in plan.operators})
    heartbeat = ["Heartbeat"] if any(source.heartbeat for source in plan.sources) else []
    lines = [
        "from pyspark.sql import DataFrame",
        "",
        *([f"from cedilla.compiler.operators import {', '.join(operators)}"] if operators else []),
        f"from cedilla.compiler.plan import {', '.join(['Attribute', 'Emit', *heartbeat, 'Plan', 'Source'])}",
        "from cedilla.runtime import Epoch, main",
    ]
    return "\n".join(lines) + "\n"


def _function(plan: Plan, emit: Emit, name: str, names: dict[str, str], path: str) -> str:
    body = ""
    for node in plan.ancestors(emit.relation):
        prefix = "return " if node.name == emit.relation else f"{names[node.name]} = "
        if isinstance(node, Source):
            code = f"e.read({node.name!r})"
        else:
            code = node.code(tuple(names[i] for i in node.inputs))
            if node.name in plan.shared:
                code = f"e.share({node.name!r}, {code})"
        body += lay_out(prefix, code, 4, f"{path}:{node.line}")
    return f"def {name}(e: Epoch) -> DataFrame:\n{body}"


# --- the plan as constructor calls ---


def _plan(plan: Plan) -> str:
    given = {
        "name": repr(plan.name),
        "sources": _tuple(_source(source) for source in plan.sources),
        "operators": _tuple(operator.constructor() for operator in plan.operators),
        "emits": _tuple(_emit(emit) for emit in plan.emits),
        "settings": repr(dict(plan.settings)),
    }
    return lay_out("PLAN = ", _call("Plan", given))


def _tuple(items: Iterable[str]) -> str:
    return f"({''.join(f'{item}, ' for item in items)})"


def _call(function: str, given: dict[str, str]) -> str:
    return f"{function}({', '.join(f'{name}={value}' for name, value in given.items())})"


def _source(source: Source) -> str:
    given = {
        "name": repr(source.name),
        "attributes": _tuple(_attribute(attribute) for attribute in source.attributes),
        "format": repr(source.format),
        "path": repr(source.path),
    }
    if source.table:
        given["table"] = "True"
    if source.punctuated:
        given["punctuated"] = repr(source.punctuated)
    if source.heartbeat is not None:
        given["heartbeat"] = _heartbeat(source.heartbeat)
    if source.markers is not None:
        given["markers"] = repr(source.markers)
    return _call("Source", {**given, "line": str(source.line)})


def _heartbeat(heartbeat: Heartbeat) -> str:
    delay = heartbeat.delay
    written = str(delay) if delay.denominator == 1 else repr(str(delay))
    return f"Heartbeat({heartbeat.attribute!r}, {written})"


def _attribute(attribute: Attribute) -> str:
    rest = ", optional=True" if attribute.optional else ""
    if attribute.domain is not None:
        rest += f", domain={attribute.domain!r}"
    return f"Attribute({attribute.name!r}, {str(attribute.type)!r}{rest})"


def _emit(emit: Emit) -> str:
    given = {
        "name": repr(emit.name),
        "relation": repr(emit.relation),
        "format": repr(emit.format),
        "path": repr(emit.path),
    }
    if emit.original_units:
        given["original_units"] = "True"
    return _call("Emit", {**given, "line": str(emit.line)})
