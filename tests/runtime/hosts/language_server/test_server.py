"""The language server as an editor meets it: a client in this process, the server over standard input and output."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lsprotocol import types as lsp

from tests.kit.editor import Editor, applied, place

PUMPS = """\
# Pumps; the sign 𝄞 takes two units of UTF-16.
stream pumps(ts: long unit s, s: int in {1, 2, 3}, t: double unit degC) from json "pumps" punctuated on ts, s;
table sites(s: int, site: string) from json "sites";
let hot = 40;
located := pumps join sites on s;
warm := select[t > hot](located);
means := aggregate[avg(t) as mean, count() as n by site, w](window[300 on ts as w](warm));
emit means to json "means";
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    editor = Editor(tmp_path_factory.mktemp("editor"))
    (editor.root / "pumps").mkdir()
    yield editor
    editor.close()


def at(text: str, piece: str, inside: int = 0) -> tuple[int, int]:
    """The line and character of a piece of a text."""
    before = text[: text.index(piece) + inside]
    return before.count("\n"), len(before.rpartition("\n")[2].encode("utf-16-le")) // 2


def labels(editor: Editor, name: str, text: str) -> list[str]:
    """Returns the completions at the `|` of a text."""
    text, position = place(text)
    editor.write(name, text)
    return [item.label for item in editor.ask("completion", name, at=position).items]


def test_a_right_query_has_no_findings(editor: Editor) -> None:
    assert editor.write("right.rq", PUMPS) == []


def test_findings_come_with_code_place_and_help_on_every_change(editor: Editor) -> None:
    editor.write("change.rq", PUMPS)
    text = PUMPS.replace("avg(t)", "avg(tt)")
    (diagnostic,) = editor.write("change.rq", text)
    assert (diagnostic.code, diagnostic.severity, diagnostic.source) == (
        "RQ102",
        lsp.DiagnosticSeverity.Error,
        "cedilla",
    )
    assert (diagnostic.range.start.line, diagnostic.range.start.character) == at(text, "tt")
    assert "\nhelp: " in diagnostic.message
    assert editor.write("change.rq", PUMPS) == []


def test_places_count_characters_as_the_client_does(editor: Editor) -> None:
    text = 'stream r(a: string) from json "r"; emit select[a = "𝄞𝄞" and b = 1](r) to json "o";'
    (diagnostic,) = editor.write("wide.rq", text)
    assert (diagnostic.range.start.line, diagnostic.range.start.character) == at(text, "b = 1")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("select[t > hot](located)", "select[t > hot](locatd)", "RQ101"),
        ("by site, w]", "by sit, w]", "RQ102"),
        ("join sites on s;", "join sites on s", "RQ001"),
        ("avg(t)", "agv(t)", "RQ109"),
        ("emit means", "emt means", "RQ001"),
    ],
)
def test_the_help_of_a_finding_is_a_quick_fix(editor: Editor, old: str, new: str, code: str) -> None:
    text = PUMPS.replace(old, new)
    diagnostic = editor.write("fix.rq", text)[0]
    assert diagnostic.code == code
    actions = editor.ask(
        "code_action", "fix.rq", range=diagnostic.range, context=lsp.CodeActionContext([diagnostic])
    )
    first = applied(text, actions[0].edit.changes[editor.uri("fix.rq")])
    assert first.replace(" ", "") == PUMPS.replace(" ", "")


def test_a_sign_of_another_language_is_replaced(editor: Editor) -> None:
    text = PUMPS.replace("t > hot", "t == hot")
    diagnostic = editor.write("sign.rq", text)[0]
    actions = editor.ask(
        "code_action", "sign.rq", range=diagnostic.range, context=lsp.CodeActionContext([diagnostic])
    )
    assert "[t = hot]" in applied(text, actions[0].edit.changes[editor.uri("sign.rq")])


