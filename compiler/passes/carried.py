"""Sugar over groups without tuples: `last(x) carried as x` is the value of the last window with one (theory N14)."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler.operators.completion import not_by_window
from cedilla.compiler.passes.report import Report, fresh, own_name
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax import AggregateCall, Attribute, ProjectItem


def carry(query: syntax.Query, taken: set[str], report: Report) -> syntax.Query:
    """Replaces results that are carried by running functions over the rows of all windows. Raises RQ590, RQ595.

    >>> from cedilla.compiler.passes.resolve import resolve
    >>> from cedilla.grammar.formatting.formatter import format_query
    >>> from cedilla.grammar.parser import parse_query
    >>> query = parse_query('''
    ...   stream r(ts: long, k: int in {1, 2}, x: double) from json "r";
    ...   q := aggregate[count() as n, last(x) carried as x by w, k complete from 0](window[60 on ts as w](r));
    ...   emit q to json "q";
    ... ''')
    >>> report = Report(query, "query", "", {})
    >>> print(format_query(carry(resolve(query, report), {"r", "q"}, report)), end="")
    stream r(ts: long, k: int in {1, 2}, x: double) from json "r";
    window := window[60 on ts as w](r);
    q_windows := aggregate[count() as n, last(x) as q·x by w, k complete from 0](window);
    q_carried := running[last(q·x) as x per k on w](q_windows);
    q := project[w, k, n, x](q_carried);
    emit q to json "q";
    """
    statements: list[syntax.Statement] = []
    defined = {part.name: part.relation for part in query.statements if isinstance(part, syntax.Definition)}
    for statement in query.statements:
        match statement:
            case syntax.Definition(name, syntax.Aggregate() as node) if any(map(_is_carried, node.calls)):
                with report.collecting():
                    below = node.input
                    below = defined.get(below.name) if isinstance(below, syntax.Reference) else below
                    statements += _replaced(name, node, below, taken)
            case _:
                statements.append(statement)
    return evolve(query, statements=tuple(statements))


def _is_carried(call: AggregateCall | ProjectItem) -> bool:
    return isinstance(call, AggregateCall) and call.function.endswith(syntax.CARRIED)


def _replaced(
    name: str, node: syntax.Aggregate, below: syntax.Relation | None, taken: set[str]
) -> list[syntax.Definition]:
    """Returns the groups, the values that are carried from one to the next, and the results in their order."""
    span = node.span
    alias = below.alias if isinstance(below, syntax.Window) else ()
    windows = (alias,) if isinstance(alias, str) else alias
    order = next((group for group in node.by if group in windows), None)
    if node.begin is None:
        hint = "`aggregate[last(x) carried as x by w, k complete from 0](window[10 on ts as w](R))`"
        message = "`carried` needs `complete from`, which says which windows there are between two values"
        raise failure("RQ595", message, span, hint=hint)
    if order is None:
        raise not_by_window(windows, node.by, span)
    calls: list[AggregateCall | ProjectItem] = []
    carried: list[AggregateCall] = []
    for call in node.calls:
        if isinstance(call, AggregateCall) and _is_carried(call):
            own = own_name(name, call.alias)
            calls.append(evolve(call, function=call.function.removesuffix(syntax.CARRIED), alias=own))
            value = Attribute(own, span=call.span)
            carried.append(AggregateCall("last", (value,), call.alias, span=call.span))
        else:
            calls.append(call)
    groups, running = fresh(f"{name}_windows", taken), fresh(f"{name}_carried", taken)
    keys = tuple(group for group in node.by if group not in windows)
    by_window = (syntax.SortKey(order, span=span),)
    rows = syntax.Running(
        tuple(carried), keys, by_window, None, syntax.Reference(groups, span=span), span=span
    )
    names = (*node.by, *(call.alias or "" for call in node.calls))
    items = tuple(ProjectItem(Attribute(of, span=span), span=span) for of in names)
    project = syntax.Project(items, syntax.Reference(running, span=span), span=span)
    return [
        syntax.Definition(groups, evolve(node, calls=tuple(calls)), span=span),
        syntax.Definition(running, rows, span=span),
        syntax.Definition(name, project, span=span),
    ]
