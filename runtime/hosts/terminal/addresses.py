"""Addresses at which a run is watched: `[HOST:]PORT`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from attrs import frozen

from cedilla.grammar.diagnostics import failure

if TYPE_CHECKING:
    import socket

PAGE_PORT = 8265
"""The port of the page, unless one is given."""
_LOCAL = ("localhost", "127.0.0.1", "::1")


@frozen
class Address:
    """A host and a port; port 0 is any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Returns the address of `PORT` or `HOST:PORT`. Raises `ValueError`."""
        host, _, port = text.rpartition(":")
        if not port.isdigit() or int(port) > 65_535:
            raise ValueError(f"`{text}` is not a port, or HOST:PORT")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    @property
    def is_local(self) -> bool:
        """True if only this machine reaches the address."""
        return self.host in _LOCAL

    @property
    def shown(self) -> str:
        """The address as in a URL."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def bound(address: Address) -> socket.socket:
    """Returns a socket that listens at an address. Raises `DiagnosticError` RQ495 where that is impossible."""
    import socket

    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as problem:
        hint = "another port, `--ui 8266`; 0 is any free one"
        raise failure("RQ495", f"{address.shown} cannot be used: {problem.strerror}", hint=hint) from None


def check_extra(option: str) -> None:
    """Raises `DiagnosticError` RQ494 where the packages of the extra `[ui]` are not installed."""
    missing = [name for name in ("starlette", "uvicorn", "prometheus_client") if find_spec(name) is None]
    if missing:
        message = f"{option} needs packages that are not installed: {', '.join(missing)}"
        raise failure("RQ494", message, hint='pip install "cedilla[ui]"')
