"""The application of the live page: the page, its events, and the questions that it asks."""

from __future__ import annotations

import asyncio
import hmac
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files

from attrs import frozen
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.epochs.checkpoint.checkpoint_folder import CheckpointFolder, no_checkpoint
from cedilla.runtime.hosts.ui.feed import Feed
from cedilla.runtime.tools.inspect.newest_rows import newest_rows
from cedilla.runtime.tools.inspect.run_model import problems
from cedilla.runtime.tools.inspect.trace import trace
from cedilla.runtime.tools.inspect.trace_texts import trace_json

_PAUSE = 1.0
"""Seconds between two looks at the feed."""
_MAX_BODY = 1 << 16
_NOT_UNDERSTOOD = "RQ501"
LOCAL = ("localhost", "127.0.0.1", "[::1]")

Allows = Callable[[Request], bool]
"""Whom a server answers."""


class Answer(JSONResponse):
    """JSON in ASCII: texts of streams may contain halves of surrogate pairs, which UTF-8 cannot write."""

    def render(self, content: object) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def application(feed: Feed, registry: CollectorRegistry, token: str | None, ending: asyncio.Event) -> ASGIApp:
    """Returns the application of the page. `token`: what a request needs unless the page is for this machine only;
    `ending`: set when the run has ended, after which each client gets the last model and a farewell."""

    async def page(request: Request) -> Response:
        if token is not None and "token" in request.query_params:
            answer = RedirectResponse("/")
            answer.set_cookie("token", token, httponly=True, samesite="strict")
            return answer
        return HTMLResponse(_page().text)

    async def model(request: Request) -> Response:
        return Answer(await run_in_threadpool(feed.get))

    async def events(request: Request) -> Response:
        return StreamingResponse(_events(feed, ending), media_type="text/event-stream")

    routes = [
        Route("/", page),
        Route("/model", model),
        Route("/events", events),
        _metrics(registry),
        Route("/trace", _answering(_trace, feed), methods=["POST"]),
        Route("/rows", _answering(_rows, feed), methods=["POST"]),
        Route("/members", _answering(_members, feed), methods=["POST"]),
    ]
    return Guard(
        Starlette(routes=routes), _is_of_this_machine if token is None else partial(_has_token, token)
    )


def metrics_application(registry: CollectorRegistry, is_local: bool) -> ASGIApp:
    """Returns the application of metrics alone. Those for other hosts are for everybody."""
    return Guard(Starlette(routes=[_metrics(registry)]), _is_of_this_machine if is_local else _is_anybody)


def _metrics(registry: CollectorRegistry) -> Route:
    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        text = await run_in_threadpool(encode, registry)
        return Response(text, headers={"Content-Type": content_type})

    return Route("/metrics", metrics)


def _is_of_this_machine(request: Request) -> bool:
    """Returns True unless a name of another host leads here (DNS rebinding), or a page of another host asks."""
    host = request.headers.get("host", "")
    origin = request.headers.get("origin")
    is_local = host.rpartition(":")[0] in LOCAL or host in LOCAL
    return is_local and (origin is None or origin.partition("://")[2] == host)


def _has_token(token: str, request: Request) -> bool:
    sent = request.query_params.get("token") or request.cookies.get("token") or ""
    return hmac.compare_digest(sent.encode(), token.encode())


def _is_anybody(request: Request) -> bool:
    return True


class Guard:
    """Refuses requests that `allows` does not allow. Every answer, also that of a mistake, gets headers that keep other
    sites out."""

    def __init__(self, app: ASGIApp, allows: Allows) -> None:
        self._app, self._allows = app, allows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_headers()]
            await send(message)

        assert scope["type"] == "http"  # uvicorn is started without lifespan and WebSockets
        app = self._app if self._allows(Request(scope)) else _REFUSAL
        await app(scope, receive, with_headers)


_REFUSAL = PlainTextResponse(
    "this address needs its token, or one of the names of this machine: localhost, 127.0.0.1", status_code=403
)


