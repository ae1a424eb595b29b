"""The page of engines names the engines, and calls that one of them cannot compute are refused there."""

import pytest

from cedilla.compiler import ENGINES, compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.hosts.cli.options import engine_option
from tests.kit import ROOT

PAGE = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")


def test_the_page_and_the_option_name_the_engines() -> None:
    assert [engine for engine in ENGINES if f"| `{engine}` |" in PAGE] == list(ENGINES)
    option = engine_option(lambda: None).__click_params__[0]  # type: ignore[attr-defined]
    assert tuple(option.type.choices) == ENGINES


CALLS = (
    "initcap(s)",
    "bround(x, 2)",
    "regexp_replace(s, 'a*', 'b')",
    "regexp_replace(s, '^|x', 'b')",
    r"rlike(s, '\\bword')",
    r"regexp_extract(s, '(\\Ba)', 1)",
    r"upper(regexp_replace(s, '\\bw+', 'b'))",
)
SAME = ("bround(x)", "regexp_replace(s, 'a+', 'b')", r"rlike(s, '[\\w]b+')", "rlike(s, 'a*')")
QUERY = 'stream r(s: string, x: double) from json "in"; emit project[{} as y](r) to json "out";'


@pytest.mark.parametrize("call", CALLS)
def test_what_an_engine_computes_otherwise_is_refused_there(call: str) -> None:
    text = QUERY.format(call)
    assert compile_query(text).program == compile_query(text, engine="connect").program
    with pytest.raises(DiagnosticError) as caught:
        compile_query(text, engine="sail")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("RQ425", "error")
    assert diagnostic.span is not None
    assert diagnostic.help is not None


@pytest.mark.parametrize("call", SAME)
def test_its_like_is_not(call: str) -> None:
    assert compile_query(QUERY.format(call), engine="sail").program


def test_every_place_of_a_query_is_looked_at() -> None:
    for relation in (
        "select[initcap(s) = 'A'](r)",
        "aggregate[max(x where initcap(s) = 'A') as y](r)",
        "aggregate[count(distinct initcap(s)) as y by x](r)",
    ):
        with pytest.raises(DiagnosticError, match="RQ425"):
            compile_query(
                f'stream r(s: string, x: double) from json "in"; emit {relation} to json "out";',
                engine="sail",
            )
