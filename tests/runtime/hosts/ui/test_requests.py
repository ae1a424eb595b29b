"""Requests of strangers to the servers of the page and of metrics."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from tests.conftest import MODE
from tests.kit.foreign_text import TEXTS, seeded
from tests.kit.pages import Answer, Page, served
from tests.kit.query import Query
from tests.kit.tiers import tiered

PATHS = ("/", "/model", "/metrics", "/trace", "/rows", "/members")
QUERY = 'stream s(k: int, t: double unit m) from json "s"; emit s to json "out";'
POLICIES = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, _embedded: SparkSession) -> Iterator[str]:
    root = tmp_path_factory.mktemp("requests")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        query = Query(_embedded, root, QUERY)
        query.write("s", [{"k": 1, "t": 2.0}])
        query.process().close()
        yield str(root / "checkpoint")


@pytest.fixture(scope="module")
def page(checkpoint: str) -> Iterator[Page]:
    with served(checkpoint) as page:
        yield page


@pytest.fixture(scope="module")
def metrics(checkpoint: str) -> Iterator[Page]:
    """The server of metrics alone, as `--no-page` starts it."""
    command = [
        sys.executable,
        "-m",
        "cedilla.runtime.hosts.cli.main",
        "ui",
        checkpoint,
        "--no-page",
        "--metrics=0",
    ]
    with subprocess.Popen(
        [*command, "--of-run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield Page(int(next(server.stdout).rpartition(":")[2].partition("/")[0]))
        server.stdin.close()


def deep(opening: str, closing: str, inner: str = "1") -> bytes:
    return f"{opening * 12_000}{inner}{closing * 12_000}".encode()


BODIES: dict[str, bytes] = {
    "nothing": b"",
    "a list": b"[1]",
    "an empty list": b"[]",
    "a number": b"1",
    "a string": b'"source"',
    "null": b"null",
    "infinity": b"Infinity",
    "cut": b'{"source": "s", "mar',
    "deep lists": deep("[", "]"),
    "deep objects": deep('{"a":', "}")[: 1 << 16],
    "deep objects that end": deep('{"a":', "}")[:0] + b'{"a":' * 9_000 + b"1" + b"}" * 9_000,
    "a number of many digits": b'{"source": ' + b"9" * 60_000 + b"}",
    "a number of many digits as a source": b'{"output": "out", "source": "s", "marker": '
    + b"1" * 5_000
    + b"}",
    "not utf-8": b'{"source": "\xff\xfe", "marker": "x", "output": "\xff"}',
    "utf-16": '{"source": "s"}'.encode("utf-16"),
    "a mark of byte order": b'\xef\xbb\xbf{"source": "s", "marker": "x", "output": "s"}',
    "a null": b"\x00",
    "half a pair": b'{"source": "s", "marker": "[[k = 1, \\ud800]]", "output": "\\ud800"}',
    "half a pair as a source": b'{"source": "\\ud800", "marker": "x", "output": "s", "units": {"t": "\\udfff"}}',
    "half a pair in units": b'{"source": "s", "marker": "\\udfff", "output": "s", "units": {"\\ud800": "m"}}',
    "lists as texts": b'{"source": ["s"], "marker": {}, "output": []}',
    "numbers as texts": b'{"source": 1, "marker": 2.5e999, "output": NaN}',
    "units of another kind": b'{"source": "s", "marker": "x", "output": "s", "units": [1, {"a": []}]}',
    "units of numbers": b'{"source": "s", "marker": "x", "output": "s", "units": {"t": 3, "k": null}}',
    "one name twice": b'{"source": "s", "source": [], "marker": "x", "marker": 1, "output": "s", "output": 2}',
    "a deep marker": json.dumps({"source": "s", "marker": "[[" + "not " * 9_000, "output": "("}).encode(),
    "a deep function": json.dumps(
        {"source": "s", "marker": f"[[alter(t, y -> {'(' * 9_000}y{')' * 9_000})]]", "output": "s"}
    ).encode(),
    "a deep unit": json.dumps(
        {
            "source": "s",
            "marker": f'[[unit(t, "{"(" * 9_000}m")]]',
            "output": "s",
            "units": {"t": "(" * 9_000},
        }
    ).encode(),
    "too long": b'{"source": "' + b"x" * (1 << 17) + b'"}',
}


def check(answer: Answer) -> None:
    """Checks that an answer is no mistake of the server, and has the headers of every answer."""
    assert answer.status < 500, answer.text
    assert {name: answer.headers.get(name) for name in POLICIES} == POLICIES
    assert "'unsafe-inline'" not in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("path", ["/trace", "/rows", "/members"])
def test_a_wrong_question_gets_problems_with_codes(page: Page, path: str, kind: str) -> None:
    answer = page.send("POST", path, BODIES[kind])
    check(answer)
    content = answer.json()
    assert all(re.fullmatch(r"RQ\d{3}", problem["code"]) for problem in content.get("problems", ()))
    assert (answer.status == 400) is (content.get("problems", [{}])[0].get("code") == "RQ501")
    assert content.get("problems") or {"rows", "markers"} & {*content}


@pytest.mark.rest
@pytest.mark.parametrize("seed", tiered(range(6)))
def test_foreign_texts_in_a_question_get_problems_with_codes(page: Page, seed: int) -> None:
    texts = [*TEXTS.values(), *seeded(seed, 200)] if seed == 0 else seeded(seed, 400)
    for text in (text for text in texts if len(text) < 10_000):
        for path, body in (
            ("/trace", {"source": "s", "marker": text}),
            ("/trace", {"source": text, "marker": "[[unit(t, km)]]"}),
            ("/rows", {"output": text, "units": text}),
            ("/rows", {"output": "s", "units": {"t": text, text: "m"}}),
            ("/members", {"source": text, "attribute": text, "find": text, "sends": {text: text}}),
        ):
            answer = page.send("POST", path, json.dumps(body).encode())
            check(answer)
            content = answer.json()
            assert all(problem["code"].startswith("RQ") for problem in content.get("problems", ())), body


@pytest.mark.rest
@pytest.mark.parametrize(
    "method", tiered(["GET", "POST", "FOO", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"], 3)
)
def test_every_method_has_an_answer_with_the_policy(page: Page, metrics: Page, method: str) -> None:
    for path in (*PATHS, "/nothing", "/model/", "//", "/%2e%2e/%00", "/trace?source=%ff&%00"):
        check(page.send(method, path))
        check(metrics.send(method, path))


@pytest.mark.parametrize(
    "query",
    ["token=%ff%fe", "token=%00", "token", "=&=&&", "name[]=x&name[]=%ff", "%", "a" * 30_000, "a=1&" * 5_000],
)
def test_any_query_of_an_address_has_an_answer(
    page: Page, metrics: Page, checkpoint: str, query: str
) -> None:
    with served(checkpoint, "secret") as public:
        for server in (page, metrics, public):
            for path in ("/", "/metrics"):
                check(server.get(f"{path}?{query}"))


@pytest.mark.parametrize(
    "cookie", ["token=", "token=\xff", "token", ";;;=", 'token="\\777"', "x=" + "y" * 9_000]
)
def test_a_wrong_cookie_is_refused(checkpoint: str, cookie: str) -> None:
    with served(checkpoint, "secret") as public:
        answer = public.get("/model", cookie=cookie)
    check(answer)
    assert answer.status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9464", "localhost.evil.example", "", "127.0.0.1.evil", "\xff"]
)
def test_both_servers_refuse_a_foreign_host(page: Page, metrics: Page, host: str) -> None:
    for server in (page, metrics):
        for path in (*PATHS, "/nothing"):
            answer = server.get(path, host=host)
            check(answer)
            assert answer.status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "\xff"])
def test_both_servers_refuse_a_foreign_origin(page: Page, metrics: Page, origin: str) -> None:
    for server in (page, metrics):
        answer = server.get("/metrics", origin=origin)
        check(answer)
        assert answer.status == 403


def test_metrics_for_other_hosts_have_any_host_and_no_page(metrics: Page) -> None:
    answer = metrics.get("/metrics")
    assert answer.status == 200
    assert {family.name for family in text_string_to_metric_families(answer.text)} >= {"cedilla_up"}
    assert [metrics.get(path).status for path in ("/", "/model", "/events", "/trace")] == [404] * 4


def test_an_upgrade_to_another_protocol_is_a_plain_request(page: Page) -> None:
    upgrade = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "x" * 22 + "=="}
    answer = page.get("/model", Connection="Upgrade", **upgrade)
    check(answer)
    assert answer.status == 200
    assert page.get("/model", Connection="Upgrade", host="evil.example", **upgrade).status == 403


@pytest.mark.parametrize(
    "request_text",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40,
        b"POST /trace HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /trace HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: " + b"b" * 200_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_ends_the_connection_and_not_the_server(page: Page, request_text: bytes) -> None:
    local = ("127.0.0.1", page.port)
    with (
        suppress(OSError),
        socket.create_connection(local, timeout=30) as connection,
    ):  # the server may close it first
        connection.sendall(request_text)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass
    assert page.get("/model").status == 200


def test_the_policy_has_the_hash_of_what_the_page_contains(page: Page) -> None:
    answer = page.get("/")
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(f"<{element}>(.*?)</{element}>", answer.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in answer.headers["content-security-policy"]
