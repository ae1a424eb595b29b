"""What is no message, wrong parameters and foreign texts on the input of the language server: an answer or a code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from markdown_it import MarkdownIt

from cedilla.runtime.hosts.language_server.document import Document
from cedilla.runtime.hosts.language_server.hover import hover
from cedilla.runtime.hosts.language_server.markdown import block, escaped, span
from tests.kit.command import cedilla
from tests.kit.foreign_json import DOCUMENTS
from tests.kit.foreign_text import TEXTS, constant, is_unicode
from tests.kit.tiers import tiered

QUERY = (
    'stream s(ts: long, k: int, t: double unit m) from json "s" punctuated on ts;\nemit s to json "out";\n'
)
LINES = '{"$accent": "[[unit(t, km)]]"}\n{"ts": 1, "k": 1, "t": 2.5}\n'
UNREADABLE = "RQ502"
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NOT_INITIALIZED = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32002,
)


def framed(content: bytes | dict[str, Any]) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def request(number: Any, method: str, params: Any) -> bytes:
    return framed({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notice(method: str, params: Any) -> bytes:
    return framed({"jsonrpc": "2.0", "method": method, "params": params})


def opened(uri: str, text: str) -> bytes:
    document = {"uri": uri, "languageId": "cedilla", "version": 1, "text": text}
    return notice("textDocument/didOpen", {"textDocument": document})


def at(line: Any, character: Any, uri: Any = "file:///q.rq") -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


BEGIN = request(1, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
LAST = request(99, "textDocument/hover", at(0, 0))


def talk(*messages: bytes) -> tuple[list[dict[str, Any]], Result]:
    """Returns what a server writes for some bytes, after which its input ends."""
    result = cedilla(
        "lsp", text=b"".join([BEGIN, notice("initialized", {}), opened("file:///q.rq", QUERY), *messages])
    )
    answers, rest = list[dict[str, Any]](), result.stdout_bytes
    while rest.lower().startswith(b"content-length:"):
        head, _, rest = rest.partition(b"\r\n\r\n")
        length = int(head.partition(b":")[2].split(b"\r\n")[0])
        answers.append(json.loads(rest[:length]))
        rest = rest[length:]
    return answers, result


def answered(*messages: bytes) -> dict[Any, dict[str, Any]]:
    """Returns the answers by the numbers of their requests; the server goes on to the end of its input."""
    answers, result = talk(*messages, LAST)
    by_number = {answer["id"]: answer for answer in answers if "id" in answer}
    assert len(by_number) == sum("id" in answer for answer in answers), "a request has one answer"
    assert "result" in by_number[99]
    assert result.exit_code == 0
    assert result.stderr == ""
    return by_number


WRONG: dict[str, Any] = {
    "a text for a line": at("x", 0),
    "no line": at(None, 0),
    "not a number": at(float("nan"), 0),
    "a place before the first": at(-1, -1),
    "a line of many digits": at(10**400, 0),
    "a number as a document": {"textDocument": 7, "position": {"line": 0, "character": 0}},
    "no document": {},
    "a list": [],
    "nothing": None,
    "a string": "text",
    "an unknown document": at(0, 0, "file:///unknown.rq"),
    "an unsaved document that is not open": at(0, 0, "untitled:Untitled-1"),
    "a folder": at(0, 0, "file:///"),
    "a device": at(0, 0, "file:///dev/zero"),
    "a null": at(0, 0, "file:///%00%ff%0a.rq"),
    "half a pair": at(0, 0, "file:///\ud800.rq"),
    "no address": at(0, 0, "https://[evil"),
}
METHODS = tuple(
    f"textDocument/{name}"
    for name in (
        "hover",
        "completion",
        "signatureHelp",
        "definition",
        "references",
        "prepareRename",
        "rename",
    )
)


def options(method: str) -> dict[str, Any]:
    """Returns what a method asks for besides a place."""
    match method.rpartition("/")[2]:
        case "references":
            return {"context": {"includeDeclaration": True}}
        case "rename":
            return {"newName": "x"}
        case "formatting":
            return {"options": {"tabSize": 4, "insertSpaces": True}}
        case _:
            return {}


def test_wrong_parameters_have_an_error_for_an_answer() -> None:
    asked = {
        number: (method, kind)
        for number, (method, kind) in enumerate(
            ((m, k) for m in (*METHODS, "cedilla/preview") for k in WRONG), 100
        )
    }
    answers = answered(
        *(
            request(
                number,
                method,
                {**WRONG[kind], **options(method)} if isinstance(WRONG[kind], dict) else WRONG[kind],
            )
            for number, (method, kind) in asked.items()
        )
    )
    errors = {asked[n]: answers[n].get("error", {}).get("code") for n in asked}
    assert {named: code for named, code in errors.items() if code != INVALID_PARAMS} == {}


@pytest.mark.parametrize(("line", "character"), tiered([(10**9, 10**9), (0, 10**9), (10**9, 0)]))
def test_a_place_outside_of_a_document_is_the_nearest_one(line: int, character: int) -> None:
    answers = answered(
        *(
            request(n, method, at(line, character) | options(method))
            for n, method in enumerate(METHODS[:-1], 100)
        )
    )
    assert all("result" in answers[n] for n in range(100, 99 + len(METHODS)))


MISTAKES: dict[str, tuple[bytes, Any, int]] = {
    "an unknown method": (request(5, "textDocument/nothing", {}), 5, NO_METHOD),
    "an unknown command": (request(5, "workspace/executeCommand", {"command": "rm"}), 5, INVALID_PARAMS),
    "a method that is a list": (framed({"jsonrpc": "2.0", "id": 5, "method": []}), 5, INVALID_REQUEST),
    "no method": (framed({"jsonrpc": "2.0", "id": 5}), 5, INVALID_REQUEST),
    "another version": (framed({"jsonrpc": "1.0", "id": 5, "method": "shutdown"}), 5, INVALID_REQUEST),
    "an id of another kind": (request({}, "shutdown", None), None, INVALID_REQUEST),
    "an id that is nothing": (request(None, "shutdown", None), None, INVALID_REQUEST),
    "a list": (framed(b"[1]"), None, INVALID_REQUEST),
    "deep lists": (framed(DOCUMENTS["deep lists"]), None, PARSE_ERROR),
    "many digits": (framed(DOCUMENTS["many digits"]), None, PARSE_ERROR),
    "not utf-8": (framed(DOCUMENTS["not utf-8"]), None, PARSE_ERROR),
    "a cut text": (framed(DOCUMENTS["cut"]), None, PARSE_ERROR),
    "nothing": (b"Content-Length: 0\r\n\r\n", None, PARSE_ERROR),
    "a deep document": (
        framed(
            b'{"jsonrpc": "2.0", "id": 5, "method": "cedilla/preview", "params": '
            + b"[" * 900
            + b"]" * 900
            + b"}"
        ),
        5,
        INVALID_PARAMS,
    ),
}


def test_a_mistaken_message_has_an_error_for_an_answer() -> None:
    for kind, (message, number, code) in MISTAKES.items():
        answer = answered(message)[number]
        assert answer["error"]["code"] == code, kind


@pytest.mark.parametrize("kind", tiered(sorted(DOCUMENTS)))
def test_a_document_that_is_no_message_has_an_error_for_an_answer(kind: str) -> None:
    assert answered(framed(DOCUMENTS[kind]))[None]["error"]["code"] in (PARSE_ERROR, INVALID_REQUEST)


def test_notifications_that_are_wrong_or_unknown_end_nothing() -> None:
    change = {"textDocument": {"uri": "file:///never.rq", "version": 2}, "contentChanges": [{"text": "x"}]}
    beyond = {"start": {"line": 10**9, "character": 10**9}, "end": {"line": 0, "character": 0}}
    answered(
        framed({"jsonrpc": "2.0", "id": 77, "result": {}}),
        notice("textDocument/nothing", {}),
        notice("$/cancelRequest", {"id": 12}),
        notice("$/cancelRequest", {}),
        notice("textDocument/didOpen", {"textDocument": 7}),
        notice("textDocument/didClose", {"textDocument": {"uri": "file:///never.rq"}}),
        notice("textDocument/didChange", change),
        notice(
            "textDocument/didChange",
            {
                "textDocument": {"uri": "file:///q.rq", "version": 2},
                "contentChanges": [{"text": "x", "range": beyond}],
            },
        ),
        opened("file:///%00%ff.rq", QUERY),
        opened("https://[evil", QUERY),
    )


@pytest.mark.rest
def test_a_question_before_the_first_one_is_refused() -> None:
    # The server of this process may have begun before.
    done = subprocess.run(
        [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "lsp"],
        input=LAST,
        capture_output=True,
        check=True,
    )
    assert f'"code": {NOT_INITIALIZED}'.encode() in done.stdout
    assert done.stderr == b""


NO_MESSAGES: dict[str, bytes] = {
    "a line": b"hello\r\n\r\n",
    "a wrong length": b"Content-Length: x\r\n\r\n{}",
    "a negative length": b"Content-Length: -5\r\n\r\n{}",
    "a length of many digits": b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n{}",
    "a great length": b"Content-Length: 9999999999\r\n\r\n{}",
    "too short": b"Content-Length: 5\r\n\r\n" + b'{"jsonrpc": "2.0"}',
    "too long": b"Content-Length: 900000\r\n\r\n{}",
    "bytes": bytes(range(256)) * 20,
    "a long header": b"X: " + b"y" * 200_000 + b"\r\n\r\n",
    "headers without a message": b"Content-Length: 5\r\n",
    "a query": QUERY.encode(),
}


@pytest.mark.parametrize("kind", tiered(NO_MESSAGES, 4))
def test_bytes_that_are_no_message_end_the_server_with_a_code(kind: str) -> None:
    _, result = talk(NO_MESSAGES[kind])
    assert result.exit_code == 1
    assert f"error[{UNREADABLE}]" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_header_of_any_case_and_more_headers_are_read() -> None:
    body = LAST.partition(b"\r\n\r\n")[2].replace(b"99", b"98")
    mixed = b"content-type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:%d\r\n\r\n%b"
    assert "result" in answered(mixed % (len(body), body))[98]


def kinds() -> list[str]:
    return sorted(TEXTS, key=lambda kind: kind not in ("every control sign", "half a pair"))


@pytest.mark.parametrize("kind", tiered(kinds(), 2))
def test_a_document_with_a_foreign_text_has_answers(tmp_path: Path, kind: str) -> None:
    text = TEXTS[kind]
    quoted = json.dumps(text)[1:-1]
    (tmp_path / "s").mkdir()
    documents = {
        "plain": f"{text}\n{QUERY}{text}",
        "comment": f"# {text}\n{QUERY}",
        "constant": QUERY.replace('"s"', f'"{text}"'),
        "unit": QUERY.replace("unit m", f'unit "{text}"'),
    }
    streams = {
        "raw": f'{{"$accent": "[[unit(t, "{text}")]]"}}\n{{"$accent": "{text}"}}\n{text}',
        "quoted": f'{{"$accent": "{quoted}"}}\n{LINES}',
    }
    messages, number = list[bytes](), 100
    for name, content in {
        **{f"{n}.rq": t for n, t in documents.items()},
        **{f"s/{n}.jsonl": t for n, t in streams.items()},
    }.items():
        uri = (tmp_path / name).as_uri()
        messages.append(opened(uri, content))
        for method in (*METHODS[:-1], "textDocument/documentSymbol", "textDocument/formatting"):
            for at_line in ((0, 12), (1, 30)):
                messages.append(request(number, method, at(*at_line, uri) | options(method)))
                number += 1
    answers = answered(*messages)
    assert [answers[n] for n in range(100, number) if "result" not in answers[n]] == []


@pytest.mark.parametrize("size", tiered([100_000, 1_000_000]))
def test_a_document_of_a_megabyte_has_an_answer(size: int) -> None:
    line = QUERY.partition("\n")[0]
    comments = "# a comment of a line\n" * (size // 22)
    answers = answered(
        opened("file:///big.rq", f"{line}\n{comments}"),
        request(100, "textDocument/hover", at(0, 8, "file:///big.rq")),
        opened("file:///big.jsonl", LINES * (size // len(LINES))),
        request(101, "textDocument/hover", at(0, 20, "file:///big.jsonl")),
        opened("file:///wide.jsonl", '{"$accent": "' + "x" * size + '"}'),
        request(102, "textDocument/completion", at(0, 20, "file:///wide.jsonl")),
    )
    assert all("result" in answers[n] for n in (100, 101, 102))


ACTIVE = re.compile(r"<(?:a|img|script|h\d|hr|ul|ol|li|blockquote|em|strong|s)\b")
MARKDOWN = MarkdownIt("gfm-like", {"linkify": False, "html": True})
AUTOLINK = re.compile(r"(?i)\b(?:https?|ftp)://|\bwww\.|\w@\w")


@pytest.mark.parametrize("kind", tiered(sorted(TEXTS), 6))
def test_markdown_of_a_foreign_text_is_a_text(kind: str) -> None:
    text = TEXTS[kind]
    for shown in (escaped(text), f"**{escaped(text)}**", f"- {escaped(text)}"):
        plain = MARKDOWN.render(f"a {shown} b")
        assert ACTIVE.search(plain.replace("<strong>", "")) is None, plain
    assert AUTOLINK.search(escaped(text)) is None
    table = MARKDOWN.render(f"| a | b |\n|---|---|\n| {escaped(text)} | b |")
    assert table.count("<tr>") == 2
    assert table.count("<td>") == 2
    for code in (MARKDOWN.render(f"a {span(text)} b"), MARKDOWN.render(f"{block(text, 'rq')}\n\nb")):
        assert ACTIVE.search(code) is None, code
        assert code.count("<code") == (1 if text else code.count("<code"))


@pytest.mark.parametrize(
    "kind", tiered(sorted(kind for kind in TEXTS if is_unicode(TEXTS[kind]) and len(TEXTS[kind]) < 300))
)
def test_a_hover_shows_names_of_strangers_as_texts(kind: str) -> None:
    text = QUERY.replace('"s"', constant(TEXTS[kind]))
    for offset in (text.index("s("), text.index("t:")):
        card = hover(Document(text, "q.rq"), offset)
        if card is not None:
            assert (
                ACTIVE.search(
                    re.sub("</?strong>", "", MARKDOWN.render(card.text))
                    .replace("<ul>", "")
                    .replace("<li>", "")
                )
                is None
            )
