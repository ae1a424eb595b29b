"""Commands for those who write queries."""

from __future__ import annotations

import sys

import pytest

from tests.kit.command import cedilla


def test_the_language_server_names_the_package_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cedilla.runtime.language_server.server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls", None)
    result = cedilla("lsp")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[RQ498]")
    assert "pip install 'cedilla[lsp]'" in result.stderr
