"""XML as source and sink: the seeds' own punctuations (seeds, 002), what is malformed, and chains of queries."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from cedilla import read
from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.marker_parser import read_punctuation
from cedilla.grammar import DiagnosticError
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.runtime.connectors.records import xmltext
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.spark import costs
from tests.kit.query import Query
from tests.kit.stream import Item, decode, matches
from tests.kit.tiers import tiered
from tests.runtime.connectors.formats.program_runs import in_one_of_its_own, in_this_process
from tests.runtime.connectors.formats.xml_files import elements, punctuation_line, quote

TYPES = {
    "TICKER": Type("string"),
    "PRICE": Type("double"),
    "DATE": Type("string"),
    "TIME": Type("string"),
    "at": Type("timestamp"),
    "on": Type("boolean"),
}
QUOTES = """
stream quotes(TICKER: string, PRICE: double, DATE: string, TIME: string) from xml "in";
emit quotes to xml "out";
"""


FIGURE_1 = punctuation_line("CSCO", "*", "*", "*")
FIGURE_2 = punctuation_line("*", "*", "05/18/2001", "[10:00,12:00]")
FIGURE_3 = punctuation_line("*", "*", "05/18/2001", "[,11:00)")
FIGURE_4 = punctuation_line("{CSCO,MSFT,LU}", "*", "*", "*")

CSCO = quote("CSCO", 16.51, "04/17/2001", "13:00")
MAY_10 = quote("IBM", 90.0, "05/18/2001", "10:00")
MAY_11 = quote("IBM", 91.0, "05/18/2001", "11:00")
MAY_12 = quote("IBM", 92.0, "05/18/2001", "12:00")
MAY_13 = quote("IBM", 93.0, "05/18/2001", "13:00")
JUNE = quote("IBM", 94.0, "06/18/2001", "10:30")


# --- patterns, to and from the wire format ---


@pytest.mark.parametrize(
    ("figure", "wire"),
    [
        pytest.param(FIGURE_1, '[TICKER = "CSCO", PRICE = *, DATE = *, TIME = *]', id="constant"),
        pytest.param(
            FIGURE_2,
            '[TICKER = *, PRICE = *, DATE = "05/18/2001", TIME in ["10:00", "12:00"]]',
            id="range",
        ),
        pytest.param(
            FIGURE_3,
            '[TICKER = *, PRICE = *, DATE = "05/18/2001", TIME in [, "11:00")]',
            id="range with no lower bound",
        ),
        pytest.param(
            FIGURE_4, '[TICKER in {"CSCO", "MSFT", "LU"}, PRICE = *, DATE = *, TIME = *]', id="list"
        ),
        pytest.param("<punct:QUOTE/>", "[]", id="the end"),
        pytest.param("<punct:QUOTE>\n</punct:QUOTE>", "[]", id="the end, written out"),
        pytest.param("<punct:Q><PRICE>-1.5e3</PRICE></punct:Q>", "[PRICE = -1.5e3]", id="number"),
        pytest.param("<punct:Q><PRICE>(1, 2]</PRICE></punct:Q>", "[PRICE in (1, 2]]", id="open range"),
        pytest.param("<punct:Q><on>true</on></punct:Q>", "[on = true]", id="boolean"),
        pytest.param(
            "<punct:Q><at>[,2013-01-31T00:00:00Z)</at></punct:Q>",
            '[at in [, "2013-01-31T00:00:00Z")]',
            id="timestamp",
        ),
        pytest.param("<punct:Q><TICKER>7</TICKER></punct:Q>", '[TICKER = "7"]', id="digits in a string"),
        pytest.param('<punct:Q><TICKER>"*"</TICKER></punct:Q>', '[TICKER = "*"]', id="a star that is one"),
        pytest.param(
            "<punct:Q><TICKER>&lt;A &amp; &#x42;&#67;</TICKER></punct:Q>",
            '[TICKER = "<A & BC"]',
            id="references",
        ),
        pytest.param(
            '<punct:Q><TICKER>{"a,b", c}</TICKER></punct:Q>', '[TICKER in {"a,b", "c"}]', id="quoted"
        ),
    ],
)
def test_punctuations_of_the_seeds(figure: str, wire: str) -> None:
    """The four forms of 002: wildcard, constant, range, list (E11)."""
    assert xmltext.punctuation_wire(figure, TYPES) == wire
    read_punctuation(wire, TYPES)


@pytest.mark.parametrize(
    ("pattern", "wire"),
    [
        ("<t> +5 degC </t>", "[t = 5 degC]"),
        ("<t>[-1.5e1 degC, 30 [degF])</t>", '[t in [-1.5e1 degC, 30 "[degF]")]'),
        ('<v>[,9 "km/h"]</v>', '[v in [, 9 "km/h"]]'),
        ("<v>{1 km/h, 2 knot}</v>", '[v in {1 "km/h", 2 knot}]'),
        ("<n>{1 {request}, 2 {request}}</n>", '[n in {1 "{request}", 2 "{request}"}]'),
        ("<s>5 m</s>", '[s = "5 m"]'),
    ],
)
def test_constants_with_units(pattern: str, wire: str) -> None:
    """The same units as in markers in JSON; the element needs no quotes for a unit of several words."""
    types = {"t": Type("double"), "v": Type("double"), "n": Type("long"), "s": Type("string")}
    element = f"<punct:r>{pattern}</punct:r>"
    assert xmltext.punctuation_wire(element, types) == wire
    units = {"t": "degF", "v": "m/s", "n": "{request}"}
    meant = read_punctuation(wire, types, units=units)
    again = xmltext.punctuation_wire(xmltext.punctuation_element("r", wire), types)
    assert read_punctuation(again, types, units=units).quantities == meant.quantities


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("<t>5 hPa</t>", "RQ142"),
        ("<p>5 hPa</p>", "RQ142"),
        ("<t>[5 degC,7)</t>", "RQ142"),
        ("<t>5 parrot</t>", "RQ143"),
        ("<t>5, s = 1 m</t>", "RQ208"),
    ],
)
def test_units_that_are_wrong_are_told_at_the_element(pattern: str, code: str) -> None:
    plan = compile_query(
        'stream r(t: double unit degF, p: double, s: string) from xml "in"; emit r to xml "out";'
    ).plan
    element = f"<punct:r>{pattern}</punct:r>"
    line = MarkerLine("punctuation", element, 1, partial(xmltext.punctuation_wire, element))
    state = SourceState.start(plan.sources[0], frozenset())
    (stop,) = advance(plan, {"r": state}, {"r": [line]}).failures
    (diagnostic,) = stop.diagnostics
    assert diagnostic.code == code


@pytest.mark.either_engine
def test_a_punctuation_of_a_quantity_closes_it_in_every_unit(spark: SparkSession, tmp_path: Path) -> None:
    """`[,0 degC)` is of tuples in degC and in degF, each by its own numbers."""
    text = """
    stream r(n: int, s: int in {1, 2}, t: double unit degF) from xml "in";
    emit r to xml "out";
    """
    run = Query(spark, tmp_path, text)
    rows = [(1, 1, -5), (2, 1, 5), (3, 2, 25), (4, 2, 35)]
    tuples = [f"<r><n>{n}</n><s>{s}</s><t>{t}</t></r>" for n, s, t in rows]
    accent = "<accent:r>[[s = 1, unit(t, degC)]]</accent:r>"
    run.write("r", ["<all>", accent, "<punct:r><t>[,0 degC)</t></punct:r>", *tuples, "</all>"], "1.xml")
    run.process()
    late = [(r["code"], r["raw"]) for r in run.quarantine("r")]
    assert sorted(late) == [("RQ305", tuples[0]), ("RQ305", tuples[2])]
    items = list(elements(tmp_path / "out" / "r"))
    assert [item["n"] for item in items if "n" in item] == ["2", "4"]
    assert {"$punctuation": {"t": "(,32)"}} in items


def test_text_in_a_pattern_never_becomes_another_condition() -> None:
    wire = xmltext.punctuation_wire('<punct:Q><PRICE>1, TICKER = "x"</PRICE></punct:Q>', TYPES)
    assert wire == '[PRICE = "1, TICKER = \\"x\\""]'
    assert xmltext.punctuation_wire('<punct:Q><TICKER>"a", PRICE = "b"</TICKER></punct:Q>', TYPES) == (
        '[TICKER = "\\"a\\", PRICE = \\"b\\""]'
    )


texts = st.text(st.sampled_from("ab *,[](){}<>&\"'\\\n\t=7é:"), max_size=6)
PATTERNS = ("= {a}", "in {{{a}, {b}}}", "< {a}", "<= {a}", "> {a}", ">= {a}", "in [, {a})", 'in ("", {a}]')


@given(st.sampled_from(PATTERNS), texts.map(lambda text: f"{text}."), texts, texts)
def test_a_punctuation_that_is_written_is_read_as_it_was(pattern: str, a: str, b: str, value: str) -> None:
    """With all signs in constants, the element is XML and has the same meaning."""
    constants = {name: Type("string").wire(text) for name, text in (("a", a), ("b", b))}
    wire = f"[TICKER {pattern.format(**constants)}]"
    element = xmltext.punctuation_element("q", wire)
    ElementTree.fromstring(f'<all xmlns:punct="punct">{element}</all>')
    again = xmltext.punctuation_wire(element, TYPES)
    for text in (a, b, value):
        row = {"TICKER": text}
        before, after = (matches(row, parse_punctuation(text).conditions) for text in (wire, again))
        assert before == after, (wire, element, again)


def test_an_accent_that_is_written_is_read_as_it_was() -> None:
    text = '[[l = "a<b & c", ts < 5, alter(t, y -> (y - 32) * 5/9)]]'
    element = xmltext.accent_element("q", text)
    assert "<b" not in element
    assert parse_accent(xmltext.accent_wire(element, TYPES)) == parse_accent(text)


# --- sources ---


@pytest.mark.either_engine
def test_the_seeds_figures_close_what_they_say(spark: SparkSession, tmp_path: Path) -> None:
    """Every figure, in a file of its own, with a tuple after it that it forbids and one that it allows (E11)."""
    run = Query(spark, tmp_path, QUOTES)
    comment = "<!-- ColumnStatistics: <QUOTE> before 11:00 -->"
    files = [
        [CSCO, FIGURE_1, CSCO, MAY_10],
        [
            f'<?xml version="1.0"?>\n<stream xmlns:punct="p">\n{comment}',
            FIGURE_3,
            MAY_10,
            MAY_11,
            "</stream>",
        ],
        [FIGURE_2, MAY_12, MAY_13, JUNE],
        [FIGURE_4, quote("LU", 1.0, "07/01/2001", "9:00"), JUNE],
        ["<punct:QUOTE/>", JUNE],
    ]
    for number, lines in enumerate(files):
        run.write("quotes", lines, f"{number}.xml")
    run.process(files_per_epoch=2)
    items = list(elements(tmp_path / "out" / "quotes"))
    rows = [(i["TICKER"], i["PRICE"]) for i in items if "TICKER" in i]
    assert sorted(rows) == sorted(
        [
            ("CSCO", "16.51"),
            ("IBM", "90.0"),
            ("IBM", "91.0"),
            ("IBM", "93.0"),
            ("IBM", "94.0"),
            ("IBM", "94.0"),
        ]
    )
    late = [(r["code"], r["position"]["line"], r["raw"]) for r in run.quarantine("quotes")]
    assert late == [
        ("RQ305", 13, CSCO),
        ("RQ305", 10, MAY_10),
        ("RQ305", 7, MAY_12),
        ("RQ305", 7, quote("LU", 1.0, "07/01/2001", "9:00")),
        ("RQ305", 2, JUNE),
    ]
    assert items[-1] == {"$punctuation": {}}
    assert {"$punctuation": {"TICKER": "CSCO"}} in items
    assert run.simulate().rejections == run.rejections("quotes")


@pytest.mark.either_engine
def test_values_and_what_is_malformed(spark: SparkSession, tmp_path: Path) -> None:
    """Values are as strict as in JSON; whatever is no element goes to quarantine with its line."""
    text = """
    stream r(i?: int, d?: double, m?: decimal(5, 2), s?: string, b?: boolean, at?: timestamp, day?: date)
      from xml "in";
    emit r to xml "out";
    """
    good = """<r><i> 7 </i><d>-1.5e-3</d><m>1.25</m><b>true</b></r>
