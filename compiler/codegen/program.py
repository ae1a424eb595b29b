"""Writes a plan as a PySpark program: the query as a constant, the flow of an epoch, and `main`."""

from __future__ import annotations

import builtins
import keyword
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import get_args

from cedilla.compiler.codegen.layout import inside_three_quotes, lay_out, on_one_line
from cedilla.compiler.codegen.statements import Statement, statement
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Plan, Source
from cedilla.grammar.diagnostics.printable import without_secrets
from cedilla.grammar.syntax import relation_nodes

_RESERVED = {
    *("epoch", "flow", "main", "QUERY", "Epoch", "DataFrame", "F", "all_but"),
    *("I", "O", "l"),  # ruff E741: too similar to 1 and 0
    *vars(builtins),
}
_OPERATORS = {
    node.__name__.lower() for node in (*relation_nodes.OPERATORS, *get_args(relation_nodes.TwoInputs))
}
"""The names of relations without a definition, which may have a number."""


def generate(plan: Plan, path: str) -> str:
    """Returns the program's text. `path` is the query's file, named in its comments."""
    flow = flow_text(plan, path)
    imports = "from pyspark.sql import DataFrame\n"
    imports += "from pyspark.sql import functions as F\n" if "F." in flow else ""
    helpers = ["all_but"] if "all_but(" in flow else []
    imports += f"\nfrom cedilla.runtime import {', '.join(['Epoch', *helpers, 'main'])}\n"
    docstring = inside_three_quotes(f"Compiled by Cedilla from {on_one_line(path)}.\n\n{_USE}")
    query = inside_three_quotes(without_secrets(plan.text))
    return f'"""{docstring}"""\n\n{imports}\nQUERY = """\\\n{query}"""\n\n\n{flow}\n\n{_guard(plan)}'


_USE = """\
`spark-submit` of this file runs the query, with the options of `cedilla run`. `flow` is the code of
`QUERY`: edit the text in the file that it comes from, and compile that again.
"""


def flow_text(plan: Plan, path: str = "") -> str:
    """Returns the function `flow` of a plan's program; `path` as for `generate`."""
    names = variables(node.name for node in (*plan.sources, *plan.operators))
    body = ""
    for node in _emitted(plan):
        if isinstance(node, Source):
            made = Statement(f"epoch.read({node.name!r})")
        else:
            made = statement(plan, node, tuple(names[relation] for relation in node.inputs))
        position = f"{path if node.span is None else node.span.source}:{node.line}"
        comment = position if made.why is None else f"{position}: {made.why}"
        body += lay_out(f"{names[node.name]} = ", made.code, 4, on_one_line(comment))
    table = ", ".join(f"{emit.name!r}: {names[emit.relation]}" for emit in plan.emits)
    return f"def flow(epoch: Epoch) -> dict[str, DataFrame]:\n{body}{lay_out('return ', f'{{{table}}}', 4)}"


def _emitted(plan: Plan) -> Iterator[Source | Operator]:
    return (node for node in (*plan.sources, *plan.operators) if node.name in plan.emitted)


@lru_cache(16)
def calls_of_epoch(plan: Plan) -> tuple[str, ...]:
    """Returns the operators for which `flow` calls the epoch, in the order of the calls."""
    nodes = [node for node in _emitted(plan) if isinstance(node, Operator)]
    return tuple(node.name for node in nodes if statement(plan, node, node.inputs).by_epoch)


def variables(names: Iterable[str]) -> dict[str, str]:
    """Returns distinct names of Python variables for relations."""
    chosen: dict[str, str] = {}
    for name in names:
        # Python normalizes identifiers to this form: names that differ only in it would be one variable.
        plain = unicodedata.normalize("NFKC", name)
        variable = "".join(c if f"_{c}".isidentifier() else "_" for c in plain)
        if name.rstrip("0123456789").rstrip("_") in _OPERATORS:
            variable = f"after_{variable}"
        if not variable.isidentifier() or variable.startswith("__"):
            variable = f"r{variable}"
        while keyword.iskeyword(variable) or variable in {*_RESERVED, *chosen.values()}:
            variable += "_"
        chosen[name] = variable
    return chosen


def _guard(plan: Plan) -> str:
    params = f", params={plan.params!r}" if plan.params else ""
    return 'if __name__ == "__main__":\n' + lay_out("", f"main(QUERY, flow, name={plan.name!r}{params})", 4)
