"""Draws the pictures of docs/performance.md from the tables of figures.md, so that text, table and picture agree:
`python -m tests.docs.performance_pictures`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from tests.kit import ROOT

FIGURES = (ROOT / "tests" / "benchmarks" / "figures.md").read_text("utf-8")
_COLOURS = {"Cedilla on Sail": "#12a5c4", "Cedilla on Spark": "#2563a8", "hand-written Spark": "#e3872d"}
_FLINK = "#5b8c5a"


def rows(section: str) -> Iterator[list[str]]:
    """Yields the cells of the rows of the first table of a section, without bold."""
    table = FIGURES.partition(f"## {section}\n")[2].partition("\n|")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        yield [cell.strip().strip("*") for cell in line.strip("|").split("|")]


@frozen
class Picture:
    """A picture: the unit of its axis, and the speed of each competitor by contest, in the order of the table."""

    name: str
    unit: str
    speeds: Mapping[str, Mapping[str, float]]

    @property
    def path(self) -> str:
        return str(ROOT / "docs" / f"performance-{self.name}.svg")


def core() -> Picture:
    """Returns the core queries in epochs of 100,000 rows."""
    competitors = ("Cedilla on Sail", "Cedilla on Spark", "hand-written Spark", "Flink")
    speeds: dict[str, Mapping[str, float]] = {
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", query): dict(
            zip(competitors, map(_number, cells), strict=False)
        )
        for query, *cells in rows("Core queries in epochs of 100,000 rows")
    }
    return Picture("core", "thousands of rows a second; more is better; logarithmic", speeds)


def nexmark() -> Picture:
    """Returns the queries of NEXMark that Cedilla on Sail and Flink both run, over JSON."""
    speeds: dict[str, Mapping[str, float]] = {
        query: {"Cedilla on Sail": _number(sail), "Flink": _number(flink)}
        for query, sail, flink, *_ in rows("NEXMark")
        if flink.isdigit()
    }
    return Picture("nexmark", "thousands of events a second and core; more is better; logarithmic", speeds)


def _number(cell: str) -> float:
    return float(re.sub(r"[^\d.]", "", cell))


def text(speed: float) -> str:
    """Returns a speed as a picture shows it."""
    return f"{speed:,.0f}"


def draw(picture: Picture) -> None:
    """Writes a picture: a row for each contest, a dot and a number for each competitor, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.name, "font.family": "sans-serif"}):
        figure, axes = plt.subplots(figsize=(8.5, 0.26 * len(picture.speeds) + 1.1), layout="constrained")
        for row, speeds in enumerate(picture.speeds.values()):
            axes.plot([min(speeds.values()), max(speeds.values())], [row, row], color="#ccc", lw=1, zorder=0)
            _dots(axes, row, speeds)
        axes.set_yticks(range(len(picture.speeds)), list(picture.speeds), fontsize=8)
        axes.set_ylim(len(picture.speeds) - 0.4, -0.6)
        axes.set_xscale("log")
        axes.set_xticks([], minor=True)
        axes.set_xticks([])
        axes.set_xlabel(picture.unit, fontsize=8)
        axes.margins(x=0.12)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        by_label = dict(zip(labels, handles, strict=True))
        figure.legend(
            by_label.values(), by_label, fontsize=8, frameon=False, loc="outside upper center", ncols=4
        )
        figure.savefig(picture.path, metadata={"Date": None})
        plt.close(figure)


def _dots(axes: Any, row: int, speeds: Mapping[str, float]) -> None:
    """Draws the dots of a row; numbers of neighbours go above and below in turn."""
    ordered: Sequence[tuple[str, float]] = sorted(speeds.items(), key=lambda entry: entry[1])
    for turn, (competitor, speed) in enumerate(ordered):
        colour = _COLOURS.get(competitor, _FLINK)
        axes.plot(speed, row, "o", color=colour, ms=5, label=competitor)
        axes.annotate(
            text(speed),
            (speed, row),
            (0, 4 if turn % 2 else -10),
            textcoords="offset points",
            ha="center",
            fontsize=6.5,
        )


def main() -> None:
    """Draws both pictures."""
    for picture in (core(), nexmark()):
        draw(picture)


if __name__ == "__main__":
    main()
