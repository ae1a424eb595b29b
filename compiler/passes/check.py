"""The pass that checks what only a whole plan shows."""

from __future__ import annotations

from cedilla.compiler.passes.report import Report
from cedilla.compiler.passes.totals import check_totals
from cedilla.compiler.plan import Plan, check_catalogs, check_paths
from cedilla.compiler.plan.record_fields import unknown_schema_fault
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.diagnostics.suggestions import unknown_attribute
from cedilla.grammar.syntax import Setting

DEEPEST = 200
"""The greatest number of operators on the way from a source to an output: engines plan them by recursion."""


def check(plan: Plan, report: Report) -> Plan:
    """Checks a plan without other errors as a whole: its outputs, its paths, its depth, its sums of totals.

    Errors: RQ111 if it emits nothing, RQ168 if it is too deep; as `check_paths` and `check_totals`.
    """
    if report.errors:
        return plan
    with report.collecting():
        _check_emits(plan)
        check_paths(plan)
        check_catalogs(plan)
        _check_depth(plan)
        report.warnings += check_totals(plan)
        _check_names(plan, report)
        _check_unknown_schema(plan, report)
    return plan


def _check_names(plan: Plan, report: Report) -> None:
    """Raises RQ102 for an attribute in a setting that no stream has."""
    for setting in (s for s in report.query.statements if isinstance(s, Setting)):
        if (name := plan.unknown_name(setting.value)) is not None:
            raise unknown_attribute(name, plan.stream_attributes, setting.span, f"in `set {setting.name}`")


def _check_unknown_schema(plan: Plan, report: Report) -> None:
    """Raises RQ521 for a setting about schemas without a stream that lists their ids."""
    stated = (s for s in report.query.statements if isinstance(s, Setting) and s.name == "unknown_schema")
    for setting in stated:
        if (fault := unknown_schema_fault(plan.sources, setting.value)) is not None:
            raise failure("RQ521", fault[0], setting.span, hint=fault[1])


def _check_emits(plan: Plan) -> None:
    if not plan.emits:
        hint = '`emit relation to json "out";` is missing'
        raise DiagnosticError([Diagnostic("RQ111", "error", "the query emits nothing", None, help=hint)])


def _check_depth(plan: Plan) -> None:
    depths = dict.fromkeys(plan.source_of, 0)
    for operator in plan.operators:
        depths[operator.name] = 1 + max(depths[name] for name in operator.inputs)
        if depths[operator.name] > DEEPEST:
            message = f"more than {DEEPEST} operators lie one over the other"
            hint = "two queries: one reads what the other emits"
            raise failure("RQ168", message, operator.span, hint=hint)
