"""Pieces of Markdown that several generated pages have."""

from __future__ import annotations

from collections.abc import Iterable


def table(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """Returns a Markdown table; line ends and bars in cells are escaped."""
    lines = [" | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(
        [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {line} |" for line in lines)]
    )