<r><s> a &amp;lt; &#38;lt; &#x1F600; &#233;&lt;&gt;&quot;&apos; &none; & b </s></r><r/>
<row a="1 > 0"><s/></row>
<r><s>&#32;&#9;x &#13;&#10;</s><other>1</other><!-- <i>1</i> --><at>2013-01-31T01:02:03.5+01:00</at></r>
<r><day>2013-01-31</day><d>NaN</d><i></i></r>"""
    bad = [
        "<r><i>1.5</i></r>",
        "<r><i>2147483648</i></r>",
        "<r><d>1d</d></r>",
        "<r><b>1</b></r>",
        "<r><at>noon</at></r>",
        "<r><s>1</s><s>2</s></r>",
        "<r><s>text <b>true</b></s></r>",
        "<r><s>mixed</r>",
        "<r><s>cut</s>",
        "stray",
        "</x>",
        "< r>",
    ]
    run = Query(spark, tmp_path, text)
    run.write("r", [good.replace('a="1 > 0"', 'a="1"'), *bad, "<r><i>8</i></r>"], "1.xml")
    run.process()
    assert list(elements(tmp_path / "out" / "r")) == [
        {"i": "7", "d": "-0.0015", "m": "1.25", "b": "true"},
        {"s": "a &lt; &lt; \N{GRINNING FACE} é<>\"' &none; & b"},
        {},
        {"s": ""},
        {"s": " \tx \r\n", "at": "2013-01-31T00:02:03.500000Z"},
        {"day": "2013-01-31", "d": "NaN"},
        {"i": "8"},
    ]
    actual = [(r["code"], r["position"]["line"], r["raw"]) for r in run.quarantine("r")]
    assert sorted(actual, key=lambda f: f[1]) == [("RQ301", 6 + n, raw) for n, raw in enumerate(bad)]
    reasons = {r["raw"]: r["reason"] for r in run.quarantine("r")}
    assert [reasons[raw] for raw in bad] == [
        '`i` must be an int, found "1.5"',
        '`i` must be an int, found "2147483648"',
        '`d` must be a double, found "1d"',
        '`b` must be a boolean, found "1"',
        '`at` must be a timestamp, found "noon"',
        "the element is malformed",
        "an element inside of the tuple contains elements, where only text is read",
        *["the element is malformed"] * 5,
    ]
    simulated = run.simulate()
    assert simulated.rejections == run.rejections()
    assert simulated.output("r")[:2] == [
        {"i": 7, "d": -0.0015, "m": 1.25, "b": True},
        {"s": "a &lt; &lt; \N{GRINNING FACE} é<>\"' &none; & b"},
    ]
    assert simulated.output("r")[3:] == [
        {"s": ""},
        {"s": " \tx \r\n", "at": "2013-01-31T00:02:03.500000Z"},
        {"day": "2013-01-31", "d": "NaN"},
        {"i": 8},
    ]


@pytest.mark.either_engine
def test_accents_in_xml_and_a_spoilt_marker(spark: SparkSession, tmp_path: Path) -> None:
    """A marker holds from its element on; a malformed one ends the query at its place (G34)."""
    text = """
    stream r(k: int, t: double) from xml "in";
    emit r to json "out";
    """
    run = Query(spark, tmp_path, text)
    alter = "<accent:r>[[k &lt; 2, alter(t, y -> y * 10)]]</accent:r>"
    rows = "".join(f"<r><k>{k}</k><t>1</t></r>" for k in range(3))
    run.write(
        "r", [f"<all>{rows}{alter}", rows, "<accent:r>[[k < 2, -(t)]]</accent:r>", rows, "</all>"], "1.xml"
    )
    with pytest.raises(DiagnosticError) as caught:
        run.process()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ212"
    assert diagnostic.notes[-1].endswith("/1.xml:3: <accent:r>[[k < 2, -(t)]]</accent:r>")
    file = tmp_path / "in" / "r" / "1.xml"
    file.write_text(file.read_text().replace("[[k < 2, -(t)]]", "[[k = 1, alter(t, y -> y + 1)]]"))
    run.process()
    output = run.output("r")
    assert sorted(float(row["t"]) for row in decode(output)) == pytest.approx(
        [0, 0.1, 0.1, 0.1, 1, 1, 1, 1, 1]
    )
    assert [i["$accent"] for i in output if "$accent" in i] == [
        "[[k < 2, alter(t, y -> y * 10)]]",
        "[[k = 1, alter(t, y -> y + 1)]]",
    ]
    assert run.quarantine("r") == []
    assert run.simulate().canonical("r") == run.canonical("r")


# --- chains ---


@pytest.mark.either_engine
def test_an_output_in_xml_is_another_querys_input(spark: SparkSession, tmp_path: Path) -> None:
    """JSON to XML to JSON: the same stream (design, section 6)."""
    declared = "(ts: long, l: string, t: double, at?: timestamp)"
    first = Query(spark, tmp_path / "1", f'stream r{declared} from json "in"; emit r to xml "o";')
    rows: list[Item] = [
        {"ts": 1, "l": ' <a> & "b"\n', "t": 1.5, "at": "2013-01-31T00:00:00.250000Z"},
        {"ts": 2, "l": "", "t": 1e300},
    ]
    end: list[Item] = [
        {"$accent": '[[l = "x, {y}", +(p: long)]]'},
        {"ts": 3, "l": "x, {y}", "t": -0.0, "p": 1 << 60},
        {"$punctuation": '[l in {"*", "a\\"b", " c"}, ts in [0, 9)]'},
        {"$accent": "[[ts >= 9, alter(t, y -> y * 2)]]"},
        {"$punctuation": '[l = "[,d)"]'},
    ]
    first.write("r", rows)
    first.write("r", end)
    first.process(files_per_epoch=1)
    names = [file.name for file in sorted((tmp_path / "1" / "out" / "r").glob("epoch=*/*"))]
    assert [re.sub("-0000.", "", name) for name in names] == [
        "1-tuples.xml",
        "0-adds.xml",
        "1-tuples.xml",
        "2-punctuations.xml",
        "3-alters.xml",
    ]
    second = Query(spark, tmp_path / "2", f'stream r{declared} from xml "in"; emit r to json "o";')
    (tmp_path / "2" / "in").mkdir(parents=True)
    (tmp_path / "1" / "out" / "r").rename(tmp_path / "2" / "in" / "r")
    executor = second.process(files_per_epoch=1)
    assert second.quarantine("r") == []
    output = second.output("r")
    assert [i for i in output if "ts" in i] == [*rows, end[1]]
    assert [i for i in output if "$accent" in i] == [end[0], end[3]]
    assert len([i for i in output if "$punctuation" in i]) >= 2
    assert executor.last.sources["r"].closed == first.executor().last.sources["r"].closed


@pytest.mark.either_engine
def test_numbers_in_xml_keep_all_digits_and_words(spark: SparkSession, tmp_path: Path) -> None:
    """Infinities and lists of decimals have texts that the next query, and `read`, understand."""
    declared = "(ts: long, x: double, d: decimal(20, 2))"
    text = f"""stream r{declared} from json "in" punctuated on ts; emit r to xml "o";
    lists := aggregate[collect(d) as ds, collect(x) as xs](r); emit lists to xml "l";"""
    first = Query(spark, tmp_path / "1", text)
    values = ('"Infinity"', '"-Infinity"', '"NaN"', "1e22", "1e-7")
    rows = [f'{{"ts": {n}, "x": {x}, "d": 12345678901234567.25}}' for n, x in enumerate(values)]
    first.write("r", [*rows, {"$punctuation": "[]"}])
    first.process()
    out = tmp_path / "1" / "out"
    (lists,) = read(out / "lists", schema="ds: array<decimal(20,2)>, xs: array<double>").rows()
    xs = ["Infinity", "-Infinity", "NaN", 1e22, 1e-7]
    assert lists == {"ds": [Decimal("12345678901234567.25")] * 5, "xs": xs}
    second = Query(spark, tmp_path / "2", f'stream r{declared} from xml "in"; emit r to json "o";')
    (tmp_path / "2" / "in").mkdir(parents=True)
    (out / "r").rename(tmp_path / "2" / "in" / "r")
    second.process()
    assert second.quarantine("r") == []
    assert [row["x"] for row in second.output("r") if "x" in row] == xs


# --- the command line ---


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("started", tiered([in_this_process, in_one_of_its_own]))
def test_a_query_over_xml_with_a_user_operator_runs_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: Callable[[Path, Path, Path], None]
) -> None:
    """`cedilla run` of a file, its function beside it, from another folder; and so the program it compiles to."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.xml").write_text(f"<all>{CSCO}{MAY_10}{FIGURE_1}</all>")
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "cents.py").write_text(
        "def cents(r):\n    return r.selectExpr('TICKER', 'cast(PRICE * 100 as bigint) as cents')\n"
    )
    query = tmp_path / "q" / "q.rq"
    query.write_text(
        QUOTES.splitlines()[1].replace('"in"', f'"{tmp_path}/in"')
        + 'operator cents(R) foundation {PRICE} returns (TICKER: string, cents: long) from "cents:cents";\n'
        + f'emit cents(quotes) to xml "{tmp_path}/out";\n'
    )
    code = tmp_path / "q" / "program.py"
    code.write_text(compile_query(query.read_text()).program)
    monkeypatch.chdir(tmp_path / "in")
    started(query, code, tmp_path)
    for out in ("out", "out2"):
        assert list(elements(tmp_path / out)) == [
            {"TICKER": "CSCO", "cents": "1651"},
            {"TICKER": "IBM", "cents": "9000"},
            {"$punctuation": {"TICKER": "CSCO"}},
        ]


