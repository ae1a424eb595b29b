"""The sources of markers, and the effects of bad and doubtful ones: `markers only`, `bad_markers`, `doubtful`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, compile_query, run, simulate
from cedilla.grammar import format_query, parse_query
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.records.marker_files import in_stream_order
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.kit.command import cedilla
from tests.kit.errors import error_of
from tests.kit.lines import marker, write_lines
from tests.kit.stream import Item, decode

pytestmark = pytest.mark.either_engine

ONLY = """
stream r(k: int in {1, 2, 3}, n: long, t: double unit degF)
  from json "r"
  markers only "ops";
emit r to json "out";
"""
FOLDER = ONLY.replace("only ", "")
OPEN = FOLDER.replace('\n  markers "ops"', "")
QUARANTINE = f"{OPEN}set bad_markers = quarantine;\n"


def rows_of_key(k: int, *values: float) -> list[Item]:
    return [{"k": k, "n": n, "t": t} for n, t in enumerate(values)]


CELSIUS = marker("[[k = 1, unit(t, degC)]]")
KELVIN = marker("[[k = 2, unit(t, K)]]")
CLOSED: Item = {"$punctuation": "[k = 3]"}
PYTHON = "{'$accent': '[[unit(t, degC)]]'}"
NEAR = '{"$acent": "[[unit(t, degC)]]"}'


class Stream:
    """Files of a stream and of its folder of markers, each later than the one before, and what comes of them."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.root, self.spark, self.count = root, spark, 0
        self.reports: list[EpochReport] = []

    def write(self, folder: str, *items: Item | str) -> None:
        self.count += 1
        write_lines(self.root / folder / f"{self.count:03d}.jsonl", items, self.count)

    def run(self, query: str, files: int | None = None, **settings: str) -> None:
        options = Options(once=True, files_per_epoch=files, settings=settings, checkpoint="ck")
        run(query, options, spark=self.spark, on_report=self.reports.append)

    @property
    def canonical(self) -> list[Item]:
        """The tuples of the output in the first units, in an order."""
        files = sorted(self.root.glob("out/epoch=*/*"), key=lambda file: in_stream_order(str(file)))
        return _sorted(decode(json.loads(line) for file in files for line in file.read_text().splitlines()))

    @property
    def quarantine(self) -> list[tuple[str, str, int]]:
        """Code, text and line of what is set aside."""
        files = self.root.glob("ck/quarantine/r/*.jsonl")
        rejected = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return sorted(
            (diagnostic["code"], diagnostic["raw"], diagnostic["position"]["line"]) for diagnostic in rejected
        )

    @property
    def warnings(self) -> list[Diagnostic]:
        return [warning for report in self.reports for warning in report.warnings]


class Simulated:
    """The results of `simulate` for the same stream."""

    def __init__(self, query: str, **settings: str) -> None:
        self.quarantine: list[tuple[str, str, int]] = []
        self.warnings: list[Diagnostic] = []
        out = Path(f"simulated-{len(list(Path().iterdir()))}")
        simulate(
            query,
            Options(sinks={"r": out}, settings=settings),
            lambda line, code: self.quarantine.append(
                (code, line.line.text, int(line.line.place.rpartition(":")[2]))
            ),
            self.warnings.append,
        )
        self.quarantine.sort()
        files = sorted(out.glob("epoch=*/*")) if out.exists() else []
        self.canonical = _sorted(
            decode(json.loads(line) for file in files for line in file.read_text().splitlines())
        )


def _sorted(items: Sequence[Item]) -> list[Item]:
    plain = [{n: v if isinstance(v, int) else round(float(v), 9) for n, v in item.items()} for item in items]
    return sorted(plain, key=lambda item: (item["k"], item["n"], item["t"]))


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Stream:
    monkeypatch.chdir(tmp_path)
    for folder in ("r", "ops"):
        (tmp_path / folder).mkdir()
    return Stream(tmp_path, spark)


# --- markers only ---


def write_foreign(stream: Stream) -> list[tuple[str, str, int]]:
    """Markers in the folder, and others among the tuples; what is to be set aside."""
    stream.write("r", *rows_of_key(1, 50.0, 59.0), CELSIUS, *rows_of_key(1, 68.0))
    stream.write("ops", KELVIN)
    stream.write(
        "r", CLOSED, *rows_of_key(3, 41.0), PYTHON, NEAR, marker("[[no accent"), *rows_of_key(2, 300.0)
    )
    foreign = [
        ("RQ326", json.dumps(CELSIUS), 3),
        ("RQ326", json.dumps(CLOSED), 1),
        ("RQ326", PYTHON, 3),
        ("RQ326", NEAR, 4),
        ("RQ326", json.dumps(marker("[[no accent")), 5),
    ]
    return sorted(foreign)