async def _events(feed: Feed, ending: asyncio.Event) -> AsyncIterator[str]:
    """Yields each new model as an event; a farewell at the end of the run."""
    yield "retry: 1000\n\n"
    last = None
    while True:
        is_last = ending.is_set()
        content = await run_in_threadpool(partial(feed.get, fresh=is_last))
        if content is not last:
            last = content
            yield f"data: {json.dumps(content)}\n\n"
        else:
            yield ": nothing new\n\n"
        if is_last:
            yield "event: farewell\ndata: {}\n\n"
            return
        try:
            await asyncio.wait_for(ending.wait(), _PAUSE)
        except TimeoutError:
            continue


def _answering(
    answer: Callable[[Feed, object], object], feed: Feed
) -> Callable[[Request], Awaitable[Response]]:
    """Returns an endpoint that answers a JSON object; diagnostics become a list of `problems`."""

    async def endpoint(request: Request) -> Response:
        try:
            question = _question(await _body(request))
            return Answer(await run_in_threadpool(answer, feed, question))
        except DiagnosticError as error:
            is_wrong = error.diagnostics[0].code == _NOT_UNDERSTOOD
            return Answer({"problems": list(problems(error))}, status_code=400 if is_wrong else 200)

    return endpoint


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY:
            raise _not_understood(f"it is longer than {_MAX_BODY} bytes")
    return body


def _question(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError as problem:
        raise _not_understood(str(problem)) from None
    except RecursionError:
        raise _not_understood("it is nested too deeply") from None


def _not_understood(why: str) -> DiagnosticError:
    hint = (
        'as in {"source": "pumps", "marker": "[[unit(litres, m3)]]"} or {"output": "flow", "units": "latest"}'
    )
    return failure(_NOT_UNDERSTOOD, f"the question to the page is not understood: {why}", hint=hint)


def _trace(feed: Feed, question: object) -> object:
    """Answers what a marker would do now."""
    match question:
        case {"source": str(source), "marker": str(marker)}:
            folder = _folder(feed)
            plan = folder.stored.plan
            if source not in plan.source_of:
                raise _not_understood(f"the query has no source {source}")
            return trace_json(trace(plan, [(source, marker)], folder.commit))
        case _:
            raise _not_understood("it requires a `source` and a `marker`")


def _rows(feed: Feed, question: object) -> object:
    """Answers with the newest rows of an output."""
    match question:
        case {"output": str(output), "units": "as written" | "canonical" | "latest" as units}:
            return newest_rows(_folder(feed), output, units)
        case {"output": str(output), "units": {**units}} if all(
            isinstance(unit, str) for unit in units.values()
        ):
            return newest_rows(_folder(feed), output, units)
        case _:
            raise _not_understood("it requires an `output` and its `units`")


def _members(feed: Feed, question: object) -> object:
    """Answers with the values of an attribute whose names contain a text, and that send what is asked for."""
    match question:
        case {"source": str(source), "attribute": str(attribute), "find": str(text), "sends": {**sends}} if (
            all(isinstance(way, str) for way in sends.values())
        ):
            feed.get()
            table = feed.model.members(source, attribute)
            if table is None or not sends.keys() <= {*table.others}:
                raise _not_understood(
                    f"accents describe no {attribute} of {source}, or not with {', '.join(sends)}"
                )
            return table.found(text, sends)
        case _:
            raise _not_understood(
                "it requires a `source`, an `attribute`, a text to `find`, and what it `sends`"
            )


def _folder(feed: Feed) -> CheckpointFolder:
    feed.get()
    if feed.model.folder is None:
        raise no_checkpoint(feed.model.path)
    return feed.model.folder


@frozen
class _Page:
    """The page with its style and script inside, and the policy that allows these two only."""

    text: str
    policy: str


@cache
def _page() -> _Page:
    folder = files("cedilla.runtime.hosts.ui").joinpath("page")
    page, style, script = (folder.joinpath(f"page.{end}").read_text("utf-8") for end in ("html", "css", "js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return _Page(page.replace("/* style */", style).replace("/* script */", script), policy)


def _hash(text: str) -> str:
    """Returns the source of a policy that allows an element with this text."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _headers() -> list[tuple[bytes, bytes]]:
    headers = {
        "Content-Security-Policy": _page().policy,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
    return [(name.lower().encode(), text.encode()) for name, text in headers.items()]
