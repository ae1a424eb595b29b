"""Starts the servers of a page and of metrics, and ends them with the run that they belong to."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from cedilla.runtime.hosts.terminal.addresses import Address, bound
from cedilla.runtime.hosts.ui.app import application, metrics_application
from cedilla.runtime.hosts.ui.feed import Feed
from cedilla.runtime.hosts.ui.metrics import registry_of

TOKEN = "CEDILLA_UI_TOKEN"
"""The variable for a token of the user's choice."""
_NICE = 10
"""The niceness of the server of a run, which gives way to it."""
_FAREWELL = 1
"""Seconds that clients get for their last event."""


def serve(
    checkpoint: str,
    page: Address | None,
    metrics: Address | None,
    announce: Callable[[str], None],
    of_run: bool,
) -> None:
    """Serves a checkpoint until Ctrl-C, or until standard input ends where the server is `of_run`.

    One server answers at both addresses.

    `announce` gets a line for each address. Raises `DiagnosticError` RQ495 where an address cannot be used.
    """
    if of_run:
        os.nice(_NICE)
    feed = Feed(checkpoint)
    registry = registry_of(feed)
    ending = asyncio.Event()
    apps, sockets = dict[int, ASGIApp](), list[socket.socket]()

    def open_port(address: Address) -> Address:
        sockets.append(bound(address))
        return Address(address.host, sockets[-1].getsockname()[1])

    if metrics is not None:
        opened = open_port(metrics)
        apps[opened.port] = metrics_application(registry, opened.is_local)
        announce(f"metrics: http://{opened.shown}/metrics")
    if page is not None:
        opened = open_port(page)
        token = None if page.is_local else os.environ.get(TOKEN) or secrets.token_urlsafe(16)
        apps[opened.port] = application(feed, registry, token, ending)
        announce(f"page: http://{opened.shown}/{f'?token={token}' if token else ''}")
    asyncio.run(_served(server_of(_by_port(apps)), sockets, feed, ending, of_run))


def server_of(app: ASGIApp) -> uvicorn.Server:
    """Returns a server of an application, which is not started."""
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_FAREWELL,
    )
    return uvicorn.Server(config)


def _by_port(apps: Mapping[int, ASGIApp]) -> ASGIApp:
    """Returns an application that answers each port as one of `apps` does."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await apps[scope["server"][1]](scope, receive, send)

    return app


async def _served(
    server: uvicorn.Server, sockets: list[socket.socket], feed: Feed, ending: asyncio.Event, of_run: bool
) -> None:
    loop = asyncio.get_running_loop()

    def watch() -> None:
        while sys.stdin.buffer.read(1):  # the pipe of the run closes when it ends
            pass
        feed.has_ended = True
        loop.call_soon_threadsafe(ending.set)

    async def end() -> None:
        await ending.wait()
        await asyncio.sleep(_FAREWELL)
        server.should_exit = True

    if of_run:
        threading.Thread(target=watch, daemon=True).start()
    farewell = asyncio.create_task(end())
    with suppress(KeyboardInterrupt):
        await server.serve(sockets)
    farewell.cancel()