FOREIGN_ROWS = _sorted(
    [*rows_of_key(1, 50.0, 59.0), *rows_of_key(1, 68.0), *rows_of_key(3, 41.0), {"k": 2, "n": 0, "t": 80.33}]
)


@pytest.mark.parametrize("files", [None, 1])
def test_markers_among_the_tuples_are_bad_tuples_where_only_those_of_a_folder_count(
    stream: Stream, files: int | None
) -> None:
    foreign = write_foreign(stream)
    stream.run(ONLY, files)
    assert stream.quarantine == foreign
    assert stream.canonical == FOREIGN_ROWS
    assert sum((Counter(report.quarantined) for report in stream.reports), Counter()) == {
        "RQ326": len(foreign)
    }
    assert sum(report.accents + report.punctuations for report in stream.reports) == 1
    simulated = Simulated(ONLY)
    assert simulated.quarantine == foreign
    assert simulated.canonical == FOREIGN_ROWS
    shown = cedilla("status", "ck")
    assert "r: RQ326 5" in shown.stdout


def test_a_bad_tuple_that_is_a_marker_ends_the_query_where_bad_tuples_do(stream: Stream) -> None:
    write_foreign(stream)
    for way in (lambda: stream.run(ONLY, invalid="abort"), lambda: Simulated(ONLY, invalid="abort")):
        error = error_of(way)
        assert error.code == "RQ326"
        assert error.help == "`set invalid = quarantine;` sets such lines aside"
        assert error.notes[0].endswith(f"001.jsonl:3: {json.dumps(CELSIUS)}")
    assert stream.quarantine == []


def test_markers_only_goes_on_after_a_restart_and_a_stop(stream: Stream) -> None:
    """A bad marker of the folder still ends the query; what was set aside before it is so once."""
    stream.write("r", *rows_of_key(1, 50.0), CELSIUS)
    stream.write("ops", marker("[[k = 2, alter(t, y -> y * y)]]"))
    stream.write("r", KELVIN, *rows_of_key(2, 41.0))
    error = error_of(lambda: stream.run(ONLY))
    assert error.code == "RQ202"
    assert stream.quarantine == [("RQ326", json.dumps(CELSIUS), 2)]
    (stream.root / "ops" / "002.jsonl").write_text(json.dumps(marker("[[k = 2, unit(t, degC)]]")) + "\n")
    stream.run(ONLY)
    assert stream.quarantine == [("RQ326", json.dumps(CELSIUS), 2), ("RQ326", json.dumps(KELVIN), 1)]
    assert stream.canonical == [*rows_of_key(1, 50.0), *rows_of_key(2, 105.8)]


@pytest.mark.parametrize("format_", ["csv", "xml", "parquet"])
def test_markers_only_holds_in_every_format(stream: Stream, format_: str) -> None:
    text = ONLY.replace("from json", f"from {format_}")
    folder = stream.root / "r"
    if format_ == "csv":
        (folder / "1.csv").write_text("k,n,t\n1,0,50.0\n$accent,[[unit(t degC)]],\n1,1,59.0\n")
    elif format_ == "xml":
        first, second = (f"<r><k>1</k><n>{n}</n><t>{t}</t></r>" for n, t in ((0, 50.0), (1, 59.0)))
        (folder / "1.xml").write_text(f"<rs>{first}<accent:r>[[unit(t, degC)]]</accent:r>{second}</rs>\n")
    else:
        import pyarrow as pa
        from pyarrow import parquet

        types = pa.schema({"k": pa.int32(), "n": pa.int64(), "t": pa.float64(), "$accent": pa.string()})
        items = [*rows_of_key(1, 50.0), marker("[[unit(t, degC)]]"), {"k": 1, "n": 1, "t": 59.0}]
        folder /= "epoch=000000000000"
        folder.mkdir()
        parquet.write_table(pa.Table.from_pylist(items, types), folder / "1.parquet")
        (folder / "_2-punctuations.jsonl").write_text('{"$punctuation": "[k = 1]"}\n')  # as an output has it
    stream.run(text)
    assert stream.canonical == rows_of_key(1, 50.0, 59.0)
    codes = Counter(code for code, *_ in stream.quarantine)
    assert codes == {"RQ326": 2 if format_ == "parquet" else 1}