def test_a_promise_that_bounds_state_is_a_quick_fix(editor: Editor) -> None:
    text = (
        'stream a(k: int, x: int) from json "a";\nstream b(k: int, y: int) from json "b" punctuated on k;\n'
        'emit a join b on k to json "o";\n'
    )
    diagnostic = next(warning for warning in editor.write("promise.rq", text) if warning.code == "RQ130")
    actions = editor.ask(
        "code_action", "promise.rq", range=diagnostic.range, context=lsp.CodeActionContext([diagnostic])
    )
    new = applied(text, actions[0].edit.changes[editor.uri("promise.rq")])
    assert 'from json "a" punctuated on k;' in new
    assert editor.write("promise.rq", new) == []


@pytest.mark.parametrize(
    ("piece", "inside", "shown"),
    [
        ("pumps join", 1, "stream pumps, line 2"),
        ("join sites", 1, "keeps tuples of `sites`"),
        ("avg(t)", 4, "unit `degC`"),
        ("avg(t)", 1, "avg(x)"),
        ("hot](", 1, "let hot = 40;"),
        ("t: double", 0, "≀ Alter: propagates"),
        ("s;\nwarm", 0, "Drop: ends the query at Join (J3)"),
        ("degC", 1, "temperature"),
        ("means to", 1, "| mean | double | degC |"),
    ],
)
def test_hovering_shows_what_explain_knows(editor: Editor, piece: str, inside: int, shown: str) -> None:
    editor.write("hover.rq", PUMPS)
    assert shown in editor.ask("hover", "hover.rq", at=at(PUMPS, piece, inside)).contents.value


@pytest.mark.parametrize(
    ("typed", "first", "absent"),
    [
        ("next := sel|", ["pumps", "sites", "located", "warm", "means", "select"], "t"),
        ("next := select[|](pumps);", ["ts", "s", "t", "abs"], "site"),
        ("next := select[|](pumps join sites on s);", ["ts", "s", "t", "site"], "w"),
        ("next := select[s in {|](pumps);", ["1", "2", "3"], "site"),
        ("next := aggregate[avg(t) as m by |](located);", ["ts", "s", "t", "site"], "abs"),
        ("next := window[5 |", ["millisecond", "second"], "t"),
        ("next := pumps join sites on |", ["s"], "site"),
        ('emit means to json "x" with mean in |', ["degC", "degF", "K"], "m"),
        ("set late = |", ["quarantine", "abort", "ignore"], "warn"),
        ("stream new(a: |", ["int", "long", "double"], "json"),
        ("stream new(a: int) from |", ["csv", "otlp"], "int"),
        ("accent pumps [[s = |", ["1", "2", "3"], "site"),
        ("set changes = allow {|", ["+", "-", "alter", "unit"], "t"),
        ("set changes = allow {+, unit(|", ["ts", "s", "t"], "unit"),
        ('stream new(id: int) from kafka "h/t" format |', ["debezium"], "json"),
        ('stream new(id: int) from kafka "h/t" format debezium by |', ["id"], "s"),
        ("emit means as latest by |", ["site", "w", "mean"], "t"),
        ("stream new(a: int |", ["decimal", "default", "from"], "json"),
        ("accent pumps [[+(p: double |", ["unit"], "default"),
        ("accent pumps [[s = 1, unit(t, |", ["degC", "degF", "K"], "m"),
    ],
)
def test_completion_offers_what_fits(editor: Editor, typed: str, first: list[str], absent: str) -> None:
    actual = labels(editor, "completion.rq", f"{PUMPS}{typed}")
    assert actual[: len(first)] == first
    assert absent not in actual


@pytest.mark.parametrize("typed", ["lit|", "|", "nothing + lit|"])
def test_attributes_are_offered_and_explained_while_the_only_output_is_wrong(
    editor: Editor, typed: str
) -> None:
    start = 'stream r(ts: long, litres: double unit L) from json "r" punctuated on ts;\n'
    text = f'{start}w := window[60 on ts as m](r);\nf := aggregate[avg({typed}) as x by m](w);\nemit f to json "f";\n'
    assert labels(editor, "wrong.rq", text)[:3] == ["ts", "litres", "m"]
    assert "double, unit `L`" in editor.ask("hover", "wrong.rq", at=at(text, "litres")).contents.value


