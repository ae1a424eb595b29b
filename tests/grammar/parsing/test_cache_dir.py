"""What is kept beside the bytecode is only a matter of time: without it, or spoilt, everything is computed anew."""

from __future__ import annotations

import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from cedilla.compiler.expressions.units.registry import registry as read_registry
from cedilla.grammar.parsing import cache_dir, lalr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    folder = Path(cache_from_source(cache_dir.__file__)).parent
    folder.mkdir(parents=True)
    return folder


def test_nothing_is_kept_where_python_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_dir.place("rq") == folder / f"rq.{sys.implementation.cache_tag}"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert cache_dir.place("rq") is None


def test_spoilt_tables_are_computed_anew(folder: Path) -> None:
    for _ in range(2):
        assert lalr._lark.__wrapped__().parse("[ts < 3]", start="punctuation").data == "punctuation"
        (file,) = folder.iterdir()
        file.write_bytes(file.read_bytes()[:100])


def test_spoilt_definitions_of_units_are_read_anew(folder: Path) -> None:
    for _ in range(3):
        registry = read_registry.__wrapped__()
        assert registry.Quantity(1, "hPa").to("Pa").magnitude == 100
        for file in (folder / f"pint.{sys.implementation.cache_tag}").iterdir():
            file.write_bytes(file.read_bytes()[:20])