def test_a_file_that_cannot_be_read_is_no_foreign_marker(stream: Stream) -> None:
    (stream.root / "r" / "1.csv").write_text("a,b\n1,2\n")
    assert error_of(lambda: stream.run(ONLY.replace("from json", "from csv"))).code == "RQ426"


def test_an_edit_of_who_may_send_markers_is_confirmed(stream: Stream) -> None:
    stream.write("r", *rows_of_key(1, 50.0), CELSIUS)
    stream.run(FOLDER)
    (stream.root / "q.rq").write_text(ONLY)
    shown = cedilla("plan", "q.rq", "ck")
    assert shown.exit_code == 0
    assert "`markers only`" in shown.stdout
    assert "a bad tuple (RQ326)" in shown.stdout
    assert error_of(lambda: stream.run(ONLY)).code == "RQ402"
    stream.write("r", *rows_of_key(1, 10.0), marker("[[k = 1, unit(t, K)]]"), *rows_of_key(2, 41.0))
    run(ONLY, Options(once=True, checkpoint="ck", yes=True), spark=stream.spark)
    assert stream.canonical == _sorted([*rows_of_key(1, 50.0), *rows_of_key(1, 50.0), *rows_of_key(2, 41.0)])
    assert [code for code, *_ in stream.quarantine] == ["RQ326"]


def test_settings_about_markers_are_edited_at_once(stream: Stream) -> None:
    stream.write("r", *rows_of_key(1, 50.0))
    stream.run(OPEN)
    (stream.root / "q.rq").write_text(f"{QUARANTINE}set doubtful = abort;\n")
    shown = cedilla("plan", "q.rq", "ck")
    assert shown.exit_code == 0
    assert "bad_markers: abort → quarantine" in shown.stdout
    assert "doubtful: warn → abort" in shown.stdout


def test_markers_only_is_written_as_it_is_read(stream: Stream) -> None:
    assert format_query(parse_query(ONLY), ONLY).count('markers only "ops"') == 1
    plan = compile_query(ONLY).plan
    assert plan.sources[0].markers_only
    (stream.root / "q.rq").write_text(ONLY)
    for view in ([], ["--full"]):
        assert 'markers only "ops"' in cedilla("explain", "q.rq", *view).stdout
    assert '"markers_only": true' in cedilla("explain", "q.rq", "--format", "json").stdout
    assert 'markers only "ops"' in cedilla("compile", "q.rq").stdout
    assert cedilla("trace", "q.rq", "[[k = 1, unit(t, degC)]]").exit_code == 0


@pytest.mark.parametrize("clause", ["markers only", "markers only ops", 'only "ops"', 'markers "ops" only'])
def test_a_clause_without_its_folder_is_told(clause: str) -> None:
    error = error_of(lambda: compile_query(ONLY.replace('markers only "ops"', clause)))
    assert error.code in ("RQ001", "RQ002")
    assert error.span is not None
    assert error.span.line in (3, 4)  # a word that is missing comes after the last one


def test_validate_and_senders_know_who_may_send_markers(stream: Stream) -> None:
    write_foreign(stream)
    (stream.root / "q.rq").write_text(ONLY)
    alone = cedilla("validate", "r", "--query", "q.rq", "--markers", "ops", "--format", "json")
    assert json.loads(alone.stdout)["counts"] == {"RQ326": 5}
    assert json.loads(alone.stdout)["accents"] == 1
    refused = cedilla("accent", "r", "--query", "q.rq", "[[k = 1, unit(t, degC)]]")
    assert refused.exit_code == 1
    assert "RQ326" in refused.stderr


# --- bad markers ---


BAD = {
    "RQ202": ("[[k = 2, alter(t, y -> y * y)]]", "`t` of k = 2 stays in degF"),
    "RQ207": ("[[kk = 1, unit(t, degC)]]", "`t` of kk = 1 stays in degF"),
    "RQ216": ("[[k = 22, unit(t, degC)]]", "`t` of k = 22 stays in"),
    "RQ142": ("[[k = 2, unit(t, kWh)]]", "`t` of k = 2 stays in degF"),
    "RQ001": ("[[k = 2 unit t]]", "nothing changes by it"),
    "RQ205": ("[[+(n: long)]]", "`n` is not added"),
    "RQ208": ("[[n = north, unit(t, degC)]]", "`t` of n = north stays in degC or degF"),
    "RQ220": ("[[k = 1, grow(k, {4})]]", "the domain of `k` does not grow"),
}


