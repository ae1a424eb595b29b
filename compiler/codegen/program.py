"""Writes a plan as a PySpark program: sources and operators as constants, the flow of an epoch, and `main`."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

from cedilla.compiler.codegen.layout import lay_out
from cedilla.compiler.codegen.statements import Statement, statement
from cedilla.compiler.plan import DEFAULTS, Attribute, Emit, Heartbeat, Plan, Source
from cedilla.grammar.printable import without_secrets

_RESERVED = {
    *("epoch", "flow", "main", "PLAN", "Epoch", "DataFrame", "F"),
    *("I", "O", "l"),  # ruff E741: too similar to 1 and 0
}


_GUARD = """
if __name__ == "__main__":
    main(PLAN, flow)
"""


def generate(plan: Plan, path: str) -> str:
    """Returns the program's text. `path` is the query's file, named in its comments."""
    shown = "".join(c if c.isprintable() else "?" for c in path)
    constants, flow = _constant_names(plan), flow_text(plan, shown)
    imports = _imports(plan, uses_functions="F.expr(" in flow)
    return f"{_docstring(shown)}\n{imports}\n{_constants(plan, constants)}\n\n{flow}\n{_GUARD}"


def flow_text(plan: Plan, path: str = "") -> str:
    """Returns the function `flow` of a plan's program; `path` as for `generate`."""
    return _flow(
        plan, variables(node.name for node in (*plan.sources, *plan.operators)), _constant_names(plan), path
    )


def _constant_names(plan: Plan) -> dict[str, str]:
    """Returns the constants of sources and operators, which differ from the variables of their rows."""
    names = [node.name for node in (*plan.sources, *plan.operators)]
    return variables(names, str.upper, set(variables(names).values()))


def variables(
    names: Iterable[str], spelling: Callable[[str], str] = str, taken: AbstractSet[str] = frozenset()
) -> dict[str, str]:
    """Returns distinct names of Python variables for relations, in a spelling, without those already taken."""
    chosen: dict[str, str] = {}
    for name in names:
        # Python normalizes identifiers to this form: names that differ only in it would be one variable.
        plain = unicodedata.normalize("NFKC", spelling(name))
        variable = "".join(c if f"_{c}".isidentifier() else "_" for c in plain)
        if not variable.isidentifier() or variable.startswith("__"):
            variable = spelling(f"r{variable}")
        while keyword.iskeyword(variable) or variable in {*_RESERVED, *taken, *chosen.values()}:
            variable += "_"
        chosen[name] = variable
    return chosen


def _docstring(path: str) -> str:
    written = path.replace("\\", "\\\\").replace('"', "'")
    return (
        f'"""Compiled by Cedilla from {written}.\n\n'
        '`spark-submit` of this file runs the query, with the options of `cedilla run`.\n"""\n'
    )


def _imports(plan: Plan, *, uses_functions: bool) -> str:
    operators = sorted({type(operator).__name__ for operator in plan.operators})
    heartbeat = ["Heartbeat"] if any(source.heartbeat for source in plan.sources) else []
    lines = [
        "from pyspark.sql import DataFrame",
        *(["from pyspark.sql import functions as F"] if uses_functions else []),
        "",
        *([f"from cedilla.compiler.operators import {', '.join(operators)}"] if operators else []),
        f"from cedilla.compiler.plan import {', '.join(['Attribute', 'Emit', *heartbeat, 'Plan', 'Source'])}",
        "from cedilla.runtime import Epoch, main",
    ]
    return "\n".join(lines) + "\n"


