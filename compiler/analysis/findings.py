"""What is not bounded, or never written, as diagnostics (theory 3.4; design, section 8)."""

from __future__ import annotations

from cedilla.compiler.analysis.remedies import remedy
from cedilla.compiler.analysis.safety import Bound, Safety, missing, promised, safety
from cedilla.compiler.facts.schemes import Schemes, names, within
from cedilla.compiler.plan import Plan, Source, folders, is_within
from cedilla.grammar.diagnostics import Diagnostic, Severity


def warnings(plan: Plan) -> tuple[Diagnostic, ...]:
    """Of the findings those that a run is told, with the paths that it was given: RQ130, RQ131 and RQ140."""
    return (*nested_folders(plan), *(each for each in findings(plan) if each.severity == "warning"))


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


def findings(plan: Plan) -> tuple[Diagnostic, ...]:
    """What is not bounded, or never written, with the clause that would change it (design, section 8).

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
    return tuple(findings["RQ130"] + findings["RQ131"] or findings["RQ132"])


def _finding(
    plan: Plan, found: Safety, bound: Bound, code: str, severity: Severity, message: str
) -> Diagnostic:
    notes, help = _notes(plan, found, bound), remedy(plan, bound)
    return Diagnostic(code, severity, message, bound.operator.span, notes, help)


def _notes(plan: Plan, found: Safety, bound: Bound) -> tuple[str, ...]:
    """What is promised instead, by the input and by the sources that it is computed from."""
    closer = bound.operator.inputs[bound.memory.side]
    sources = [node for node in plan.ancestors(closer) if isinstance(node, Source)]
    said = [f"`{source.name}` promises {schemes_text(promised(source))}" for source in sources]
    derived = (
        [] if closer in plan.source_of else [f"`{closer}` promises {schemes_text(found.schemes[closer])}"]
    )
    optional = sorted(
        name
        for scheme in within(found.schemes[closer], bound.memory.within)
        for name in scheme
        if bound.memory.undefined and plan.start[closer].may_be_undefined(name)
    )
    lacking = [f"`{name}` is optional: nothing closes the tuples that lack it" for name in optional]
    return (*said, *derived, *lacking)


def schemes_text(schemes: Schemes) -> str:
    """`ts; k, s`: schemes for people."""
    written = sorted((names(scheme) or "its end") for scheme in schemes)
    return "; ".join(written) or "no punctuation"