@pytest.mark.either_engine
def test_large_files_are_read_by_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results are those of small ones in the driver: tuples, malformed lines, markers, unannounced fields."""
    for name in ("PARSED_BY_DRIVER", "SEARCHED_BY_DRIVER"):
        monkeypatch.setattr(costs, name, 0)
    text = 'set drift = infer; stream r(k: int, t?: double) from xml "in"; emit r to json "out";'
    run = Query(spark, tmp_path, text)
    rows = [f"<r><k>{k}</k><t>{k}.5</t></r>" for k in range(6)]
    accent = "<accent:r>[[k &lt; 3, alter(t, y -&gt; y * 2)]]</accent:r>"
    run.write("r", ["<all>", *rows[:3], accent, *rows[:3], "<r><k>x</k></r>", "</all>"], "1.xml")
    run.write(
        "r",
        [*rows[3:], "<r><k>6</k><new>1.5</new><s/></r>", "<r><k>7</k>", "<punct:r><k>6</k></punct:r>"],
        "2.xml",
    )
    run.process()
    output = run.output("r")
    assert sorted((row["k"], row.get("t"), row.get("new")) for row in output if "k" in row) == [
        *sorted((k, value, None) for k in range(3) for value in (k + 0.5, (k + 0.5) / 2)),
        *((k, k + 0.5, None) for k in range(3, 6)),
        (6, None, 1.5),
    ]
    assert [item["$punctuation"] for item in output if "$punctuation" in item] == ["[k = 6]"]
    actual = [(r["code"], r["position"]["line"], r["raw"], r["reason"]) for r in run.quarantine("r")]
    assert sorted(actual) == [
        ("RQ301", 5, "<r><k>7</k>", "the element is malformed"),
        ("RQ301", 9, "<r><k>x</k></r>", '`k` must be an int, found "x"'),
    ]
