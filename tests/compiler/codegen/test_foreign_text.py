"""Whatever text reaches a program, only string constants of the program differ."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla import compile_query
from cedilla.compiler.codegen.layout import inside_three_quotes, lay_out, quoted
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.diagnostics.printable import without_secrets
from cedilla.runtime.epochs.pipeline.load import load
from tests.kit.foreign_text import NAMES, TEXTS, constant, file_names, foreign_texts, is_unicode

QUERY = 'stream r(k: long, s: string) from json "in" punctuated on k;\nemit r to json "out";\n'

PLACES = {
    "a condition": 'stream r(k: long, s: string) from json "in"; emit select[s = {}](r) to json "o";',
    "a computed value": 'stream r(k: long) from json "in"; emit project[k, {} as s](r) to json "o";',
    "a path of a stream": 'stream r(k: long) from json {}; emit r to json "o";',
    "a path of an output": 'stream r(k: long) from json "in"; emit r to json {};',
    "a path of markers": 'stream r(k: long) from json "in" markers {}; emit r to json "o";',
    "a field": 'stream r(k: long from {}) from json "in"; emit r to json "o";',
    "a column of CSV": 'stream r(k: long from {}) from csv "in"; emit r to json "o";',
    "an undefined value": 'stream r(k?: long) from csv "in" none {{{}}}; emit r to json "o";',
    "a member of a domain": 'stream r(s: string in {{{}}}) from json "in"; emit r to json "o";',
    "a unit": 'stream r(x: double unit {}) from json "in"; emit r to json "o";',
    "an own unit": 'unit {} = 3 m; stream r(x: double unit m) from json "in"; emit r to json "o";',
    "a zone": 'stream r(at: timestamp zone {}) from json "in"; emit r to json "o";',
    "a metric": 'stream r(value: double) from otlp "in" metrics {}; emit r to json "o";',
    "a topic": 'stream r(k: long) from kafka {}; emit r to json "o";',
    "an accent": 'stream r(s: string, x: double) from json "in"; accent r [[s = {}, alter(x, y -> y * 2)]]; '
    'emit r to json "o";',
    "a constant": 'let c = {}; stream r(s: string) from json "in"; emit select[s = c](r) to json "o";',
    "a function": 'stream r(k: long) from json "in"; operator f(R) foundation {{k}} merge {{}} accumulate {{}} '
    'from {}; emit f(r) to json "o";',
    "a pattern": 'stream r(s: string) from json "in"; emit select[rlike(s, {})](r) to json "o";',
    "a separator": 'stream r(k: long, s: string) from json "in" punctuated on k; '
    'emit aggregate[string_agg(s, {}) as t by k](r) to json "o";',
}
"""Queries with a string constant of a stranger, by its place."""


def shape(program: str) -> str:
    """Returns the syntax tree of a program without the values of its string constants and its names of variables."""
    tree = ast.parse(program)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(str()):
                node.value = "text"
            case ast.Name():
                node.id = "name"
            case _:
                pass
    return ast.dump(tree)


@cache
def plain_shape(query: str) -> str:
    return shape(compile_query(query, "q.rq").program)


def query_of(program: str) -> str:
    """Returns the query that a program holds."""
    module = ast.parse(program)
    return next(
        ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "QUERY"
    )


def check(query: str, plain: str, source: str = "q.rq") -> bool:
    """Returns True if a query compiles, and checks its program against that of the query with a harmless text."""
    try:
        program = compile_query(query, source).program
    except DiagnosticError:
        return False
    assert shape(program) == plain_shape(plain)
    assert query_of(program) == without_secrets(query)
    return True


HARMLESS = {
    "a unit": "kg",
    "an own unit": "glug",
    "a zone": "UTC",
    "a function": "m:f",
    "a topic": "host:9092/a",
}
"""Right texts of places where a word is not right."""
BEFORE = {"a function": "m:", "a topic": "host:9092/"}
"""What a right text of a place begins with."""


@pytest.mark.parametrize("subject", PLACES)
def test_a_text_of_a_query_is_text_in_its_program(subject: str) -> None:
    plain = PLACES[subject].format(constant(HARMLESS.get(subject, "a")))
    texts = [
        BEFORE.get(subject, "") + text for text in TEXTS.values() if is_unicode(text) and len(text) < 1_000
    ]
    taken = [text for text in texts if check(PLACES[subject].format(constant(text)), plain)]
    assert taken or subject in {"a unit", "a zone"}


@pytest.mark.parametrize("kind", TEXTS)
def test_the_name_of_a_query_file_is_text_in_its_program(kind: str) -> None:
    assert check(QUERY, QUERY, TEXTS[kind])


@pytest.mark.parametrize("kind", TEXTS)
def test_a_value_for_a_constant_is_text_in_the_program(kind: str) -> None:
    query = 'let c = "a"; stream r(s: string) from json "in"; emit select[s = c](r) to json "o";'
    if is_unicode(TEXTS[kind]):
        program = compile_query(query, "q.rq", {"c": TEXTS[kind]}).program
        assert shape(program) == shape(compile_query(query, "q.rq", {"c": "a"}).program)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_comment_of_a_query_is_text_in_its_program(kind: str) -> None:
    check(f"{QUERY}# {TEXTS[kind]}", f"{QUERY}# plain")


@pytest.mark.parametrize("kind", file_names())
def test_no_name_of_a_shared_file_runs(kind: str, tmp_path: Path) -> None:
    name = file_names()[kind]
    (tmp_path / name).write_text('stream r(k: long) from json "in";\n')
    query = tmp_path / "q.rq"
    if is_unicode(name):
        query.write_text(f'use {constant(name)};\nemit r to json "out";\n')
        assert len(ast.parse(compile_query(query).program).body) == 6


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_relations_and_attributes_are_names_in_the_program(kind: str) -> None:
    name = NAMES[kind]
    query = 'stream {0}(k: long, {1}: double) from json "in"; s := select[{1} > 1]({0}); emit s to json "o";'
    assert check(query.format("r", name), query.format("r", "a"))
    check(query.format(name, "a"), query.format("r", "a"))


@pytest.mark.rest
@pytest.mark.long
@given(foreign_texts())
def test_constants_of_programs_mean_their_texts(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text
    assert ast.literal_eval(f'"""{inside_three_quotes(text)}"""') == text
    assert ast.literal_eval(f'"""\\\n{inside_three_quotes(text)}"""') == text


@given(st.text(alphabet='"\\\n', max_size=8))
def test_quotes_at_any_place_end_no_constant(text: str) -> None:
    assert ast.literal_eval(f'"""{inside_three_quotes(text)}"""') == text


@pytest.mark.parametrize("sign", ["\n", "\r", "\x0c", "\u2028", "\x00", "\x85"])
def test_a_comment_takes_no_sign_that_another_line_may_follow(sign: str) -> None:
    with pytest.raises(ValueError, match="control sign"):
        lay_out("a = ", "b", 4, f"q.rq{sign}c = d")


def test_loading_runs_nothing_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = file_names()
    for name in names.values():
        (tmp_path / name).write_text(QUERY)
        load(compile_query(Path(name)))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({*names.values()})
