"""Texts for people have no control signs and no secrets in them, and caret and text stay together."""

from __future__ import annotations

import json
import re

import pytest

from cedilla.grammar.diagnostics import Diagnostic, Span, printable, render
from cedilla.grammar.diagnostics.printable import (
    for_people,
    has_secret,
    json_printable,
    one_line,
    without_secrets,
)

CONTROL = [
    "\x1b",
    "\r",
    "\x07",
    "\x08",
    "\x7f",
    "\x9b",
    "\x85",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u061c",
    "\u2028",
]


@pytest.mark.parametrize("sign", CONTROL, ids=ascii)
def test_a_control_sign_becomes_an_escape(sign: str) -> None:
    assert sign not in for_people(f"a{sign}b")
    assert for_people(f"a{sign}b") == one_line(f"a{sign}b")
    text = json_printable(f'"a\\n{sign}b"')
    assert sign not in text
    if ord(sign) > 0x1F:  # JSON has no others outside of escapes
        assert json.loads(text) == f"a\n{sign}b"


def test_text_that_is_read_stays_as_it_is() -> None:
    text = "Grüße, 温度 ±1 °C\ta\u0301 ≀ (−x) 👍\nsecond line"
    assert for_people(text) == text
    assert json_printable(text) == text


SECRETS = {
    "s3://KEY:SECRET@bucket/in": "s3://***@bucket/in",
    "s3a://KEY:SEC/RET+x=@bucket/in": "s3a://***@bucket/in",
    "S3://KEY:SECRET@bucket": "S3://***@bucket",
    "hdfs://user:SECRET@host:8020/in": "hdfs://***@host:8020/in",
    "https://u:SECRET@host/x?a=1": "https://***@host/x?a=1",
    "one:SECRET@host:9092/topic": "***@host:9092/topic",
    "host:9092/topic?secret=SECRET": "host:9092/topic?secret=***",
    "host:9092/topic?key=k&sasl.password=SECRET&x=1": "host:9092/topic?key=k&sasl.password=***&x=1",
    "abfs://c@a.dfs.core.windows.net/x?sig=SECRET&se=1": "abfs://c@a.dfs.core.windows.net/x?sig=***&se=1",
    "s3://b/x?X-Amz-Signature=SECRET": "s3://b/x?X-Amz-Signature=***",
    "s3://b/x?aws_access_key_id=SECRET": "s3://b/x?aws_access_key_id=***",
}


@pytest.mark.parametrize("address", SECRETS)
def test_a_secret_of_an_address_is_not_shown(address: str) -> None:
    assert has_secret(address)
    assert (
        without_secrets(f'from json "{address}" or {address}')
        == f'from json "{SECRETS[address]}" or {SECRETS[address]}'
    )


@pytest.mark.parametrize(
    "address",
    [
        "abfs://container@account.dfs.core.windows.net/in",
        "hdfs://host:8020/user@home/in",
        "host:9092/topic?key=meter",
        "one:9092,two:9092/topic",
        "s3://bucket/time=10:00/in",
        "file:///data/in",
        "data/a:b@c/in",
        "queries/x.rq:3:7",
    ],
)
def test_an_address_without_a_secret_is_shown_whole(address: str) -> None:
    assert not has_secret(address)


def test_a_caret_stands_below_its_text_whatever_comes_before() -> None:
    row = 'stream r(a: int) from json "s3://KEY:SECRET@b/\x1b[2J"; emit q to json "o";'
    column = row.index("q to") + 1
    span = Span("q.rq", column - 1, column, 1, column, 1, column + 1)
    text = render([Diagnostic("RQ101", "error", "unknown \x1b[2J\nepoch 9", span)], {"q.rq": row})
    assert "SECRET" not in text
    assert "\x1b" not in text
    head, _, _, shown, caret = text.splitlines()
    assert head == "error[RQ101]: unknown \\x1b[2J\\nepoch 9"
    assert shown[caret.index("^")] == "q"


def test_a_diagnostic_has_no_secret_in_any_form() -> None:
    secret = "s3://KEY:SECRET@b/in"
    diagnostic = Diagnostic("RQ431", "error", f"{secret}: no", notes=(f"at {secret}",), help=f"not {secret}")
    assert "SECRET" not in repr(diagnostic)


def test_long_texts_take_no_longer_than_their_length() -> None:
    """An attempt to match reads a bounded text; only what ends a match may be longer, as it is read once."""
    signs = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]")
    for pattern in printable._SECRETS:
        shape = signs.sub("x", pattern.pattern).removesuffix("x+")
        assert not re.search(r"[*+]|\{\d*,\}", shape), shape
    for part in ("s3://a:", "a://", "?secret", "a:b", "x@", "&a.", "a.b-c:d@e:1"):
        assert not has_secret(part * 1000)