def test_completion_shows_the_arguments_of_functions(editor: Editor) -> None:
    text, position = place(PUMPS + "next := extend[rou|](pumps);")
    editor.write("functions.rq", text)
    items = {item.label: item for item in editor.ask("completion", "functions.rq", at=position).items}
    assert items["round"].detail == "round(x [, digits])"
    text, position = place(PUMPS + "next := extend[round(t, |")
    editor.write("functions.rq", text)
    help = editor.ask("signature_help", "functions.rq", at=position)
    assert (help.signatures[0].label, help.active_parameter) == ("round(x [, digits])", 1)


def test_a_name_leads_to_its_definition_and_uses(editor: Editor) -> None:
    editor.write("names.rq", PUMPS)
    definition = editor.ask("definition", "names.rq", at=at(PUMPS, "avg(t)", 4))
    assert (definition.range.start.line, definition.range.start.character) == at(PUMPS, "t: double")
    context = lsp.ReferenceContext(include_declaration=True)
    uses = editor.ask("references", "names.rq", at=at(PUMPS, "join sites on s", 14), context=context)
    assert {(use.range.start.line, use.range.start.character) for use in uses} == {
        at(PUMPS, "s: int in"),
        at(PUMPS, "s;\ntable"),
        at(PUMPS, "s: int, site"),
        at(PUMPS, "s;\nwarm"),
    }


OWN_UNITS = """\
unit EUR;
unit ct = EUR / 100;
stream sales(k: int, price: double unit ct, note?: string) from json "sales";
priced := project[* except note](sales);
emit aggregate[sum(price) as total by k](priced) to json "totals";
"""


def test_units_of_a_query_have_a_definition_and_are_completed(editor: Editor) -> None:
    assert not any(
        diagnostic.severity == lsp.DiagnosticSeverity.Error
        for diagnostic in editor.write("own.rq", OWN_UNITS)
    )
    definition = editor.ask("definition", "own.rq", at=at(OWN_UNITS, "ct, note"))
    assert (definition.range.start.line, definition.range.start.character) == at(OWN_UNITS, "ct =")
    text = OWN_UNITS.replace("double unit ct", "double unit |")
    assert labels(editor, "own.rq", text)[:2] == ["EUR", "ct"]


def test_what_a_projection_leaves_out_is_another_thing_after_it(editor: Editor) -> None:
    text = OWN_UNITS + 'emit select[note = "x"](priced) to json "none";\n'
    editor.write("except.rq", text)
    context = lsp.ReferenceContext(include_declaration=True)
    uses = editor.ask("references", "except.rq", at=at(text, "note?"), context=context)
    assert [use.range.start.line for use in uses] == [2, 3]


def test_a_definition_may_be_in_a_used_file(editor: Editor) -> None:
    (editor.root / "streams.rq").write_text('stream r(a: int) from json "r";\n', "utf-8")
    text = 'use "streams.rq";\nemit select[a > 1](r) to json "o";\n'
    assert editor.write("uses.rq", text) == []
    definition = editor.ask("definition", "uses.rq", at=at(text, "a > 1"))
    assert (definition.uri, definition.range.start) == (editor.uri("streams.rq"), lsp.Position(0, 9))


def test_a_rename_goes_through_the_query_and_keeps_the_field(editor: Editor) -> None:
    editor.write("rename.rq", PUMPS)
    edit = editor.ask("rename", "rename.rq", at=at(PUMPS, "avg(t)", 4), new_name="temp")
    text = applied(PUMPS, edit.changes[editor.uri("rename.rq")])
    assert 'temp: double from "t" unit degC' in text
    assert "select[temp > hot]" in text
    assert "avg(temp) as mean" in text
    assert editor.write("rename.rq", text) == []


