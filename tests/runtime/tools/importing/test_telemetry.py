"""Telemetry schemas of OpenTelemetry as stated accents: names of each version are those of the query."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime.control.schemas.changes import Changes, Stated, Undecided
from cedilla.runtime.tools.importing.telemetry import import_schema
from cedilla.runtime.tools.importing.telemetry_files import read_schema
from tests.kit.command import cedilla
from tests.kit.errors import error_of
from tests.kit.otlp import line_of, message_of
from tests.kit.query import Query
from tests.kit.stream import Item, decode
from tests.kit.tiers import tiered

SCHEMA = """
file_format: 1.1.0
schema_url: https://example.org/schemas/1.22.0
versions:
  1.22.0:
    resources:
      changes:
        - rename_attributes:
            attribute_map:
              deployment.environment: deployment.environment.name
    metrics:
      changes:
        # the unit changed, too, which the file does not say
        - rename_metrics:
            http.server.duration: http.server.request.duration
        - rename_attributes:
            attribute_map:
              state: pool.state
            apply_to_metrics: [pool.usage]
  1.21.0:
  1.20.0:
    all:
      changes:
        - rename_attributes:
            attribute_map:
              method: http.method
    metrics:
      changes:
        - split:
            apply_to_metric: paging
            by_attribute: direction
            metrics_from_attributes:
              paging.in: in
              paging.out: out
    spans:
      changes:
        - rename_attributes:
            attribute_map:
              net.host.name: server.address
