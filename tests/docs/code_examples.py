"""The queries and files of the examples of codes."""

from __future__ import annotations

from pathlib import Path

from cedilla.grammar.diagnostics.codes import Code

PRELUDE = """\
stream r(ts: long, s: int in {1, 2, 3}, t: double) from json "r" punctuated on ts;
stream q(ts: long, s: int, u: string, x?: double) from json "q" punctuated on ts;
table names(s: int, name: string) from json "names";
stream m(ts: long, s: int in {1, 2}, k: int in {1, 2, 3}, temp: double unit degF, c: string, p?: double) from json "m";
"""


def example_source(code: Code) -> str:
    """Returns the source whose accents and lines are in a code's example."""
    return "n" if " n(" in (code.example or "") else "m"


def example_query(code: Code) -> str:
    """Returns the complete query of a code's example."""
    text = code.example or ""
    if text and not text.endswith(";"):
        text = f'emit {text} to json "out";'
    return PRELUDE + (
        text if "emit" in text or ":=" in text else f'{text} emit {example_source(code)} to json "all";'
    )


def write_folders(source: str, code: Code) -> None:
    """Writes the lines of a code into a file of their source. Other sources of the page are empty."""
    for folder in ("r", "q", "names", "m", *([source] if code.lines else [])):
        Path(folder).mkdir(exist_ok=True)
    if code.lines:
        Path(code.file or f"{source}/a.jsonl").write_text("\n".join(code.lines) + "\n", encoding="utf-8")
