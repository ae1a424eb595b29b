"""The form of each construct of the language, for hints: `as in window[5 minutes on at as w](R)`."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token

from cedilla.grammar.syntax import accent_forms
from cedilla.grammar.syntax.operator_forms import FORMS, SIGNS, WORDS

OPERATORS = {word: FORMS[word].example for word in WORDS}
"""Operator -> its form."""

FORMATS = frozenset(("json", "parquet", "xml", "csv", "kafka", "kafka_otlp", "delta", "iceberg", "otlp"))
"""The formats, which `cedilla.compiler.plan.formats` describes."""

CLAUSES = {
    "punctuated": "punctuated on ts",
    "heartbeat": "heartbeat at delay 10 seconds",
    "markers": 'markers "path"',
    "metrics": 'metrics "http.server.duration"',
    "partitioned": "partitioned by k",
    "registry": 'registry "http://host:8081"',
    "format": "format debezium by id",
    "ordered": "ordered by name",
    "none": 'none {"NA", "-"}',
}
"""Clauses of a source after its path."""

_SOURCE = '{} r(at: timestamp, s: int in {{1, 2}}, t?: double unit degC) from json "path";'
STATEMENTS = {
    "stream": _SOURCE.format("stream"),
    "table": _SOURCE.format("table"),
    "operator": 'operator smooth(R) foundation {t} from "module:function";',
    "set": "set late = abort;",
    "let": "let rate = 0.9;",
    "unit": "unit ct = EUR / 100;",
    "accent": "accent R [[s = 2, unit(t, degC)]];",
    "use": 'use "streams.rq";',
    "emit": 'emit R to json "path";',
}
"""First word of a statement -> its form."""

LATEST = 'emit R as latest by k to json "path";'
"""The form of an output that is updated."""
DEFINITION = "name := select[t > 90](R);"
SETS = ("union", "intersect", "minus")
JOIN = "A join B on k, A.x = B.y"
CASE = "case when t > 90 then 'hot' else 'cold' end"

CHANGES = {
    "+": "+(p: double)",
    "-": "-(p)",
    "alter": "alter(t, y -> y * 2)",
    **{form.word: form.example for form in accent_forms.FORMS.values()},
}
"""Maps changes of an accent to their forms."""
AFFINE = "an alter has the shape `y -> y * a + b` with a > 0"
ACCENT = "[[s = 2, alter(t, y -> y * 2)]]"
PUNCTUATION = "[ts <= 600, s = 2]"


def form_of_word(word: str) -> str | None:
    """The form of the operator, the clause or the statement that a word begins; none for `unit`, which also follows
    types."""
    if word in ("unit", ":="):
        return DEFINITION if word == ":=" else None
    return next((forms[word] for forms in (OPERATORS, CLAUSES, STATEMENTS) if word in forms), None)


def form_of(tokens: Sequence[Token], refused: Token) -> str | None:
    """Returns the form of the construct at the end of `tokens`, which precede the refused one; `None` in a plain
    expression."""
    words = [str(token) for token in tokens]
    if words[:1] == ["[["]:
        is_sign = words[-1] in ("+", "-") and words[-2] not in ("[[", ",", "and")
        change = words[-1] if words[-1] in CHANGES and not is_sign else _opened(words)
        return f"[[s = 2, {CHANGES[change]}]]" if change in CHANGES else ACCENT
    if words[:1] == ["["]:
        return PUNCTUATION
    words = statement_of(words)
    if not words:
        return None
    if words.count("case") > words.count("end") and words[-1] != "end":
        return CASE
    operator = SIGNS.get(opened := _opened(words[: -1 if words[-1] == "]" else None]), opened)
    if operator == "window" and {"rows", "row"} & {*words, str(refused)}:
        return FORMS["window_3"].example
    if operator in OPERATORS:
        return OPERATORS[operator]
    if (last := SIGNS.get(words[-1], words[-1])) in OPERATORS:
        return OPERATORS[last]
    if words[0] in ("stream", "table") and opened == "":
        clause = next((word for word in reversed(words) if word in CLAUSES), None)
        return CLAUSES[clause] if clause else STATEMENTS[words[0]]
    if words[0] == "emit" and "latest" in words:
        return LATEST
    if "join" in words and "to" not in words:
        return JOIN
    return STATEMENTS.get(words[0], DEFINITION if ":=" in words else None)


def statement_of(words: list[str]) -> list[str]:
    """The words of the statement so far."""
    return words[len(words) - words[::-1].index(";") :] if ";" in words else words


def _opened(words: Sequence[str]) -> str:
    """The operator or the change whose bracket is still open, else an empty text."""
    depth = 0
    for index in range(len(words) - 1, -1, -1):
        depth += (words[index] in (")", "]", "}")) - (words[index] in ("(", "[", "{"))
        if depth < 0:
            depth = 0
            name = SIGNS.get(words[index - 1], words[index - 1]) if index else ""
            if name in OPERATORS or name in CHANGES or words[0] in ("stream", "table", "operator"):
                return name if name in OPERATORS or words[0] not in ("stream", "table", "operator") else " "
    return ""