"""
QUERY = """
stream latency(time: timestamp, metric: string, schema?: version, unit: string,
               env?: string from resource "deployment.environment.name",
               method?: string from attribute "http.method",
               phase?: string from attribute "pool.state",
               direction?: string from attribute "direction",
               sum?: double unit from unit in {s, ms}, value?: double unit from unit in {s, ms})
  from otlp "in/latency"
  heartbeat time delay 1 hour;
{accents}
named := project[metric, env, method, phase, sum, value](latency);
emit named to json "out/named";
"""


def imported(text: str = SCHEMA, query: str | None = None, names: str | None = None) -> Changes:
    plan = None if query is None else compile_query(query.replace("{accents}", "")).plan
    schema = read_schema(text, "schema.yaml")
    return import_schema(schema, "schema.yaml", names, plan, "" if plan is None else plan.sources[0].name)


def accents(changes: Changes) -> list[str]:
    return [entry.text for entry in changes.entries if isinstance(entry, Stated)]


def questions(changes: Changes) -> list[Undecided]:
    return [entry for entry in changes.entries if isinstance(entry, Undecided)]


ACCENTS = [
    '[[schema < "1.22-0", metric = "pool.usage", rename(state, phase)]]',
    '[[schema < "1.22-0", recode(metric, {"http.server.request.duration": "http.server.duration"}, else same)]]',
    '[[schema < "1.22-0", rename("deployment.environment", env)]]',
    '[[schema < "1.20-0", direction = "in", recode(metric, {"paging.in": "paging"}, else same)]]',
    '[[schema < "1.20-0", direction = "out", recode(metric, {"paging.out": "paging"}, else same)]]',
]
UNITS = "the file does not say whether the unit changed with the name"


def test_changes_are_stated_from_the_newest_version_back() -> None:
    """`method` is the name of an attribute, so no key can have it: a question."""
    changes = imported(query=QUERY)
    assert accents(changes) == ACCENTS
    (question,) = questions(changes)
    assert "has the key `method` in other versions" in question.why
    assert question.choices == ('[[schema < "1.20-0", rename(method, method)]]',)
    assert question.span is not None
    assert question.span.line == 24
    other = imported(query=QUERY.replace("method?", "verb?").replace(" method,", " verb,"))
    assert accents(other) == [*ACCENTS, '[[schema < "1.20-0", rename(method, verb)]]']
    assert not questions(other)


def test_without_a_query_all_changes_are_there_with_plain_names() -> None:
    changes = imported()
    assert [*accents(changes)][2:] == [
        '[[schema < "1.22-0", rename("deployment.environment", deployment_environment_name)]]',
        *ACCENTS[3:],
        '[[schema < "1.20-0", rename(method, http_method)]]',
    ]
    assert [question.why.partition(":")[0] for question in questions(changes)] == [UNITS]


def test_a_query_with_older_names_reads_newer_ones() -> None:
    query = (
        QUERY.replace("deployment.environment.name", "deployment.environment")
        .replace("pool.state", "state")
        .replace("method?", "verb?")
        .replace(" method,", " verb,")
    )
    changes = imported(query=query, names="1.21.0")
    assert accents(changes) == [
        *ACCENTS[3:],
        '[[schema < "1.20-0", rename(method, verb)]]',
        '[[schema >= "1.22-0", rename("deployment.environment.name", env)]]',
        '[[schema >= "1.22-0", recode(metric, {"http.server.duration": "http.server.request.duration"}, else same)]]',
        '[[schema >= "1.22-0", metric = "pool.usage", rename("pool.state", phase)]]',
    ]
    (question,) = questions(imported(SCHEMA.replace("1.21.0", "1.19.0"), query, "1.19.0"))
    assert question.why == "`paging` is divided from 1.20.0 on, and its parts lack `direction`"


# --- what the file does not say ---


def test_units_are_a_question_unless_each_point_names_its_own() -> None:
    plain = QUERY.replace("unit from unit in {s, ms}", "unit s")
    assert any(question.why.startswith(UNITS) for question in questions(imported(query=plain)))
    assert not any(question.why.startswith(UNITS) for question in questions(imported(query=QUERY)))


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (QUERY.replace("metric: string, ", "").replace("[metric, ", "["), "does not read which metric a point is of"),
        (QUERY.replace("direction?: string from attribute", "way?: string from resource"), "divided by its attribute"),
        (QUERY.replace("heartbeat", 'metrics "http.server.request.duration" heartbeat'), "and not `http.server.dur"),
        (QUERY.replace('"direction"', '"server.address"'), "says so of `spans` only"),
        (QUERY.replace('"direction"', '"state"').replace("direction?", "way?"), "`phase` has the key `state` in other"),
    ],
)  # fmt: skip
def test_what_the_query_cannot_say_is_a_question(query: str, why: str) -> None:
    asked = questions(imported(query=query))
    assert any(why in question.why for question in asked), [question.why for question in asked]


def test_what_the_query_refuses_is_a_question_with_the_reason() -> None:
    """A name is of one attribute for the whole stream, also if one is of the resource and one of the point."""
    query = QUERY.replace("deployment.environment.name", "http.method")
    text = SCHEMA.replace("method: http.method", "verb: http.method")
    (question,) = questions(imported(text, query))
    assert question.why.startswith("the query refuses a change, RQ460: ")
    assert question.choices == ('[[schema < "1.20-0", rename(verb, method)]]',)


def test_of_several_names_at_once_a_person_chooses() -> None:
    text = SCHEMA.replace(
        "method: http.method", "method.a: http.method\n              method.b: http.method"
    ).replace(
        "http.server.duration: http",
        "http.old: http.server.request.duration\n            http.server.duration: http",
    )
    changes = imported(text, QUERY)
    assert [question.choices for question in questions(changes)] == [
        (
            '[[schema < "1.22-0", recode(metric, {"http.server.request.duration": "http.old"}, else same)]]',
            ACCENTS[1],
        ),
        (
            '[[schema < "1.20-0", rename("method.a", method)]]',
            '[[schema < "1.20-0", rename("method.b", method)]]',
        ),
    ]
    assert ACCENTS[1] not in accents(changes)


# --- the command ---


def test_the_command_writes_a_file_that_the_query_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    (tmp_path / "plain.rq").write_text(QUERY.replace("{accents}", ""))
    done = cedilla("import", "otel-schema", "schema.yaml", "--query", "plain.rq", "-o", "changes.rqm")
    assert done.exit_code == 0
    assert "warning[RQ508]" in done.stderr
    assert "--> schema.yaml:24:11" in done.stderr
    assert "5 accents in changes.rqm, 1 to decide" in done.stderr
    text = (tmp_path / "changes.rqm").read_text()
    assert f"# before 1.22.0\n{ACCENTS[0]}  # rename_attributes, line 16\n" in text
    assert '#   [[schema < "1.20-0", rename(method, method)]]' in text
    (tmp_path / "q.rq").write_text(QUERY.replace("{accents}", 'accent latency from file "changes.rqm";'))
    checked = cedilla("check", "q.rq")
    assert checked.exit_code == 0, checked.output
    shown = cedilla("import", "otel-schema", "-", "--query", "plain.rq", text=SCHEMA)
    assert shown.stdout.replace("from - (", "from schema.yaml (") == text


def test_options_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    (tmp_path / "q.rq").write_text('stream a(n: int) from json "a"; emit a to json "o";')
    of = ("import", "otel-schema", "schema.yaml")
    assert "--source requires --query" in cedilla(*of, "--source", "a").stderr
    assert "requires a query with a stream of otlp" in cedilla(*of, "--query", "q.rq").stderr
    assert "error[RQ507]: none.yaml cannot be read" in cedilla("import", "otel-schema", "none.yaml").stderr
    assert "no version 1.22.1" in cedilla(*of, "--names", "1.22.1").stderr


def test_a_query_without_the_version_has_a_hint() -> None:
    error = error_of(lambda: imported(query=QUERY.replace("schema?: version", "schema?: string")))
    assert (error.code, error.help) == ("RQ510", "declare the version of the schema: `schema?: version`")


def test_the_parser_that_is_not_there_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    error = error_of(imported)
    assert (error.code, error.help) == ("RQ509", "pip install 'cedilla[otlp]'")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SCHEMA, "", "the file is empty"),
        (SCHEMA, "[1, 2]", "the file is not a map"),
        (SCHEMA, "a: [1", "the file is not YAML: expected ',' or ']', but got '<stream end>'"),
        (SCHEMA, "a: \x00", "the file is not YAML: .* special characters are not allowed.*"),
        (SCHEMA, "[" * 5000, "the file is nested too deeply"),
        ("file_format: 1.1.0", "", "the file has no `file_format`, so it is not a telemetry schema"),
        ("1.1.0", "2.0.0", "the file has the format 2.0.0, and 1.0.0 and 1.1.0 are read"),
        ("1.1.0", "resolved/2.0", "a file of schema v2 (resolved/2.0) does not say since which version a name is .*"),
        ("1.1.0", "manifest/2.1", "a file of schema v2 (manifest/2.1) does not say since which version a name is .*"),
        ("file_format: 1.1.0", "baseline_schema_url: x", "a list of differences is not a telemetry schema"),
        ("versions:", "version:", "the file has no `versions`"),
        ("  1.21.0:", "  newest:", "`newest` under `versions` is not a version"),
        ("  1.21.0:", "  1.22.0:", "`versions` has `1.22.0` twice"),
        ("    spans:", "    span:", "version 1.20.0 has a section `span`"),
        ("    spans:\n      changes", "    spans:\n      change", "section `spans` has `change`"),
        ("- split:", "- divide:", "section `metrics` has a change `divide`"),
        ("by_attribute: direction", "attribute: direction", "`split` has a field `attribute`"),
        ("            by_attribute: direction\n", "", "`split` has no `by_attribute`"),
        ("[pool.usage]", "pool.usage", "`apply_to_metrics` is not a list"),
        ("method: http.method", "method: [http.method]", "`attribute_map` has a list or a map in place of a name"),
        ("method: http.method", 'method: ""', "`attribute_map` has an empty name, .*"),
        ("- rename_metrics:", "- [rename_metrics]\n        - rename_metrics:", "a change is not a map"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_an_error_with_a_place(old: str, new: str, message: str) -> None:
    error = error_of(lambda: imported(SCHEMA.replace(old, new, 1)))
    assert error.code == "RQ507"
    assert re.fullmatch(re.sub(r"([\[()])", r"\\\1", message), error.message) or error.message == message
    has_place = (
        not any(word in error.message for word in ("empty", "deeply", "special")) or "name" in error.message
    )
    assert (error.span is not None) == has_place


# --- streams ---


def point(schema: str, metric: str, **more: Any) -> Any:
    """A request with a point whose resource has a schema."""
    message = message_of([{"metric": metric, "time": 1, "unit": "s", "double": 1.0, **more}])
    message.resource_metrics[0].schema_url = schema and f"https://example.org/schemas/{schema}"
    return message


MESSAGES = [
    point(
        "1.21.0",
        "http.server.duration",
        unit="ms",
        count=1,
        sum=250.0,
        resource={"deployment.environment": "prod"},
        attributes={"http.method": "GET"},
    ),
    point("1.22.0", "http.server.request.duration", count=1, sum=0.25, attributes={"http.method": "PUT"}),
    point(
        "", "http.server.request.duration", count=1, sum=0.5, resource={"deployment.environment.name": "test"}
    ),
    point("1.9.0", "paging", attributes={"direction": "in", "verb": "POST"}),
    point("1.21.0", "pool.usage", attributes={"state": "idle"}),
    point("1.21.0", "other", attributes={"pool.state": "busy"}),
    point("1.22.0", "pool.usage", attributes={"pool.state": "used"}),
    point("1.22.0-dev", "pool.usage", attributes={"pool.state": "new"}),
    point("1.21.0", "http.server.request.duration", count=1, sum=9.0),
]
"""The last one has the new name of a metric by an old schema: it is set aside."""
ROWS: list[Item] = [
    {"metric": "http.server.request.duration", "env": "prod", "method": "GET", "sum": 0.25},
    {"metric": "http.server.request.duration", "method": "PUT", "sum": 0.25},
    {"metric": "http.server.request.duration", "env": "test", "sum": 0.5},
    {"metric": "paging.in", "method": "POST", "value": 1.0},
    {"metric": "pool.usage", "phase": "idle", "value": 1.0},
    {"metric": "other", "phase": "busy", "value": 1.0},
    {"metric": "pool.usage", "phase": "used", "value": 1.0},
    {"metric": "pool.usage", "phase": "new", "value": 1.0},
]


def by_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


@pytest.mark.either_engine
@pytest.mark.parametrize("is_proto", [False, True])
def test_points_of_all_versions_have_the_names_of_one(
    spark: SparkSession, tmp_path: Path, is_proto: bool
) -> None:
    """A metric that changed its name, and its unit from ms to s, is right by the unit of each point; so is an attribute
    of the resource."""
    text = SCHEMA.replace("method: http.method", "verb: http.method")
    stated = "\n".join(f"accent latency {accent};" for accent in accents(imported(text, QUERY)))
    run = Query(spark, tmp_path, QUERY.replace("{accents}", stated))
    if is_proto:
        data = [message.SerializeToString() for message in MESSAGES]
        (tmp_path / "in" / "latency").mkdir(parents=True)
        framed = b"".join(len(message).to_bytes(4) + message for message in data)
        (tmp_path / "in" / "latency" / "a.pb").write_bytes(framed)
    else:
        run.write("latency", [line_of(message) for message in MESSAGES])
    run.process()
    assert by_names(decode(run.output("named"))) == by_names(ROWS)
    assert [line["code"] for line in run.quarantine("latency")] == ["RQ314"]
    simulated = run.simulate()
    assert by_names(simulated.canonical("named")) == by_names(ROWS)
    assert simulated.codes == ["RQ314"]


KEYS, METRICS = ("k.a", "k.b", "k.c"), ("m.a", "m.b", "m.c")


@pytest.mark.parametrize("seed", tiered(range(40), 3))
def test_names_after_random_changes_are_those_that_the_schema_leads_to(seed: int, tmp_path: Path) -> None:
    """The oracle does as OpenTelemetry says: it applies the changes of each later version, in their order."""
    chance = Random(seed)
    versions = [f"1.{n}.0" for n in range(1, 6)]
    names: dict[str, dict[str, str]] = {versions[0]: {name: name for name in (*KEYS, *METRICS)}}
    lines = ["file_format: 1.1.0", "versions:", f"  {versions[0]}:"]
    for n, version in enumerate(versions[1:], 1):
        now = dict(names[versions[n - 1]])
        lines += [f"  {version}:", "    metrics:", "      changes:"]
        for of, head in (
            (KEYS, "        - rename_attributes:\n            attribute_map:\n"),
            (METRICS, "        - rename_metrics:\n"),
        ):
            some = [name for name in of if chance.random() < 0.5]
            if some:
                lines.append(head + "\n".join(f"              {now[name]}: {name}.{n}" for name in some))
                now |= {name: f"{name}.{n}" for name in some}
        names[version] = now
    base = chance.choice([versions[-1], chance.choice(versions)])
    of_query = names[base]
    attributes = ", ".join(f'x{n}?: string from attribute "{of_query[key]}"' for n, key in enumerate(KEYS))
    query = (
        f'stream r(schema?: version, metric: string, {attributes}) from otlp "in/r";\n{{accents}}\n'
        'named := project[metric, x0, x1, x2](r); emit named to json "out/named";'
    )
    stated = accents(imported("\n".join(lines), query, base))
    run = Query.without_engine(
        tmp_path, query.replace("{accents}", "\n".join(f"accent r {accent};" for accent in stated))
    )
    requests: list[str] = []
    expected: list[dict[str, str]] = []
    for number in range(20):
        version, metric = chance.choice(versions), chance.choice(METRICS)
        own = {name for name in range(3) if chance.random() < 0.7}
        raw = {names[version][KEYS[n]]: f"v{number}" for n in own}
        requests.append(line_of(point(version, names[version][metric], attributes=raw)))
        expected.append({"metric": of_query[metric], **{f"x{n}": f"v{number}" for n in own}})
    run.write("r", requests)
    simulated = run.simulate()
    assert not simulated.codes
    assert by_names(simulated.canonical("named")) == by_names(expected)
