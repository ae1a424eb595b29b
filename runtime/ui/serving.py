"""Starts the servers of a page and of metrics, and ends them with the run that they belong to."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from prometheus_client import start_http_server

from cedilla.runtime.terminal.addresses import Address, bound
from cedilla.runtime.ui.app import application
from cedilla.runtime.ui.feed import Feed
from cedilla.runtime.ui.metrics import registry_of

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

    `announce` gets a line for each address. Raises `DiagnosticError` RQ495 where an address cannot be used.
    """
    if of_run:
        os.nice(_NICE)
    feed = Feed(checkpoint)
    registry = registry_of(feed)
    if metrics is not None:
        bound(metrics).close()
        server, _ = start_http_server(metrics.port, metrics.host, registry)
        announce(f"metrics: http://{Address(metrics.host, server.server_port).shown}/metrics")
    if page is None:
        _wait(of_run)
        return
    listening = bound(page)
    token = None if page.is_local else os.environ.get(TOKEN) or secrets.token_urlsafe(16)
    port = listening.getsockname()[1]
    announce(f"page: http://{Address(page.host, port).shown}/{f'?token={token}' if token else ''}")
    ending = asyncio.Event()
    config = uvicorn.Config(
        application(feed, registry, token, ending),
        log_level="critical",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=_FAREWELL,
    )
    asyncio.run(_served(uvicorn.Server(config), listening, feed, ending, of_run))


async def _served(
    server: uvicorn.Server, listening: socket.socket, feed: Feed, ending: asyncio.Event, of_run: bool
) -> None:
    loop = asyncio.get_running_loop()

    def watch() -> None:
        _wait(of_run=True)
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
        await server.serve([listening])
    farewell.cancel()


def _wait(of_run: bool) -> None:
    """Waits until the run has ended, whose end of the pipe closes then; or for ever."""
    if of_run:
        while sys.stdin.buffer.read(1):
            pass
        return
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