def write_bad(stream: Stream) -> list[str]:
    """Bad markers between right ones; their texts."""
    texts = [json.dumps(marker(text)) for text, _ in BAD.values()]
    texts += ['{"$punctuation": "[k = north]"}', PYTHON]
    stream.write("r", *texts[:3], *rows_of_key(1, 50.0), *texts[3:6], CELSIUS, *rows_of_key(1, 15.0))
    stream.write(
        "r",
        *texts[6:],
        CLOSED,
        *rows_of_key(2, 41.0),
        KELVIN,
        texts[0],
        *rows_of_key(2, 300.0),
        *rows_of_key(3, 9.0),
    )
    return texts


@pytest.mark.parametrize("files", [None, 1])
def test_bad_markers_are_set_aside_and_what_stays_is_said(stream: Stream, files: int | None) -> None:
    write_bad(stream)
    stream.run(QUARANTINE, files)
    simulated = Simulated(QUARANTINE)
    assert stream.quarantine == simulated.quarantine
    assert stream.canonical == simulated.canonical
    assert stream.canonical == _sorted(
        [*rows_of_key(1, 50.0), *rows_of_key(1, 59.0), *rows_of_key(2, 41.0), {"k": 2, "n": 0, "t": 80.33}]
    )
    codes = Counter(code for code, *_ in stream.quarantine)
    assert codes["RQ305"] == 1, "a right punctuation between bad markers counts"
    assert codes["RQ212"] == 1
    assert codes["RQ202"] == 2
    assert BAD.keys() <= codes.keys()
    assert sum(codes.values()) == len(BAD) + 2 + 1 + 1
    for warnings in (stream.warnings, simulated.warnings):
        ignored = [warning for warning in warnings if warning.code == "RQ235"]
        assert len(ignored) == len(BAD) + 3
        notes = "\n".join(note for warning in ignored for note in warning.notes)
        assert "`t` of k = 2 stays in degF" in notes
        assert "`t` of k = 2 stays in K" in notes, "what holds where the marker stands"
        assert "nothing changes by it" in notes
        assert "it closes nothing" in notes
        for text, stays in BAD.values():
            assert text in notes
            assert stays is None or stays in notes


def test_each_setting_decides_about_its_own_kind(stream: Stream) -> None:
    """Bad tuples end the query, and bad markers do not; and the other way round."""
    stream.write("r", marker("[[k = 2, alter(t, y -> y * y)]]"), *rows_of_key(1, 50.0))
    for way in (stream.run, Simulated):
        way(QUARANTINE, invalid="abort")
    stream.write("r", '{"k": 1}')
    for way in (stream.run, Simulated):
        assert error_of(lambda way=way: way(QUARANTINE, invalid="abort")).code == "RQ302"
        assert error_of(lambda way=way: way(OPEN)).code in ("RQ202", "RQ402") if way is Simulated else True


RIGHT = {
    "RQ209": 'stream r(k: int in {1, 2}, t: double) from json "r";\nemit select[t > 1](r) to json "out";\n',
    "RQ211": 'stream r(k: int in {1, 2}, t: double) from json "r";\nset accents = strict;\n'
    'emit project[t](r) to json "out";\n',
}


@pytest.mark.parametrize(
    ("code", "text"), [("RQ209", "[[-(t)]]"), ("RQ211", "[[k = 1, alter(t, y -> 2 * y)]]")]
)
def test_a_right_marker_that_the_query_cannot_follow_ends_it_all_the_same(
    stream: Stream, code: str, text: str
) -> None:
    stream.write("r", {"k": 1, "t": 5.0}, marker(text), {"k": 2, "t": 6.0})
    query = f"{RIGHT[code]}set bad_markers = quarantine;\n"
    assert error_of(lambda: stream.run(query)).code == code
    assert error_of(lambda: simulate(query)).code == code
    assert stream.quarantine == []


def test_a_tuple_in_a_folder_of_markers_ends_the_query_all_the_same(stream: Stream) -> None:
    stream.write("ops", *rows_of_key(1, 1.0))
    assert error_of(lambda: stream.run(f"{FOLDER}set bad_markers = quarantine;\n")).code == "RQ224"


