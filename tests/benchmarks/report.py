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
    for competitor, found in result["competitors"].items():
        values = found["figures"][main]
        middle, least, most = (number(values[each]) for each in ("median", "min", "max"))
        ratios = result["ratios"].get(competitor, {})
        ahead = f"{ratios[main]:.2f}" if main in ratios else ""
        also = [
            f"{number(v['median'])} {UNITS[figure][0]}"
            + (f" ({ratios[figure]:.2f})" if figure in ratios else "")
            for figure, v in found["figures"].items()
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
    "spark": "#e3872d",
    "spark-rocksdb": "#b9513a",
    "flink": "#5b8c5a",
    "flink-rocksdb": "#2f5d43",
}
_OTHERS = "#444444"
_CEDILLA = "cedilla"


def chart(folder: Path, suite: str, results: Sequence[Result]) -> None:
    """A dot per contest and competitor on a logarithmic axis: a panel with ratios where Cedilla is the baseline, and
    one per main figure for the rest."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    panels = _panels(results)
    if not panels:
        return
    heights = [len(rows) + 1.5 for _, rows, _ in panels]
    picture, places = plt.subplots(
        len(panels),
        1,
        figsize=(8.5, 0.23 * sum(heights) + 0.6 * len(panels)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for axes, (title, rows, line) in zip(places[:, 0], panels, strict=True):
        _draw(axes, title, rows, line)
    picture.suptitle(suite)
    for ending in ("png", "svg"):
        picture.savefig(folder / f"{suite}.{ending}", dpi=130)
    plt.close(picture)


_Dots = Mapping[str, tuple[float, float, float]]
"""Competitor -> median, least, most."""


def _panels(results: Sequence[Result]) -> list[tuple[str, Mapping[str, _Dots], float | None]]:
    """Title of the axis, rows by name, and where a line of equality belongs."""
    panels: list[tuple[str, Mapping[str, _Dots], float | None]] = []
    against = {r["contest"]: _ratios(r) for r in results if r["baseline"] == _CEDILLA}
    if against := {name: dots for name, dots in against.items() if dots}:
        panels.append(("Cedilla is better by this factor (below 1: worse)", against, 1.0))
    rest = [r for r in results if r["baseline"] != _CEDILLA and r["competitors"]]
    for figure in dict.fromkeys(r["main"] for r in rest):
        unit, more = UNITS[figure]
        rows = {
            f"{r['contest']}: {competitor}": {"": _spread(found["figures"][figure])}
            for r in rest
            if r["main"] == figure
            for competitor, found in r["competitors"].items()
        }
        panels.append((f"{unit} ({'more' if more else 'less'} is better)", rows, None))
    return panels


def _ratios(result: Result) -> _Dots:
    main = result["main"]
    found = {name: ratios[main] for name, ratios in result["ratios"].items() if main in ratios}
    return {name: (ratio, ratio, ratio) for name, ratio in found.items()}


def _spread(values: Mapping[str, float]) -> tuple[float, float, float]:
    return values["median"], values["min"], values["max"]


def _draw(axes: Any, title: str, rows: Mapping[str, _Dots], line: float | None) -> None:
    labelled: set[str] = set()
    for place, dots in enumerate(rows.values()):
        for competitor, (middle, least, most) in dots.items():
            label = competitor if competitor and competitor not in labelled else None
            labelled.add(competitor)
            colour = _COLOURS.get(competitor, _OTHERS)
            axes.plot([least, most], [place, place], color=colour, lw=1)
            axes.plot(middle, place, "o", color=colour, ms=5, label=label)
            if not competitor:
                axes.annotate(f"  {number(middle)}", (most, place), va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), list(rows), fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.3g}")
    axes.xaxis.set_minor_formatter(lambda value, _: f"{value:,.3g}" if line is not None else "")
    axes.tick_params(axis="x", which="both", labelsize=7)
    axes.set_xlabel(title, fontsize=8)
    axes.margins(x=0.1)
    axes.grid(axis="y", lw=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if line is not None:
        axes.axvline(line, color="black", lw=0.8)
        axes.legend(fontsize=7, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
