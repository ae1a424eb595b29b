"""The decimal sign of texts as an accent, `[[decimal(x, ",")]]`: in files, on engines and without one, and stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.plan.field_paths import CommaPath, EitherSignPath, kinds_of
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.ingest.slices import Slice
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.query import Query
from tests.kit.stream import Item, decode
from tests.kit.tiers import rest
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

QUERY = """
set bad_markers = quarantine;
stream j(n: long, x: double, c?: decimal(6, 2) decimal "," from "o.c") from json "in/j";
stream r(n: long, t?: double) from csv "in/r" markers "in/r.markers";
stream x(n: long, t: double) from xml "in/x";
emit j to json "out/j";
emit r to json "out/r";
emit x to json "out/x";
"""
WITHOUT_XML = "\n".join(line for line in QUERY.splitlines() if " x(" not in line and " x to" not in line)
LINES: list[list[Item]] = [
    [
        {"n": 1, "x": 3.5, "o": {"c": "1,25"}},
        {"n": 2, "x": "3,5"},
        {"$accent": '[[decimal(x, ",")]]'},
        {"n": 3, "x": "3,5", "o": {"c": "1,25"}},
        {"n": 4, "x": 3.5, "o": {"c": 1.25}},
        {"n": 5, "x": "3.5"},
        {"$accent": '[[n = 1, decimal(x, ".")]]'},
        {"$accent": '[[decimal(c, ".")]]'},
        {"n": 6, "x": "1,5e1", "o": {"c": "1.25"}},
        {"n": 7, "x": "4,5", "o": {"c": "1,25"}},
        {"$accent": "[[rename(v, x)]]"},
        {"n": 8, "v": "4,5"},
    ],
    [
        {"$accent": '[[decimal(v, "." or ",")]]'},
        {"n": 9, "v": "4.5"},
        {"n": 10, "v": "4,25"},
        {"n": 11, "v": "1,234"},
        {"$accent": '[[decimal(x, ".")]]'},
    ],
    [{"n": 12, "v": "1.234"}, {"n": 13, "v": 1.5}, {"n": 14, "v": "1,5"}],
]
READ = {1: 3.5, 3: 3.5, 4: 3.5, 6: 15.0, 8: 4.5, 9: 4.5, 10: 4.25, 12: 1.234, 13: 1.5}
OF_CENTS = {1: 1.25, 3: 1.25, 4: 1.25, 6: 1.25}
RECORDS = [
    ("1.csv", "n;t\n1;3.5\n2;3,5"),
    ("3.csv", "n;t\n3;3,5\n4;3.5"),
    ("5.csv", "total;n\n4,25;5\n;6\n3.5;7"),
]
OF_CSV = {2: '[[decimal(t, ",")]]', 4: "[[rename(total, t)]]"}
ELEMENTS = """<r><n>1</n><t>3.5</t></r>
<accent:r>[[decimal(t, ",")]]</accent:r>
<r><n>2</n><t> 3,5 </t></r>
<r><n>3</n><t>3.5</t></r>
<accent:r>[[rename(u, t)]]</accent:r>
<r><n>4</n><u>4,5</u></r>"""
COMMA, POINT = "without a decimal comma", "without a decimal point"
REASONS = {
    "j": [
        "the decimal sign of `x` can only change for all tuples of a stream",
        '`x` must be a double, found "3,5"',
        f'`x` must be a double, found "3.5", {COMMA}',
        f'`c` must be a decimal(6,2), found "1,25", {POINT} (read from o.c)',
        '`v` must be a double, found "1,234", which has no decimal comma or point, or may be thousands',
        f'`v` must be a double, found "1,5", {POINT}',
    ],
    "r": [
        '`t` must be a double, found "3,5"',
        f'`t` must be a double, found "3.5", {COMMA}',
        f'`total` must be a double, found "3.5", {COMMA}',
    ],
    "x": [f'`t` must be a double, found "3.5", {COMMA}'],
}


def write_first(run: Query) -> None:
    write_lines(run.root / "in/j/1.jsonl", LINES[0], 1)
    write_lines(run.root / "in/x/1.xml", ELEMENTS.splitlines(), 1)
    write_lines(run.root / "in/r/1.csv", RECORDS[0][1].splitlines(), 1)
    write_lines(run.root / "in/r.markers/2.jsonl", [{"$accent": OF_CSV[2]}], 2)


def write_further(run: Query) -> None:
    for time, lines in enumerate(LINES[1:], 2):
        write_lines(run.root / f"in/j/{time}.jsonl", lines, time)
    write_lines(run.root / "in/r.markers/4.jsonl", [{"$accent": OF_CSV[4]}], 4)
    for name, text in RECORDS[1:]:
        write_lines(run.root / "in/r" / name, text.splitlines(), int(name[0]))


def values(items: list[Item], name: str) -> dict[int, float]:
    return {item["n"]: float(item[name]) for item in decode(items) if name in item}


def check(run: Any) -> None:
    assert values(run.output("j"), "x") == READ
    assert values(run.output("j"), "c") == OF_CENTS
    assert values(run.output("r"), "t") == {1: 3.5, 3: 3.5, 5: 4.25}


@pytest.mark.either_engine
@pytest.mark.parametrize("files_per_epoch", [rest(None), 1])
def test_signs_on_an_engine_and_after_a_restart(
    spark: SparkSession, tmp_path: Path, files_per_epoch: int | None
) -> None:
    run = Query(spark, tmp_path, QUERY)
    write_first(run)
    run.run(files_per_epoch=files_per_epoch)
    status = cedilla("status", str(tmp_path / "checkpoint")).output
    assert all(text in status for text in ('decimal(x, ",")', 'decimal(c, ".")', 'decimal(t, ",")'))
    write_further(run)
    run.run(files_per_epoch=files_per_epoch)
    check(run)
    assert values(run.output("x"), "t") == {1: 3.5, 2: 3.5, 4: 4.5}
    reasons = {name: sorted(line["reason"] for line in run.quarantine(name)) for name in REASONS}
    assert reasons == {name: sorted(of) for name, of in REASONS.items()}


@pytest.mark.parametrize("is_whole", [True, False])
def test_signs_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_whole: bool) -> None:
    run = Query.without_engine(tmp_path, WITHOUT_XML)
    write_first(run)
    write_further(run)
    if is_whole:
        for path in (tmp_path / "in/j").iterdir():
            path.unlink()
        write_lines(tmp_path / "in/j/1.jsonl", [line for lines in LINES for line in lines], 1)
    simulated = run.simulate()
    check(simulated)
    assert sorted(line.reason for line in simulated.rejections) == sorted(REASONS["j"] + REASONS["r"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(run.query)
    for name, count in (("j", len(REASONS["j"])), ("r", 3)):
        folders = ["--markers", "in/r.markers"] if name == "r" else []
        output = cedilla("validate", f"in/{name}", "--query", "q.rq", "--source", name, *folders).output
        assert output.count("error") >= count
        assert all(reason in output for reason in REASONS[name])


def test_a_slice_reads_texts_by_the_sign_in_force() -> None:
    """Paths compare their keys only, so that those of two signs are equal."""
    comma, either = ({"x": kind(("x",))} for kind in (CommaPath, EitherSignPath))
    assert comma == either
    assert kinds_of(comma) != kinds_of(either)
    part = Slice(JsonLines(paths=comma), ())
    assert part.with_paths(dict(comma)) is part
    assert kinds_of(part.with_paths(either).format.paths) == kinds_of(either)


# --- markers ---

DECLARED = (
    'n: long, x?: double decimal ",", y?: double, z?: double decimal ",", s?: string, l: list of string'
)


def ends_with(declared: str, *texts: str, format_: str = "json", kind: str = "stream") -> str:
    path = "host:9092/r" if format_ == "kafka" else "r"
    plan = compile_query(f'{kind} r({declared}) from {format_} "{path}"; emit r to json "o";').plan
    try:
        ran(plan, [("r", {"$accent": text}) for text in texts])
    except DiagnosticError as error:
        return error.diagnostics[0].code
    return ""


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (['[[decimal(x, ".")]]'], ""),
        (['[[decimal(y, "," or ".")]]'], ""),
        (["[[+(p: decimal(4, 2))]]", '[[decimal(p, ",")]]'], ""),
        (["[[alter(n, y -> y / 10)]]", '[[decimal(n, ",")]]'], ""),
        (['[[decimal(x, ".")]]', '[[decimal(y, ".")]]', "[[swap(x, y)]]"], ""),
        (["[[swap(x, z)]]", "[[swap(x, z)]]", '[[decimal(x, ".")]]'], ""),
        (["[[rename(v, x)]]", '[[decimal(v, ".")]]'], ""),
        (['[[decimal(far_away, ",")]]'], ""),
        (['[[decimal(x, ";")]]'], "RQ164"),
        (['[[decimal(n, ",")]]'], "RQ208"),
        (['[[decimal(s, ",")]]'], "RQ208"),
        (['[[decimal(l, ",")]]'], "RQ208"),
        (['[[decimal(xx, ",")]]'], "RQ207"),
        (['[[n = 1, decimal(x, ".")]]'], "RQ339"),
        (["[[swap(x, y)]]"], "RQ318"),
        (['[[decimal(x, ".")]]', "[[swap(x, z)]]"], "RQ318"),
        (["[[n = 1, swap(x, z)]]", '[[decimal(x, ".")]]'], "RQ241"),
    ],
)
def test_accents_name_signs(texts: list[str], code: str) -> None:
    assert ends_with(DECLARED, *texts) == code


@pytest.mark.parametrize(
    ("declared", "format_", "kind"),
    [
        ("x: double", "json", "table"),
        ("x: double", "kafka", "stream"),
        ("x: double", "parquet", "stream"),
        ('x: double from "a" or "b"', "json", "stream"),
    ],
)
def test_a_sign_changes_only_in_texts_that_have_one_order(declared: str, format_: str, kind: str) -> None:
    assert ends_with(declared, '[[decimal(x, ",")]]', format_=format_, kind=kind) == "RQ339"
    text = f'{kind} r({declared}) from {format_} "host:9092/r"; accent r [[decimal(x, ",")]]; emit r to json "o";'
    with pytest.raises(DiagnosticError, match="RQ339"):
        compile_query(text)


def test_a_missing_number_is_the_same_number_in_texts_of_every_sign(tmp_path: Path) -> None:
    run = Query.without_engine(tmp_path, 'stream r(n: long, x?: double) from json "r"; emit r to json "o";')
    lines: list[Item] = [{"$accent": "[[missing(x, {-99.5})]]"}, {"n": 1, "x": -99.5}]
    lines += [{"$accent": '[[decimal(x, ",")]]'}, {"n": 2, "x": "-99,5"}, {"n": 3, "x": "99,5"}]
    run.write("r", lines)
    assert values(run.simulate().output("r"), "x") == {3: 99.5}
    assert run.simulated.codes == []


# --- statements and edits ---

TEXT = 'stream r(n: long, x?: double%s) from json "r"; %s emit r to json "o";'
STATED = 'accent r [[decimal(x, ",")]];'


def read(reference: Reference, text: Any) -> float | None:
    """The value of a tuple, `None` if it is set aside."""
    (outputs,) = reference.step([("r", {"n": 1, "x": text})])
    return next((row["x"] for row in outputs["r"].canonical), None)


def test_a_query_states_signs() -> None:
    reference = Reference(compile_query(TEXT % ("", STATED)).plan)
    assert [read(reference, text) for text in ("3,5", "3.5", 3.5)] == [3.5, None, 3.5]
    reference.step([("r", {"$accent": '[[decimal(x, ".")]]'})])
    assert [read(reference, text) for text in ("3,5", "3.5", 3.5)] == [None, 3.5, 3.5]


def test_statements_that_come_and_go_are_markers_of_then() -> None:
    plain, comma = TEXT % ("", ""), ' decimal ","'
    changes, after = edited(ran(compile_query(plain).plan, []), TEXT % ("", STATED))
    assert changes.effect == "continues"
    assert read(after, "3,5") == 3.5
    changes, after = edited(after, plain)
    assert '[[decimal(x, ".")]] holds' in str([change.why for change in changes.items])
    assert [read(after, text) for text in ("3,5", "3.5")] == [None, 3.5]
    either = 'accent r [[decimal(x, "," or ".")]];'
    both = ran(compile_query(TEXT % ("", STATED + either)).plan, [])
    for statements, signs in ((STATED, ","), (either, ",.")):
        changes, after = edited(both, TEXT % ("", statements))
        assert (changes.effect, after.states["r"].forms) == ("continues", {"x": signs})
    assert edited(both, TEXT % ("", either + STATED))[0].effect == "new checkpoint"
    _, after = edited(ran(compile_query(TEXT % ("", STATED)).plan, []), TEXT % (comma, ""))
    assert after.states["r"].forms == {"x": ","}
    moved_on = ran(compile_query(TEXT % ("", STATED)).plan, [("r", {"$accent": '[[decimal(x, ".")]]'})])
    assert edited(moved_on, plain)[0].effect == "new checkpoint"


def test_an_edit_names_the_sign_from_now_on() -> None:
    comma, either = ' decimal ","', ' decimal "," or "."'
    read_on = ran(compile_query(TEXT % (comma, "")).plan, [("r", {"$accent": '[[decimal(x, ".")]]'})])
    assert edited(read_on, TEXT % (comma, ""))[1].states["r"].forms == {"x": "."}
    for form, kept in (("", {}), (either, {"x": ",."})):
        changes, after = edited(read_on, TEXT % (form, ""))
        assert (changes.effect, after.states["r"].forms) == ("at once", kept)
    gone = edited(read_on, 'stream r(n: long) from json "r"; emit r to json "o";')[1]
    changes, _ = edited(gone, TEXT % (comma, ""))
    assert "how tuples write it was changed" in str([change.why for change in changes.items])


# --- tools ---


def test_tools_know_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(TEXT % ("", ""))
    write_lines(tmp_path / "r/1.jsonl", [{"n": 1, "x": 3.5}, {"$accent": '[[decimal(x, ",")]]'}])
    assert "RQ213" in cedilla("canonize", "r", "--query", "q.rq", "--source", "r").output
    assert "undone at the source" in cedilla("trace", "q.rq", "--on", "r", '[[decimal(x, ",")]]').output
    (tmp_path / "q.rq").write_text("set bad_markers = quarantine;" + TEXT % ("", ""))
    aside = cedilla("trace", "q.rq", "--on", "r", '[[n = 1, decimal(x, ",")]]').output
    assert "texts of `x` keep the decimal sign that they had" in aside