def test_a_rename_reaches_the_key_of_an_updated_output(editor: Editor) -> None:
    query = (
        'stream r(ts: long, k: string) from json "r" punctuated on ts;\n'
        "s := aggregate[count() as n by k, w](window[10 on ts as w](r));\n"
        'emit s as latest by w, k to json "s";\n'
    )
    editor.write("latest.rq", query)
    edit = editor.ask("rename", "latest.rq", at=at(query, "as w]", 3), new_name="minute")
    text = applied(query, edit.changes[editor.uri("latest.rq")])
    assert "as latest by minute, k to" in text
    assert editor.write("latest.rq", text) == []


@pytest.mark.parametrize(
    ("piece", "new", "why"),
    [
        ("hot](", "located", "RQ104"),
        ("mean,", "n", "RQ104"),
        ("site, w", "s", "RQ104"),
        ("pumps join", "not a name", "RQ001"),
    ],
)
def test_a_rename_that_changes_the_query_is_refused(editor: Editor, piece: str, new: str, why: str) -> None:
    editor.write("refused.rq", PUMPS)
    with pytest.raises(Exception, match=why):
        editor.ask("rename", "refused.rq", at=at(PUMPS, piece), new_name=new)


def test_the_outline_has_statements_and_declared_attributes(editor: Editor) -> None:
    editor.write("outline.rq", PUMPS)
    symbols = editor.ask("document_symbol", "outline.rq")
    assert [(symbol.name, symbol.detail) for symbol in symbols] == [
        ("pumps", "source"),
        ("sites", "source"),
        ("hot", "constant"),
        ("located", "relation"),
        ("warm", "relation"),
        ("means", "relation"),
        ("means", "output"),
    ]
    assert [symbol.name for symbol in symbols[0].children] == ["ts", "s", "t"]


def test_formatting_is_that_of_fmt(editor: Editor) -> None:
    text = 'stream  r(a:int)from json "r";emit σ[a>1](r) to json "o";'
    editor.write("format.rq", text)
    (edit,) = editor.ask("formatting", "format.rq", options=lsp.FormattingOptions(2, True))
    assert edit.new_text == 'stream r(a: int) from json "r";\nemit select[a > 1](r) to json "o";\n'


def test_units_are_shown_after_computed_names_and_compared_numbers(editor: Editor) -> None:
    text = PUMPS.replace("t > hot", "t > 40")
    editor.write("inlay.rq", text)
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
    hints = editor.ask("inlay_hint", "inlay.rq", range=whole)
    assert {(hint.position.line, hint.position.character, hint.label) for hint in hints} == {
        (*at(text, "mean,", 4), "degC"),
        (*at(text, "40](", 2), "degC"),
    }


def test_a_preview_shows_rows_of_the_text_as_it_is_typed(editor: Editor) -> None:
    (editor.root / "few").mkdir(exist_ok=True)
    (editor.root / "few" / "1.jsonl").write_text('{"a": 1}\n{"a": 2}\n', "utf-8")
    editor.write("preview.rq", 'stream r(a: int) from json "few";\nemit select[a > 1](r) to json "o";\n')
    assert "Select select, line 2: 2 in, 1 out" in editor.preview("preview.rq")


# --- accents in files ---

SWITCHED = PUMPS.replace('"pumps"', '"switched"')
"""A query whose folder no other one reads: markers are checked by the first query that reads their folder."""
LINES = """\
{"ts": 1, "s": 1, "t": 20.5}
{"$accent": "[[s = 2, unit(t, degF)]]"}
{"$accent": "[[s = 9, unit(t, degF)]]"}
{"$accent": "[[s = 3, unit(t, kg)]]"}
{"$accent": "[[s = 3, unti(t, degF)]]"}
"""


def test_markers_of_a_file_are_checked_against_the_query_that_reads_it(editor: Editor) -> None:
    editor.write("stream.rq", SWITCHED)
    diagnostics = editor.write("switched/1.jsonl", LINES)
    assert [(diagnostic.range.start.line, diagnostic.code) for diagnostic in diagnostics] == [
        (2, "RQ216"),
        (3, "RQ142"),
        (4, "RQ001"),
    ]
    assert diagnostics[1].range.start.character == at(LINES, "unit(t, kg)")[1]


