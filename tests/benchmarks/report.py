"""From the results of a run to a table in Markdown and charts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.contest import UNITS

Result = Mapping[str, Any]

HEAD = ("contest", "competitor", "median (min to max)", "baseline ahead", "also")


def write(folder: Path, machine: Mapping[str, Any], results: Sequence[Result]) -> None:
    """`results.json`, `table.md` and a chart per suite as PNG and SVG."""
    text = json.dumps({"machine": machine, "results": results}, indent=1)
    (folder / "results.json").write_text(text)
    (folder / "table.md").write_text(markdown(machine, results))
    for suite in dict.fromkeys(r["suite"] for r in results):
        chart(folder, suite, [r for r in results if r["suite"] == suite])


def markdown(machine: Mapping[str, Any], results: Iterable[Result]) -> str:
    lines = [", ".join(f"{name}: {value}" for name, value in machine.items()), ""]
    suite = None
    for result in results:
        if result["suite"] != suite:
            suite = result["suite"]
            lines += ["", f"## {suite}", "", _row(HEAD), _row(["---"] * len(HEAD))]
        lines += [_row(cells) for cells in cells(result)]
    return "\n".join(lines) + "\n"


def cells(result: Result) -> Iterable[tuple[str, ...]]:
    """The rows of a contest, as `HEAD` says: one for each competitor, with its main figure and all others."""
    name, main = result["contest"], result["main"]
    for line in result["mismatch"][:1]:
        yield name, "", "**results differ**", "", line.replace("|", "/")
    for competitor, run in result["competitors"].items():
        values = run["figures"][main]
        middle, least, most = (number(values[statistic]) for statistic in ("median", "min", "max"))
        ratios = result["ratios"].get(competitor, {})
        ahead = f"{ratios[main]:.2f}" if main in ratios else ""
        also = [
            f"{number(v['median'])} {UNITS[figure][0]}"
            + (f" ({ratios[figure]:.2f})" if figure in ratios else "")
            for figure, v in run["figures"].items()
            if figure != main
        ]
        yield name, competitor, f"{middle} ({least} to {most}) {UNITS[main][0]}", ahead, ", ".join(also)
    for competitor, error in result["failed"].items():
        yield name, competitor, "failed", "", error.strip().splitlines()[-1][:120].replace("|", "/")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def number(value: float) -> str:
    """Three digits that matter, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


# --- charts --------------------------------------------------------------------------------------------------

_COLOURS = {
    "cedilla": "#2563a8",
    "cedilla-sail": "#12a5c4",
    "spark": "#e3872d",
    "spark-rocksdb": "#b9513a",
    "flink": "#5b8c5a",
    "flink-rocksdb": "#2f5d43",
    "duckdb": "#8a6fb0",
}
_OTHERS = "#444444"


def chart(folder: Path, suite: str, results: Sequence[Result]) -> None:
    """A panel per main figure, with a line for each contest and a dot for each competitor on a logarithmic axis."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    panels = _panels(results)
    if not panels:
        return
    heights = [len(rows) + 1.5 for _, rows in panels]
    picture, places = plt.subplots(
        len(panels),
        1,
        figsize=(8.5, 0.23 * sum(heights) + 0.6 * len(panels)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for axes, (title, rows) in zip(places[:, 0], panels, strict=True):
        _draw(axes, title, rows)
    picture.suptitle(suite)
    for ending in ("png", "svg"):
        picture.savefig(folder / f"{suite}.{ending}", dpi=130)
    plt.close(picture)


_Dots = Mapping[str, tuple[float, float, float]]
"""Competitor -> median, least, most."""


def _panels(results: Sequence[Result]) -> list[tuple[str, Mapping[str, _Dots]]]:
    """Titles of the axes, and contests by name."""
    measured = [r for r in results if r["competitors"]]
    panels: list[tuple[str, Mapping[str, _Dots]]] = []
    for figure in dict.fromkeys(r["main"] for r in measured):
        unit, more = UNITS[figure]
        rows = {
            r["contest"]: {name: _spread(run["figures"][figure]) for name, run in r["competitors"].items()}
            for r in measured
            if r["main"] == figure
        }
        panels.append((f"{unit} ({'more' if more else 'less'} is better)", rows))
    return panels


def _spread(values: Mapping[str, float]) -> tuple[float, float, float]:
    return values["median"], values["min"], values["max"]


def _draw(axes: Any, title: str, rows: Mapping[str, _Dots]) -> None:
    labelled: set[str] = set()
    for position, dots in enumerate(rows.values()):
        for competitor, (middle, least, most) in dots.items():
            label = None if competitor in labelled else competitor
            labelled.add(competitor)
            colour = _COLOURS.get(competitor, _OTHERS)
            axes.plot([least, most], [position, position], color=colour, lw=1)
            axes.plot(middle, position, "o", color=colour, ms=5, label=label)
    axes.set_yticks(range(len(rows)), list(rows), fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    for formatter in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        formatter(lambda value, _: number(value) if f"{value:e}"[0] in "125" else "")
    axes.tick_params(axis="x", which="both", labelsize=7)
    axes.set_xlabel(title, fontsize=8)
    axes.margins(x=0.1)
    axes.grid(axis="y", lw=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
