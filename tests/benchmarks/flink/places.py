"""Where Flink is installed; imported in its own environment too."""

from __future__ import annotations

from pathlib import Path

HOME = Path(__file__).parents[3] / "build" / "bench" / "flink"


def jars() -> list[Path]:
    """What PyFlink does not bring itself."""
    return sorted((HOME / "jars").glob("*.jar"))