def _flow(plan: Plan, names: dict[str, str], constants: dict[str, str], path: str) -> str:
    used = {
        relation for emit in plan.emits for relation in (node.name for node in plan.ancestors(emit.relation))
    }
    body = ""
    for node in (*plan.sources, *plan.operators):
        if node.name not in used:
            continue
        if isinstance(node, Source):
            made = Statement(f"epoch.read({constants[node.name]})")
        else:
            made = statement(
                plan, node, constants[node.name], tuple(names[relation] for relation in node.inputs)
            )
        place = f"{path if node.span is None else node.span.source}:{node.line}"
        comment = place if made.why is None else f"{place}: {made.why}"
        body += lay_out(f"{names[node.name]} = ", made.code, 4, comment)
    table = ", ".join(f"{emit.name!r}: {names[emit.relation]}" for emit in plan.emits)
    return f"def flow(epoch: Epoch) -> dict[str, DataFrame]:\n{body}{lay_out('return ', f'{{{table}}}', 4)}"


# --- the plan as constructor calls ---


def _constants(plan: Plan, constants: dict[str, str]) -> str:
    text = ""
    for node in (*plan.sources, *plan.operators):
        code = _source(node) if isinstance(node, Source) else node.constructor()
        text += lay_out(f"{constants[node.name]} = ", code)
    settings = {name: value for name, value in plan.settings.items() if value != DEFAULTS[name]}
    arguments = {
        "name": repr(plan.name),
        "sources": _tuple(constants[source.name] for source in plan.sources),
        "operators": _tuple(constants[operator.name] for operator in plan.operators),
        "emits": _tuple(_emit(emit) for emit in plan.emits),
        **({"settings": repr(settings)} if settings else {}),
    }
    return f"{text}\n" + lay_out("PLAN = ", _call("Plan", arguments))


def _tuple(items: Iterable[str]) -> str:
    return f"({''.join(f'{item}, ' for item in items)})"


def _call(function: str, arguments: dict[str, str]) -> str:
    return f"{function}({', '.join(f'{name}={value}' for name, value in arguments.items())})"


def _source(source: Source) -> str:
    arguments = {
        "name": repr(source.name),
        "attributes": _tuple(_attribute(attribute) for attribute in source.attributes),
        "format": repr(source.format),
        "path": repr(without_secrets(source.path)),
    }
    if source.table:
        arguments["table"] = "True"
    if source.punctuated:
        arguments["punctuated"] = repr(source.punctuated)
    if source.heartbeat is not None:
        arguments["heartbeat"] = _heartbeat(source.heartbeat)
    if source.markers is not None:
        arguments["markers"] = repr(source.markers)
    if source.metrics:
        arguments["metrics"] = repr(source.metrics)
    if source.partitioned is not None:
        arguments["partitioned"] = repr(source.partitioned)
    if source.by_name:
        arguments["by_name"] = "True"
    if source.markers_only:
        arguments["markers_only"] = "True"
    if source.accents:
        arguments["accents"] = _tuple(repr(accent.text) for accent in source.accents)
    return _call("Source", {**arguments, "line": str(source.line)})


def _heartbeat(heartbeat: Heartbeat) -> str:
    delay = heartbeat.delay
    written = str(delay) if delay.denominator == 1 else repr(str(delay))
    return f"Heartbeat({heartbeat.attribute!r}, {written})"


def _attribute(attribute: Attribute) -> str:
    rest = ", optional=True" if attribute.optional else ""
    if attribute.domain is not None:
        rest += f", domain={attribute.domain!r}"
    if attribute.unit is not None:
        rest += f", unit={attribute.unit!r}"
    if attribute.unit_from is not None:
        rest += f", unit_from={attribute.unit_from!r}"
    if attribute.keys:
        rest += f", keys={attribute.keys!r}" + (", in_text=True" if attribute.in_text else "")
    return f"Attribute({attribute.name!r}, {str(attribute.type)!r}{rest})"


def _emit(emit: Emit) -> str:
    arguments = {
        "name": repr(emit.name),
        "relation": repr(emit.relation),
        "format": repr(emit.format),
        "path": repr(without_secrets(emit.path)),
    }
    if emit.original_units:
        arguments["original_units"] = "True"
    if emit.units:
        arguments["units"] = repr(dict(emit.units))
    return _call("Emit", {**arguments, "line": str(emit.line)})
