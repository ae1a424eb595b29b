"""Answers of the playground page: everything that is known of a query and its data, without an engine."""

import json
import os
import shutil
from pathlib import Path

from cedilla import Options
from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.impact_text import evolution_text
from cedilla.compiler.explain.summary import summary_text
from cedilla.grammar.diagnostics import DiagnosticError, render
from cedilla.runtime.tools.inspect.check import all_diagnostics
from cedilla.runtime.tools.inspect.preview import preview_of
from cedilla.runtime.tools.simulation.simulation import replay

FOLDER = Path("/tmp/playground")
NAME = "query.rq"


def write(data: str) -> None:
    """Writes the files of a text: a line `# folder/file` begins a file."""
    os.chdir("/")  # the present folder cannot be removed everywhere
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.chdir(FOLDER)
    for number, part in enumerate(("\n" + data).split("\n# ")[1:], 1):
        name, _, lines = part.partition("\n")
        path = (FOLDER / name.strip().lstrip("/")).resolve()
        # A link may carry data of a stranger, who must not replace a module of Python.
        if not path.is_relative_to(FOLDER.resolve()) or path.suffix == ".py":
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lines, "utf-8")
        os.utime(path, (number, number))


def output(query: str) -> str:
    """Returns the lines that a query writes, and those that it sets aside."""
    compiled = compile_query(query, NAME)
    lines = []
    label = len(compiled.plan.emits) > 1

    def step(outputs):
        for name, part in outputs.items():
            prefix = f"{name}: " if label else ""
            items = (*part.items(), *part.marked)
            lines.extend(f"{prefix}{json.dumps(item, ensure_ascii=False, default=str)}" for item in items)

    def rejected(line, code):
        lines.append(f"set aside ({code}): {line.line.text}")

    def warned(warning):
        lines.append(render([warning], {NAME: query}))

    replay(compiled.plan, Options(allow_paths=(str(FOLDER),)), rejected, step, warned)
    return "\n".join(lines)


def tried(function, *arguments) -> str:
    """Returns a text, or the diagnostics that end the work."""
    try:
        return function(*arguments)
    except DiagnosticError as error:
        return render(error.diagnostics, {NAME: arguments[0]})


def answers(query: str, data: str) -> str:
    """Returns all answers as JSON: output, rows of every step, plan, accents, findings."""
    write(data)
    found = all_diagnostics(query, NAME)
    return json.dumps(
        {
            "output": tried(output, query),
            "rows": preview_of(query, NAME, Options(allow_paths=(str(FOLDER),))),
            "plan": tried(lambda text: summary_text(compile_query(text, NAME).plan), query),
            "accents": tried(lambda text: evolution_text(compile_query(text, NAME).plan), query),
            "findings": render(found, {NAME: query}) or "no errors or warnings",
        }
    )
