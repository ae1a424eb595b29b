"""How folders are looked at where an engine has no file stream."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from cedilla.runtime.pipeline import discovery
from cedilla.runtime.pipeline.delta_sources import DeltaSources
from cedilla.runtime.storage.files import Files


def test_folders_are_not_looked_at_all_the_time() -> None:
    looks: list[str] = []

    def tree(path: str) -> list[Any]:
        looks.append(path)
        return []

    ends = time.monotonic() + 0.2

    def wait(idle: bool) -> None:
        if time.monotonic() > ends:
            raise KeyboardInterrupt

    executor: Any = SimpleNamespace(files=SimpleNamespace(tree=tree), topics=None)
    none = DeltaSources(Files(), "", {}, False, looks.append)
    with pytest.raises(KeyboardInterrupt):
        discovery._look(executor, none, [("r", "folder")], 0.0, lambda found: None, wait)
    assert 1 <= len(looks) <= 30
