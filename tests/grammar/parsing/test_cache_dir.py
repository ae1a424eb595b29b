"""What is kept between processes is only a matter of time: without it, or spoilt, everything is computed anew."""

from __future__ import annotations

import os
import sys
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType

import pytest
from lark.exceptions import UnexpectedInput
from lark.parsers import lalr_analysis
from lark.parsers.lalr_analysis import LALR_Analyzer

from cedilla.compiler.expressions.units.registry import registry as read_registry
from cedilla.grammar.parsing import cache_dir, lalr
from tests.kit.tiers import rest, tiered


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    folder = Path(cache_from_source(cache_dir.__file__)).parent
    folder.mkdir(parents=True)
    return folder


def read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `os.access` has it for a folder of an installation that another user owns; root may write anywhere."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder and access(path, mode))


@pytest.fixture(params=["no bytecode", rest("a read-only package")])
def user_cache(
    request: pytest.FixtureRequest, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    assert cache_dir.place("rq") == folder / f"rq.{sys.implementation.cache_tag}"
    if request.param == "no bytecode":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:
        read_only(folder, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_tables_are_computed_once_in_the_cache_of_the_user(
    user_cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[None] = []
    compute = LALR_Analyzer.compute_lalr

    def noted(analyzer: LALR_Analyzer) -> None:
        computed.append(None)
        compute(analyzer)

    monkeypatch.setattr(LALR_Analyzer, "compute_lalr", noted)
    for expected in (True, False, False):
        computed.clear()
        assert lalr._lark.__wrapped__().parse("[ts < 3]", start="punctuation").data == "punctuation"
        assert bool(computed) == expected
    (file,) = (path for path in user_cache.rglob("*") if path.is_file())
    assert (file.parent.parent.name, file.parent.stat().st_mode & 0o777) == ("cedilla", 0o700)
    assert [*folder.iterdir()] == []


def test_a_folder_that_others_can_write_to_is_not_used(user_cache: Path) -> None:
    file = cache_dir.place("rq")
    assert file is not None
    file.parent.chmod(0o770)
    assert cache_dir.place("rq") is None


@pytest.mark.parametrize("home", tiered(["nowhere", "a file"]))
def test_nothing_is_kept_where_no_folder_can_be_written(
    user_cache: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    if home == "a file":
        user_cache.touch()
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user without a home
    assert cache_dir.place("rq") is None
    assert lalr._lark.__wrapped__().parse("[ts < 3]", start="punctuation").data == "punctuation"


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


def test_the_kept_parser_is_the_computed_one(folder: Path) -> None:
    computed, kept = lalr._lark.__wrapped__(), lalr._lark.__wrapped__()
    assert kept.parser is not computed.parser
    for file in Path("queries").rglob("*.rq"):
        text = file.read_text(encoding="utf-8")
        assert kept.parse(text, start="query") == computed.parse(text, start="query")
    with pytest.raises(UnexpectedInput):
        kept.parse("[ts < ]", start="punctuation")


@pytest.mark.parametrize("later", tiered(["has other objects", "asks for the same objects"]))
def test_a_parser_whose_copy_does_not_parse_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, later: str
) -> None:
    """As of a later lark."""
    names = lalr._Pickler.reducer_override
    kinds = ModuleType if later == "has other objects" else lalr_analysis.Action
    monkeypatch.setattr(
        lalr._Pickler,
        "reducer_override",
        lambda pickler, value: NotImplemented if isinstance(value, kinds) else names(pickler, value),
    )
    assert lalr._lark.__wrapped__().parse("[ts < 3]", start="punctuation").data == "punctuation"
    assert [*folder.iterdir()] == []
