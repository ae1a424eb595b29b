"""The server of the live page in a thread, and answers of it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

from attrs import frozen

from cedilla.runtime.hosts.terminal.addresses import Address, bound
from cedilla.runtime.hosts.ui.app import application
from cedilla.runtime.hosts.ui.feed import Feed
from cedilla.runtime.hosts.ui.metrics import registry_of
from cedilla.runtime.hosts.ui.serving import server_of


@frozen
class Answer:
    """An answer: its status, its headers in lower case, its text."""

    status: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


@frozen
class Page:
    """A page that is served at a port of this machine."""

    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def get(self, path: str, **headers: str) -> Answer:
        return self._ask("GET", path, None, headers)

    def post(self, path: str, body: object) -> Any:
        """Returns the JSON that answers a question."""
        return self._ask("POST", path, json.dumps(body), {}).json()

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Returns the answer to any request."""
        return self._ask(method, path, body, headers)

    def _ask(self, method: str, path: str, text: str | bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, text, dict(headers))
        response = connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        try:
            return Answer(response.status, received, response.read().decode())
        finally:
            connection.close()


@contextmanager
def served(path: str, token: str | None = None) -> Iterator[Page]:
    """Serves the page of a checkpoint."""
    feed = Feed(path)
    app = application(feed, registry_of(feed), token, asyncio.Event())
    with bound(Address("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = server_of(app)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Page(port)
        server.should_exit = True
        thread.join(10)
