"""The views of a query in the golden files of the compiler."""

from __future__ import annotations

from functools import cache

from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.analysis.findings import all_findings
from cedilla.compiler.explain.explanation import explain_text
from cedilla.compiler.explain.summary import summary_text
from cedilla.compiler.explain.views import show
from cedilla.compiler.explain.wrapping import WIDTH
from cedilla.compiler.plan import Plan
from cedilla.grammar import DiagnosticError, render
from cedilla.runtime.tools.inspect.trace import trace
from cedilla.runtime.tools.inspect.trace_texts import trace_text
from tests.kit import ROOT


def golden_output(directive: str, text: str) -> str:
    """`explain` or one of its views and forms, `compile`, `complain`, `check` (state too), or `markers`.

    With the path of a query where that is not the input, and with `NAME=VALUE` for its constants; `explain` with
    `--full`, and it and its views with `--width=N`. The input of `markers` is `SOURCE MARKER` per line.
    """
    command, *words = directive.split(" ")
    parted = [word.partition("=") for word in words if word.startswith("--")]
    options = {name: value for name, _, value in parted}
    rest = [word for word in words if not word.startswith("--")]
    width = int(options.get("--width", WIDTH))
    params = dict(word.split("=", 1) for word in rest if "=" in word)
    path = " ".join(word for word in rest if "=" not in word)
    if command == "slips":
        return "\n".join(slip_text(line, path or "r") for line in text.splitlines())
    source = path or "q.rq"
    lines = text.splitlines() if command == "markers" else []
    markers = [(name, marker) for name, _, marker in (line.partition(" ") for line in lines)]
    text = (ROOT / path).read_text(encoding="utf-8") if path else text
    try:
        compiled = compile_query(text, source, params)
    except DiagnosticError as error:
        return render(error.diagnostics, {source: text})
    match command:
        case "evolution" | "trace" | "spark" | "words":
            return show(compiled, command, width=width)
        case "dot" | "mermaid":
            return show(compiled, form=command)
        case "check":
            diagnostics = (*compiled.warnings, *all_findings(compiled.plan))
            return render(diagnostics, {source: text})
        case "markers":
            return "\n\n".join(map(trace_text, trace(compiled.plan, markers)))
        case "explain":
            shown = explain_text if "--full" in options else summary_text
            return shown(compiled.plan, False, compiled.warnings, {source: text}, width)
        case "compile":
            return compiled.program
        case _:
            return render(compiled.warnings, {source: text})


SOURCES = {
    "r": """stream r(ts: long, a: int, b: double, name: string, at: timestamp) from json "r" punctuated on ts;
stream q(a: int, c: double) from json "q" punctuated on a;
""",
    "orders": """stream orders(at: timestamp, id: long, customer: int in {1, 2, 3}, amount: double,
  weight?: double unit kg, state: string in {"new", "paid", "sent"}) from json "orders" punctuated on at;
stream clicks(at: timestamp, customer: int, page: string) from json "clicks" punctuated on at;
table customers(customer: int, name: string, city: string) from json "customers";
slots := window[5 minutes on at as slot](orders);
""",
}
"""The name of a stream -> the statements before a slip."""


@cache
def plan_of(stream: str) -> Plan:
    """The plan that emits a stream of `SOURCES`."""
    return compile_query(f'{SOURCES[stream]}emit {stream} to json "o";').plan


def slip_text(line: str, stream: str) -> str:
    """A statement after some of `SOURCES`, and per complaint its code, the words that it is about, message and hint.

    A line that begins with a bracket is a marker of the stream.
    """
    sources = SOURCES[stream]
    is_marker = line.startswith(("[", "(", "{"))
    try:
        if is_marker:
            diagnostics = next(trace(plan_of(stream), [(stream, line)])).warnings
        else:
            compiled = compile_query(f'{sources}{line}\nemit {stream} to json "z";')
            diagnostics = compiled.warnings
    except DiagnosticError as error:
        diagnostics = error.diagnostics
    lines = [line]
    for diagnostic in diagnostics:
        assert diagnostic.span is not None
        assert is_marker or diagnostic.span.line == sources.count("\n") + 1, diagnostic
        words = line[diagnostic.span.column - 1 :][: diagnostic.span.end - diagnostic.span.start]
        lines += [
            f"  {diagnostic.code} `{words}`: {diagnostic.message}",
            *(f"    {note}" for note in diagnostic.notes),
        ]
        lines.append(f"    -> {diagnostic.help}")
    return "\n".join(lines)
