"""The application of the live page: the page, its events, and the two questions that it asks."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache, partial
from importlib.resources import files

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
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
from starlette.types import ASGIApp, Receive, Scope, Send

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.inspect.newest_rows import newest_rows
from cedilla.runtime.inspect.run_model import problems
from cedilla.runtime.inspect.trace import trace
from cedilla.runtime.inspect.trace_texts import trace_json
from cedilla.runtime.ui.feed import Feed

_PAUSE = 1.0
"""Seconds between two looks at the feed."""
_MAX_BODY = 1 << 16
LOCAL = ("localhost", "127.0.0.1", "[::1]")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def application(
    feed: Feed, registry: CollectorRegistry, token: str | None, ending: asyncio.Event
) -> Starlette:
    """Returns the application. `token`: what a request needs unless the page is for this machine only; `ending`: set
    when the run has ended, after which each client gets the last model and a farewell."""

    async def page(request: Request) -> Response:
        if token is not None and "token" in request.query_params:
            answer = RedirectResponse("/")
            answer.set_cookie("token", token, httponly=True, samesite="strict")
            return answer
        return HTMLResponse(_page())

    async def model(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(feed.get))

    async def events(request: Request) -> Response:
        return StreamingResponse(_events(feed, ending), media_type="text/event-stream")

    async def metrics(request: Request) -> Response:
        text = await run_in_threadpool(generate_latest, registry)
        return PlainTextResponse(text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    routes = [
        Route("/", page),
        Route("/model", model),
        Route("/events", events),
        Route("/metrics", metrics),
        Route("/trace", _answering(_trace, feed), methods=["POST"]),
        Route("/rows", _answering(_rows, feed), methods=["POST"]),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, token=token)])


class Guard:
    """Refuses requests without the token; on this machine only, requests for another host (DNS rebinding)."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, with headers that keep other sites out."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if not self._allows(Request(scope)):
            await PlainTextResponse("the address needs its token", status_code=403)(scope, receive, send)
            return

        async def with_headers(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                headers: list[tuple[bytes, bytes]] = list(message.get("headers", []))  # type: ignore[arg-type]
                headers += [(name.lower().encode(), text.encode()) for name, text in _HEADERS.items()]
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, with_headers)  # type: ignore[arg-type]

    def _allows(self, request: Request) -> bool:
        if self._token is None:
            host = request.headers.get("host", "")
            origin = request.headers.get("origin")
            is_local = host.rpartition(":")[0] in LOCAL or host in LOCAL
            return is_local and (origin is None or origin.partition("://")[2] == host)
        token = request.query_params.get("token") or request.cookies.get("token") or ""
        return hmac.compare_digest(token.encode(), self._token.encode())


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
    answer: Callable[[Feed, dict[str, object]], object], feed: Feed
) -> Callable[[Request], Awaitable[Response]]:
    """Returns an endpoint that answers a JSON object; diagnostics become a list of `problems`."""

    async def endpoint(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BODY:
                return JSONResponse({"problems": [{"message": "the text is too long"}]}, status_code=413)
        try:
            request_data = json.loads(body)
            return JSONResponse(await run_in_threadpool(answer, feed, request_data))
        except DiagnosticError as error:
            return JSONResponse({"problems": list(problems(error))})
        except (ValueError, KeyError, TypeError) as problem:
            return JSONResponse({"problems": [{"message": f"not understood: {problem}"}]}, status_code=400)

    return endpoint


def _trace(feed: Feed, request: dict[str, object]) -> object:
    """Answers what a marker would do now."""
    feed.get()
    folder = feed.model.folder
    if folder is None:
        raise ValueError("the run has no checkpoint yet")
    plan, source = folder.stored.plan, str(request["source"])
    if source not in plan.source_of:
        raise ValueError(f"the query has no source {source}")
    return trace_json(trace(plan, [(source, str(request["marker"]))], folder.commit))


def _rows(feed: Feed, request: dict[str, object]) -> object:
    """Answers with the newest rows of an output."""
    feed.get()
    folder = feed.model.folder
    if folder is None:
        raise ValueError("the run has no checkpoint yet")
    units = request.get("units")
    chosen = (
        {str(n): str(u) for n, u in units.items()} if isinstance(units, dict) else str(units or "as written")
    )
    return newest_rows(folder, str(request["output"]), chosen)


@cache
def _page() -> str:
    """Returns the page with its style and script inside."""
    folder = files("cedilla.runtime.ui").joinpath("page")
    page, style, script = (folder.joinpath(f"page.{end}").read_text("utf-8") for end in ("html", "css", "js"))
    return page.replace("/* style */", style).replace("/* script */", script)
