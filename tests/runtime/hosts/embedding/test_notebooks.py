"""Cells and plots of notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

import cedilla
from cedilla.runtime.hosts.embedding import plotting
from tests.kit.errors import code_of
from tests.kit.lines import write_files, write_lines

LINES = b"""{"at": "2020-01-01T00:00:00Z", "pump": 1, "litres": 2.5}
{"at": "2020-01-01T00:01:00Z", "pump": 2, "litres": 4}
{"$accent": "[[pump = 1, unit(litres, m3)]]"}
{"$accent": "[[pump = 2, +(place: string)]]"}
{"at": "2020-01-01T00:02:00Z", "pump": 1, "litres": 0.0025}
{"at": "2020-01-01T00:03:00Z", "pump": 1}
{"at": "2020-01-01T00:04:00Z", "pump": 2, "litres": 4, "place": "x"}
"""
QUERY = (
    'stream raw(at: timestamp, pump: int, litres?: double unit litre) from json "in"; emit raw to json "raw";'
)


class Shell:
    """The part of IPython that a magic uses."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.cell: Callable[[str, str], Any] = lambda line, text: None

    def register_magic_function(self, function: Callable[[str, str], Any], kind: str, name: str) -> None:
        assert (kind, name) == ("cell", "cedilla")
        self.cell = function


def test_a_plot_has_values_as_sent_and_in_one_unit_and_accents_about_them(tmp_path: Path) -> None:
    mpl.use("Agg")
    write_files(tmp_path / "in", {"1.jsonl": LINES})
    cedilla.simulate(
        QUERY, cedilla.Options(sources={"raw": tmp_path / "in"}, sinks={"raw": tmp_path / "raw"})
    )
    axes = cedilla.plot(tmp_path / "raw", "litres", query=QUERY)
    lines: list[Any] = axes.get_lines()
    sent, same, accent = lines
    assert [float(y) for y in sent.get_ydata()] == [2.5, 4.0, 0.0025, 4.0]
    assert [float(y) for y in same.get_ydata()] == [2.5, 4.0, 2.5, 4.0]
    assert len({str(x) for x in sent.get_xdata()}) == 4
    assert accent.get_linestyle() == "--"
    with pytest.raises(cedilla.DiagnosticError, match="RQ491"):
        cedilla.plot(tmp_path / "raw", "litre")


def test_a_plot_has_a_line_for_each_group_and_the_unit_at_its_axis(tmp_path: Path) -> None:
    mpl.use("Agg")
    lines = [
        {"$accent": "[[+(kpa: double unit kPa)]]"},
        {"id": 1, "litres": 2.0, "kpa": 7.0},
        {"id": 2, "litres": 4.0},
        {"$accent": "[[id = 1, alter(litres, y -> y / 1000)]]"},
        {"id": 1, "litres": 0.003},
        {"litres": 9.0},
    ]
    write_lines(tmp_path / "out" / "1.jsonl", lines)
    query = f'stream r(id?: int, litres: double unit L) from json "in"; emit r to json "{tmp_path}/out";'
    axes = cedilla.plot(tmp_path / "out", "litres", by="id", query=query)
    drawn: list[Any] = axes.get_lines()
    assert [[float(y) for y in line.get_ydata()] for line in drawn[:4]] == [
        [2.0, 0.003], [2.0, 3.0], [4.0], [4.0],
    ]  # fmt: skip
    assert [line.get_label() for line in drawn[1:4:2]] == ["id = 1", "id = 2"]
    assert axes.get_ylabel() == "litres (L)"
    assert cedilla.plot(tmp_path / "out", "kpa").get_ylabel() == "kpa (kPa)"
    with pytest.raises(cedilla.DiagnosticError, match="has a value in `pump`"):
        cedilla.plot(tmp_path / "out", "litres", by="pump")


def test_a_plot_names_the_package_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert code_of(plotting._pyplot) == "RQ492"


def test_a_cell_is_a_query_or_its_messages(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell()
    cedilla.load_ipython_extension(shell)
    assert shell.cell("raw", QUERY) is shell.user_ns["raw"]
    assert shell.cell("", QUERY) is shell.user_ns["q"]
    assert shell.cell("bad", QUERY.replace("emit raw", "emit rwa")) is None
    assert "bad" not in shell.user_ns
    assert "did you mean `raw`?" in capsys.readouterr().err
    assert shell.cell("not a name", QUERY) is None
    assert "is not the name of a variable" in capsys.readouterr().err
