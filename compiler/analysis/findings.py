"""What is not bounded, or never written, as diagnostics (theory 3.4; design, section 8)."""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler.analysis.remedies import remedy
from cedilla.compiler.analysis.safety import Safety, StateBound, missing, promised, safety
from cedilla.compiler.facts.schemes import Schemes, names, within
from cedilla.compiler.operators.join import Matching
from cedilla.compiler.plan import Plan, Source, folders, is_within
from cedilla.compiler.regions import ANYTHING
from cedilla.grammar.diagnostics import Diagnostic, Severity


def warnings(plan: Plan) -> tuple[Diagnostic, ...]:
    """Of the findings those that a run is told, with the paths that it was given: RQ130, RQ131, RQ140 and RQ141."""
    return (*nested_folders(plan), *(each for each in findings(plan) if each.severity == "warning"))


def complaints(plan: Plan) -> tuple[Diagnostic, ...]:
    """All findings, as `check` shows them."""
    return (*nested_folders(plan), *unused(plan), *findings(plan))


def nested_folders(plan: Plan) -> tuple[Diagnostic, ...]:
    """RQ140 for each source whose folder lies in that of another one, which reads its files, too. That several sources
    read one folder is no accident."""
    read = [
        (source, folder, what) for source in plan.sources for _, folder, what in folders(plan, source.name)
    ]
    return tuple(
        Diagnostic(
            "RQ140",
            "warning",
            f"{inside} lies in {around}: {other} reads the files of {what}, too",
            source.span,
            help=f"a folder beside {around}, or one whose name begins with `_`",
        )
        for source, inside, what in read
        for owner, around, other in read
        if owner is not source and is_within(inside, around) and not is_within(around, inside)
    )


def unused(plan: Plan) -> Iterator[Diagnostic]:
    """RQ165 for each relation from which no output and no domain is computed, and no other relation either."""
    used = {node.name for emit in plan.emits for node in plan.ancestors(emit.relation)}
    used |= {name for operator in plan.operators for name in operator.inputs}
    used |= {a.column.table for s in plan.sources for a in s.attributes if a.column is not None}
    for node in (*plan.sources, *plan.operators):
        if node.name not in used:
            hint = f'`emit {node.name} to json "{node.name}";` writes it; else it can go'
            message = f"nothing uses `{node.name}`: no output is computed from it"
            yield Diagnostic("RQ165", "warning", message, node.span, help=hint)


def findings(plan: Plan) -> tuple[Diagnostic, ...]:
    """What is not bounded, or never written, with the clause that would change it (design, section 8), and what a
    table that is read once will lack.

    Waiting accents are spoken of only where there is nothing worse.
    """
    state_safety = safety(plan)
    findings: dict[str, list[Diagnostic]] = {"RQ130": [], "RQ131": [], "RQ132": []}
    for bound in state_safety.bounds:
        operator, memory = bound.operator, bound.memory
        who = f"{operator.title} `{operator.name}`"
        if bound.verdict == "unbounded":
            said = f"{who} keeps {memory.what} without bound: {bound.because}"
            findings["RQ130"].append(_finding(plan, state_safety, bound, "RQ130", "warning", said))
        if bound.waits:
            lacking = missing(operator, memory, tuple(plan.start[name] for name in operator.inputs))
            said = f"rows of {who} may wait for ever: {lacking}"
            findings["RQ131"].append(_finding(plan, state_safety, bound, "RQ131", "warning", said))
        if bound.verdict == "bounded if accents stop":
            said = f"{who} keeps {memory.what}, bounded only if accents stop: {bound.because}"
            findings["RQ132"].append(_finding(plan, state_safety, bound, "RQ132", "note", said))
    return (*read_once(plan), *(findings["RQ130"] + findings["RQ131"] or findings["RQ132"]))


def read_once(plan: Plan) -> Iterator[Diagnostic]:
    """RQ141 for each join with a table on values that a stream has from that table's own list: the list grows while
    the query runs (theory N1), the relation does not."""
    needed = {node.name for emit in plan.emits for node in plan.ancestors(emit.relation)}
    for operator in plan.operators:
        if not isinstance(operator, Matching) or operator.name not in needed:
            continue
        for side, relation in enumerate(operator.inputs):
            tables = {node.name for node in plan.ancestors(relation) if isinstance(node, Source)}
            other = operator.inputs[1 - side]
            if not all(plan.source_of[name].table for name in tables) or not _streams(plan, other):
                continue
            universe = plan.start[other].universe
            lists = [universe.get(pair[1 - side], ANYTHING).listed for pair in operator.on]
            for listed in dict.fromkeys(lists):
                table = listed.partition(".")[0]
                if table in tables:
                    yield Diagnostic(
                        "RQ141",
                        "warning",
                        f"{operator.title} `{operator.name}` reads the table `{table}` once: "
                        f"tuples of a value that is new in `{listed}` {_EFFECTS.get((operator.title, side), _LOST)}",
                        operator.span,
                        help=f"a stream of what has to be known of new values, its key in {listed}, is joined as it "
                        "comes; nothing, where the table does not grow",
                    )


_LOST = "meet no row of it and are dropped"
_EFFECTS = {
    ("Left join", 1): "come without its attributes",
    ("Anti join", 1): "pass as those that it does not have",
}
"""What becomes of a tuple without a row, where it is not dropped; by the side of the table."""


def _streams(plan: Plan, relation: str) -> list[str]:
    return [n.name for n in plan.ancestors(relation) if isinstance(n, Source) and not n.table]


def _finding(
    plan: Plan, found: Safety, bound: StateBound, code: str, severity: Severity, message: str
) -> Diagnostic:
    notes, help = _notes(plan, found, bound), remedy(plan, bound)
    return Diagnostic(code, severity, message, bound.operator.span, notes, help)


def _notes(plan: Plan, state_safety: Safety, bound: StateBound) -> tuple[str, ...]:
    """What is promised instead, by the input and by the sources that it is computed from."""
    closer = bound.operator.inputs[bound.memory.side]
    sources = [node for node in plan.ancestors(closer) if isinstance(node, Source)]
    said = [f"`{source.name}` promises {schemes_text(promised(source))}" for source in sources]
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
    return (*said, *derived, *lacking)


def schemes_text(schemes: Schemes) -> str:
    """`ts; k, s`: schemes for people."""
    written = sorted((names(scheme) or "its end") for scheme in schemes)
    return "; ".join(written) or "no punctuation"