def test_bad_markers_are_set_aside_once_where_a_run_stops_and_goes_on(stream: Stream) -> None:
    bad = marker("[[k = 2, alter(t, y -> y * y)]]")
    stream.write("r", bad, *rows_of_key(1, 50.0), bad, marker("[[-(k)]]"), *rows_of_key(1, 59.0), bad)
    error = error_of(lambda: stream.run(QUARANTINE))
    assert error.code == "RQ209"
    file = stream.root / "r" / "001.jsonl"
    file.write_text(file.read_text().replace("[[-(k)]]", "[[k = 1, unit(t, degF)]]"))
    stream.run(QUARANTINE)
    assert [line for *_, line in stream.quarantine] == [1, 3, 6]
    assert stream.canonical == _sorted([*rows_of_key(1, 50.0), *rows_of_key(1, 59.0)])


def test_trace_says_of_a_bad_marker_what_stays(stream: Stream) -> None:
    (stream.root / "q.rq").write_text(QUARANTINE)
    shown = cedilla("trace", "q.rq", "[[k = 1, unit(t, degC)]]", "[[k = 1, alter(t, y -> y * y)]]", "[k = 1]")
    assert shown.exit_code == 0
    assert "set aside (RQ202): it changes nothing" in shown.stdout
    assert "`t` of k = 1 stays in degC" in shown.stdout
    (stream.root / "q.rq").write_text(OPEN)
    assert cedilla("trace", "q.rq", "[[k = 1, alter(t, y -> y * y)]]").exit_code == 1


# --- doubtful ones ---


DOUBTFUL = {
    "RQ217": "[[k in {2, 22}, unit(t, degC)]]",
    "RQ218": "[[k = 1, alter(t, y -> 2 * y)]]",
}


@pytest.mark.parametrize("code", DOUBTFUL)
@pytest.mark.parametrize("bad_markers", ["abort", "quarantine"])
def test_doubtful_accents_end_the_query_where_that_is_set(
    stream: Stream, code: str, bad_markers: str
) -> None:
    """They are not bad markers, and are not set aside."""
    query = OPEN.replace(" unit degF", "") if code == "RQ218" else OPEN
    twice = [marker(DOUBTFUL["RQ218"])] if code == "RQ218" else []
    stream.write("r", *twice, *rows_of_key(1, 50.0), marker(DOUBTFUL[code]), *rows_of_key(2, 41.0))
    for way in (stream.run, Simulated):
        error = error_of(lambda way=way: way(query, doubtful="abort", bad_markers=bad_markers))
        assert (error.code, error.severity) == (code, "error")
        assert "`set doubtful = warn;` continues" in (error.help or "")
    assert [row["k"] for row in stream.canonical] == [1], "all before it is committed"
    stream.run(query, bad_markers=bad_markers)
    assert [row["k"] for row in stream.canonical] == [1, 2]
    assert code in [warning.code for warning in stream.warnings]
    Simulated(query, bad_markers=bad_markers)


@pytest.mark.parametrize("settings", [{"suspect": "warn", "doubtful": "abort"}, {"doubtful": "abort"}])
def test_a_jump_ends_the_query_before_its_epoch_where_that_is_set(
    stream: Stream, settings: dict[str, str]
) -> None:
    query = OPEN.replace(" unit degF", "")
    before = [{"k": 1, "n": n, "t": 60.0 + n % 7} for n in range(100)]
    behind = [{"k": 1, "n": n, "t": (28.0 + n % 7) * 5 / 9} for n in range(100, 200)]
    stream.write("r", *before)
    stream.write("r", *behind)
    for way in (lambda: stream.run(query, 1, **settings), lambda: Simulated(query, **settings)):
        error = error_of(way)
        assert (error.code, error.severity) == ("RQ223", "error")
        assert "`set doubtful = warn;` continues" in (error.help or "")
    assert len(stream.canonical) == 100
    stream.run(query, 1, suspect="warn")
    assert len(stream.canonical) == 200


# --- what a stop says ---


@pytest.mark.parametrize("first", [True, False])
def test_a_stop_by_a_marker_says_what_is_committed_and_which_line_to_mend(
    stream: Stream, first: bool
) -> None:
    before = [] if first else [*rows_of_key(1, 50.0), CELSIUS]
    stream.write("r", *before, marker("[[k = 2, alter(t, y -> y * y)]]"), *rows_of_key(1, 15.0))
    *_, done, repair, _ = error_of(lambda: stream.run(OPEN)).notes
    committed = "everything before this marker is committed, up to epoch 0"
    assert done == f"{'nothing is committed yet' if first else committed}, and nothing is lost"
    line = f"line {len(before) + 1} of {stream.root}/r/001.jsonl"
    assert repair == f"repair or delete {line}; then run the same command again"
    shown = cedilla("status", "ck")
    assert first or (done in shown.stdout and repair in shown.stdout)
