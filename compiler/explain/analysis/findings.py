"""Diagnostics for state without bound and for rows that are never written (theory 3.4; design, section 8)."""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler.explain.analysis.safety import Safety, StateBound, missing, promised, safety
from cedilla.compiler.explain.analysis.suggestions import suggestion
from cedilla.compiler.facts.schemes import Schemes, names, within
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Plan, Source, folders, is_within
from cedilla.compiler.plan.latest import UPDATED
from cedilla.compiler.regions import ANYTHING
from cedilla.grammar.diagnostics import Diagnostic, Severity


def warnings(plan: Plan) -> tuple[Diagnostic, ...]:
    """Returns the findings for a run, with its actual paths: RQ130, RQ131, RQ140, RQ141."""
    return (*nested_folders(plan), *(finding for finding in findings(plan) if finding.severity == "warning"))


def all_findings(plan: Plan) -> tuple[Diagnostic, ...]:
    """Returns all findings, as `check` shows them."""
    return (*nested_folders(plan), *unused(plan), *findings(plan))


def nested_folders(plan: Plan) -> tuple[Diagnostic, ...]:
    """Returns RQ140 for each source whose folder is inside that of another one, which then reads its files
    too.

    Several sources of one folder are intended.
    """
    read = [
        (source, folder, description)
        for source in plan.sources
        for _, folder, description in folders(plan, source.name)
    ]
    return tuple(
        Diagnostic(
            "RQ140",
            "warning",
            f"{inside} lies in {around}: {other} reads the files of {description}, too",
            source.span,
            help=f"a folder next to {around}, or one whose name begins with `_`",
        )
        for source, inside, description in read
        for owner, around, other in read
        if owner is not source and is_within(inside, around) and not is_within(around, inside)
    )


def unused(plan: Plan) -> Iterator[Diagnostic]:
    """Yields RQ165 for each relation that no output, domain or other relation is computed from."""
    used = plan.emitted | {name for operator in plan.operators for name in operator.inputs}
    used |= {a.column.table for s in plan.sources for a in s.attributes if a.column is not None}
    for node in (*plan.sources, *plan.operators):
        if node.name not in used:
            hint = f'emit it, `emit {node.name} to json "{node.name}";`, or delete it'
            message = f"`{node.name}` is never used: no output is computed from it"
            yield Diagnostic("RQ165", "warning", message, node.span, help=hint)


def findings(plan: Plan) -> tuple[Diagnostic, ...]:
    """Returns unbounded state and rows that are never written, each with a clause that changes it (design,
    section 8).

    Also reports tables that are read once. Waiting accents are reported only if there is nothing worse.
    """
    state_safety = safety(plan)
    findings: dict[str, list[Diagnostic]] = {"RQ130": [], "RQ131": [], "RQ132": []}
    for bound in state_safety.bounds:
        operator, memory = bound.operator, bound.memory
        subject = f"{operator.title} `{operator.name}`"
        if bound.verdict == "unbounded":
            message = f"{subject} keeps {memory.what} without bound: {bound.because}"
            findings["RQ130"].append(_finding(plan, state_safety, bound, "RQ130", "warning", message))
        if bound.waits and not _is_shown(plan, operator):
            lacking = missing(operator, memory, plan.inputs_of(operator))
            message = f"{subject} may never write its rows: {lacking}"
            findings["RQ131"].append(_finding(plan, state_safety, bound, "RQ131", "warning", message))
        if bound.verdict == "bounded if accents stop":
            message = f"{subject} keeps {memory.what}, bounded only if accents stop: {bound.because}"
            findings["RQ132"].append(_finding(plan, state_safety, bound, "RQ132", "note", message))
    return (*read_once(plan), *(findings["RQ130"] + findings["RQ131"] or findings["RQ132"]))


def _is_shown(plan: Plan, operator: Operator) -> bool:
    """Returns True if every output below an operator writes the rows of its open groups (`as latest by`)."""
    below = [emit for emit in plan.emits if operator in plan.ancestors(emit.relation)]
    return all(emit.latest and plan.updated[emit.name][0] is operator for emit in below)


def _may_be_shown(plan: Plan, operator: Operator) -> bool:
    """Returns True if an output of groups could be updated."""
    formats = [emit.format for emit in plan.emits if emit.relation == operator.name and not emit.latest]
    return bool(operator.grouped_by) and any(format_ in UPDATED for format_ in formats)


def read_once(plan: Plan) -> Iterator[Diagnostic]:
    """Yields RQ141 for each join with a table on values from that table's own list.

    The list grows while the query runs (theory N1), and the relation does not.
    """
    for operator in plan.operators:
        for side, relation in enumerate(
            operator.inputs if operator.name in plan.emitted and operator.pairs else ()
        ):
            tables = {node.name for node in plan.ancestors(relation) if isinstance(node, Source)}
            other = operator.inputs[1 - side]
            if not all(plan.source_of[name].table for name in tables) or not _streams(plan, other):
                continue
            universe = plan.start[other].universe
            lists = [universe.get(pair[1 - side], ANYTHING).listed for pair in operator.pairs]
            for listed in dict.fromkeys(lists):
                table = listed.partition(".")[0]
                if table in tables:
                    yield Diagnostic(
                        "RQ141",
                        "warning",
                        f"{operator.title} `{operator.name}` reads the table `{table}` once: "
                        f"tuples of a value that is new in `{listed}` {operator.without_partner(side)}",
                        operator.span,
                        help=f"join a stream instead, with a key in {listed}: its tuples are joined as they come; "
                        "a table that does not grow may stay",
                    )


def _streams(plan: Plan, relation: str) -> list[str]:
    return [n.name for n in plan.ancestors(relation) if isinstance(n, Source) and not n.table]


def _finding(
    plan: Plan, state_safety: Safety, bound: StateBound, code: str, severity: Severity, message: str
) -> Diagnostic:
    notes, hint = _notes(plan, state_safety, bound), suggestion(plan, bound)
    if hint is not None and bound.waits and _may_be_shown(plan, bound.operator):
        by = ", ".join(bound.operator.grouped_by or ())
        hint += f"; or `as latest by {by}` of its output writes the rows of open groups, too"
    return Diagnostic(code, severity, message, bound.operator.span, notes, hint)


def _notes(plan: Plan, state_safety: Safety, bound: StateBound) -> tuple[str, ...]:
    """Returns the promises of the input and of the sources that it is computed from."""
    closer = bound.operator.inputs[bound.memory.side]
    sources = [node for node in plan.ancestors(closer) if isinstance(node, Source)]
    promises = [f"`{source.name}` promises {schemes_text(promised(source))}" for source in sources]
    derived = (
        []
        if closer in plan.source_of
        else [f"`{closer}` promises {schemes_text(state_safety.schemes[closer])}"]
    )
    optional = sorted(
        name
        for scheme in within(state_safety.schemes[closer], bound.memory.within)
        for name in scheme
        if bound.memory.undefined and plan.start[closer].may_be_undefined(name)
    )
    lacking = [f"`{name}` is optional: nothing closes the tuples that lack it" for name in optional]
    return (*promises, *derived, *lacking)


def schemes_text(schemes: Schemes) -> str:
    """Lists schemes for messages: `ts; k, s`."""
    texts = sorted((names(scheme) or "its end") for scheme in schemes)
    return "; ".join(texts) or "no punctuation"