@pytest.mark.parametrize(
    ("accent", "mended"),
    [
        ("[[s = 3, unti(t, degF)]]", "[[s = 3, unit(t, degF)]]"),
        ("[[ss = 3, unit(t, degF)]]", "[[s = 3, unit(t, degF)]]"),
        ("[[s == 3, unit(t, degF)]]", "[[s = 3, unit(t, degF)]]"),
    ],
)
def test_the_help_about_a_marker_is_a_quick_fix(editor: Editor, accent: str, mended: str) -> None:
    editor.write("stream.rq", SWITCHED)
    name = f"switched/{accent.split('=', maxsplit=1)[0].strip('[ ')}-{len(accent)}.jsonl"
    text = f'{LINES.partition(chr(10))[0]}\n{{"$accent": "{accent}"}}\n'
    (diagnostic,) = editor.write(name, text)
    actions = editor.ask(
        "code_action", name, range=diagnostic.range, context=lsp.CodeActionContext([diagnostic])
    )
    texts = [applied(text, action.edit.changes[editor.uri(name)]) for action in actions]
    assert text.replace(accent, mended) in texts
    for mended_text in texts:
        assert editor.write(name, mended_text) == []


def test_a_marker_that_cannot_be_mended_by_its_help_has_no_fix(editor: Editor) -> None:
    for name in ("elsewhere/2.jsonl", "switched/4.jsonl"):
        text = '{"$accent": "[[s = 3, unit(t, degF)]]"}\n{"$accent": "[[what"}\n'
        diagnostic = editor.write(name, text)[0]
        asked = {"range": diagnostic.range, "context": lsp.CodeActionContext([diagnostic])}
        assert not editor.ask("code_action", name, **asked)


def test_a_rename_is_refused_where_markers_name_the_attribute(editor: Editor) -> None:
    """Sent markers stay: those of the open text, or else of the file."""
    query = PUMPS.replace('"pumps"', '"marked"')
    editor.write("marked.rq", query)
    (editor.root / "marked").mkdir(exist_ok=True)
    (editor.root / "marked" / "1.jsonl").write_text(LINES, "utf-8")
    asked = {"at": at(query, "avg(t)", 4), "new_name": "temp"}
    with pytest.raises(Exception, match=r"markers of marked/1\.jsonl name `t`"):
        editor.ask("rename", "marked.rq", **asked)
    assert editor.ask("rename", "marked.rq", at=at(query, "mean,"), new_name="middle").changes
    editor.write("marked/1.jsonl", "")
    assert editor.ask("rename", "marked.rq", **asked).changes
    editor.write("marked/2.jsonl", LINES)
    with pytest.raises(Exception, match=r"markers of marked/2\.jsonl name `t`"):
        editor.ask("rename", "marked.rq", **asked)


def test_hovering_a_marker_shows_its_trace(editor: Editor) -> None:
    editor.write("stream.rq", SWITCHED)
    editor.write("switched/1.jsonl", LINES)
    shown = editor.ask("hover", "switched/1.jsonl", at=at(LINES, "unit(t, degF)")).contents.value
    assert "on pumps" in shown
    assert "Aggregate means" in shown


def test_accents_in_a_file_are_completed(editor: Editor) -> None:
    editor.write("stream.rq", SWITCHED)
    for typed, first in (
        ("[[|", ["ts", "s", "t"]),
        ("[[s = |", ["1", "2", "3"]),
        ("[[s = 2, unit(t, |", ["degC", "degF", "K"]),
    ):
        assert labels(editor, "switched/2.jsonl", f'{{"$accent": "{typed}"}}\n')[: len(first)] == first


def test_a_file_of_no_query_is_checked_by_the_grammar_alone(editor: Editor) -> None:
    diagnostics = editor.write("elsewhere/1.jsonl", LINES)
    assert [(diagnostic.range.start.line, diagnostic.code) for diagnostic in diagnostics] == [(4, "RQ001")]
